"""How often the verdicts of a preset would be false, and what they would miss, by simulation.

A row is a design (blocks and repeats) in a world. Its tables have entries that are 0 or just the
noise band apart, the hardest case in which every claim is false (rule: Holm's procedure should keep
the share of tables with one at 5%). They are simulated two at a time, as two runs of one truth for
``compare``. The smallest gap is searched in further tables, whose every other entry is ahead by it.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from wirebench.catalog.studies import Preset, Study
from wirebench.selftest.gaps import Gap, Share, smallest_gaps
from wirebench.selftest.tables import (
    BAND,
    Design,
    Found,
    TwoRuns,
    judge_run,
    judge_two,
    simulate_run,
    spread,
)
from wirebench.selftest.worlds import Source
from wirebench.stats.settings import DEFAULT, Settings

LIMIT = 0.05
"""The share of tables that may have a false claim."""
MOST_BLOCKS = 28
"""Presets that go on longer are simulated with this many blocks. Our own choice."""
GAP_TABLES = 0.2
"""Tables for each step of the search, as a share of the others."""
_LEAST_GAP_TABLES = 8
_STEPS = 9
"""Steps of a search, for the estimate of its time."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    designs: tuple[Design, ...]
    worlds: tuple[str, ...]
    sources: tuple[Source, ...]
    """Tables take turns over them."""
    tables: int
    """Of each row; an even number."""
    entries: int
    seed: int
    settings: Settings = DEFAULT

    @property
    def gap_tables(self) -> int:
        return max(_LEAST_GAP_TABLES, round(GAP_TABLES * self.tables))


def designs_of(studies: Iterable[Study], presets: Sequence[str] = ()) -> tuple[Design, ...]:
    """The designs of the named presets, by default all: with the blocks that every cell gets, and
    with those that an undecided one gets by the stop rule, up to ``MOST_BLOCKS``. Equal designs are
    one.
    """
    found: dict[tuple[int, int, int], dict[str, None]] = {}
    for study in studies:
        for name, preset in study.presets.items():
            if presets and name not in presets:
                continue
            for key in _sizes(preset):
                found.setdefault(key, {})[name] = None
    return tuple(
        Design(blocks=blocks, min_blocks=least, repeats=repeats, presets=tuple(names))
        for (repeats, least, blocks), names in sorted(found.items())
    )


def _sizes(preset: Preset) -> set[tuple[int, int, int]]:
    repeats, least = preset.repeats, preset.min_blocks
    most = max(least, min(preset.max_blocks, MOST_BLOCKS))
    return {(repeats, least, least), (repeats, least, most)}


@dataclass(kw_only=True)
class Row:
    """What is known of one design in one world so far."""

    design: Design
    world: str
    found: list[Found] = field(default_factory=list)
    two_runs: list[TwoRuns] = field(default_factory=list)
    gaps: tuple[Gap, ...] = ()

    @property
    def tables(self) -> int:
        return len(self.found)

    @property
    def false_tables(self) -> int:
        return sum(one.false_claims > 0 for one in self.found)

    @property
    def wrong_signs(self) -> int:
        return sum(one.wrong_signs for one in self.found)

    @property
    def coverage(self) -> Share | None:
        return Share.of([(one.covered, one.intervals) for one in self.found])

    @property
    def false_changes(self) -> Share | None:
        return Share.of([(one.false_changes, one.changes) for one in self.two_runs])

    @property
    def reversed(self) -> int:
        return sum(one.reversed for one in self.two_runs)

    @property
    def judged(self) -> bool:
        """One repeat cannot see what differs between repeats, which its report says. That row shows
        how much it misses; it does not fail the self-test.
        """
        return self.world != "run effect" or self.design.sees_repeats

    @property
    def holds(self) -> bool:
        """At most 5% of the tables with a false claim, and two Monte Carlo standard errors of that;
        no sign wrong.
        """
        most = self.tables * LIMIT + 2 * math.sqrt(self.tables * LIMIT * (1 - LIMIT))
        return self.false_tables <= most and self.wrong_signs == 0


def generator(wanted: Wanted, design: Design, world: str, table: int) -> np.random.Generator:
    """The same for every gap, so that the gaps differ by nothing else (common random numbers)."""
    place = zlib.crc32(world.encode())
    return np.random.default_rng(
        [wanted.seed, place, design.blocks, design.repeats, wanted.entries, table]
    )


def two_tables(
    wanted: Wanted, design: Design, world: str, number: int
) -> tuple[list[Found], TwoRuns]:
    """Two runs of one truth whose entries are 0 or the band apart."""
    random = generator(wanted, design, world, number)
    source = wanted.sources[number % len(wanted.sources)]
    truth = spread(wanted.entries, BAND)
    runs = [simulate_run(random, source, world, design, truth, wanted.settings) for _ in range(2)]
    judged = [judge_run(run, wanted.settings) for run in runs]
    first, second = ((run, analysis) for run, (_, analysis) in zip(runs, judged, strict=True))
    return [found for found, _ in judged], judge_two(first, second, wanted.settings)


def power(
    wanted: Wanted, design: Design, world: str, gap: float, *, tables: int | None = None
) -> Share:
    """The share of the pairs that differ by ``gap`` and are found to."""
    counts = []
    for number in range(wanted.gap_tables if tables is None else tables):
        source = wanted.sources[number % len(wanted.sources)]
        random = generator(wanted, design, world, number)
        truth = spread(wanted.entries, gap)
        run = simulate_run(random, source, world, design, truth, wanted.settings)
        found, _ = judge_run(run, wanted.settings)
        counts.append((found.found, found.differing))
    share = Share.of(counts)
    assert share is not None
    return share


# --- many rows, on all cores ----------------------------------------------------------------------


Result = tuple[list[Found], TwoRuns] | tuple[Gap, ...]


@dataclass(frozen=True, kw_only=True)
class _Job:
    wanted: Wanted
    row: int
    design: Design
    world: str
    number: int | None
    """Of the pair of tables; None: the search for the smallest gaps."""

    @property
    def analyses(self) -> int:
        return 2 if self.number is not None else _STEPS * self.wanted.gap_tables


def _jobs(wanted: Wanted, rows: Sequence[Row]) -> list[_Job]:
    """Row by row, then the next table of each, and the searches last: an interrupted self-test has
    said something of every row.
    """
    numbers: list[int | None] = [*range(wanted.tables // 2), None]
    return [
        _Job(wanted=wanted, row=place, design=row.design, world=row.world, number=number)
        for number in numbers
        for place, row in enumerate(rows)
    ]


def _work(job: _Job) -> tuple[_Job, Result]:
    if job.number is not None:
        return job, two_tables(job.wanted, job.design, job.world, job.number)
    return job, smallest_gaps(lambda gap: power(job.wanted, job.design, job.world, gap))


def _ignore_interrupts() -> None:
    """In a worker: a Ctrl-C reaches it too, but the command decides, and ends it by SIGTERM."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def estimate_s(wanted: Wanted, *, workers: int) -> float:
    """From one pair of tables of each design."""
    analyses = len(wanted.worlds) * (wanted.tables + _STEPS * wanted.gap_tables)
    seconds = 0.0
    for design in wanted.designs:
        before = time.monotonic()
        two_tables(wanted, design, wanted.worlds[0], 0)
        seconds += (time.monotonic() - before) / 2 * analyses
    return seconds / workers


def empty_rows(wanted: Wanted) -> list[Row]:
    return [Row(design=design, world=world) for design in wanted.designs for world in wanted.worlds]


def simulate(
    wanted: Wanted, rows: Sequence[Row], *, workers: int, say: Callable[[float], None]
) -> None:
    """Fill ``rows`` (of ``empty_rows``), which hold what is done when this is interrupted. ``say``
    gets the share that is done.
    """
    jobs = _jobs(wanted, rows)
    total, done = sum(job.analyses for job in jobs), 0
    # Spawned: a fork would share the locks of whatever threads the command has.
    with multiprocessing.get_context("spawn").Pool(workers, _ignore_interrupts) as pool:
        for job, result in pool.imap_unordered(_work, jobs):
            _keep(rows[job.row], result)
            done += job.analyses
            say(done / total)


def _keep(row: Row, result: Result) -> None:
    match result:
        case [[*found], TwoRuns() as two]:
            row.found += [one for one in found if isinstance(one, Found)]
            row.two_runs.append(two)
        case _:
            row.gaps = tuple(one for one in result if isinstance(one, Gap))
