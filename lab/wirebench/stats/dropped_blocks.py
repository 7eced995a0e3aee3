"""Which blocks are dropped because of what the host did, by limits declared beforehand."""

from __future__ import annotations

from collections.abc import Sequence

from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import DroppedBlock, TrialView
from wirebench.stats.validity import number


def dropped_blocks(
    trials: Sequence[TrialView], *, settings: Settings = DEFAULT
) -> tuple[DroppedBlock, ...]:
    """The blocks of a cell in which the hypervisor took too much from any trial, whatever that
    trial's figures.

    The limit is fixed beforehand (``Settings.steal_share``). The whole block is dropped, so that no
    entry loses only its bad trials.
    """
    worst: dict[int, tuple[float, str]] = {}
    for trial in trials:
        steal = number(trial.covariates.get("steal_ns"))
        # The trial is longer by its server's start and warm-up. Older runs stored no other time.
        time_ns = number(trial.covariates.get("watched_ns")) or trial.elapsed_ns
        if steal is None or time_ns <= 0:
            continue
        share = steal / time_ns
        ticks = settings.steal_ticks * settings.tick_ns
        if steal <= max(settings.steal_share * time_ns, ticks):
            continue
        if share > worst.get(trial.block, (0.0, ""))[0]:
            worst[trial.block] = (share, trial.entry)
    return tuple(
        DroppedBlock(
            block=block,
            reason=(
                f"the hypervisor took {share:.0%} of a core during {entry} (limit"
                f" {settings.steal_share:.0%})"
            ),
        )
        for block, (share, entry) in sorted(worst.items())
    )
