"""Trials without a figure: a server that died makes a gate invalid, wrong replies are errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wirebench.trial.record import FailureRecord, TrialRecord
from wirebench.trial.wrong_replies import is_wrong_reply


def dead(trials: Iterable[TrialRecord], *, base: str | None = None) -> Iterator[str]:
    """What makes the measurement invalid, once for each contestant and kind, with last words.

    ``base``: wrong replies of this one count too, since there is then nothing to compare with.
    """
    seen = set()
    for one in trials:
        failure = one.failure
        if one.status != "failed" or failure is None:
            continue
        if is_wrong_reply(one) and one.contestant != base:
            continue
        if (one.contestant, failure.kind) not in seen:
            seen.add((one.contestant, failure.kind))
            yield f"{one.contestant}: {failure.message}{_words(failure)}"


def _words(failure: FailureRecord) -> str:
    found = [
        f"{name}: {text}"
        for name, text in (("received", failure.received), ("state", failure.state))
        if text
    ]
    return f" ({'; '.join(found)})" if found else ""
