"""Run the self-test: rounds of every case under every load, the base first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirebench.process.supervise import Scope, Supervisor
from wirebench.process.types import Cores
from wirebench.selftest import generator
from wirebench.selftest.beside import Peer, PeerRow
from wirebench.selftest.cases import NO_DELAY, Case, Load, Size, base_load, fitted, load_for
from wirebench.selftest.generator import GeneratorError, Measured
from wirebench.selftest.judge import errors_of, median, spread
from wirebench.selftest.laws import Conditions, Mode, S
from wirebench.selftest.repeats import Base, Group, Run
from wirebench.selftest.truth_server import Record, TruthServer, TruthServerError
from wirebench.stats.types import MetricSummary

_LONGEST_BASE_NS = 1_000_000
"""A machine whose round trip takes longer than this cannot be used for the self-test. Our own
choice.
"""

_MOST_SEEDS = 3
"""Attempts of a run with faults, until no fault is near the start of the window. Our own choice."""
_AROUND_S = 0.7
"""Time of a run besides its window and warm-up: two programs start and stop. For the estimate."""


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
    repeats: int
    """Repeats of every run, each in its own round."""
    seed: int = 1
    parts: int = 1
    """Generators that put each load on the server together."""
    engine: str | None = None
    """wireload's, of every run; None: the one that it chooses."""


Say = Callable[[str], None]


def runs(wanted: Wanted, size: Size) -> Iterator[tuple[Case, Load]]:
    """One round. A closed loop that cannot make a higher rate, or whose rate is the machine's
    affair, is run once.
    """
    for case in wanted.cases:
        for mode in wanted.modes:
            seen = None
            for rate in wanted.rates:
                load = load_for(case, mode, rate, size)
                if mode != "closed" or seen is None or load.connections != seen:
                    yield fitted(case, load), load
                seen = load.connections


def base_loads(wanted: Wanted, size: Size) -> Iterator[Load]:
    for mode in wanted.modes:
        for rate in wanted.rates[:1] if mode == "closed" else wanted.rates:
            yield base_load(mode, rate, size)


def estimate_s(wanted: Wanted, size: Size) -> float:
    """Of the whole self-test without peers, from what its runs are asked for."""
    loads = [*base_loads(wanted, size), *(load for _, load in runs(wanted, size))]
    return wanted.repeats * sum(load.seconds + _AROUND_S for load in loads)


class Suite:
    """One self-test: all cases under all loads, again and again, so that a bad phase of the machine
    hits all of them.

    ``groups``, ``bases``, ``peer_rows`` and ``missing`` grow as it runs, and hold what is done when
    it is interrupted.
    """

    def __init__(
        self,
        wanted: Wanted,
        size: Size,
        *,
        programs: Programs,
        supervisor: Supervisor,
        cores: Cores,
        say: Say,
    ) -> None:
        self.peer_rows: list[PeerRow] = []
        self.missing: list[str] = []
        """Runs of the base and of peers that said nothing, and why."""
        self._bases: dict[tuple[Mode, int], list[float]] = {}
        self._ways: dict[tuple[Mode, int], list[float]] = {}
        self._runs: list[list[Run]] = []
        """In the order of runs()."""
        self._wanted = wanted
        self._size = size
        self._programs = programs
        self._supervisor = supervisor
        self._cores = cores
        self._say = say

    def run(self) -> None:
        every = list(runs(self._wanted, self._size))
        self._runs = [[] for _ in every]
        for number in range(1, self._wanted.repeats + 1):
            where = f"round {number} of {self._wanted.repeats}"
            for load in base_loads(self._wanted, self._size):
                self._say(f"{where}: base, {load.mode}, {load.rate:,}/s")
                self._measure_base(load, number)
            for (case, load), done in zip(every, self._runs, strict=True):
                self._say(f"{where}: {case.name}, {load.mode}, {load.rate:,}/s")
                done.append(self._measure(case, load, number))
                if number == 1:
                    self._beside_peers(case, load)

    @property
    def bases(self) -> dict[tuple[Mode, int], MetricSummary]:
        return {
            load: found
            for load, values in self._bases.items()
            if (found := spread(values)) is not None
        }

    @property
    def groups(self) -> list[Group]:
        return [
            Group(
                case=case,
                load=load,
                wanted=self._wanted.repeats,
                base=self._base(load),
                runs=tuple(done),
            )
            for (case, load), done in zip(runs(self._wanted, self._size), self._runs, strict=False)
        ]

    def _base(self, load: Load) -> Base | None:
        """Of an open loop at its rate. Of a closed one there is one base: its rate is what its
        connections make.
        """
        key = (load.mode, self._wanted.rates[0] if load.mode == "closed" else load.rate)
        total, way = median(self._bases.get(key, ())), median(self._ways.get(key, ()))
        return None if total is None or way is None else Base(total_ns=total, way_ns=way)

    def _measure_base(self, load: Load, number: int) -> None:
        try:
            measured, record = self.once(
                Case(name="no delay", law=NO_DELAY), load, self._wanted.seed + number * _MOST_SEEDS
            )
        except (GeneratorError, TruthServerError) as error:
            why = str(error)
        else:
            base, own = measured.percentiles.get("p50"), recorded(measured, record).get("p50")
            if (
                measured.void is None
                and base is not None
                and own is not None
                and base <= _LONGEST_BASE_NS
            ):
                self._bases.setdefault((load.mode, load.rate), []).append(base)
                self._ways.setdefault((load.mode, load.rate), []).append(base - own)
                return
            why = measured.void or f"the median without any delay is {base} ns"
        self.missing.append(f"base, {load.mode}, {load.rate:,}/s, round {number}: {why}")

    def _measure(self, case: Case, load: Load, number: int) -> Run:
        """Never again because of what was measured: a void run is void, and its repeats are the
        other rounds.
        """
        try:
            for seed in range(_MOST_SEEDS):
                measured, record = self.once(
                    case, load, self._wanted.seed + number * _MOST_SEEDS + seed
                )
                before = record.counts.requests - measured.requests
                # How many random arrivals the warm-up has is the seed's affair, and known when the
                # server has counted them.
                if not case.faults.any or case.faults.spare(before):
                    break
        except (GeneratorError, TruthServerError) as error:
            return Run(round=number, void=str(error))
        errors = None
        if case.faults.any:
            errors = errors_of(
                case,
                requests=measured.requests,
                measured=measured.errors,
                server=record.counts.errors,
                before=before,
            )
        return Run(
            round=number,
            void=measured.void,
            met=conditions(load, measured, record),
            measured=measured.percentiles,
            server=recorded(measured, record),
            errors=errors,
            evictions_per_s=measured.evictions_per_s,
            engine=measured.engine,
        )

    def once(self, case: Case, load: Load, seed: int) -> tuple[Measured, Record]:
        """One run, with a fresh server."""
        with self._supervisor.scope() as scope:
            server = self._server(case, scope)
            measured = generator.run(
                self._programs.wireload,
                load,
                scope,
                port=server.port,
                cores=self._cores.generator,
                seed=seed,
                parts=self._wanted.parts,
                engine=self._wanted.engine,
            )
            return measured, server.end()

    def _beside_peers(self, case: Case, load: Load) -> None:
        """Once each: what they say has no verdict."""
        base = self._base(load)
        if base is not None:
            for peer in self._programs.peers:
                self._beside(peer, case, load, base.total_ns)

    def _beside(self, peer: Peer, case: Case, load: Load, base_ns: float) -> None:
        """The peer under the same load, as far as it knows such a one."""
        if load.mode not in peer.modes or case.faults.any:
            return
        with self._supervisor.scope() as scope:
            try:
                server = self._server(case, scope)
                row = peer.run(
                    case,
                    load,
                    scope,
                    port=server.port,
                    cores=self._cores.generator,
                    base_ns=base_ns,
                )
            except TruthServerError as error:
                self.missing.append(
                    f"{peer.name}, {case.name}, {load.mode}, {load.rate:,}/s: {error}"
                )
                return
        self.peer_rows.append(row)

    def _server(self, case: Case, scope: Scope) -> TruthServer:
        return TruthServer(self._programs.truth_server, case, scope, cores=self._cores.contestant)


def recorded(measured: Measured, record: Record) -> dict[str, float | None]:
    """What the server recorded of the window."""
    return record.percentiles(measured.start_unix_ns, measured.start_unix_ns + measured.elapsed_ns)


def conditions(load: Load, measured: Measured, record: Record) -> Conditions:
    anchor = record.counts.anchor_unix_ns
    seconds = measured.elapsed_ns / S
    return Conditions(
        mode=load.mode,
        rate=load.rate if load.mode != "closed" else measured.count / seconds,
        connections=load.connections,
        count=measured.count,
        start_s=0.0 if anchor is None else (measured.start_unix_ns - anchor) / S,
        seconds=seconds,
        base_ns=0,
    )


def distinct(names: Sequence[str], known: Sequence[str], option: str) -> tuple[str, ...]:
    """The chosen ones in the order of those known; all if none was chosen. ``ValueError`` for one
    that is not known.
    """
    for name in names:
        if name not in known:
            raise ValueError(f"{option}: expected one of {', '.join(known)}, got {name!r}")
    return tuple(name for name in known if not names or name in names)
