"""A question from the texts that somebody typed, on a command line or into a form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, get_args

from wirebench.catalog.licences import PERMISSIVE, LicenceError, parse
from wirebench.catalog.model import SCHEMES, WORKLOADS
from wirebench.catalog.units import parse_duration
from wirebench.decide.question import RATE_PER_S, By, Question

Name = TypeVar("Name", bound=str)

RFCS = ("9110", "9112", "6455", "7692")
ORDERS: tuple[By, ...] = get_args(By)
_SIZES = {
    "": 1,
    "B": 1,
    "kB": 1000,
    "MB": 1000**2,
    "KiB": 1024,
    "MiB": 1024**2,
    "GB": 1000**3,
    "GiB": 1024**3,
}


class QuestionError(Exception):
    """What was asked makes no question. The message says what was expected."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        """As the options are called, without the dashes; empty: several."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The texts; None and empty ask for nothing."""

    workload: str | None = None
    client: str | None = None
    connections: int | None = None
    rate: float | None = None
    tls: bool = False
    by: str = "throughput"
    languages: Sequence[str] = ()
    licence: str | None = None
    p99: str | None = None
    cpu: str | None = None
    throughput: float | None = None
    memory: str | None = None
    """For each connection."""
    total_memory: str | None = None
    must: Sequence[str] = ()
    max_installed: str | None = None
    max_dependencies: int | None = None


def question_of(asked: Asked, *, languages: Sequence[str]) -> Question:
    """``languages``: those that the catalog has. Errors: ``QuestionError``."""
    if (asked.workload is None) == (asked.client is None):
        raise QuestionError("", "expected either --workload or --client")
    # Of probes, a run keeps those of servers only.
    of_servers = (
        *(asked.connections, asked.rate, asked.throughput),
        *(asked.memory, asked.total_memory),
    )
    if asked.client is not None and (
        asked.must or asked.tls or any(one is not None for one in of_servers)
    ):
        raise QuestionError(
            "",
            "--connections, --rate, --throughput, --memory-per-connection, --memory, --must and"
            " --tls are for servers; leave them out, or ask for a --workload",
        )
    orders = [one for one in ORDERS if asked.client is None or one != "memory"]
    return Question(
        serves=_one_of("workload", asked.workload, WORKLOADS),
        calls=_one_of("client", asked.client, SCHEMES),
        languages=tuple(_listed("language", one, languages) for one in asked.languages),
        connections=asked.connections,
        rate_per_s=RATE_PER_S if asked.rate is None else asked.rate,
        p99_ns=_duration("p99", asked.p99),
        cpu_ns=_duration("cpu", asked.cpu),
        throughput_per_s=asked.throughput,
        memory_bytes=_size("memory-per-connection", asked.memory),
        total_memory_bytes=_size("memory", asked.total_memory),
        installed_bytes=_size("max-installed", asked.max_installed),
        dependencies=asked.max_dependencies,
        licence=_licence(asked.licence),
        standards=tuple(_rfc(one) for one in asked.must),
        tls=asked.tls,
        by=_one_of("by", asked.by, orders),
    )


def _one_of(field: str, given: str | None, known: Sequence[Name]) -> Name | None:
    return None if given is None else _listed(field, given, known)


def _listed(field: str, given: str, known: Sequence[Name]) -> Name:
    found = next((one for one in known if one == given), None)
    if found is None:
        raise QuestionError(field, f"expected one of {', '.join(known)}, got {given!r}")
    return found


def _duration(field: str, given: str | None) -> int | None:
    if given is None:
        return None
    try:
        return parse_duration(given)
    except ValueError as error:
        raise QuestionError(field, f"{error}, got {given!r}") from error


def _size(field: str, given: str | None) -> int | None:
    if given is None:
        return None
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?) ?([A-Za-z]*)", given)
    if match is None or match[2] not in _SIZES:
        raise QuestionError(field, f"expected a size such as '10KiB' or '50MB', got {given!r}")
    return round(float(match[1]) * _SIZES[match[2]])


def _rfc(given: str) -> str:
    match = re.fullmatch(r"(?:rfc ?)?(\d+)", given.lower())
    if match is None or match[1] not in RFCS:
        expected = ", ".join(f"rfc{one}" for one in RFCS)
        raise QuestionError("must", f"expected one of {expected}, got {given!r}")
    return match[1]


def _licence(given: str | None) -> str | None:
    if given is not None and given != PERMISSIVE:
        try:
            parse(given)
        except LicenceError as error:
            raise QuestionError("licence", str(error)) from error
    return given
