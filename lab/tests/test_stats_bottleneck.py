"""Who limited a figure, and what a figure that the generator limited may claim."""

from __future__ import annotations

import pytest

from test_stats_validity import trial
from wirebench.stats.bottleneck import bottleneck, bound_of, is_ahead, kind_of, within_bounds
from wirebench.stats.types import Bottleneck, Bound, Ratio, TrialView, Verdict, VerdictKind


def used(server: float | None, generator: float | None, block: int = 1) -> TrialView:
    return trial(block, validity={"server_cpu_share": server, "generator_cpu_share": generator})


@pytest.mark.parametrize(
    ("server", "generator", "kind"),
    [
        (0.98, 0.84, "server-bound"),
        (0.95, 0.94, "server-bound"),
        (0.79, 0.99, "generator-bound"),
        (0.10, 0.95, "generator-bound"),
        (0.99, 0.97, "server-bound"),
        (0.97, 0.99, "generator-bound"),
        (0.99, 0.99, "generator-bound"),
        (0.94, 0.94, "neither"),
        (0.02, 0.01, "neither"),
        (None, 0.99, "generator-bound"),
        (None, 0.94, "unknown"),
        (0.99, None, "unknown"),
    ],
)
def test_the_process_at_its_limit_is_the_bottleneck(
    server: float | None, generator: float | None, kind: str
) -> None:
    assert kind_of(server, generator) == kind


def test_an_entry_is_judged_by_the_medians_of_its_trials() -> None:
    trials = [used(0.99, 0.80), used(0.97, 0.70), used(0.60, 0.99)]
    assert bottleneck(trials, role="server") == Bottleneck(
        kind="server-bound", server_share=0.97, generator_share=0.80
    )


def test_a_resumed_run_is_judged_by_the_trials_that_have_both_shares() -> None:
    found = bottleneck(
        [trial(validity={"generator_cpu_share": 0.2}), used(0.5, 0.99)], role="server"
    )
    assert found is not None
    assert (found.kind, found.generator_share) == ("generator-bound", 0.99)


def test_a_server_that_cannot_be_seen_keeps_the_share_that_is_known() -> None:
    found = bottleneck([trial(validity={"generator_cpu_share": 0.90})], role="server")
    assert found == Bottleneck(kind="unknown", server_share=None, generator_share=0.90)
    assert bottleneck([], role="server") == Bottleneck(
        kind="unknown", server_share=None, generator_share=None
    )


def test_a_client_study_has_no_verdict() -> None:
    assert bottleneck([used(0.99, 0.5)], role="client") is None


KINDS: tuple[VerdictKind, ...] = ("faster", "slower", "equivalent", "undecided")


@pytest.mark.parametrize(
    ("limited", "other_limited", "kept"),
    [
        (False, False, KINDS),
        (True, False, ("faster", "undecided")),
        (False, True, ("slower", "undecided")),
        (True, True, ("undecided",)),
    ],
)
def test_a_lower_bound_supports_faster_and_nothing_else(
    limited: bool, other_limited: bool, kept: tuple[VerdictKind, ...]
) -> None:
    for kind in KINDS:
        found = within_bounds(
            Verdict(kind=kind), limited=limited, other_limited=other_limited, ahead=True
        )
        assert found.kind == (kind if kind in kept else "undecided")
        if kind not in kept:
            assert found.reason is not None
            assert "generator-bound" in found.reason


def test_more_blocks_are_suggested_only_where_they_could_decide() -> None:
    verdict = Verdict(kind="undecided", blocks_needed=7)

    def suggested(*, limited: bool, other_limited: bool, ahead: bool) -> int | None:
        return within_bounds(
            verdict, limited=limited, other_limited=other_limited, ahead=ahead
        ).blocks_needed

    assert suggested(limited=False, other_limited=False, ahead=False) == 7
    assert suggested(limited=True, other_limited=False, ahead=True) == 7
    assert suggested(limited=True, other_limited=False, ahead=False) is None
    assert suggested(limited=False, other_limited=True, ahead=False) == 7
    assert suggested(limited=False, other_limited=True, ahead=True) is None
    assert suggested(limited=True, other_limited=True, ahead=True) is None


@pytest.mark.parametrize(
    ("limited", "other_limited", "higher", "bound"),
    [
        (False, False, True, None),
        (False, True, True, "at most"),
        (True, False, True, "at least"),
        (False, True, False, "at least"),
        (True, False, False, "at most"),
        (True, True, True, "no bound"),
        (True, True, False, "no bound"),
    ],
)
def test_a_ratio_with_one_bounded_side_is_a_bound(
    limited: bool, other_limited: bool, higher: bool, bound: Bound | None
) -> None:
    """The floor's throughput is at least what was measured: over it, a library is at most this."""
    assert bound_of(limited=limited, other_limited=other_limited, higher_is_better=higher) == bound


def test_ahead_is_the_better_figure() -> None:
    more = Ratio(estimate=1.2, low=None, high=None, blocks=3)
    assert is_ahead(more, higher_is_better=True)
    assert not is_ahead(more, higher_is_better=False)
    assert not is_ahead(None, higher_is_better=True)
