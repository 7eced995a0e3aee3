"""A user's server that does not end when it is told to: the lab kills it, which takes time from
what is measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wirebench.catalog.units import count_of
from wirebench.trial.record import TrialRecord

KIND = "ignored_sigterm"


def killed_trials(trials: Sequence[TrialRecord]) -> dict[str, int]:
    """In how many trials each contestant had to be killed; without those that never had to."""
    found: dict[str, int] = {}
    for trial in trials:
        if any(warning.startswith(KIND) for warning in trial.warnings):
            found[trial.contestant] = found.get(trial.contestant, 0) + 1
    return found


def killed_notes(killed: Mapping[str, int]) -> Iterable[str]:
    for name, trials in sorted(killed.items()):
        yield (
            f"{name} did not end within 2 s of SIGTERM and was killed, in"
            f" {count_of(trials, 'trial')}: nothing is measured in that time"
        )
