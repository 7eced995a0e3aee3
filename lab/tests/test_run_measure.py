"""The measuring loop with fake contestants and a fake clock: no process, no waiting."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from test_store import plan as small_plan
from wirebench.cli.announce import ending_lines
from wirebench.plan.blocks import PlannedTrial, entries_of
from wirebench.plan.estimate import MOVE_NS, Pace
from wirebench.plan.model import Plan, PlannedCell
from wirebench.plan.stop import Look, Standstill
from wirebench.run.measure import Measured, RunBlock, measure, not_run
from wirebench.store.records import LeftRecord
from wirebench.trial.record import FailureRecord, TrialRecord

TRIAL_NS = 1_000_000_000


class KilledError(Exception):
    """Stands for a signal between two trials."""


@dataclass
class FakeLab:
    """Runs trials in no time on a clock of its own; ``fails`` says which entries fail, and how."""

    fails: Callable[[PlannedTrial], str | None] = lambda _: None
    now_ns: int = 0
    kept: list[TrialRecord] = field(default_factory=list)
    gone: list[LeftRecord] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    die_after: int | None = None
    disturbed: Callable[[str, int], bool] = lambda _cell, _block: False
    """Whether the host disturbs this block of the cell."""
    void: Callable[[int, TrialRecord], str | None] = lambda _number, _record: None
    """Why the trial that ran as number n, from 1, says nothing."""

    def clock_ns(self) -> int:
        return self.now_ns

    def run_trial(self, trial: PlannedTrial, cell: PlannedCell) -> TrialRecord:
        if self.die_after is not None and len(self.ran) >= self.die_after:
            raise KilledError
        assert cell.key == f"{trial.study}.{trial.cell}"
        self.ran.append(trial.id)
        self.now_ns += TRIAL_NS
        kind = self.fails(trial)
        return TrialRecord(
            trial=trial.id,
            study=trial.study,
            cell=trial.cell,
            block=trial.block,
            position=trial.position,
            entry=trial.entry.name,
            contestant=trial.entry.contestant,
            twin_of=trial.entry.twin_of,
            status="ok" if kind is None else "failed",
            failure=None
            if kind is None
            else FailureRecord(kind=kind, phase="window", message=kind),
            started_unix_ns=self.now_ns,
            elapsed_ns=TRIAL_NS,
        )

    def before(self, trial: PlannedTrial, *, left_ns: int) -> None:
        self.left.append(left_ns)

    def after(self, record: TrialRecord, *, left_ns: int) -> None:
        assert record in self.kept, "a trial is stored before anything else is done with it"

    def measure(
        self,
        plan: Plan,
        *,
        done: tuple[TrialRecord, ...] = (),
        settled: Callable[[str, int], bool] = lambda *_: True,
        look: Look | None = None,
        run_block: RunBlock | None = None,
    ) -> Measured:
        def all_or_none(key: str, blocks: int, present: frozenset[str]) -> Standstill:
            return Standstill(settled=dict.fromkeys(present if settled(key, blocks) else (), "x"))

        return measure(
            plan,
            done=done,
            run_trial=self.run_trial,
            keep=self.kept.append,
            leave=self.gone.append,
            look=look or all_or_none,
            dropped=lambda block: self.disturbed(block[0].cell, block[0].block),
            clock_ns=self.clock_ns,
            pace=Pace(
                estimated={
                    (cell.key, entry.name): TRIAL_NS
                    for cell in plan.cells
                    for entry in cell.entries
                }
            ),
            watcher=self,
            void=lambda record: self.void(len(self.ran), record),
            run_block=run_block,
        )


class SlowLab(FakeLab):
    """Trials of c1000 take ten times as long as planned."""

    def run_trial(self, trial: PlannedTrial, cell: PlannedCell) -> TrialRecord:
        record = super().run_trial(trial, cell)
        if trial.cell != "c1000":
            return record
        self.now_ns += 9 * TRIAL_NS
        return replace(record, elapsed_ns=10 * TRIAL_NS)


def plan(*, max_blocks: int = 6, budget_ns: int | None = None) -> Plan:
    """Two cells: three entries with the twin, and four."""
    base = small_plan()
    first = replace(base.cells[0], max_blocks=max_blocks)
    entries = entries_of(("cpp/floor", "go/x", "node/y"), twin="node/y")
    second = replace(first, cell=replace(first.cell, id="c1000"), entries=entries)
    return replace(base, cells=(first, second), budget_ns=budget_ns)


def test_every_entry_runs_once_in_each_block_and_cells_take_turns() -> None:
    lab = FakeLab()
    result = lab.measure(plan())
    assert result.blocks == {"concurrency.c50": 6, "concurrency.c1000": 6}
    assert lab.ran == [trial.id for trial in plan().blocks(range(1, 7))]
    assert len(lab.ran) == len(set(lab.ran)) == 6 * (3 + 4)
    assert [record.cell for record in lab.kept[:10]] == ["c50"] * 3 + ["c1000"] * 4 + ["c50"] * 3


def test_the_trials_of_a_block_may_run_at_the_same_time() -> None:
    lab = FakeLab(fails=lambda trial: "crashed" if trial.entry.name == "go/x" else None)
    blocks: list[list[str]] = []

    def run_block(trials: Sequence[PlannedTrial], cell: PlannedCell) -> list[TrialRecord]:
        blocks.append([trial.entry.name for trial in trials])
        begun = lab.now_ns
        records = [lab.run_trial(trial, cell) for trial in trials]
        # They all took as long as the block.
        return [replace(one, elapsed_ns=lab.now_ns - begun) for one in records]

    wanted = plan()
    result = lab.measure(wanted, run_block=run_block)
    assert result.blocks == {"concurrency.c50": 6, "concurrency.c1000": 6}
    assert [record.trial for record in lab.kept] == [
        trial.id for trial in wanted.blocks(range(1, 7))
    ]
    assert [len(block) for block in blocks[:4]] == [3, 4, 3, 4]
    # One that fails the same way twice is left out from then on, and recorded as that.
    assert all("go/x" not in block for block in blocks[4:])
    assert {one.status for one in lab.kept if one.entry == "go/x" and one.block > 2} == {"not_run"}
    assert lab.left[0] == 42 * TRIAL_NS
    assert lab.left == sorted(lab.left, reverse=True)


def test_the_time_left_counts_down_to_the_last_trial() -> None:
    lab = FakeLab()
    lab.measure(plan())
    assert lab.left == [number * TRIAL_NS for number in range(42, 0, -1)]


def test_a_trial_that_did_not_take_place_says_nothing_of_how_long_one_takes() -> None:
    class WithoutCapacity(FakeLab):
        def run_trial(self, trial: PlannedTrial, cell: PlannedCell) -> TrialRecord:
            if trial.entry.name == "go/x":
                why = FailureRecord(kind="capacity_unknown", phase="plan", message="no capacity")
                return not_run(trial, why)
            return super().run_trial(trial, cell)

    lab = WithoutCapacity()
    lab.measure(plan())
    assert lab.left == [number * TRIAL_NS for number in range(42, 0, -1)]


def test_a_resumed_run_runs_exactly_the_missing_trials_in_the_same_order() -> None:
    whole = FakeLab()
    whole.measure(plan())
    for cut in range(0, 42, 5):
        first = FakeLab(die_after=cut)
        with contextlib.suppress(KilledError):
            first.measure(plan())
        second = FakeLab()
        result = second.measure(plan(), done=tuple(first.kept))
        assert first.ran + second.ran == whole.ran
        assert result.blocks == {"concurrency.c50": 6, "concurrency.c1000": 6}


def test_a_finished_run_has_nothing_left_to_resume() -> None:
    whole = FakeLab()
    whole.measure(plan())
    again = FakeLab()
    again.measure(plan(), done=tuple(whole.kept))
    assert again.ran == []


def test_an_entry_that_fails_twice_the_same_way_is_not_run_again_in_that_cell() -> None:
    def fails(trial: PlannedTrial) -> str | None:
        return "crashed" if trial.entry.name == "go/x" and trial.cell == "c50" else None

    lab = FakeLab(fails=fails)
    lab.measure(plan())
    rows = [record for record in lab.kept if (record.entry, record.cell) == ("go/x", "c50")]
    assert [record.status for record in rows] == ["failed", "failed", *["not_run"] * 4]
    assert rows[2].failure is not None
    assert "failed with crashed in 2 earlier blocks" in rows[2].failure.message
    others = [record for record in lab.kept if (record.entry, record.cell) != ("go/x", "c50")]
    assert {record.status for record in others} == {"ok"}
    assert len(others) == 6 * 6


def test_different_failures_do_not_add_up() -> None:
    kinds = iter(["crashed", "hung", "wrong_reply"])

    def fails(trial: PlannedTrial) -> str | None:
        return next(kinds, None) if trial.entry.name == "node/y" else None

    lab = FakeLab(fails=fails)
    lab.measure(plan())
    assert "not_run" not in {record.status for record in lab.kept}


def test_failures_before_an_interruption_count_after_it() -> None:
    def fails(trial: PlannedTrial) -> str | None:
        return "crashed" if trial.entry.name == "go/x" and trial.cell == "c50" else None

    whole = FakeLab(fails=fails)
    whole.measure(plan())
    first = FakeLab(fails=fails, die_after=20)
    with contextlib.suppress(KilledError):
        first.measure(plan())
    second = FakeLab(fails=fails)
    second.measure(plan(), done=tuple(first.kept))
    assert [(record.trial, record.status) for record in first.kept + second.kept] == [
        (record.trial, record.status) for record in whole.kept
    ]


def test_cells_stop_each_by_its_own_precision() -> None:
    def settled(key: str, blocks: int) -> bool:
        return key == "concurrency.c50" or blocks >= 9

    lab = FakeLab()
    result = lab.measure(plan(max_blocks=19), settled=settled)
    assert result.blocks == {"concurrency.c50": 6, "concurrency.c1000": 9}
    assert not result.out_of_budget


def test_a_dropped_block_is_run_again_and_does_not_count() -> None:
    lab = FakeLab(disturbed=lambda cell, block: (cell, block) in {("c50", 2), ("c50", 7)})
    result = lab.measure(plan())
    assert result.blocks == {"concurrency.c50": 6, "concurrency.c1000": 6}
    blocks = {(record.cell, record.block) for record in lab.kept}
    assert max(block for cell, block in blocks if cell == "c50") == 8
    assert max(block for cell, block in blocks if cell == "c1000") == 6


def test_a_void_trial_is_run_again_at_once_and_says_so() -> None:
    lab = FakeLab(void=lambda number, _: "sent late" if number in (2, 7, 8) else None)
    result = lab.measure(plan())
    assert result.blocks == {"concurrency.c50": 6, "concurrency.c1000": 6}
    assert len(lab.kept) == len({record.trial for record in lab.kept}) == 42
    assert len(lab.ran) == 42 + 2, "in the first block a second time for each entry"
    assert lab.ran[1] == lab.ran[2]
    warned = {record.trial: record.warnings for record in lab.kept if record.warnings}
    assert set(warned) == {lab.ran[1], lab.ran[6]}
    assert set(warned.values()) == {("void_and_repeated: sent late",)}


def test_a_load_that_is_always_void_takes_twice_the_time_at_most() -> None:
    def void(_number: int, record: TrialRecord) -> str | None:
        return "sent late" if record.entry == "go/x" and record.cell == "c50" else None

    lab = FakeLab(void=void)
    lab.measure(plan())
    runs = Counter(lab.ran)
    own = [
        runs[record.trial] for record in lab.kept if (record.entry, record.cell) == ("go/x", "c50")
    ]
    assert sum(own) == 12
    assert max(own) <= 3
    assert sum(runs.values()) == 42 + 6


def test_failures_in_dropped_blocks_give_nobody_up() -> None:
    def fails(trial: PlannedTrial) -> str | None:
        return "hung" if trial.entry.name == "go/x" and trial.block in (1, 2, 4) else None

    def disturbed(_cell: str, block: int) -> bool:
        return block in (1, 2)

    whole = FakeLab(fails=fails, disturbed=disturbed)
    whole.measure(plan())
    assert "not_run" not in {record.status for record in whole.kept}
    for cut in range(0, len(whole.ran), 5):
        first = FakeLab(fails=fails, disturbed=disturbed, die_after=cut)
        with contextlib.suppress(KilledError):
            first.measure(plan())
        second = FakeLab(fails=fails, disturbed=disturbed)
        second.measure(plan(), done=tuple(first.kept))
        assert first.ran + second.ran == whole.ran


def test_a_host_that_is_always_disturbed_ends_too() -> None:
    lab = FakeLab(disturbed=lambda *_: True)
    result = lab.measure(plan())
    assert result.blocks == {"concurrency.c50": 6, "concurrency.c1000": 6}
    assert max(record.block for record in lab.kept) == 12


def test_a_resumed_run_remembers_which_blocks_were_dropped() -> None:
    def disturbed(cell: str, block: int) -> bool:
        return cell == "c1000" and block in (1, 4)

    whole = FakeLab(disturbed=disturbed)
    whole.measure(plan())
    for cut in range(0, len(whole.ran), 5):
        first = FakeLab(die_after=cut, disturbed=disturbed)
        with contextlib.suppress(KilledError):
            first.measure(plan())
        second = FakeLab(disturbed=disturbed)
        second.measure(plan(), done=tuple(first.kept))
        assert first.ran + second.ran == whole.ran


def test_the_budget_ends_the_run_between_blocks() -> None:
    lab = FakeLab()
    result = lab.measure(plan(max_blocks=28, budget_ns=45 * TRIAL_NS), settled=lambda *_: False)
    assert result.out_of_budget
    assert lab.now_ns <= 45 * TRIAL_NS
    whole_blocks = sum(result.blocks[cell.key] * len(cell.entries) for cell in plan().cells)
    assert len(lab.ran) == whole_blocks == 45


def test_the_budget_counts_what_an_interrupted_run_has_spent() -> None:
    budget = plan(max_blocks=28, budget_ns=45 * TRIAL_NS)
    first = FakeLab(die_after=30)
    with contextlib.suppress(KilledError):
        first.measure(budget, settled=lambda *_: False)
    second = FakeLab()
    second.measure(budget, done=tuple(first.kept), settled=lambda *_: False)
    assert len(first.ran) + len(second.ran) == 45


def decided_after(blocks: int, *names: str) -> Look:
    """A look that finds these entries decided from the given block on, and the others never."""

    def look(_key: str, block: int, present: frozenset[str]) -> Standstill:
        return Standstill(
            settled={name: "all its pairs were decided" for name in names if block >= blocks}
        )

    return look


def blocks_of(lab: FakeLab, cell: str) -> dict[str, int]:
    return Counter(record.entry for record in lab.kept if record.cell == cell)


def test_an_entry_leaves_when_it_is_decided_and_the_floor_and_both_twins_stay() -> None:
    lab = FakeLab()
    everybody = ("cpp/floor", "go/x", "node/y~twin")
    result = lab.measure(plan(max_blocks=13), look=decided_after(9, *everybody))
    assert result.blocks == {"concurrency.c50": 9, "concurrency.c1000": 13}
    assert blocks_of(lab, "c1000") == {
        "cpp/floor": 13,
        "go/x": 9,
        "node/y": 13,
        "node/y~twin": 13,
    }
    gone = {(one.cell, one.entry, one.blocks, one.reason) for one in lab.gone}
    assert ("c1000", "go/x", 9, "all its pairs were decided") in gone
    assert {entry for cell, entry, *_ in gone if cell == "c1000"} == {"go/x"}
    assert len(lab.gone) == len(gone), "noted once"


def test_a_floor_leaves_when_nobody_is_judged_by_it() -> None:
    def look(_key: str, block: int, present: frozenset[str]) -> Standstill:
        return Standstill(settled={"cpp/floor": "known"}, floor_known=block >= 9)

    lab = FakeLab()
    lab.measure(plan(max_blocks=13), look=look)
    found = blocks_of(lab, "c1000")
    assert (found.pop("cpp/floor"), set(found.values())) == (9, {13})


def test_a_cell_ends_for_all_when_nobody_in_it_is_open() -> None:
    lab = FakeLab()
    result = lab.measure(plan(max_blocks=28), look=decided_after(9, "go/x", "node/y"))
    assert result.blocks["concurrency.c1000"] == 9
    assert set(blocks_of(lab, "c1000").values()) == {9}
    assert [one for one in lab.gone if one.cell == "c1000"] == [], "it ended, nobody left it early"


def test_a_cell_goes_on_for_a_twin_without_an_interval() -> None:
    """The floor and both entries of the twin go on, and no further than the cell may."""
    for enough, blocks in ((9, 9), (99, 13)):

        def look(
            _key: str, block: int, present: frozenset[str], enough: int = enough
        ) -> Standstill:
            return Standstill(settled=dict.fromkeys(present, "x"), twin_open=block < enough)

        lab = FakeLab()
        lab.measure(plan(max_blocks=13), look=look)
        assert blocks_of(lab, "c1000") == {
            "cpp/floor": blocks,
            "go/x": 6,
            "node/y": blocks,
            "node/y~twin": blocks,
        }


def test_a_hopeless_entry_neither_leaves_nor_keeps_the_cell_going() -> None:
    def look(_key: str, block: int, present: frozenset[str]) -> Standstill:
        return Standstill(
            settled={"node/y": "x"} if block >= 9 else {}, hopeless=frozenset({"go/x"})
        )

    lab = FakeLab()
    lab.measure(plan(max_blocks=28), look=look)
    assert set(blocks_of(lab, "c1000").values()) == {9}


def test_a_resumed_run_lets_the_same_entries_leave() -> None:
    def look(key: str, block: int, present: frozenset[str]) -> Standstill:
        gone = {"go/x": "x"} if block >= 6 else {}
        return Standstill(settled=gone | ({"node/y": "x"} if block >= 13 else {}))

    whole = FakeLab()
    whole.measure(plan(max_blocks=28), look=look)
    assert len(whole.ran) < 13 * 7
    for cut in range(0, len(whole.ran), 7):
        first = FakeLab(die_after=cut)
        with contextlib.suppress(KilledError):
            first.measure(plan(max_blocks=28), look=look)
        second = FakeLab()
        second.measure(plan(max_blocks=28), done=tuple(first.kept), look=look)
        assert first.ran + second.ran == whole.ran
        assert second.gone == whole.gone


def test_trials_know_their_repeat_and_repeats_differ_in_the_order_of_cells() -> None:
    base = plan()
    third = replace(base.cells[0], cell=replace(base.cells[0].cell, id="c5000"))
    repeated = replace(
        base, cells=tuple(replace(cell, repeats=3) for cell in (*base.cells, third)), seed=3
    )
    lab = FakeLab()
    lab.measure(repeated)
    assert {(record.block, record.repeat) for record in lab.kept} == {
        (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3),
    }  # fmt: skip
    orders = {
        repeat: list(
            dict.fromkeys(record.cell for record in lab.kept if record.block == 2 * repeat)
        )
        for repeat in (1, 2, 3)
    }
    assert orders[1] == ["c50", "c1000", "c5000"], "the first keeps the order of the plan"
    assert len({tuple(order) for order in orders.values()}) > 1
    assert lab.ran == [trial.id for trial in repeated.blocks(range(1, 7))]
    assert {record.repeat for record in _ran_once().kept} == {1}


def _ran_once() -> FakeLab:
    lab = FakeLab()
    lab.measure(plan())
    return lab


def test_without_time_for_all_mandatory_blocks_the_last_cells_end_and_the_others_have_theirs() -> (
    None
):
    lab = FakeLab()
    result = lab.measure(plan(budget_ns=30 * TRIAL_NS))
    assert result.given_up == ("concurrency.c1000",)
    assert result.blocks["concurrency.c50"] == 6
    assert result.blocks["concurrency.c1000"] == 1
    assert not result.out_of_budget


def test_a_cell_that_the_budget_ends_takes_no_block_from_another() -> None:
    quick, slow = plan().cells  # 3 s a block, and 40 s; each is the first of its study
    cells = (quick, replace(slow, study="rest"))
    lab = SlowLab()
    result = lab.measure(replace(plan(), cells=cells, budget_ns=101 * TRIAL_NS))
    assert result.blocks == {"concurrency.c50": 6, "rest.c1000": 2}
    assert result.out_of_budget
    assert result.given_up == ()
    assert lab.now_ns == (6 * 3 + 2 * 40) * TRIAL_NS


def test_a_cell_without_entries_is_none_that_the_budget_cut_short() -> None:
    base = plan(max_blocks=200, budget_ns=60 * TRIAL_NS)
    nobody = replace(base.cells[0], cell=replace(base.cells[0].cell, id="c5000"), entries=())
    lab = FakeLab()
    result = lab.measure(replace(base, cells=(*base.cells, nobody)), settled=lambda *_: False)
    assert result.out_of_budget
    assert set(result.blocks) == {"concurrency.c50", "concurrency.c1000"}
    (line,) = ending_lines(result)
    assert line == f"the time budget is used up after {min(result.blocks.values())} blocks"


def test_time_between_trials_counts_when_cells_are_fitted() -> None:
    class SlowLab(FakeLab):
        def after(self, record: TrialRecord, *, left_ns: int) -> None:
            super().after(record, left_ns=left_ns)
            self.now_ns += TRIAL_NS // 2

    assert FakeLab().measure(plan(budget_ns=50 * TRIAL_NS)).given_up == ()
    result = SlowLab().measure(plan(budget_ns=50 * TRIAL_NS))
    assert result.given_up == ("concurrency.c1000",)
    assert result.blocks["concurrency.c50"] == 6


def test_a_block_that_opens_a_repeat_needs_time_for_its_copies() -> None:
    def blocks(repeats: int, more_ns: int) -> int:
        first = replace(plan(max_blocks=200).cells[0], repeats=repeats)
        budget_ns = 7 * 3 * TRIAL_NS + more_ns
        only = replace(plan(), cells=(first,), budget_ns=budget_ns)
        return FakeLab().measure(only, settled=lambda *_: False).blocks[first.key]

    assert blocks(1, 0) == 7
    # Of two repeats of three blocks each: the seventh block opens another, and its two contestants
    # (one is the twin's) are copied first. The fake's copies take no time.
    assert blocks(2, 0) == 6
    assert blocks(2, 2 * MOVE_NS - 1) == 6
    assert blocks(2, 2 * MOVE_NS) >= 7


def test_what_is_left_of_the_budget_goes_to_those_who_are_open() -> None:
    def look(key: str, block: int, present: frozenset[str]) -> Standstill:
        names = present if key == "concurrency.c50" else {"go/x"}
        return Standstill(settled=dict.fromkeys(names, "x"))

    lab = FakeLab()
    result = lab.measure(plan(max_blocks=200, budget_ns=60 * TRIAL_NS), look=look)
    assert result.out_of_budget
    # 42 mandatory trials; go/x leaves, and the floor and the twins take three trials a block
    assert result.blocks == {"concurrency.c50": 6, "concurrency.c1000": 12}
    assert lab.now_ns == 60 * TRIAL_NS
