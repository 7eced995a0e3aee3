"""Progress of a run. It is drawn between trials only: drawing would take time from a
timed window.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from wirebench.catalog.loads import link_of
from wirebench.catalog.units import count_of, rough_duration
from wirebench.plan.blocks import PlannedTrial
from wirebench.plan.model import Plan
from wirebench.store.records import VerifyRecord
from wirebench.trial.record import FailureRecord, TrialRecord, who_failed


def failure_line(record: TrialRecord) -> str:
    what = f"{record.failure.kind}: {record.failure.message}" if record.failure else "failed"
    whose = who_failed(record)
    own = whose in (None, record.contestant)
    who = record.entry if own else f"{whose}, called by {record.entry},"
    return f"{who} in {record.study} {record.cell}, block {record.block}: {what}"


class LinkLines:
    """Once for each cell over a link, its round trip as measured before the first trial."""

    def __init__(self, plan: Plan) -> None:
        self._links = {cell.key: link_of(cell.cell.load) for cell in plan.cells}

    def line(self, record: TrialRecord) -> str | None:
        link = self._links.get(f"{record.study}.{record.cell}")
        measured = record.metrics.get("link_rtt_ns")
        if link is None or measured is None:
            return None
        del self._links[f"{record.study}.{record.cell}"]
        return (
            f"{record.study} {record.cell}: link of {link}, measured {measured / 1e6:.2f} ms"
            " through the floor"
        )


class Bar:
    """A progress bar on a terminal. It has no thread: only ``before`` and ``after`` draw."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._console = console
        self._blocks = {cell.key: cell.min_blocks for cell in plan.cells}
        self._spent = 0
        self._links = LinkLines(plan)
        self._progress = Progress(
            TextColumn("{task.percentage:>3.0f}%"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[left]} left"),
            TextColumn("{task.description}"),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._task: TaskID = self._progress.add_task("", total=1, left="")

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._progress.stop()

    def before(self, trial: PlannedTrial, *, left_ns: int) -> None:
        blocks = self._blocks[f"{trial.study}.{trial.cell}"]
        where = (
            f"{trial.study} {trial.cell}, block {trial.block} of {max(blocks, trial.block)}:"
            f" {trial.entry.name}"
        )
        self._draw(where, left_ns)

    def after(self, record: TrialRecord, *, left_ns: int) -> None:
        self._spent += record.elapsed_ns
        if line := self._links.line(record):
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        if who_failed(record) is not None:
            self._console.print(
                f"[red]failed[/] {escape(failure_line(record))}", highlight=False, soft_wrap=True
            )

    def _draw(self, where: str, left_ns: int) -> None:
        self._progress.update(
            self._task,
            total=max(1, self._spent + left_ns),
            completed=self._spent,
            description=escape(where),
            left=rough_duration(left_ns),
        )
        self._progress.refresh()


class Lines:
    """One line at the start of each block of a cell, for logs and pipes."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._console = console
        self._cells = {cell.key: cell for cell in plan.cells}
        self._shown: set[tuple[str, int]] = set()
        self._links = LinkLines(plan)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def before(self, trial: PlannedTrial, *, left_ns: int) -> None:
        key = f"{trial.study}.{trial.cell}"
        if (key, trial.block) in self._shown:
            return
        self._shown.add((key, trial.block))
        cell = self._cells[key]
        # Later blocks are without those who left.
        early = trial.block <= cell.min_blocks
        trials = f"{count_of(len(cell.entries), 'trial')}, " if early else ""
        self._say(
            f"{trial.study} {trial.cell}: block {trial.block} of"
            f" {max(cell.min_blocks, trial.block)}, {trials}about {rough_duration(left_ns)} left"
        )

    def after(self, record: TrialRecord, *, left_ns: int) -> None:
        if line := self._links.line(record):
            self._say(line)
        if who_failed(record) is not None:
            self._say(f"failed {failure_line(record)}")

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class Steps:
    """Progress of builds and checks: a bar on a terminal, lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.percentage:>3.0f}%"),
            BarColumn(bar_width=24),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: TaskID = self._progress.add_task("", total=None)

    def __enter__(self) -> Steps:
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._progress.stop()

    def building(self, names: Sequence[str], done: int, count: int) -> None:
        self._now(f"building {', '.join(names)} ({done} of {count} done)", done + 1, count)

    def built(self, name: str, failure: FailureRecord | None) -> None:
        if failure is not None:
            self._failed(f"{name}: {failure.kind}: {failure.message}")

    def verifying(self, name: str, workload: str, number: int, count: int) -> None:
        self._now(f"checking {name}: {workload} ({number} of {count})", number, count)

    def verified(self, record: VerifyRecord) -> None:
        if record.failure is not None:
            self._failed(
                f"{record.contestant} {record.workload}: {record.failure.kind}:"
                f" {record.failure.message}"
            )

    def _now(self, line: str, number: int, count: int) -> None:
        if self._console.is_terminal:
            self._progress.update(
                self._task, total=count, completed=number - 1, description=escape(line)
            )
        else:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _failed(self, line: str) -> None:
        self._console.print(f"[red]failed[/] {escape(line)}", highlight=False, soft_wrap=True)


def watcher_for(plan: Plan, console: Console) -> Bar | Lines:
    return Bar(plan, console) if console.is_terminal else Lines(plan, console)
