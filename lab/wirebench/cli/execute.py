"""What ``run`` and ``quick`` share: from the request to the tables, the report and the
exit code.
"""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from wirebench import __version__
from wirebench.catalog import Catalog, CatalogError
from wirebench.catalog.contestants import STUDIES
from wirebench.cli.announce import announce, ending_lines
from wirebench.cli.arguments import check_folder, default_jobs, open_catalog, say_left_out
from wirebench.cli.console import EXIT_UNAVAILABLE, console, say_error, say_warning
from wirebench.cli.forecast import expected_widths, print_forecast
from wirebench.cli.publish import conclude, publish

# Everything of the later stages is imported where it is used: it takes most of a second, and --help
# should not wait for it.
if TYPE_CHECKING:
    from rich.console import Console

    from wirebench.catalog.selection import RampSize
    from wirebench.catalog.studies import Study
    from wirebench.plan.model import Plan
    from wirebench.plan.stop import Look
    from wirebench.run.bench import Bench
    from wirebench.run.local import LocalBench
    from wirebench.run.measure import Measured
    from wirebench.run.scope import Scope
    from wirebench.run.session import Session
    from wirebench.run.spec import Capacity
    from wirebench.store.records import RunInfo, Selection
    from wirebench.store.rundir import StoredRun

RESULTS = "results"


@dataclass(frozen=True, kw_only=True)
class Request:
    """The request of a command line."""

    label: str
    studies: tuple[str, ...]
    """Empty for all of them."""
    preset: str
    only: tuple[str, ...]
    blocks: int | None
    cells: tuple[str, ...]
    ramp: RampSize | None = None
    """Ramps of this size instead of the preset's cells."""
    seed: int | None
    out: Path | None
    resume: str | None
    budget: str | None
    repeats: int | None
    dry_run: bool
    force: bool
    jobs: int | None


class Site(Protocol):
    """Where a run measures."""

    command: str
    """The words after ``wirebench`` that start a run there, and complete it with --resume, quoted
    for a shell.
    """

    def bench(self, root: Path, *, jobs: int) -> AbstractContextManager[Bench]:
        """The bench, entered for the time of the run."""
        ...

    def measure(self, session: Session, plan: Plan, *, look: Look, out: Console) -> Measured: ...


class LocalSite:
    """This machine."""

    command = "run"

    def bench(self, root: Path, *, jobs: int) -> LocalBench:
        from wirebench.run.local import LocalBench

        return LocalBench(root=root, jobs=jobs)

    def measure(self, session: Session, plan: Plan, *, look: Look, out: Console) -> Measured:
        from wirebench.run.progress import watcher_for
        from wirebench.stats import dropped_blocks, repeat_reason

        with watcher_for(plan, out) as watcher:
            return session.measure(
                plan,
                look=look,
                capacity=_capacity(session, plan),
                dropped=lambda block: bool(dropped_blocks(block)),
                void=repeat_reason,
                watcher=watcher,
            )


HERE: Site = LocalSite()


def execute(request: Request, *, site: Site = HERE) -> int:
    """Carry out a run, publish it, and return the exit code."""
    from wirebench.catalog.study_files import load_studies
    from wirebench.store.jsonl import StoreError

    catalog = open_catalog()
    studies = load_studies(catalog.root / STUDIES)
    results = request.out if request.out is not None else catalog.root / RESULTS
    if request.resume is None:
        check_folder("--out", results)
    try:
        return _Execution(
            request=request, catalog=catalog, studies=studies, results=results, site=site
        ).carry_out()
    except StoreError as error:
        raise CatalogError(str(error)) from error


@dataclass(frozen=True, kw_only=True)
class _Execution:
    request: Request
    catalog: Catalog
    studies: Mapping[str, Study]
    results: Path
    site: Site

    def carry_out(self) -> int:
        from wirebench.process.interrupt import Interrupted, hold, interruptible
        from wirebench.run.session import RunStopped
        from wirebench.stats import counted_trials, repeat_reason
        from wirebench.store.jsonl import no_room

        out = console()
        before = self._stored(self.request.resume)
        if before is not None and before.info.status == "complete":
            out.print(f"{before.info.name} is complete", markup=False, highlight=False)
            if not self.request.dry_run:
                _show_again(before, out)
            return before.info.exit_code or 0
        if before is not None:
            self._check_study(before)
        selection = before.info.selection if before is not None else self._selection()
        if self.request.dry_run:
            return self._say_what_would_run(selection, before, out)
        session, status, code = None, "failed", 1
        with (
            interruptible(),
            self.site.bench(self.catalog.root, jobs=default_jobs(self.request.jobs)) as bench,
        ):
            try:
                with hold():  # a run exists with all its files, or not at all
                    session = self._open(selection, before, bench, out)
                self._measure(session, out)
                code = session.exit_code(counted=counted_trials, void=repeat_reason)
                status = "complete"
            except Interrupted as interrupted:
                status, code = "interrupted", 128 + interrupted.signum
            except RunStopped as stopped:
                say_error(str(stopped))
                status, code = "interrupted", EXIT_UNAVAILABLE
            except OSError as error:
                if session is None or (full := no_room(error)) is None:
                    raise
                say_error(full)
                status, code = "interrupted", EXIT_UNAVAILABLE
            finally:
                if session is not None:
                    status, code = _end(session, status=status, code=code)
        if session is None:
            out.print("interrupted before anything was measured", highlight=False)
            return code
        command = words_to_resume(
            "quick" if session.info.command[1] == "quick" else self.site.command,
            session.directory.path,
            results=self.catalog.root / RESULTS,
        )
        return conclude(session, status=status, code=code, out=out, command=command)

    def _stored(self, name: str | None) -> StoredRun | None:
        from wirebench.store.rundir import read_run

        if name is None:
            return None
        given = Path(name)
        return read_run((given if given.is_dir() else self.results / name).resolve())

    def _check_study(self, run: StoredRun) -> None:
        """``CatalogError`` where it cannot be completed, whatever this host has."""
        from wirebench.duel.plan import STUDY as DUEL

        unknown = [one for one in run.info.selection.studies if one not in self.studies]
        if DUEL in unknown:
            raise CatalogError(
                "--resume: expected a run of a study, got a duel or gate:"
                f" {run.info.name}; start it again"
            )
        if unknown:
            raise CatalogError(
                f"--resume: expected a run of {', '.join(self.studies)}, got one of"
                f" {', '.join(unknown)}: {run.info.name}"
            )

    def _selection(self) -> Selection:
        from wirebench.catalog.units import parse_duration
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
            ramp=request.ramp,
            blocks=request.blocks,
            budget_ns=budget_ns,
            repeats=request.repeats,
            seed=request.seed if request.seed is not None else secrets.randbelow(2**31),
        )

    def _say_what_would_run(
        self, selection: Selection, before: StoredRun | None, out: Console
    ) -> int:
        """``--dry-run``: nothing is built, started or written."""
        from wirebench.run.local import LocalBench

        bench = LocalBench(root=self.catalog.root, jobs=default_jobs(self.request.jobs))
        scope = self._scope(selection, before, bench)
        print_forecast(scope, out, before=before, results=self.results, host=bench.host())
        return 0

    def _scope(self, selection: Selection, before: StoredRun | None, bench: Bench) -> Scope:
        from wirebench.run.scope import scope_of
        from wirebench.stats.pace import remembered_paces

        wanted = self.catalog.select(selection.only)
        everybody = dict(self.catalog.contestants)
        scope = scope_of(
            selection,
            studies=self.studies,
            wanted=wanted,
            everybody=everybody,
            bench=bench,
            paces=remembered_paces(self.results, host_id=str(bench.host().get("host_id", ""))),
            planned=(
                {cell.key for cell in before.plan.cells}
                if before is not None and before.plan is not None
                else None
            ),
        )
        if not scope.needed and not scope.absent:
            who = ", ".join(one.identity for one in wanted)
            raise CatalogError(
                f"--only: expected contestants that take part in {', '.join(selection.studies)},"
                f" got {who}"
            )
        known = {one.identity for cell in scope.cells for one in cell.contestants}
        known |= {one.contestant for one in scope.absent}
        say_left_out(
            self.catalog, selection.only, known, why="it takes part in no cell of this run"
        )
        return scope

    def _open(
        self, selection: Selection, before: StoredRun | None, bench: Bench, out: Console
    ) -> Session:
        from wirebench.run.progress import Steps
        from wirebench.run.resume import check_resumable
        from wirebench.run.session import Session
        from wirebench.store.rundir import RunDirectory, point_latest

        scope = self._scope(selection, before, bench)
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
        widths = expected_widths(scope, self.results, host_id=str(bench.host().get("host_id", "")))
        announce(scope, directory.path, before, out, widths=widths)
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
            command=_command(self.request, selection, self.site),
            selection=selection,
            started_unix_ns=time.time_ns(),
            absent=scope.absent,
            notes=(*bench.notes(), *scope.notes),
        )

    def _measure(self, session: Session, out: Console) -> None:
        from wirebench.run.progress import Steps

        reporter = session.reporter
        if isinstance(reporter, Steps):
            with reporter:
                plan = session.prepare()
        else:
            plan = session.prepare()
        measured = self.site.measure(session, plan, look=_look(session, plan), out=out)
        for line in ending_lines(measured):
            out.print(line, markup=False, highlight=False, soft_wrap=True)


def _show_again(run: StoredRun, out: Console) -> None:
    """Publish a complete run, which may lie in a folder that can only be read."""
    from wirebench.store.jsonl import no_room

    try:
        publish(run.path, out)
    except OSError as error:
        if no_room(error) is not None:
            raise
        say_warning(f"{error.filename or run.path}: not written: {error.strerror}")


def _end(session: Session, *, status: str, code: int) -> tuple[str, int]:
    """Close the run. The status and exit code that it has in the end."""
    from wirebench.run.session import finish
    from wirebench.store.jsonl import no_room

    try:
        finish(session, status=status, exit_code=code)
    except OSError as error:
        if (full := no_room(error)) is None:
            raise
        if code != EXIT_UNAVAILABLE:
            say_error(full)
        return "interrupted", EXIT_UNAVAILABLE
    finally:
        session.directory.close()
    return status, code


def words_to_resume(command: str, run: Path, *, results: Path) -> str:
    """The words between ``wirebench`` and ``--resume`` that find the run by its name.
    ``results``: where it is looked for without ``--out``.
    """
    folder = run.resolve().parent
    return command if folder == results.resolve() else f"{command} --out {shlex.quote(str(folder))}"


def _command(request: Request, selection: Selection, site: Site) -> tuple[str, ...]:
    """The arguments that repeat the run, with its seed even if that was drawn."""
    words = (
        ["wirebench", "quick"]
        if request.label == "quick"
        else ["wirebench", *shlex.split(site.command), *selection.studies]
    )
    if request.label != "quick":
        words += ["--preset", selection.preset]
    for selector in selection.only:
        words += ["--only", selector]
    if selection.cells:
        words += ["--cells", ",".join(selection.cells)]
    if selection.ramp is not None:
        for name, value in asdict(selection.ramp).items():
            words += [f"--{name}", str(value)]
    if selection.blocks is not None:
        words += ["--blocks", str(selection.blocks)]
    if request.budget is not None:
        words += ["--budget", request.budget]
    if selection.repeats is not None:
        words += ["--repeats", str(selection.repeats)]
    return (*words, "--seed", str(selection.seed))


def _look(session: Session, plan: Plan) -> Look:
    """Whom of a cell more blocks would not help, by the trials so far."""
    from wirebench.report import history_of
    from wirebench.stats import standstill
    from wirebench.store.rundir import read_run

    history = history_of(read_run(session.directory.path))
    return lambda key, block, present: standstill(
        session.trials, plan, key, block=block, present=present, history=history
    )


def _capacity(session: Session, plan: Plan) -> Capacity:
    """The throughput of a contestant in a cell, by the trials so far."""
    from wirebench.stats import capacity

    cells = {cell.key: cell for cell in plan.cells}
    return lambda key, contestant: capacity(session.trials, cells[key], contestant)
