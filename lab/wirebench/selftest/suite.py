"""Runs the self-test: every case under every load, the base first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirebench.selftest import generator
from wirebench.selftest.cases import NO_DELAY, Case, Load, Size, base_load, load_for
from wirebench.selftest.gaps import describe, truth_with_gaps
from wirebench.selftest.generator import GeneratorError, Measured
from wirebench.selftest.judge import Result, VoidRow, error_row, percentile_rows
from wirebench.selftest.laws import Conditions, Mode, S
from wirebench.selftest.peers import Peer, PeerRow, run_peer
from wirebench.selftest.truth_server import Record, TruthServer, TruthServerError
from wirebench.trial.supervise import Scope, Supervisor
from wirebench.trial.types import Cores

_LONGEST_BASE_NS = 1_000_000
"""A way there and back on one machine that takes longer than this is not one to measure with. Our own choice."""

_MOST_RUNS = 3
"""Of one load, until it is not void. Our own choice."""
_OFTEN_PER_S = 10
"""Losing its core more often than this is worth telling beside a wrong percentile. Our own choice."""


@dataclass(frozen=True, kw_only=True)
class Programs:
    wireload: Path
    truth_server: Path
    peers: tuple[Peer, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Wanted:
    cases: tuple[Case, ...]
    modes: tuple[Mode, ...]
    rates: tuple[int, ...]
    seed: int = 1


Say = Callable[[str], None]


def runs(wanted: Wanted, size: Size) -> Iterator[tuple[Case, Load]]:
    """A closed loop that cannot make a higher rate, or whose rate is the machine's affair, is run once."""
    for case in wanted.cases:
        for mode in wanted.modes:
            seen = None
            for rate in wanted.rates:
                load = load_for(case, mode, rate, size)
                if mode != "closed" or seen is None or load.connections != seen:
                    yield case, load
                seen = load.connections


class Suite:
    """One self-test. ``results`` and ``peer_rows`` grow as it runs."""

    def __init__(self, *, programs: Programs, supervisor: Supervisor, cores: Cores, say: Say) -> None:
        self.results: list[Result] = []
        self.peer_rows: list[PeerRow] = []
        self.bases: dict[tuple[Mode, int], float] = {}
        self.unrecorded: str | None = None
        """Why standstills of the cores could not be recorded."""
        self._programs = programs
        self._supervisor = supervisor
        self._cores = cores
        self._say = say

    def run(self, wanted: Wanted, size: Size) -> None:
        for mode in wanted.modes:
            for rate in wanted.rates[:1] if mode == "closed" else wanted.rates:
                self._measure_base(base_load(mode, rate, size), wanted.seed)
        for case, load in runs(wanted, size):
            self._say(f"{case.name}, {load.mode}, {load.rate:,}/s")
            base_ns = self.bases.get((load.mode, wanted.rates[0] if load.mode == "closed" else load.rate))
            self._judge(case, load, base_ns, wanted.seed)
            if base_ns is not None:
                for peer in self._programs.peers:
                    self._beside(peer, case, load, base_ns)

    def _measure_base(self, load: Load, seed: int) -> None:
        case = Case(name="no delay", law=NO_DELAY)
        self._say(f"base, {load.mode}, {load.rate:,}/s")
        try:
            measured, _ = self._one(case, load, seed)
        except (GeneratorError, TruthServerError) as error:
            self._void(case, load, str(error))
            return
        base = measured.percentiles.get("p50")
        if measured.void is not None or base is None or base > _LONGEST_BASE_NS:
            self._void(case, load, measured.void or f"the median without any delay is {base} ns")
            return
        self.bases[load.mode, load.rate] = base

    def _judge(self, case: Case, load: Load, base_ns: float | None, seed: int) -> None:
        try:
            measured, record = self._one(case, load, seed)
            for other in range(1, _MOST_RUNS):
                # How many random arrivals the warm-up has is the seed's affair, and known when the server has counted them.
                if not case.faults.any or case.faults.spare(record.counts.requests - measured.requests):
                    break
                measured, record = self._one(case, load, seed + other)
        except (GeneratorError, TruthServerError) as error:
            self._void(case, load, str(error))
            return
        if case.faults.any:
            before = record.counts.requests - measured.requests
            errors = record.counts.errors
            self.results.append(
                error_row(case, load, requests=measured.requests, measured=measured.errors, server=errors, before=before)
            )
        if measured.void is not None or base_ns is None:
            self._void(case, load, measured.void or "no base: the run without delay said nothing")
            return
        server = record.percentiles(measured.start_unix_ns, measured.start_unix_ns + measured.elapsed_ns)
        often = measured.evictions_per_s
        hint = f"others took wireload's core {often:.0f} times a second" if often > _OFTEN_PER_S else ""
        met = conditions(load, measured, record, base_ns)
        start_ns = measured.start_unix_ns
        with_gaps = truth_with_gaps(case.law, met, measured.gaps, record.gaps, start_ns)
        gaps = describe(measured.gaps, record.gaps, start_ns, measured.elapsed_ns)
        self.results += percentile_rows(
            case, load, met, measured.percentiles, server, hint=hint, with_gaps=with_gaps, gaps=gaps
        )
        self.unrecorded = measured.gaps.problem or record.gaps.problem

    def _one(self, case: Case, load: Load, seed: int) -> tuple[Measured, Record]:
        """A run that the generator itself calls void is done again: that is decided by its lag, not by its percentiles."""
        for _ in range(_MOST_RUNS - 1):
            found = self._run(case, load, seed)
            if found[0].void is None:
                return found
        return self._run(case, load, seed)

    def _run(self, case: Case, load: Load, seed: int) -> tuple[Measured, Record]:
        with self._supervisor.scope() as scope:
            server = self._server(case, scope)
            measured = generator.run(
                self._programs.wireload, load, scope, port=server.port, cores=self._cores.generator, seed=seed
            )
            return measured, server.end()

    def _beside(self, peer: Peer, case: Case, load: Load, base_ns: float) -> None:
        """The peer under the same load, as far as it knows such a one."""
        if load.mode not in peer.modes or case.faults.any:
            return
        with self._supervisor.scope() as scope:
            try:
                server = self._server(case, scope)
                row = run_peer(peer, case, load, scope, port=server.port, cores=self._cores.generator, base_ns=base_ns)
            except TruthServerError as error:
                self._void(case, load, f"{peer.name}: {error}")
                return
        self.peer_rows.append(row)

    def _server(self, case: Case, scope: Scope) -> TruthServer:
        return TruthServer(self._programs.truth_server, case, scope, cores=self._cores.contestant)

    def _void(self, case: Case, load: Load, why: str) -> None:
        self.results.append(VoidRow(case=case.name, mode=load.mode, rate=load.rate, why=why))


def conditions(load: Load, measured: Measured, record: Record, base_ns: float) -> Conditions:
    anchor = record.counts.anchor_unix_ns
    seconds = measured.elapsed_ns / S
    return Conditions(
        mode=load.mode,
        rate=load.rate if load.mode != "closed" else measured.count / seconds,
        connections=load.connections,
        count=measured.count,
        start_s=0.0 if anchor is None else (measured.start_unix_ns - anchor) / S,
        seconds=seconds,
        base_ns=base_ns,
    )


def distinct(names: Sequence[str], known: Sequence[str], option: str) -> tuple[str, ...]:
    """The chosen ones in the order of those known; all if none was chosen. ``ValueError`` for one that is not known."""
    for name in names:
        if name not in known:
            raise ValueError(f"{option}: expected one of {', '.join(known)}, got {name!r}")
    return tuple(name for name in known if not names or name in names)
