"""The index of the runs kept on this host: ``results/history.sqlite``.

It is a cache: whatever it holds comes from the run directories, and is read again where a run has
changed since, or wirebench, whose analysis it holds. An index that is damaged, or of another
version, is made anew, and one that cannot be written is made in memory.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirebench import __version__
from wirebench.catalog.model import Unit
from wirebench.duel.plan import STUDY as DUEL
from wirebench.report import analyse_run
from wirebench.report.facts import facts_of
from wirebench.report.figures import COLUMNS, figure_bound, value_of
from wirebench.stats.types import Bound, CellAnalysis, EntryAnalysis, Standing
from wirebench.store.jsonl import StoreError
from wirebench.store.rundir import (
    HOST_FILE,
    LEFT_FILE,
    PLAN_FILE,
    RUN_FILE,
    TRIALS_FILE,
    StoredRun,
    has_run,
    is_being_written,
    read_host,
    read_info,
    read_run,
)

_READ = (RUN_FILE, HOST_FILE, PLAN_FILE, TRIALS_FILE, LEFT_FILE)
"""The files of a run that the index rests on."""
_CONTRADICTIONS = (ArithmeticError, LookupError, TypeError, ValueError, sqlite3.IntegrityError)
"""What the analysis of a run raises whose files can each be read, but were changed by hand."""
INDEX_FILE = "history.sqlite"
VERSION = 5
_PATIENCE_S = 30.0
"""For another process that writes the index."""

_TABLES = """
CREATE TABLE runs (
    name TEXT PRIMARY KEY, stamp TEXT NOT NULL, started_unix_ns INTEGER NOT NULL,
    status TEXT NOT NULL, host_id TEXT NOT NULL, kernel TEXT NOT NULL, wirebench TEXT NOT NULL,
    studies TEXT NOT NULL, preset TEXT NOT NULL, trials INTEGER NOT NULL, problem TEXT NOT NULL
);
CREATE TABLE figures (
    run TEXT NOT NULL REFERENCES runs(name) ON DELETE CASCADE, study TEXT NOT NULL,
    cell TEXT NOT NULL, contestant TEXT NOT NULL, metric TEXT NOT NULL, value REAL NOT NULL,
    ratio REAL, low REAL, high REAL, blocks INTEGER NOT NULL, version TEXT NOT NULL,
    build TEXT NOT NULL, disturbed INTEGER NOT NULL, unit TEXT NOT NULL,
    bound TEXT, ratio_bound TEXT
);
CREATE INDEX series ON figures (study, cell, contestant, metric);
"""


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """One run directory."""

    name: str
    started_unix_ns: int
    status: str
    host_id: str
    kernel: str
    wirebench: str
    studies: tuple[str, ...]
    preset: str
    trials: int
    problem: str
    """Why it cannot be read; empty if it can."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One figure of one run."""

    run: str
    started_unix_ns: int
    value: float
    """The median over the run's blocks, in the metric's unit."""
    ratio: float | None
    """To the floor of the same run; None where the metric has no interval for it."""
    low: float | None
    high: float | None
    blocks: int
    version: str
    """Of the library; empty if it is not known."""
    build: str
    disturbed: bool
    """Whether other programs disturbed more than half of the cell's trials."""
    wirebench: str
    kernel: str
    bound: Bound | None = None
    """What the figure says of the true one, where the generator was the limit."""
    ratio_bound: Bound | None = None


@dataclass(frozen=True, kw_only=True)
class Series:
    """A figure of one contestant in one cell, oldest run first. Presets differ in how long they
    warm up and watch, so each has series of its own.
    """

    study: str
    cell: str
    contestant: str
    preset: str
    metric: str
    unit: Unit
    """What is counted of its workload."""
    points: tuple[Point, ...]


class Index:
    """The index in a folder of runs, brought up to date as it is opened.

    ``reading`` is told each run that has to be read, which takes a second or so.
    """

    def __init__(
        self, results: Path, *, reading: Callable[[str], None] = lambda _run: None
    ) -> None:
        self._results = results
        self._connection = _open(results / INDEX_FILE)
        try:
            try:
                self._update(reading)
            except sqlite3.OperationalError:  # it can be read, and not be written
                self._connection.close()
                self._connection = _in_memory()
                self._update(reading)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._connection.close()

    def runs(self) -> list[RunRow]:
        """All of them, the newest first."""
        rows = self._connection.execute(
            "SELECT name, started_unix_ns, status, host_id, kernel, wirebench, studies, preset,"
            " trials, problem FROM runs ORDER BY started_unix_ns DESC, name DESC"
        )
        return [
            RunRow(
                name=row[0],
                started_unix_ns=row[1],
                status=row[2],
                host_id=row[3],
                kernel=row[4],
                wirebench=row[5],
                studies=tuple(row[6].split()),
                preset=row[7],
                trials=row[8],
                problem=row[9],
            )
            for row in rows
        ]

    def state(self, row: RunRow) -> str:
        """Its status, or that it cannot be read. A run that was killed never wrote that it
        ended.
        """
        if row.problem:
            return "unreadable"
        if row.status != "running":
            return row.status
        return "running" if is_being_written(self._results / row.name) else "killed"

    def metrics(self) -> list[str]:
        return self._names("metric")

    def contestants(self) -> list[str]:
        return self._names("contestant")

    def cells(self) -> list[str]:
        """As ``study.cell``."""
        rows = self._connection.execute(
            "SELECT DISTINCT study || '.' || cell FROM figures WHERE study != ? ORDER BY 1", (DUEL,)
        )
        return [row[0] for row in rows]

    def _names(self, column: str) -> list[str]:
        rows = self._connection.execute(
            f"SELECT DISTINCT {column} FROM figures WHERE study != ? ORDER BY 1",  # noqa: S608  # our own names
            (DUEL,),
        )
        return [row[0] for row in rows]

    def series(
        self, metric: str, *, host_id: str, contestant: str | None = None, cell: str | None = None
    ) -> list[Series]:
        """Those of this host, by study, cell, contestant and preset. Sides of duels have none: what
        A and B are differs from one duel to the next. ``cell``: its id, or ``study.cell``.
        """
        rows = self._connection.execute(
            "SELECT f.study, f.cell, f.contestant, f.run, r.started_unix_ns, f.value, f.ratio,"
            " f.low, f.high, f.blocks, f.version, f.build, f.disturbed,"
            " r.wirebench, r.kernel, r.preset, f.unit, f.bound, f.ratio_bound"
            " FROM figures f JOIN runs r ON r.name = f.run"
            " WHERE f.metric = ? AND f.study != ? AND r.host_id = ? AND r.status = 'complete'"
            " AND (? IS NULL OR f.contestant = ?)"
            " AND (? IS NULL OR f.cell = ? OR f.study || '.' || f.cell = ?)"
            " ORDER BY f.study, f.cell, f.contestant, r.preset, r.started_unix_ns, f.run",
            (metric, DUEL, host_id, contestant, contestant, cell, cell, cell),
        )
        found: dict[tuple[str, str, str, str, Unit], list[Point]] = {}
        for row in rows:
            found.setdefault((row[0], row[1], row[2], row[15], row[16]), []).append(
                Point(
                    run=row[3],
                    started_unix_ns=row[4],
                    value=row[5],
                    ratio=row[6],
                    low=row[7],
                    high=row[8],
                    blocks=row[9],
                    version=row[10],
                    build=row[11],
                    disturbed=bool(row[12]),
                    wirebench=row[13],
                    kernel=row[14],
                    bound=row[17],
                    ratio_bound=row[18],
                )
            )
        return [
            Series(
                study=study,
                cell=name,
                contestant=who,
                preset=preset,
                metric=metric,
                unit=unit,
                points=tuple(points),
            )
            for (study, name, who, preset, unit), points in found.items()
        ]

    def _update(self, reading: Callable[[str], None]) -> None:
        there = dict(stamps(self._results))
        known = dict(self._connection.execute("SELECT name, stamp FROM runs"))
        for name in known.keys() - there.keys():
            self._forget(name)
        for name in sorted(there):
            if known.get(name) != there[name]:
                reading(name)
                self._read(name, there[name])

    def _forget(self, name: str) -> None:
        with self._connection:
            self._delete(name)

    def _delete(self, name: str) -> None:
        self._connection.execute("DELETE FROM figures WHERE run = ?", (name,))
        self._connection.execute("DELETE FROM runs WHERE name = ?", (name,))

    def _read(self, name: str, stamp: str) -> None:
        try:
            self._keep(name, stamp)
            return
        except StoreError as error:
            problem = str(error)
        except _CONTRADICTIONS as error:
            problem = f"its files contradict each other: {type(error).__name__}: {error}"
        self._replace((name, stamp, 0, "", "", "", "", "", "", 0, problem), ())

    def _keep(self, name: str, stamp: str) -> None:
        info = read_info(self._results / name)
        host = read_host(self._results / name)
        # No series has a run that did not come to its end, and one that is under way would be read
        # again after each trial.
        complete = info.status == "complete"
        figures = list(_figures(read_run(self._results / name))) if complete else []
        selection = info.selection
        row = (
            *(name, stamp, info.started_unix_ns, info.status),
            *(str(host.get("host_id", "")), str(host.get("kernel", ""))),
            *(info.wirebench, " ".join(selection.studies), selection.preset),
            *(_count_lines(self._results / name / TRIALS_FILE), ""),
        )
        self._replace(row, figures)

    def _replace(self, row: Sequence[str | int], figures: Sequence[Figure]) -> None:
        """All of a run at once: meanwhile another process may have read it, too."""
        name = str(row[0])
        with self._connection:
            self._delete(name)
            self._connection.execute(f"INSERT INTO runs VALUES ({_marks(len(row))})", row)  # noqa: S608
            self._connection.executemany(
                f"INSERT INTO figures VALUES ({_marks(16)})",  # noqa: S608
                [(name, *one) for one in figures],
            )


def _count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _open(path: Path) -> sqlite3.Connection:
    """The database with our tables; made anew where it is not one, and in memory where the folder
    takes no file.
    """
    try:
        return _open_file(path)
    except (OSError, sqlite3.OperationalError):
        return _in_memory()


def _in_memory() -> sqlite3.Connection:
    return _with_tables(sqlite3.connect(":memory:"))


def _open_file(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_PATIENCE_S)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == VERSION and _is_whole(connection):
            return connection
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            connection.close()
            raise  # it is whole, and another process writes it
    connection.close()
    # With the journal of a killed process, which would be played back into the new one.
    for one in (path, path.with_name(f"{path.name}-journal")):
        with contextlib.suppress(FileNotFoundError):
            one.unlink()
    return _with_tables(sqlite3.connect(path, timeout=_PATIENCE_S))


def _is_whole(connection: sqlite3.Connection) -> bool:
    """Whether no page of it is damaged. ``sqlite3.DatabaseError`` where a table is not there."""
    connection.execute("SELECT count(*) FROM runs").fetchone()
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    return bool(found == "ok")


def _with_tables(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        with connection:
            connection.executescript(_TABLES)
            connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def stamps(results: Path) -> Iterator[tuple[str, str]]:
    """Each run's directory, and what changes when the run does, or the analysis of it. A directory
    whose name is no text was not made by the lab.
    """
    for path in sorted(results.iterdir()) if results.is_dir() else ():
        if path.is_symlink() or not path.name.isprintable() or not has_run(path):
            continue
        states = [f"wirebench:{__version__}"]
        for name in _READ:
            try:
                state = (path / name).stat()
            except FileNotFoundError:
                continue
            states.append(f"{name}:{state.st_mtime_ns}:{state.st_size}")
        yield path.name, " ".join(states)


Figure = tuple[
    str,
    str,
    str,
    str,
    float,
    float | None,
    float | None,
    float | None,
    int,
    str,
    str,
    bool,
    Unit,
    Bound | None,
    Bound | None,
]
"""A row of the table without its run."""


def _figures(run: StoredRun) -> Iterator[Figure]:
    if run.plan is None:
        return
    facts, builds = facts_of(run), run.plan.builds
    for cell in analyse_run(run).cells:
        others = cell.other_programs
        disturbed = others is not None and 2 * others.disturbed > others.trials
        for entry in cell.entries:
            if entry.twin_of is not None or not entry.summary.trials:
                continue
            known = facts.get(entry.contestant)
            for metric in dict.fromkeys((cell.metric, *COLUMNS[cell.kind])):
                value = value_of(entry, metric)
                if value is not None:
                    yield (
                        *(cell.study, cell.cell, entry.contestant, metric, value),
                        *_ratio(cell, entry, metric),
                        entry.summary.trials,
                        known.version if known is not None else "",
                        builds.get(entry.contestant, ""),
                        disturbed,
                        cell.unit,
                        figure_bound(entry, metric),
                        standing.bound
                        if (standing := _standing(cell, entry, metric)) is not None
                        else None,
                    )


def _standing(cell: CellAnalysis, entry: EntryAnalysis, metric: str) -> Standing | None:
    return entry.standing if metric == cell.metric else entry.standings.get(metric)


def _ratio(
    cell: CellAnalysis, entry: EntryAnalysis, metric: str
) -> tuple[float | None, float | None, float | None]:
    standing = _standing(cell, entry, metric)
    ratio = standing.ratio if standing is not None else None
    return (ratio.estimate, ratio.low, ratio.high) if ratio is not None else (None, None, None)
