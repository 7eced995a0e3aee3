"""What recorded standstills of the cores do to latency.

A virtual machine's core may be stopped by its host for milliseconds. Both programs record when theirs was (core-gaps files, see
wireload/src/core_watch.hpp), and a run's truth can be stated with these standstills in it: whatever should happen on a core
while it stands still happens when it runs again. That is followed here request by request, for the schedule of the run and the
law of the server; nothing of what wireload measured enters.

What is not certain makes the truth a span: a standstill is known to lie between a shortest and a longest length; what has piled
up behind it is worked off at once, or at ``SERVICE_NS`` for each request, which any machine can keep; and the moments of the
requests are tried at several phases, of random arrivals with several seeds.
"""

from __future__ import annotations

import heapq
import json
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from wirebench.catalog.errors import explain
from wirebench.selftest.cases import SERVICE_NS
from wirebench.selftest.judge import MAX, PERCENTILES
from wirebench.selftest.laws import MS, Conditions, Freeze, Law, S, Span

Times = NDArray[np.float64]
"""Nanoseconds from the beginning of the window."""

_DRAWS = 24
_MOST_DRAWN = 3_000_000
"""Requests of all draws together. Both our own choice: seconds of computing at most."""


class _Core(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    core: int
    problem: str | None
    looks: int
    left_out: int
    gaps: tuple[tuple[int, int, int], ...]


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    cores: tuple[_Core, ...]


@dataclass(frozen=True, kw_only=True)
class CoreGaps:
    """Of one program's core. Each gap: its end in Unix time, its shortest and its longest possible length, nanoseconds."""

    gaps: tuple[tuple[int, int, int], ...] = ()
    looks: int = 0
    """How often the watch took the core for a moment."""
    problem: str | None = None
    """Why nothing could be recorded: nothing is explained then."""

    def between(self, start_unix_ns: int, end_unix_ns: int) -> tuple[tuple[int, int, int], ...]:
        return tuple(gap for gap in self.gaps if gap[0] >= start_unix_ns and gap[0] - gap[2] < end_unix_ns)


def read_gaps(file: Path) -> CoreGaps:
    """``ValueError`` for a file that is not one. Several cores (several threads) are not told apart by request: no record."""
    try:
        found = _File.model_validate(json.loads(file.read_bytes()))
    except ValidationError as error:
        raise ValueError(explain(error, path=file.name)) from error
    if len(found.cores) != 1:
        return CoreGaps(problem=f"{len(found.cores)} cores: which of them served a request is not known")
    core = found.cores[0]
    problem = core.problem if core.left_out == 0 else f"{core.left_out} gaps more than there was room for"
    return CoreGaps(gaps=core.gaps, looks=core.looks, problem=problem)


@dataclass(frozen=True, kw_only=True)
class Standstills:
    """Those of one core with certain lengths."""

    starts: Times
    ends: Times

    @classmethod
    def of(cls, gaps: CoreGaps, start_unix_ns: int, *, longest: bool) -> Standstills:
        ends = np.array([end - start_unix_ns for end, _, _ in gaps.gaps], dtype=np.float64)
        lengths = np.array([most if longest else least for _, least, most in gaps.gaps], dtype=np.float64)
        order = np.argsort(ends)
        return cls(starts=(ends - lengths)[order], ends=ends[order])

    def after(self, times: Times) -> Times:
        """When what is due at these times is done."""
        if self.ends.size == 0:
            return times
        at = np.searchsorted(self.starts, times, side="right") - 1
        ends = self.ends[np.maximum(at, 0)]
        return np.where((at >= 0) & (times < ends), ends, times)

    def after_one(self, time: float) -> float:
        at = bisect_right(self.starts, time) - 1
        return float(self.ends[at]) if at >= 0 and time < self.ends[at] else time


def one_after_another(ready: Times, service_ns: float) -> Times:
    """When each is done: in the order in which they become ready, ``service_ns`` after the one before it at the earliest."""
    if service_ns == 0:
        return ready
    order = np.argsort(ready, kind="stable")
    line = service_ns * np.arange(ready.size)
    done = np.empty_like(ready)
    done[order] = np.maximum.accumulate(ready[order] - line) + line
    return done


def truth_with_gaps(law: Law, met: Conditions, client: CoreGaps, server: CoreGaps, start_unix_ns: int) -> dict[str, Span]:
    """By the names of PERCENTILES and MAX, base included. Empty when nothing was recorded, or where no law is known."""
    end_unix_ns = start_unix_ns + round(met.seconds * S)
    if client.problem or server.problem or met.count == 0 or (met.mode == "closed" and isinstance(law, Freeze)):
        return {}
    if not client.between(start_unix_ns, end_unix_ns) and not server.between(start_unix_ns, end_unix_ns):
        return {}
    # As in Law.truth(): what hangs over the edges, and the rounding of ranks.
    slack = 2 * (law.in_flight_at_edges(met) + 1) / met.count
    found: dict[str, list[float]] = {name: [] for name, _ in [*PERCENTILES, (MAX, 1.0)]}
    for longest in (False, True):
        stops = [Standstills.of(gaps, start_unix_ns, longest=longest) for gaps in (client, server)]
        for latencies in _latencies(law, met, *stops, service_ns=SERVICE_NS if longest else 0):
            for name, share in PERCENTILES:
                around = [max(0.0, share - slack), min(1.0, share + slack)]
                found[name] += np.quantile(latencies, around, method="inverted_cdf").tolist()
            found[MAX].append(float(latencies.max()))
    return {name: Span(low=min(values), high=max(values)) for name, values in found.items()}


def _latencies(law: Law, met: Conditions, client: Standstills, server: Standstills, *, service_ns: float) -> Iterator[Times]:
    if met.mode == "closed":
        yield closed_loop(law, met, client, server, service_ns=service_ns)
        return
    count = max(1, round(met.rate * met.seconds))
    draws = max(3, min(_DRAWS, _MOST_DRAWN // count))
    for draw in range(draws):
        if met.mode == "poisson":
            due = np.sort(np.random.default_rng(draw).uniform(0, met.seconds * S, count))
        else:
            due = (np.arange(count, dtype=np.float64) + draw / draws) * (S / met.rate)
        yield open_loop(law, met, due, client, server, service_ns=service_ns)


def open_loop(law: Law, met: Conditions, due: Times, client: Standstills, server: Standstills, *, service_ns: float) -> Times:
    half = met.base_ns / 2
    sent = one_after_another(client.after(due), service_ns)
    read = one_after_another(server.after(sent + half), service_ns)
    answered = one_after_another(server.after(law.answers(read, met)), service_ns)
    back = one_after_another(client.after(answered + half), service_ns)
    return back - due


def closed_loop(law: Law, met: Conditions, client: Standstills, server: Standstills, *, service_ns: float) -> Times:
    """Each connection sends its next request when it has its answer; the server numbers them as it reads them."""
    half = met.base_ns / 2
    end = met.seconds * S
    arriving = [(half, connection, 0.0) for connection in range(met.connections)]
    heapq.heapify(arriving)
    found: list[float] = []
    free = 0.0
    index = 0
    while arriving:
        at, connection, sent = heapq.heappop(arriving)
        read = max(server.after_one(at), free)
        free = read + service_ns
        delay = law.delays(np.array([index]), np.array([read]), met)
        answer = server.after_one(read + float(delay[0]))
        index += 1
        back = client.after_one(answer + half)
        if back > end:
            continue
        found.append(back - sent)
        heapq.heappush(arriving, (back + half, connection, back))
    return np.array(found, dtype=np.float64) if found else np.zeros(1)


def describe(client: CoreGaps, server: CoreGaps, start_unix_ns: int, elapsed_ns: int) -> str:
    """For a note beside a row."""
    parts = []
    for name, gaps in (("wireload", client), ("the server", server)):
        lengths = [longest for _, _, longest in gaps.between(start_unix_ns, start_unix_ns + elapsed_ns)]
        if lengths:
            times = "once" if len(lengths) == 1 else f"{len(lengths)} times"
            parts.append(f"{name}'s core stood still {times}, {sum(lengths) / MS:.1f} ms, longest {max(lengths) / MS:.1f} ms")
    return "; ".join(parts)
