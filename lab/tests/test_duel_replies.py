"""What duels and gates say of trials whose figures mislead or do not count: of servers that answer
with more or less than each other, where any success counts, and of loads that were not put on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from duel_world import cell_of, trials_of
from test_duel import duelled
from wirebench.duel.text import document, notes, rows
from wirebench.duel.verdicts import judged
from wirebench.gate.over_duel import over_duel
from wirebench.gate.text import headline
from wirebench.gate.thresholds import threshold
from wirebench.trial.record import TrialRecord


def answering(sizes: Mapping[str, int]) -> list[TrialRecord]:
    """``sizes``: bytes of a reply by side."""
    return [
        replace(
            one,
            load={"requests": {"ok": 1000 + one.block, "errors": 0, "bytes_in": size * 1000}}
            if (size := sizes.get(one.contestant)) is not None
            else None,
        )
        for one in trials_of(cell_of(), 8, factor=1, noise=0.01, seed=1)
    ]


@pytest.mark.parametrize(
    ("sizes", "shown", "unlike"),
    [
        ({"A": 150, "B": 210}, ("149 B", "209 B"), False),
        ({"A": 150, "B": 1500}, ("149 B", "1.46 KiB"), True),
        ({"B": 150}, ("", "149 B"), False),
    ],
)
def test_how_long_replies_are_stands_in_the_table(
    sizes: Mapping[str, int], shown: tuple[str, str], unlike: bool
) -> None:
    duel = duelled(judged(cell_of(), answering(sizes), level=0.05, band=0.01))
    assert ("bytes/reply", *shown, "", "") in list(rows(duel, "B"))
    said = [line for line in notes(duel) if "do not answer alike" in line]
    assert len(said) == unlike
    assert all(f"{shown[1]} and {shown[0]} for each reply" in line for line in said)
    assert document(duel)["reply_bytes"].keys() == sizes.keys()


def test_of_few_replies_and_of_late_ones_nothing_is_said() -> None:
    few, late = ([*answering({"A": 150, "B": 1500})] for _ in range(2))
    few = [replace(one, load={"requests": {"ok": 50, "bytes_in": 9_000}}) for one in few]
    late = [replace(one, validity={**one.validity, "kept_up": False}) for one in late]
    for trials in (few, late):
        assert judged(cell_of(), trials, level=0.05, band=0.01).reply_bytes == {}


def test_without_counts_nothing_is_said_of_replies() -> None:
    duel = duelled(judged(cell_of(), answering({}), level=0.05, band=0.01))
    assert "bytes/reply" not in [row[0] for row in rows(duel, "B")]
    assert document(duel)["reply_bytes"] == {}


@pytest.mark.parametrize(("head", "unlike"), [(150, False), (155, False), (100, True), (170, True)])
def test_a_head_with_other_replies_is_a_note_of_the_gate(head: int, unlike: bool) -> None:
    """A faster head may be one that leaves something out."""
    found = over_duel(
        cell_of(),
        answering({"A": 150, "B": head}),
        [threshold("throughput", "-20%"), threshold("errors", 0)],
        level=0.05,
    )
    assert found.state == "holds"
    assert [one.startswith("the head answers with ") for one in found.notes] == [True] * unlike


def test_void_trials_are_a_note_of_the_gate() -> None:
    """Else it asks for more blocks, of which as many would be void."""
    late = "the rate was missed: 980/s of 1,000/s"

    def given(blocks: int) -> list[TrialRecord]:
        return [
            replace(one, validity={**one.validity, "void": late})
            if one.contestant == "B" and one.block <= blocks
            else one
            for one in trials_of(cell_of(), 8, factor=1, noise=0.01, seed=1)
        ]

    wanted = [threshold("throughput", "-20%"), threshold("errors", 0)]
    second = sum(one.contestant == "B" for one in cell_of().entries)
    said = f"{3 * second} trials of the head are void: not the load asked for (the rate was missed)"
    some = over_duel(cell_of(), given(3), wanted, level=0.05)
    assert some.state == "undecided"
    assert said in some.notes
    none = over_duel(cell_of(), given(8), wanted, level=0.05)
    assert none.exit_code == 3
    assert "no figures" in headline(none)
    assert any(one.startswith(f"{8 * second} trials of the head are void") for one in none.notes)
    sound = over_duel(cell_of(), given(0), wanted, level=0.05)
    assert not any(" void" in one for one in sound.notes)


def test_a_server_that_has_to_be_killed_is_named() -> None:
    """Else nobody knows where the time of the budget has gone."""
    trials = [
        replace(one, warnings=("ignored_sigterm: server had to be killed",))
        if one.entry == "B" and one.block > 2
        else one
        for one in trials_of(cell_of(), 8, factor=1, noise=0.01, seed=1)
    ]
    said = "B did not end within 2 s of SIGTERM and was killed, in 6 trials: nothing is measured"
    duel = duelled(judged(cell_of(), trials, level=0.05, band=0.01))
    assert sum(line.startswith(said) for line in notes(duel)) == 1
    assert document(duel)["killed"] == {"B": 6}
    found = over_duel(cell_of(), trials, [threshold("throughput", "-20%")], level=0.05)
    assert sum(line.startswith(said) for line in found.notes) == 1
