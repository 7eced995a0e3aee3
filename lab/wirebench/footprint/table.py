"""Footprints as a table of texts, for the terminal, Markdown and the report."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wirebench.catalog.licences import Copyleft, copyleft
from wirebench.catalog.units import BYTES, duration, scaled
from wirebench.footprint.model import Footprint, Package, Spoken

NOT_KNOWN = "not known"
_DAYS_OF_A_YEAR = 365.25


@dataclass(frozen=True, kw_only=True)
class Column:
    id: str
    """As ``--sort`` takes it."""
    title: str
    figures: tuple[str, ...]
    """Of the footprint, whose reasons are those of the column."""
    value: Callable[[Footprint, datetime.date], float | None]
    """What is sorted by; None: not known."""
    text: Callable[[Footprint, datetime.date], str]
    """Of a value that is known."""


def _size(name: str) -> Callable[[Footprint, datetime.date], str]:
    return lambda one, _today: scaled(getattr(one, name), BYTES)


def _time(name: str) -> Callable[[Footprint, datetime.date], str]:
    return lambda one, _today: duration(getattr(one, name))


def _of(name: str) -> Callable[[Footprint, datetime.date], float | None]:
    def value(one: Footprint, _today: datetime.date) -> float | None:
        found = getattr(one, name)
        return None if found is None else float(found)

    return value


def _packages(one: Footprint, _today: datetime.date) -> str:
    direct, all_ = one.direct or 0, one.dependencies or 0
    return f"{direct} + {all_ - direct}"


def _years(one: Footprint, today: datetime.date) -> float | None:
    return None if one.released is None else (today - one.released).days / _DAYS_OF_A_YEAR


def _age(one: Footprint, today: datetime.date) -> str:
    return f"{_years(one, today):z.1f} years"


def _copyleft(one: Footprint, _today: datetime.date) -> float | None:
    if "packages" in one.unknown:
        return None
    found = copyleft_of(one)
    return 1000.0 * len(found["strong"]) + len(found["weak"])


def _copyleft_text(one: Footprint, _today: datetime.date) -> str:
    found = copyleft_of(one)
    parts = [f"{len(found[kind])} {kind}" for kind in ("strong", "weak") if found[kind]]
    untold = len(untold_licences(one))
    return (", ".join(parts) or "none") + (f" (+{untold}?)" if untold else "")


def _vulnerabilities(one: Footprint, _today: datetime.date) -> str:
    unchecked = len(one.audit.unchecked) if one.audit is not None else 0
    return f"{one.vulnerabilities}" + (f" (+{unchecked}?)" if unchecked else "")


def copyleft_of(one: Footprint) -> dict[Copyleft, list[Package]]:
    """The library's packages by how far their licences ask for source, as far as it is told."""
    found: dict[Copyleft, list[Package]] = {"strong": [], "weak": [], "none": []}
    for package in one.of_part("library"):
        kind = copyleft(package.licence) if package.licence is not None else None
        if kind is not None:
            found[kind].append(package)
    return found


def untold_licences(one: Footprint) -> list[Package]:
    return [
        package
        for package in one.of_part("library")
        if package.licence is None or copyleft(package.licence) is None
    ]


def _column(
    id_: str, title: str, figure: str, text: Callable[[Footprint, datetime.date], str]
) -> Column:
    return Column(id=id_, title=title, figures=(figure,), value=_of(figure), text=text)


DEPENDING: tuple[Column, ...] = (
    Column(
        id="packages",
        title="packages",
        figures=("dependencies",),
        value=_of("dependencies"),
        text=_packages,
    ),
    _column("download", "download", "download_bytes", _size("download_bytes")),
    _column("installed", "installed", "installed_bytes", _size("installed_bytes")),
    Column(
        id="copyleft",
        title="copyleft",
        figures=("dependencies",),
        value=_copyleft,
        text=_copyleft_text,
    ),
    Column(id="age", title="age", figures=("released",), value=_years, text=_age),
)
BUILDING: tuple[Column, ...] = (
    _column("build", "build", "build_wall_ns", _time("build_wall_ns")),
    _column("cpu", "its CPU", "build_cpu_ns", _time("build_cpu_ns")),
    _column("rebuild", "rebuild", "rebuild_wall_ns", _time("rebuild_wall_ns")),
    _column("ships", "ships", "shipped_bytes", _size("shipped_bytes")),
    _column("start", "start", "first_reply_ns", _time("first_reply_ns")),
    _column("idle", "idle", "idle_bytes", _size("idle_bytes")),
)
KNOWN_TO_BE_VULNERABLE = Column(
    id="vulnerabilities",
    title="vulnerabilities",
    figures=("vulnerabilities",),
    value=_of("vulnerabilities"),
    text=_vulnerabilities,
)
COLUMNS: tuple[Column, ...] = (*DEPENDING, *BUILDING, KNOWN_TO_BE_VULNERABLE)
SORTS = ("contestant", *(one.id for one in COLUMNS))

HOW = (
    "As: the role that was built, that ships and that was started. Packages: direct + brought"
    " by those. Bytes are the package manager's own figures. Build: from nothing with all"
    " downloaded and no compiler cache, as the contestant is written; for Node.js, Bun and"
    " Python the installation, for PHP a check of the syntax. Rebuild: after a change to the"
    " largest source file. Ships: the stripped program with its shared libraries, or packages and"
    " own files. Start: until the end of the first reply, for a client its whole run of one"
    " operation. Idle: proportional set size after it. Times depend on what else the machine does."
    " Not counted: the language's runtime and compiler, what every Debian system has, and packages"
    " that only the JSON library of the workloads needs. (+2?): of two more packages it is not"
    " known."
)


HOW_FEATURES = (
    "Yes and no by probes of the running contestant; by doc.: by the library's documentation, where"
    " the contestant does not use it; –: neither is known. Compression: of responses."
)
HOW_USING = (
    "Header-only: by the files of the library's Debian package. Includes and links: those of the"
    " contestant, without the language's own. Compiles with: the lowest standard that a file with"
    " only these includes compiles with."
)
USING = ("header-only", "includes", "links", "compiles with")


def spoken(one: Spoken) -> str:
    if one.has is None:
        return "–"
    return ("yes" if one.has else "no") + ("" if one.probed else ", by doc.")


def used(one: Footprint) -> tuple[str, ...]:
    """The fields of ``USING``."""
    header_only = "–" if one.header_only is None else "yes" if one.header_only else "no"
    if one.using is None:
        return header_only, "–", "–", "–"
    return (
        header_only,
        ", ".join(one.using.includes),
        ", ".join(one.using.links) or "nothing",
        one.using.standard or NOT_KNOWN,
    )


def in_order(found: Sequence[Footprint], by: str, today: datetime.date) -> list[Footprint]:
    """The least first; those whose figure is not known come last."""
    column = next((one for one in COLUMNS if one.id == by), None)

    def rank(one: Footprint) -> tuple[bool, float, str]:
        value = column.value(one, today) if column is not None else None
        return value is None, value or 0.0, one.contestant

    return sorted(found, key=rank)


def columns_of(found: Sequence[Footprint]) -> tuple[Column, ...]:
    audited = any(one.audit is not None for one in found)
    return (*DEPENDING, *BUILDING, *((KNOWN_TO_BE_VULNERABLE,) if audited else ()))


def field(one: Footprint, column: Column, today: datetime.date) -> str:
    return NOT_KNOWN if column.value(one, today) is None else column.text(one, today)


def reasons(
    found: Sequence[Footprint], columns: Sequence[Column], today: datetime.date
) -> Iterator[str]:
    """Why figures are not known: a line for each reason."""
    known: dict[tuple[str, str], list[str]] = {}
    for one in found:
        for column in columns:
            if column.value(one, today) is None:
                reason = one.why_unknown(column.figures[0])
                known.setdefault((one.contestant, reason), []).append(column.title)
    together: dict[tuple[str, str], list[str]] = {}
    for (name, reason), titles in known.items():
        together.setdefault((", ".join(titles), reason), []).append(name)
    for (titles_text, reason), names in together.items():
        yield f"{titles_text} not known of {', '.join(names)}: {reason}"


_OF_SOURCES = "; Debian tells it of the whole source package, and parts of it may have another"


def warnings(one: Footprint) -> Iterator[str]:
    """What a reader of licences and advisories should look at."""
    found = copyleft_of(one)
    for kind in ("strong", "weak"):
        if found[kind]:
            named = ", ".join(f"{it.name} ({it.licence})" for it in found[kind])
            yield f"{kind} copyleft: {named}{_OF_SOURCES if one.manager == 'Debian' else ''}"
    if one.audit is not None:
        by_package: dict[str, list[str]] = {}
        for advisory in one.audit.found:
            place = f"{advisory.package} {advisory.version}"
            by_package.setdefault(place, []).append(advisory.id)
        for place, ids in by_package.items():
            yield f"vulnerable: {place}: {', '.join(ids)}"


def heads(columns: Sequence[Column]) -> tuple[str, ...]:
    """Of ``rows``."""
    return ("contestant", "as", "version", *(one.title for one in columns))


FIGURES_FROM = 3
"""The first column of ``rows`` with a figure."""


def rows(
    found: Sequence[Footprint], columns: Sequence[Column], today: datetime.date
) -> Iterator[tuple[str, ...]]:
    for one in found:
        fields = (field(one, column, today) for column in columns)
        yield (one.contestant, one.role, one.version, *fields)
