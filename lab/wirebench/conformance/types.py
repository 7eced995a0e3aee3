"""A probe and its result: one sentence of a standard, tested on a server over a plain socket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from wirebench.verify.types import Exchange

Level = Literal["MUST", "SHOULD", "MAY"]
"""The requirement level (RFC 2119). A server may ignore a MAY. It is recorded because peers that
differ in one enable request smuggling.
"""
Part = Literal["http", "websocket", "deflate", "client"]
PARTS: tuple[Part, ...] = ("http", "websocket", "deflate")
"""Those of servers."""
Outcome = Literal["passed", "closed", "failed", "not_applicable"]
"""``closed``: the server closed the connection where a refusal with a status was due. That is safe,
but not what the standard asks.
"""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The server's address, and two resources that it is known to serve."""

    host: str
    port: int
    path: str | None = "/"
    """A resource that answers GET with 200. None: HTTP is not probed."""
    websocket_path: str | None = None
    """Where it echoes text and binary messages. None: WebSocket is not probed."""

    @property
    def authority(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class UnspokenError(Exception):
    """The server refused the request only by closing the connection."""


class NotApplicableError(Exception):
    """The server lacks the optional feature under test. The text names it."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    id: str
    """Such as ``host_missing``; one of its part's."""
    part: Part
    document: str
    """Such as ``RFC 9112``."""
    section: str
    level: Level
    sent: str
    expected: str
    run: Callable[[Target], str]
    """Returns what was received, in words. Raises ``Mismatch``, ``PeerError``, ``UnspokenError`` or
    ``NotApplicableError``.
    """


def probe(
    part: Part, id_: str, standard: str, sent: str, expected: str, run: Callable[[Target], str]
) -> Probe:
    """``standard`` is the number of the RFC, the section and the level: ``9112 2.2 SHOULD``."""
    document, _, rest = standard.partition(" ")
    section, _, level = rest.rpartition(" ")
    if level not in get_args(Level):
        raise ValueError(f"{id_}: expected an RFC, a section and a level, got {standard!r}")
    return Probe(
        id=id_,
        part=part,
        document=f"RFC {document}",
        section=section,
        level=cast("Level", level),
        sent=sent,
        expected=expected,
        run=run,
    )


@dataclass(frozen=True, kw_only=True)
class ProbeResult(Exchange):
    id: str
    part: Part
    document: str
    section: str
    level: Level
    outcome: Outcome


@dataclass(frozen=True, kw_only=True)
class Score:
    """The score of one part at one level: probes passed, probes refused by closing, and probes that
    apply.
    """

    passed: int
    closed: int
    applied: int

    def __str__(self) -> str:
        return f"{self.passed} of {self.applied}" + (
            f", {self.closed} by closing" if self.closed else ""
        )


def scores(results: Iterable[ProbeResult]) -> Mapping[tuple[Part, Level], Score]:
    """By part and level, those that have probes which apply."""
    found: dict[tuple[Part, Level], Score] = {}
    for result in results:
        if result.outcome == "not_applicable":
            continue
        key = (result.part, result.level)
        before = found.get(key, Score(passed=0, closed=0, applied=0))
        found[key] = Score(
            passed=before.passed + (result.outcome == "passed"),
            closed=before.closed + (result.outcome == "closed"),
            applied=before.applied + 1,
        )
    return found
