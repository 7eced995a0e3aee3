"""Who measures which block, and what becomes of a block whose host is lost: no process at all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from test_run_measure import TRIAL_NS, FakeLab, SlowLab, plan
from wirebench.fleet.orders import BlockRecord
from wirebench.fleet.rounds import Handed, Rounds
from wirebench.plan.estimate import Pace
from wirebench.plan.model import Plan
from wirebench.plan.stop import Standstill
from wirebench.store.records import LeftRecord
from wirebench.trial.record import TrialRecord


@dataclass
class World:
    """A run's files, and hosts that measure in no time."""

    plan: Plan = field(default_factory=plan)
    settled_after: int = 6
    lab: FakeLab = field(default_factory=FakeLab)
    kept: list[TrialRecord] = field(default_factory=list)
    noted: list[BlockRecord] = field(default_factory=list)
    left: list[LeftRecord] = field(default_factory=list)
    disturbed: set[tuple[str, int]] = field(default_factory=set)
    ran: Counter[str] = field(default_factory=Counter)

    def rounds(self) -> Rounds:
        """Of a run that begins, or goes on from the files."""
        one = Rounds(
            plan=self.plan,
            look=self.look,
            dropped=lambda block: (block[0].cell, block[0].block) in self.disturbed,
            keep=self.keep,
            leave=self.left.append,
            note=self.noted.append,
            pace=Pace(
                estimated={
                    (cell.key, entry.name): TRIAL_NS
                    for cell in self.plan.cells
                    for entry in cell.entries
                }
            ),
            clock_ns=self.lab.clock_ns,
        )
        one.resume(list(self.noted), list(self.kept), list(self.left))
        return one

    def keep(self, *records: TrialRecord) -> None:
        self.kept += records
        assert len({one.trial for one in self.kept}) == len(self.kept)

    def look(self, _key: str, block: int, present: frozenset[str]) -> Standstill:
        done = present if block >= self.settled_after else ()
        return Standstill(settled=dict.fromkeys(done, "x"))

    def run(self, handed: Handed, count: int | None = None) -> list[TrialRecord]:
        """The first trials of the block, all of them by default."""
        chosen = handed.trials[:count]
        self.ran.update(one.id for one in chosen)
        return [replace(self.lab.run_trial(one, handed.cell), host=handed.host) for one in chosen]

    def finish(self, rounds: Rounds, hosts: tuple[str, ...]) -> None:
        """All hosts at once, until there is nothing more."""
        doing: dict[str, Handed] = {}
        while True:
            for host in hosts:
                if host not in doing and (handed := rounds.next(host)) is not None:
                    doing[host] = handed
            if not doing:
                return
            host, handed = next(iter(doing.items()))
            rounds.take(self.run(doing.pop(host)))
            rounds.ended(handed)

    def check(self) -> None:
        """No trial ran twice, and no block has trials of two hosts."""
        assert max(self.ran.values()) == 1
        hosts: dict[tuple[str, int], set[str]] = {}
        for record in self.kept:
            hosts.setdefault((record.cell, record.block), set()).add(record.host)
        assert {len(one) for one in hosts.values()} == {1}


def test_every_cell_gets_its_blocks_of_every_host() -> None:
    world = World()
    rounds = world.rounds()
    world.finish(rounds, ("a", "b", "c"))
    assert rounds.measured.blocks == {"concurrency.c50": 6, "concurrency.c1000": 6}
    world.check()
    assert len(world.kept) == 6 * (3 + 4)
    share = Counter((one.cell, one.host) for one in world.noted)
    assert set(share.values()) == {2}


def test_one_host_measures_what_a_local_run_would() -> None:
    world = World()
    world.finish(world.rounds(), ("a",))
    local = FakeLab()
    local.measure(plan())
    assert {one.trial for one in world.kept} == set(local.ran)


def test_a_block_is_noted_before_its_host_hears_of_it() -> None:
    world = World()
    handed = world.rounds().next("a")
    assert handed is not None
    assert [(one.cell, one.block, one.host) for one in world.noted] == [
        (handed.cell.key, handed.block, "a")
    ]


def test_a_lost_hosts_block_is_run_elsewhere_and_its_finished_trials_stand() -> None:
    world = World()
    rounds = world.rounds()
    lost = rounds.next("a")
    assert lost is not None
    unheard = world.run(lost, 2)
    rounds.ended(lost)
    world.finish(rounds, ("b", "c"))
    assert rounds.measured.blocks == {"concurrency.c50": 6, "concurrency.c1000": 6}
    whole = Counter(one.cell for one in world.noted if one.host != "a")
    assert whole == {"concurrency.c50": 6, "concurrency.c1000": 6}
    rounds.take(unheard)  # what the host wrote before it was lost is collected when it is back
    assert {one.trial for one in unheard} <= {one.trial for one in world.kept}
    world.check()


def test_a_host_that_comes_back_finishes_its_block_and_nothing_runs_twice() -> None:
    world = World()
    rounds = world.rounds()
    lost = rounds.next("a")
    assert lost is not None
    unheard = world.run(lost, 2)
    rounds.ended(lost)
    rounds.take(unheard)
    rounds.take(unheard)
    again = rounds.next("a")
    assert again is not None
    assert (again.block, again.cell.key) == (lost.block, lost.cell.key)
    assert [one.id for one in again.trials] == [one.id for one in lost.trials[2:]]
    rounds.take(world.run(again))
    rounds.ended(again)
    world.finish(rounds, ("a", "b"))
    assert rounds.measured.blocks == {"concurrency.c50": 6, "concurrency.c1000": 6}
    assert len(world.noted) == 12, "no block more than without the loss"
    world.check()


def test_a_host_that_had_finished_its_block_unheard_is_not_asked_again() -> None:
    world = World()
    rounds = world.rounds()
    lost = rounds.next("a")
    assert lost is not None
    unheard = world.run(lost)
    rounds.ended(lost)
    rounds.take(unheard)
    following = rounds.next("a")
    assert following is not None
    assert (following.cell.key, following.block) != (lost.cell.key, lost.block)
    world.finish(rounds, ("b",))
    world.check()


def test_a_trial_that_another_host_claims_is_not_kept() -> None:
    world = World()
    rounds = world.rounds()
    handed = rounds.next("a")
    assert handed is not None
    records = world.run(handed)
    rounds.take([replace(one, host="b") for one in records])
    rounds.take([replace(one, block=99) for one in records])
    rounds.take([replace(records[0], trial="concurrency.c50.b01.other")])
    assert world.kept == []
    rounds.take(records)
    assert len(world.kept) == len(records)


def test_a_resumed_run_leaves_unfinished_blocks_to_their_hosts() -> None:
    world = World()
    rounds = world.rounds()
    first, second = rounds.next("a"), rounds.next("b")
    assert first is not None
    assert second is not None
    rounds.take(world.run(first, 1))
    unheard = world.run(second, 2)
    # The command is killed here, and started again without host a.
    again = world.rounds()
    again.take(unheard)
    handed = again.next("b")
    assert handed is not None
    assert (handed.cell.key, handed.block) == (second.cell.key, second.block)
    assert [one.id for one in handed.trials] == [one.id for one in second.trials[2:]]
    again.take(world.run(handed))
    again.ended(handed)
    world.finish(again, ("b",))
    assert again.measured.blocks == {"concurrency.c50": 6, "concurrency.c1000": 6}
    world.check()
    # And once more, with host a, whose block then is whole.
    last = world.rounds()
    world.finish(last, ("a", "b"))
    world.check()
    blocks = Counter((one.cell, one.block) for one in world.kept)
    assert set(blocks.values()) == {3, 4}


def test_a_dropped_block_is_run_again() -> None:
    world = World(disturbed={("c50", 2)})
    rounds = world.rounds()
    world.finish(rounds, ("a", "b"))
    assert rounds.measured.blocks == {"concurrency.c50": 6, "concurrency.c1000": 6}
    assert max(one.block for one in world.noted if one.cell == "concurrency.c50") == 7


def test_a_look_waits_for_the_blocks_before_it() -> None:
    world = World(plan=plan(max_blocks=30), settled_after=9)
    rounds = world.rounds()
    begun: list[Handed] = []
    while (handed := rounds.next(f"h{len(begun)}")) is not None:
        begun.append(handed)
    assert len(begun) == 12, "the mandatory blocks of both cells, and none before the look"
    for handed in begun:
        rounds.take(world.run(handed))
        rounds.ended(handed)
    world.finish(rounds, ("a", "b"))
    assert rounds.measured.blocks == {"concurrency.c50": 9, "concurrency.c1000": 9}
    assert not rounds.wanting


def test_an_entry_that_keeps_failing_is_given_up() -> None:
    world = World()
    world.lab.fails = lambda one: "crashed" if one.entry.name == "go/x" else None
    world.finish(world.rounds(), ("a", "b"))
    status = Counter(one.status for one in world.kept if one.entry == "go/x")
    assert status["failed"] < 2 * 6
    assert status["not_run"] > 0
    assert {one.host for one in world.kept} == {"a", "b"}


def test_a_cell_that_the_budget_ends_takes_no_block_from_another() -> None:
    world = World(plan=plan(budget_ns=101 * TRIAL_NS), lab=SlowLab())
    rounds = world.rounds()
    world.finish(rounds, ("a",))
    # 3 s a block, and 40 s.
    assert rounds.measured.blocks == {"concurrency.c50": 6, "concurrency.c1000": 2}
    assert rounds.measured.out_of_budget
    world.check()


def test_no_block_begins_that_would_exceed_the_budget() -> None:
    world = World(plan=plan(budget_ns=20 * TRIAL_NS))
    rounds = world.rounds()
    world.finish(rounds, ("a",))
    assert rounds.measured.out_of_budget
    assert world.lab.now_ns <= 20 * TRIAL_NS
    world.check()
