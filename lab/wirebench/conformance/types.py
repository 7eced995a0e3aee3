"""What a probe is, and what it says: one sentence of a standard, put to a server over a plain
socket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

Level = Literal["MUST", "SHOULD", "MAY"]
"""How the standard says it (RFC 2119). A server may leave a MAY; it is told apart because peers
that differ in one are the ground on which requests are smuggled.
"""
Part = Literal["http", "websocket", "deflate"]
PARTS: tuple[Part, ...] = ("http", "websocket", "deflate")
Outcome = Literal["passed", "closed", "failed", "not_applicable"]
"""``closed``: where a refusal with a status was called for, the connection just ended: safe, though
not what is asked.
"""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where the server is, and two things that it is known to serve."""

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
    """The request was refused by the end of the connection alone."""


class NotApplicableError(Exception):
    """The server lacks the optional feature that the probe is about; the text says which."""


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
    """Returns what was received, in words; raises ``Mismatch``, ``PeerError``, ``UnspokenError`` or
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
class ProbeResult:
    id: str
    part: Part
    document: str
    section: str
    level: Level
    outcome: Outcome
    sent: str
    expected: str
    received: str

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Score:
    """Of one part at one level: how many of the probes that apply were passed, and how many
    requests refused without a word.
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
