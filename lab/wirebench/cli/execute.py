"""What ``run`` and ``quick`` share: from what was asked to the tables, the report and the exit
code.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from wirebench import __version__
from wirebench.catalog import Catalog, CatalogError
from wirebench.catalog.contestants import STUDIES
from wirebench.cli.arguments import default_jobs, open_catalog
from wirebench.cli.console import console, say_warning

# Everything of the later stages is imported where it is used: it takes most of a second, and --help
# should not wait for it.
if TYPE_CHECKING:
    from rich.console import Console

    from wirebench.catalog.studies import Study
    from wirebench.plan.model import Plan
    from wirebench.run.bench import Bench
    from wirebench.run.session import Scope, Session
    from wirebench.store.records import FailureRecord, RunInfo, Selection, TrialRecord
    from wirebench.store.rundir import StoredRun

RESULTS = "results"
MIN_BLOCKS = 6


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asks for."""

    label: str
    studies: tuple[str, ...]
    """Empty: all of them."""
    preset: str
    only: tuple[str, ...]
    blocks: int | None
    cells: tuple[str, ...]
    seed: int | None
    out: Path | None
    resume: str | None
    budget: str | None
    force: bool
    jobs: int | None


def execute(request: Request) -> int:
    """Carry out a run and publish it; the exit code."""
    from wirebench.catalog.studies import load_studies
    from wirebench.store.jsonl import StoreError

    catalog = open_catalog()
    studies = load_studies(catalog.root / STUDIES)
    results = request.out if request.out is not None else catalog.root / RESULTS
    try:
        return _Execution(
            request=request, catalog=catalog, studies=studies, results=results
        ).carry_out()
    except StoreError as error:
        raise CatalogError(str(error)) from error


@dataclass(frozen=True, kw_only=True)
class _Execution:
    request: Request
    catalog: Catalog
    studies: Mapping[str, Study]
    results: Path

    def carry_out(self) -> int:
        from wirebench.process.interrupt import Interrupted, hold, interruptible
        from wirebench.run.local import LocalBench
        from wirebench.run.session import finish

        out = console()
        before = self._stored(self.request.resume)
        if before is not None and before.info.status == "complete":
            out.print(f"{before.info.name} is complete", markup=False, highlight=False)
            publish(before.path, out)
            return before.info.exit_code or 0
        selection = before.info.selection if before is not None else self._selection()
        session, status, code = None, "failed", 1
        with (
            interruptible(),
            LocalBench(root=self.catalog.root, jobs=default_jobs(self.request.jobs)) as bench,
        ):
            try:
                with hold():  # either there is a run with all its files, or none
                    session = self._open(selection, before, bench, out)
                self._measure(session, out)
                status, code = "complete", session.exit_code()
            except Interrupted as interrupted:
                status, code = "interrupted", 128 + interrupted.signum
            finally:
                if session is not None:
                    finish(session, status=status, exit_code=code)
                    session.directory.close()
        if session is None:
            out.print("interrupted before anything was measured", highlight=False)
            return code
        return _conclude(session, status=status, code=code, out=out)

    def _stored(self, name: str | None) -> StoredRun | None:
        from wirebench.store.rundir import read_run

        if name is None:
            return None
        given = Path(name)
        return read_run((given if given.is_dir() else self.results / name).resolve())

    def _selection(self) -> Selection:
        from wirebench.catalog.studies import parse_duration
        from wirebench.store.records import Selection

        request = self.request
        for name in request.studies:
            if name not in self.studies:
                raise CatalogError(
                    f"STUDY: expected one of {', '.join(self.studies)}, got {name!r}"
                )
        try:
            budget_ns = parse_duration(request.budget) if request.budget is not None else None
        except ValueError as error:
            raise CatalogError(f"--budget: {error}, got {request.budget!r}") from error
        return Selection(
            studies=request.studies or tuple(self.studies),
            preset=request.preset,
            only=request.only,
            cells=request.cells,
            blocks=request.blocks,
            budget_ns=budget_ns,
            seed=request.seed if request.seed is not None else secrets.randbelow(2**31),
        )

    def _open(
        self, selection: Selection, before: StoredRun | None, bench: Bench, out: Console
    ) -> Session:
        from wirebench.run.progress import Steps
        from wirebench.run.session import Session, check_resumable, scope_of
        from wirebench.store.rundir import RunDirectory, point_latest

        wanted = self.catalog.select(selection.only)
        everybody = dict(self.catalog.contestants)
        scope = scope_of(
            selection, studies=self.studies, wanted=wanted, everybody=everybody, bench=bench
        )
        if not scope.needed and not scope.absent:
            who = ", ".join(one.identity for one in wanted)
            raise CatalogError(
                f"--only: expected contestants that take part in {', '.join(selection.studies)}, got {who}"
            )
        if before is not None:
            check_resumable(before, scope=scope, bench=bench, force=self.request.force)
            directory = RunDirectory(before.path)
            info = replace(before.info, status="running", ended_unix_ns=None, exit_code=None)
        else:
            directory = RunDirectory.create(self.results, label=self.request.label)
            info = self._info(directory.path.name, selection, scope, bench)
        directory.write_info(info)
        point_latest(directory.path)
        if before is None or not before.host:
            directory.write_host(bench.host())
        _announce(scope, directory.path, before, out)
        return Session(
            directory=directory,
            info=info,
            scope=scope,
            bench=bench,
            reporter=Steps(out),
            before=before,
        )

    def _info(self, name: str, selection: Selection, scope: Scope, bench: Bench) -> RunInfo:
        from wirebench.store.records import RunInfo

        return RunInfo(
            name=name,
            wirebench=__version__,
            status="running",
            command=_command(self.request, selection),
            selection=selection,
            started_unix_ns=time.time_ns(),
            absent=scope.absent,
            notes=bench.notes(),
        )

    def _measure(self, session: Session, out: Console) -> None:
        from wirebench.run.progress import Steps, watcher_for

        reporter = session.reporter
        if isinstance(reporter, Steps):
            with reporter:
                plan = session.prepare()
        else:
            plan = session.prepare()
        with watcher_for(plan, out) as watcher:
            measured = session.measure(plan, settled=_settled(session, plan), watcher=watcher)
        if measured.out_of_budget:
            fewest = min(measured.blocks.values())
            out.print(
                f"the time budget is used up after {_count(fewest, 'block')}{_too_few(fewest)}",
                highlight=False,
            )


def _command(request: Request, selection: Selection) -> tuple[str, ...]:
    """The arguments that repeat the run: with the seed, which is drawn when it is not given."""
    words = (
        ["wirebench", "quick"]
        if request.label == "quick"
        else ["wirebench", "run", *selection.studies]
    )
    if request.label != "quick":
        words += ["--preset", selection.preset]
    for selector in selection.only:
        words += ["--only", selector]
    if selection.cells:
        words += ["--cells", ",".join(selection.cells)]
    if selection.blocks is not None:
        words += ["--blocks", str(selection.blocks)]
    if request.budget is not None:
        words += ["--budget", request.budget]
    return (*words, "--seed", str(selection.seed))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _too_few(blocks: int) -> str:
    return f": verdicts need {MIN_BLOCKS}" if blocks < MIN_BLOCKS else ""


def _announce(scope: Scope, path: Path, before: StoredRun | None, out: Console) -> None:
    """What will be done and how long it will take, before anything is."""
    from wirebench.run.progress import duration

    selection = scope.selection
    entries = sum(len(cell.contestants) + 1 for cell in scope.cells if cell.contestants)
    blocks = selection.blocks or max((cell.preset.min_blocks for cell in scope.cells), default=0)
    names = ", ".join(study.name for study, _ in scope.studies)
    counts = f"{_count(len(scope.needed), 'contestant')}, {_count(len(scope.cells), 'cell')}"
    out.print(f"[bold]{names}[/] ({escape(selection.preset)}): {counts}", highlight=False)
    if scope.unbuilt:
        count = f"{len(scope.unbuilt)} of {len(scope.needed)} are not built yet; once built they stay so"
        out.print(f"  building   about {duration(scope.building_ns)} ({count})", highlight=False)
    out.print(f"  checking   about {duration(scope.verifying_ns)}", highlight=False)
    trials = f"{entries} entries in {_count(blocks, 'block')}, floor and twins among them"
    out.print(f"  measuring  about {duration(scope.measuring_ns)} ({trials})", highlight=False)
    if before is not None:
        done = sum(1 for record in before.trials if record.block > 0)
        out.print(
            f"  resumed    {done} trials of this run are done and are not repeated", highlight=False
        )
    if scope.budget_ns is not None and scope.budget_ns < scope.measuring_ns:
        fitting = blocks * scope.budget_ns // max(1, scope.measuring_ns)
        holds = f"holds about {_count(fitting, 'block')}{_too_few(fitting)}"
        say_warning(f"the budget of {duration(scope.budget_ns)} {holds}")
    elif selection.blocks is not None and selection.blocks < MIN_BLOCKS:
        say_warning(
            f"figures of {_count(selection.blocks, 'block')}, but no verdicts: those need {MIN_BLOCKS}"
        )
    for note in scope_notes(scope):
        out.print(f"  {note}", markup=False, highlight=False, soft_wrap=True)
    out.print(
        f"  into       {path} (Ctrl-C keeps what is done)",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def scope_notes(scope: Scope) -> Iterable[str]:
    """Who is not in the run, and the line that changes it: one for each line, since many lack the
    same.
    """
    by_line: dict[tuple[str, str | None], list[str]] = {}
    for absent in scope.absent:
        key = ("", absent.install) if absent.install else (absent.reason, None)
        by_line.setdefault(key, []).append(absent.contestant)
    for (reason, install), names in by_line.items():
        yield f"without {', '.join(names)}: {install or reason}"
    if not scope.selection.only:
        left_out = {name for _, preset in scope.studies for name in preset.without}
        spared = sorted(left_out - set(scope.needed))
        if spared:
            yield f"without {', '.join(spared)}: left out by this preset to be short; --only or another preset measures them"


def _settled(session: Session, plan: Plan) -> Callable[[str, int], bool]:
    """Whether the intervals of a cell are narrow enough, by the statistics over the trials so far."""
    from wirebench.stats import settled

    cells = {cell.key: cell for cell in plan.cells}
    return lambda key, _blocks: settled(session.trials, cells[key])


def _conclude(session: Session, *, status: str, code: int, out: Console) -> int:
    """Tables, report, who failed and how to go on."""
    path = session.directory.path
    if any(record.status == "ok" for record in session.trials):
        publish(path, out)
    elif status == "complete":
        out.print("nothing valid was measured", highlight=False)
    for line in failure_lines(session.trials):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    if status == "interrupted":
        done = sum(1 for record in session.trials if record.block > 0)
        command = "quick" if session.info.command[1] == "quick" else "run"
        out.print(
            f"interrupted with {done} trials done, all kept; 'wirebench {command} --resume {path.name}' completes the run",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    return code


def publish(path: Path, out: Console) -> None:
    """Tables to the terminal and into the run's directory, the report, and ``latest``."""
    from wirebench.cli.table import run_tables, write_tables
    from wirebench.report import analyse_run, write_report
    from wirebench.store.rundir import TABLE_FILE, read_run

    run = read_run(path)
    analysis = analyse_run(run)
    studies = run.plan.studies if run.plan is not None else ()

    def draw(console: Console) -> None:
        for part in run_tables(analysis, studies, width=console.width):
            console.print(part)

    write_tables(path / TABLE_FILE, draw)
    draw(out)
    report = write_report(path)
    out.print(f"report: {report}", markup=False, highlight=False, soft_wrap=True)


def failure_lines(trials: Iterable[TrialRecord]) -> Iterable[str]:
    """Each contestant that failed, with what it was sent, what was expected and what came: the
    first of each kind.
    """
    seen: dict[tuple[str, str], tuple[FailureRecord, list[str]]] = {}
    for record in trials:
        if record.status == "failed" and record.failure is not None:
            _, cells = seen.setdefault(
                (record.contestant, record.failure.kind), (record.failure, [])
            )
            cells.append(f"{record.study} {record.cell}")
    for (contestant, kind), (failure, cells) in seen.items():
        yield f"failed: {contestant} ({', '.join(dict.fromkeys(cells))}): {kind}: {failure.message}"
        for name, text in (
            ("sent", failure.sent),
            ("expected", failure.expected),
            ("received", failure.received),
        ):
            if text:
                yield f"  {name:<9}{text}"
