"""What the host took from the trials of a cell, held against limits declared beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import DroppedBlock, OtherPrograms, QuotaStops, TrialView
from wirebench.stats.validity import number, void_reason
from wirebench.trial.server_metrics import STOPPED_BY_QUOTA


def dropped_blocks(
    trials: Sequence[TrialView], *, settings: Settings = DEFAULT
) -> tuple[DroppedBlock, ...]:
    """The blocks of a cell in which the hypervisor took too much from any trial, whatever that
    trial's figures, also when it was run again (``repeat_reason``).

    The limit is fixed beforehand (``Settings.steal_share``). The whole block is dropped, so that no
    entry loses only its bad trials.
    """
    worst: dict[int, tuple[float, str]] = {}
    for trial in trials:
        share = _stolen(trial, settings)
        if share is not None and share > worst.get(trial.block, (0.0, ""))[0]:
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


def counted_trials(
    trials: Iterable[TrialView], *, settings: Settings = DEFAULT
) -> tuple[TrialView, ...]:
    """The trials of any cells without those of dropped blocks: what happened there says nothing of
    an entry.
    """
    found = tuple(trials)
    by_cell: dict[tuple[str, str], list[TrialView]] = {}
    for one in found:
        by_cell.setdefault((one.study, one.cell), []).append(one)
    gone = {
        (*cell, block.block)
        for cell, own in by_cell.items()
        for block in dropped_blocks(own, settings=settings)
    }
    return tuple(one for one in found if (one.study, one.cell, one.block) not in gone)


def repeat_reason(trial: TrialView, *, settings: Settings = DEFAULT) -> str | None:
    """Why a measured trial is to be run again at once, whatever its figures; None if it stands."""
    why = void_reason(trial, settings=settings)
    share = _stolen(trial, settings)
    if why is not None or share is None:
        return why
    return f"the hypervisor took {share:.0%} of a core (limit {settings.steal_share:.0%})"


def _stolen(trial: TrialView, settings: Settings) -> float | None:
    """The share of a core that the hypervisor took, where it is too much."""
    share = _share_of_a_core(trial, "steal_ns")
    too_much = share is not None and _beyond(share, trial, settings.steal_share, settings)
    return share if too_much else None


def other_programs(
    trials: Sequence[TrialView], *, settings: Settings = DEFAULT
) -> OtherPrograms | None:
    """Whether other programs of the host disturbed trials. None where it is known of none."""
    shares = [
        (share, _beyond(share, trial, settings.other_programs_share, settings))
        for trial in trials
        if (share := _share_of_a_core(trial, "other_programs_ns")) is not None
    ]
    if not shares:
        return None
    return OtherPrograms(
        trials=len(shares),
        disturbed=sum(beyond for _, beyond in shares),
        limit=settings.other_programs_share,
        most=max(share for share, _ in shares),
    )


def quota_stops(trials: Sequence[TrialView]) -> QuotaStops | None:
    """None where no CPU quota was a limit."""
    stopped = sum(
        any(warning.split(":")[0].endswith(STOPPED_BY_QUOTA) for warning in trial.warnings)
        for trial in trials
    )
    return QuotaStops(trials=len(trials), stopped=stopped) if stopped else None


def _time_ns(trial: TrialView) -> float:
    """The trial is longer by its server's start and warm-up. Older runs stored no other time."""
    return number(trial.covariates.get("watched_ns")) or trial.elapsed_ns


def _share_of_a_core(trial: TrialView, covariate: str) -> float | None:
    taken, time_ns = number(trial.covariates.get(covariate)), _time_ns(trial)
    return None if taken is None or time_ns <= 0 else taken / time_ns


def _beyond(share: float, trial: TrialView, limit: float, settings: Settings) -> bool:
    return share > max(limit, settings.ticks * settings.tick_ns / _time_ns(trial))
