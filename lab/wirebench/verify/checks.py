"""The form of checks: named functions that return what they received, or raise ``Mismatch`` with
what they expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from wirebench.verify.http import PeerError, SilenceError
from wirebench.verify.types import CheckResult


class Mismatch(Exception):  # noqa: N818  # a finding about a contestant, not an error of the lab
    """What was received is not what was expected."""

    def __init__(self, *, expected: str, received: str) -> None:
        super().__init__(f"expected {expected}, got {received}")
        self.expected = expected
        self.received = received


class Unchecked(Exception):  # noqa: N818  # as above
    """Why this host does not show it. Only a recommendation may end so."""


@dataclass(frozen=True, kw_only=True)
class Check:
    id: str
    sent: str
    expected: str
    run: Callable[[], str]
    """Returns what was received, in words. Raises ``Mismatch``, ``Unchecked`` or ``PeerError``."""
    required: bool = True


HOPELESS_AFTER = 3
"""After this many unanswered checks in a row the contestant is hung or gone. Further checks would
only wait.
"""
ATTEMPTS = 3
"""Retries of a required check that meets silence after earlier answers.

A library that loses a reply now and then still gives the right ones, which is the question here.
The trials count how often it loses one. The result mentions it.
"""


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    result: CheckResult
    answered: bool
    """Something came, right or wrong."""
    silent: bool
    """Nothing came, and the connection stayed open."""


def run_checks(checks: Iterable[Check], *, alive: Callable[[], bool]) -> list[CheckResult]:
    """Run the checks in order. Stops early when the contestant is gone or hung; checks that did not
    run are not in the result.
    """
    results: list[CheckResult] = []
    unanswered = unanswered_required = 0
    for check in checks:
        attempts = ATTEMPTS if check.required and results and unanswered_required == 0 else 1
        outcome, silences = _attempt(check), 0
        while outcome.silent and silences + 1 < attempts:
            silences += 1
            outcome = _attempt(check)
        results.append(outcome.result)
        if outcome.result.passed and silences:
            results.append(_unsteady(outcome.result, silences))
        unanswered = 0 if outcome.answered else unanswered + 1
        unanswered_required = 0 if outcome.answered else unanswered_required + check.required
        if not outcome.result.passed and (not alive() or unanswered >= HOPELESS_AFTER):
            break
    return results


def _attempt(check: Check) -> _Outcome:
    passed, checked, answered, silent, expected = False, True, True, False, check.expected
    try:
        received, passed = check.run(), True
    except Mismatch as mismatch:
        received, expected = mismatch.received, mismatch.expected
    except Unchecked as reason:
        received, checked = f"not checked: {reason}", False
    except PeerError as error:
        received, answered, silent = str(error), False, isinstance(error, SilenceError)
    result = CheckResult(
        id=check.id,
        passed=passed,
        required=check.required,
        checked=checked,
        sent=check.sent,
        expected=expected,
        received=received,
    )
    return _Outcome(result=result, answered=answered, silent=silent)


def _unsteady(result: CheckResult, silences: int) -> CheckResult:
    return replace(
        result,
        id=f"{result.id}.steady",
        passed=False,
        required=False,
        received=f"no answer at {silences} of {silences + 1} attempts, then the right one",
    )
