"""What a package manager tells of a contestant, and what is measured of it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from wirebench.catalog.model import Contestant, Feature, Role

Part = Literal["library", "json", "baseline"]
"""Whose cost a package is: the library's, that of the JSON library of the workloads alone, or
nobody's, because every program of the language has it.
"""


class FootprintError(Exception):
    """Something cannot be found out. The message says what, and what to do about it."""


@dataclass(frozen=True, kw_only=True)
class Package:
    key: str
    """Its name among the packages of one contestant; with the version where several have a name."""
    name: str
    version: str
    requires: tuple[str, ...] = ()
    """Keys."""
    direct: bool = False
    part: Part = "library"
    licence: str | None = None
    """SPDX where that is known."""
    download_bytes: int | None = None
    installed_bytes: int | None = None
    ecosystem: str = ""
    """As OSV calls it; empty: it has none."""
    audited: str = ""
    """The name of what advisories are about, where that is another: Debian's source package."""
    audited_version: str = ""


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What a contestant depends on."""

    manager: str
    packages: tuple[Package, ...]
    header_only: bool | None = None
    """Whether nothing of the library is linked. None: not known, or not a question."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of what one ships."""

    name: str
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """Whether a framework has a feature, and how that is known."""

    feature: Feature
    has: bool | None
    """None: the contestant does not use it, and its manifest does not say."""
    probed: bool
    """Whether a probe of the running server showed it; otherwise the documentation says so."""


@dataclass(frozen=True, kw_only=True)
class Using:
    """What a program takes to use the library, by the contestant's source and build."""

    includes: tuple[str, ...]
    links: tuple[str, ...]
    standard: str
    """The lowest C++ standard with which a file that has only these includes compiles."""


@dataclass(frozen=True, kw_only=True)
class Advisory:
    id: str
    package: str
    version: str


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Known vulnerabilities, by a snapshot."""

    snapshot: str
    """The date of its newest entry."""
    found: tuple[Advisory, ...]
    unchecked: tuple[str, ...]
    """Packages that the snapshot does not clear: it does not have their ecosystem, or the versions
    of some entry cannot be put in order.
    """


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """One line of the table. A figure that is None has its reason in ``unknown``, by its name."""

    contestant: str
    library: str
    version: str
    licence: str
    key: str
    """Of the build: it changes with sources, tools and system packages."""
    role: Role
    """What was built, shipped and started; its packages are those of both."""
    measured_unix_ns: int
    host_id: str
    jobs: int
    released: datetime.date | None
    manager: str
    packages: tuple[Package, ...]
    header_only: bool | None
    build_wall_ns: int | None
    build_cpu_ns: int | None
    rebuild_wall_ns: int | None
    rebuild_cpu_ns: int | None
    touched: str
    """The file that was changed before the rebuild."""
    pieces: tuple[Piece, ...]
    first_reply_ns: int | None
    idle_bytes: int | None
    features: tuple[Spoken, ...]
    """Of HTTP servers."""
    using: Using | None
    """Of C and C++."""
    audit: Audit | None = None
    unknown: Mapping[str, str] = field(default_factory=dict)

    def of_part(self, part: Part) -> tuple[Package, ...]:
        return tuple(one for one in self.packages if one.part == part)

    @property
    def dependencies(self) -> int | None:
        return None if "packages" in self.unknown else len(self.of_part("library"))

    @property
    def direct(self) -> int | None:
        if "packages" in self.unknown:
            return None
        return sum(one.direct for one in self.of_part("library"))

    @property
    def download_bytes(self) -> int | None:
        return self._total("download_bytes")

    @property
    def installed_bytes(self) -> int | None:
        return self._total("installed_bytes")

    @property
    def shipped_bytes(self) -> int | None:
        return sum(one.bytes for one in self.pieces) if self.pieces else None

    @property
    def vulnerabilities(self) -> int | None:
        if self.audit is None or "packages" in self.unknown:
            return None
        return len(self.audit.found)

    def why_unknown(self, name: str) -> str:
        """Why a figure is not known."""
        if name in self.unknown:
            return self.unknown[name]
        of_packages = ("dependencies", "direct", "download_bytes", "installed_bytes")
        if name in (*of_packages, "vulnerabilities") and "packages" in self.unknown:
            return self.unknown["packages"]
        if name in of_packages:
            of = [one for one in self.of_part("library") if getattr(one, name, 0) is None]
            return f"no size of {_some(one.name for one in of)}"
        if name == "vulnerabilities":
            return "footprint --osv has not looked for them"
        return "not measured"

    def _total(self, name: str) -> int | None:
        if "packages" in self.unknown:
            return None
        sizes = [getattr(one, name) for one in self.of_part("library")]
        return None if None in sizes else sum(sizes)


def _some(names: Iterable[str], *, most: int = 3) -> str:
    found = list(names)
    rest = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + rest


Ask = Callable[[Sequence[str]], str]
"""Runs a command and returns what it printed. Errors: ``FootprintError``."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A built contestant, and where to look."""

    contestant: Contestant
    root: Path
    build: Path
    """Its build folder."""
    cache: Path
    """A folder for what is kept between measurements."""
    command: tuple[str, ...]
    """What starts it."""
    ask: Ask


class Manager(Protocol):
    """A package manager: one module implements it."""

    compiled: tuple[str, ...]
    """The suffixes of the sources that a build compiles; empty: nothing is compiled."""

    def read(self, site: Site, /) -> Bill:
        """What the contestant depends on, by the manager's own data."""

    def offline(self, site: Site, /) -> Mapping[str, str]:
        """Variables with which the contestant builds without the network, from what has been
        downloaded.
        """

    def pieces(self, site: Site, /) -> tuple[Piece, ...]:
        """What one ships."""
