"""Failures of a server that is there and answers, but not rightly: its errors are counted."""

from __future__ import annotations

from collections.abc import Iterable

from wirebench.trial.record import TrialRecord

WRONG_REPLIES = frozenset({"bad_status", "wrong_reply", "closed_early", "nonconformant"})


def errors_of(trials: Iterable[TrialRecord], contestant: str) -> int:
    """Requests of this contestant's that got no right reply, though it was there."""
    return sum(
        max(1, _counted(one))
        for one in trials
        if one.contestant == contestant and is_wrong_reply(one)
    )


def is_wrong_reply(trial: TrialRecord) -> bool:
    return (
        trial.status == "failed"
        and trial.failure is not None
        and trial.failure.kind in WRONG_REPLIES
    )


def _counted(trial: TrialRecord) -> int:
    requests = (trial.load or {}).get("requests")
    errors = requests.get("errors") if isinstance(requests, dict) else None
    return errors if isinstance(errors, int) else 0
