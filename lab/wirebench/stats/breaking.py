"""Where and how the ramps of one entry broke."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wirebench.catalog.loads import RampLoad
from wirebench.stats.types import Breaking, TrialView
from wirebench.stats.validity import number

WARNING = "partial_errors"
"""What a trial's warnings about a ramp that broke begin with."""


def breaking_of(trials: Sequence[TrialView], load: RampLoad) -> Breaking | None:
    """None if all messages of all measured trials were answered. A trial that broke after its last
    round, or before anything was stored of it, has no round.
    """
    measured = [trial for trial in trials if trial.status == "ok"]
    broken = [trial for trial in measured if _details(trial)]
    if not broken:
        return None
    found = [one for trial in broken if (one := _broken_round(trial, load)) is not None]
    kinds: Counter[str] = Counter()
    for one in found:
        kinds.update(_errors(one))
    if not found:
        for trial in broken:
            kinds.update(_errors(trial.load or {}))
    endings = [text for trial in broken for text in _details(trial)[1:]]
    return Breaking(
        trials=len(broken),
        of=len(measured),
        rounds=_span([int(one["round"]) for one in found]),
        clients=_span([int(one["clients"]) for one in found]),
        unanswered=float(np.median([_unanswered(one, load) for one in found])) if found else None,
        kinds=tuple(kind for kind, _ in kinds.most_common()),
        ended=endings[0] if endings else None,
    )


def _details(trial: TrialView) -> list[str]:
    """The texts of its warnings: where it broke, then how it ended."""
    parts = [warning.partition(":") for warning in trial.warnings]
    return [text.strip() for name, _, text in parts if name == WARNING]


def _broken_round(trial: TrialView, load: RampLoad) -> Mapping[str, Any] | None:
    """The first round that left messages unanswered."""
    for one in trial.rounds or ():
        if number(one.get("round")) and number(one.get("clients")) and _unanswered(one, load) > 0:
            return one
    return None


def _unanswered(one: Mapping[str, Any], load: RampLoad) -> float:
    """The share of the messages that the round should have had."""
    wanted = int(one["round"]) * load.add * load.messages
    return 1 - (number(one.get("answered")) or 0.0) / wanted


def _errors(one: Mapping[str, Any]) -> dict[str, int]:
    errors = one.get("errors")
    found = errors.items() if isinstance(errors, Mapping) else ()
    counts = {str(kind): int(number(count) or 0) for kind, count in found}
    return {kind: count for kind, count in counts.items() if count}


def _span(values: Sequence[int]) -> tuple[int, int] | None:
    return (min(values), max(values)) if values else None
