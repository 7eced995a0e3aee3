"""How checks are written: a list of named functions, each of which passes, or says what it expected and received."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from wirebench.verify.http import PeerError
from wirebench.verify.types import CheckResult


class Mismatch(Exception):  # noqa: N818  # a finding about a contestant, not an error of the lab
    """What was received is not what was expected."""

    def __init__(self, *, expected: str, received: str) -> None:
        super().__init__(f"expected {expected}, got {received}")
        self.expected = expected
        self.received = received


@dataclass(frozen=True, kw_only=True)
class Check:
    id: str
    sent: str
    expected: str
    run: Callable[[], str]
    """Returns what was received, in words; raises ``Mismatch`` or ``PeerError``."""
    required: bool = True


HOPELESS_AFTER = 3
"""Checks in a row that got no answer at all: the contestant is hung or gone, and each further one would wait in vain."""


def run_checks(checks: Iterable[Check], *, alive: Callable[[], bool]) -> list[CheckResult]:
    """Run them in order. Ends early when the contestant is gone or hopeless; what was not run is not in the result."""
    results: list[CheckResult] = []
    silent = 0
    for check in checks:
        try:
            received, passed, expected = check.run(), True, check.expected
            silent = 0
        except Mismatch as mismatch:
            received, passed, expected = mismatch.received, False, mismatch.expected
            silent = 0
        except PeerError as error:
            received, passed, expected = str(error), False, check.expected
            silent += 1
        results.append(
            CheckResult(
                id=check.id, passed=passed, required=check.required, sent=check.sent, expected=expected, received=received
            )
        )
        if not passed and (not alive() or silent >= HOPELESS_AFTER):
            break
    return results
