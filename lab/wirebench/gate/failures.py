"""Trials without a figure: a server that died makes a gate invalid, wrong replies are errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wirebench.trial.record import FailureRecord, TrialRecord

WRONG_REPLIES = frozenset({"bad_status", "wrong_reply", "closed_early", "nonconformant"})
"""Failures of a server that is there and answers, but not rightly."""


def errors_of(trials: Iterable[TrialRecord], contestant: str) -> int:
    """Requests of this contestant's that got no right reply, though it was there."""
    return sum(
        max(1, _counted(one))
        for one in trials
        if one.contestant == contestant and _is_wrong_reply(one)
    )


def dead(trials: Iterable[TrialRecord], *, base: str | None = None) -> Iterator[str]:
    """What makes the measurement invalid, once for each contestant and kind, with last words.

    ``base``: wrong replies of this one count too, since there is then nothing to compare with.
    """
    seen = set()
    for one in trials:
        failure = one.failure
        if one.status != "failed" or failure is None:
            continue
        if _is_wrong_reply(one) and one.contestant != base:
            continue
        if (one.contestant, failure.kind) not in seen:
            seen.add((one.contestant, failure.kind))
            yield f"{one.contestant}: {failure.message}{_words(failure)}"


def _is_wrong_reply(trial: TrialRecord) -> bool:
    return (
        trial.status == "failed"
        and trial.failure is not None
        and trial.failure.kind in WRONG_REPLIES
    )


def _counted(trial: TrialRecord) -> int:
    requests = (trial.load or {}).get("requests")
    errors = requests.get("errors") if isinstance(requests, dict) else None
    return errors if isinstance(errors, int) else 0


def _words(failure: FailureRecord) -> str:
    found = [
        f"{name}: {text}"
        for name, text in (("received", failure.received), ("state", failure.state))
        if text
    ]
    return f" ({'; '.join(found)})" if found else ""
