"""``fleet.toml``: the hosts, how they are reached, and the pairs of them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from wirebench.catalog.errors import CatalogError, UnavailableError, explain

FLEET_FILE = "fleet.toml"
SCHEDULER = "scheduler"
"""The name of the command itself among those that have certificates."""
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
class Pair:
    """Two hosts that measure together: servers run on one, their generator on the other."""

    name: str
    """No host has this name."""
    server: str
    generator: str
    address: str
    """Where servers listen, on the server's host: an IPv4 address."""

    @property
    def hosts(self) -> tuple[str, str]:
        return self.server, self.generator

    def __str__(self) -> str:
        return f"servers on {self.server} ({self.address}), generator on {self.generator}"


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
    pairs: Mapping[str, Pair] = field(default_factory=dict)
    """Empty: each host measures by itself."""

    @property
    def measuring(self) -> frozenset[str]:
        """The hosts that blocks go to: those of the pairs where there are any."""
        if not self.pairs:
            return frozenset(self.hosts)
        return frozenset(host for pair in self.pairs.values() for host in pair.hosts)

    @property
    def scheduler(self) -> str:
        host = f"[{self.listen}]" if ":" in self.listen else self.listen
        return f"tls://{host}:{self.port}"

    def without_workers(self, waited_s: float) -> UnavailableError:
        """That no host came."""
        return UnavailableError(
            f"{self.path}: expected the worker of a host at {self.scheduler} within {waited_s:g} s,"
            " got none; 'wirebench fleet init' says how to start one"
        )


def split_address(text: str) -> tuple[str | None, str, int | None]:
    """``[user@]name[:port]`` as user, name and port; an address of IPv6 before a port stands in
    brackets. ``ValueError`` for anything else.
    """
    user, _, where = text.rpartition("@")
    bracketed = re.fullmatch(r"\[([^\[\]]+)\](?::([0-9]{1,5}))?", where)
    # More than one colon: an address of IPv6.
    plain = re.fullmatch(r"([^\[\]:]+)(?::([0-9]{1,5}))?|([^\[\]]*:[^\[\]]*:[^\[\]]*)", where)
    if (found := bracketed or plain) is None:
        raise ValueError("expected [user@]name[:port]")
    name, port, *rest = found.groups()
    if port is not None and not 1 <= int(port) <= 65_535:
        raise ValueError("expected [user@]name[:port] with a port from 1 to 65535")
    return user or None, name or rest[0], int(port) if port is not None else None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Host(_Strict):
    ssh: _Line | None = None
    command: _Line = "wirebench"

    @field_validator("ssh")
    @classmethod
    def _is_an_address(cls, text: str | None) -> str | None:
        if text is not None:
            split_address(text)
        return text


class _Pair(_Strict):
    server: _Name
    generator: _Name
    address: IPv4Address


class _File(_Strict):
    listen: _Line
    port: Annotated[int, Field(ge=1, le=65_535)] = SCHEDULER_PORT
    lost_after_s: Annotated[float, Field(ge=1, le=86_400)] = 60.0
    certificates: _Line = "fleet-certificates"
    hosts: Annotated[dict[_Name, _Host], Field(min_length=1)]
    pairs: dict[_Name, _Pair] = {}


def read_fleet(path: Path) -> FleetFile:
    """``CatalogError`` where the file is missing or wrong."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CatalogError(
            f"{path}: expected the hosts of the fleet, got no file; 'wirebench fleet init --help'"
            " shows one"
        ) from None
    except (OSError, ValueError, RecursionError) as error:  # also of too many digits, or levels
        raise CatalogError(f"{path}: expected TOML, got {error}") from error
    try:
        file = _File.model_validate(given)
    except ValidationError as error:
        raise CatalogError(explain(error, path=path)) from error
    if SCHEDULER in file.hosts:
        raise CatalogError(
            f"{path}: hosts.{SCHEDULER}: expected another name: the certificates of this machine"
            " have it"
        )
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
        pairs=_pairs(file, path),
    )


def _pairs(file: _File, path: Path) -> dict[str, Pair]:
    """``CatalogError`` where a pair is not of two hosts of the file, or shares one with another,
    which could not measure at the same time.
    """
    taken: dict[str, str] = {}
    for name, pair in file.pairs.items():
        at = f"{path}: pairs.{name}"
        if name in file.hosts:
            raise CatalogError(f"{at}: expected a name that no host has, got {name!r}")
        for key, host in (("server", pair.server), ("generator", pair.generator)):
            if host not in file.hosts:
                raise CatalogError(
                    f"{at}.{key}: expected one of {', '.join(file.hosts)}, got {host!r}"
                )
            if host in taken:
                raise CatalogError(
                    f"{at}.{key}: expected a host of no other place in a pair, got {host!r},"
                    f" which has one in {taken[host]!r}"
                )
            taken[host] = name
        if pair.address.is_unspecified or pair.address.is_multicast:
            raise CatalogError(
                f"{at}.address: expected an address of {pair.server}, got {pair.address}"
            )
    return {
        name: Pair(
            name=name, server=pair.server, generator=pair.generator, address=str(pair.address)
        )
        for name, pair in file.pairs.items()
    }
