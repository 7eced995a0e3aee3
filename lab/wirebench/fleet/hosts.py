"""``fleet.toml``: the hosts, and how they are reached."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wirebench.catalog.errors import CatalogError, explain

FLEET_FILE = "fleet.toml"
SCHEDULER_PORT = 8786
"""Dask's own."""

_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]
_Line = Annotated[str, Field(min_length=1, pattern=r"^[^\s-][^\n]*$")]


@dataclass(frozen=True, kw_only=True)
class Host:
    name: str
    ssh: str | None
    """``[user@]name[:port]``. None: its worker is started by hand."""
    command: str
    """How ``wirebench`` is called there; only for ssh."""


@dataclass(frozen=True, kw_only=True)
class FleetFile:
    path: Path
    listen: str
    """The address at which workers reach the scheduler, which runs in ``wirebench fleet run``."""
    port: int
    lost_after_s: float
    """A host that is silent for so long is lost."""
    certificates: Path
    hosts: Mapping[str, Host]

    @property
    def scheduler(self) -> str:
        host = f"[{self.listen}]" if ":" in self.listen else self.listen
        return f"tls://{host}:{self.port}"

    def without_workers(self, waited_s: float) -> CatalogError:
        """That no host came."""
        return CatalogError(
            f"{self.path}: expected the worker of a host at {self.scheduler} within {waited_s:g} s,"
            " got none; 'wirebench fleet init' says how to start one"
        )


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Host(_Strict):
    ssh: _Line | None = None
    command: _Line = "wirebench"


class _File(_Strict):
    listen: _Line
    port: Annotated[int, Field(ge=1, le=65_535)] = SCHEDULER_PORT
    lost_after_s: Annotated[float, Field(ge=1, le=86_400)] = 60.0
    certificates: _Line = "fleet-certificates"
    hosts: Annotated[dict[_Name, _Host], Field(min_length=1)]


def read_fleet(path: Path) -> FleetFile:
    """``CatalogError`` where the file is missing or wrong."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CatalogError(
            f"{path}: expected the hosts of the fleet, got no file; 'wirebench fleet init --help'"
            " shows one"
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogError(f"{path}: expected TOML, got {error}") from error
    try:
        file = _File.model_validate(given)
    except ValidationError as error:
        raise CatalogError(explain(error, path=path)) from error
    return FleetFile(
        path=path,
        listen=file.listen,
        port=file.port,
        lost_after_s=file.lost_after_s,
        certificates=path.parent / file.certificates,
        hosts={
            name: Host(name=name, ssh=one.ssh, command=one.command)
            for name, one in file.hosts.items()
        },
    )
