"""The result of a check: named results, one for each requirement or recommendation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wirebench.catalog.model import Contestant, Role
from wirebench.catalog.units import count_of
from wirebench.process.types import Failure


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What a contestant's manifest says of it that changes its check."""

    threads: int | None = None
    """It stands still with fewer. It then gets that many, and what their number limits is not
    checked.
    """
    processes: bool = False
    """Its threads above one are processes, but in ``rest``."""
    tls: bool = False
    """As a server it also speaks TLS."""
    closes: bool = False
    """It ends each connection after its reply."""
    posts: bool = False
    """As a client it also sends POST; as a server of ``http.payload`` it takes it."""
    kept_connections: int = 1
    """How many connections it opens at most as a client under ``reuse``."""

    @classmethod
    def of(cls, contestant: Contestant) -> Traits:
        return cls(
            threads=contestant.checked_with_threads,
            processes=contestant.processes,
            tls=contestant.tls,
            closes=contestant.closes,
            posts=contestant.posts,
            kept_connections=contestant.kept_connections,
        )


PLAIN = Traits()


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """What was sent to a contestant, what it should answer, and what it answered."""

    sent: str
    expected: str
    received: str

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class CheckResult(Exchange):
    id: str
    """Such as ``rest.bad_json``."""
    passed: bool
    required: bool
    """False for a recommendation, which is no reason to refuse a contestant."""
    checked: bool = True
    """False where this host does not show it; ``received`` says why. It then counts nowhere."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One contestant in one role for one workload (for a client: that of the server it calls)."""

    contestant: str
    role: Role
    workload: str
    checks: tuple[CheckResult, ...]
    failure: Failure | None
    """Set if a required check failed, or the contestant could not be checked at all."""
    elapsed_ns: int

    @property
    def passed(self) -> bool:
        return self.failure is None

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        return tuple(check for check in self.checks if check.required and not check.passed)

    @property
    def advice(self) -> tuple[CheckResult, ...]:
        """Recommendations that the contestant does not follow."""
        return tuple(
            check
            for check in self.checks
            if check.checked and not check.required and not check.passed
        )

    def record(self) -> Mapping[str, Any]:
        return {**asdict(self), "passed": self.passed}


def verdict(
    contestant: str,
    role: Role,
    workload: str,
    checks: tuple[CheckResult, ...],
    *,
    elapsed_ns: int,
    failure: Failure | None = None,
) -> Verdict:
    """``failure``: why the checks ended early. Without it, the failed required checks make the
    failure.
    """
    failed = [check for check in checks if check.required and not check.passed]
    if failure is None and failed:
        names = ", ".join(check.id for check in failed)
        first = failed[0]
        failure = Failure(
            kind="nonconformant",
            phase="verify",
            message=f"{len(failed)} of {count_of(len(checks), 'check')} failed: {names}",
            sent=first.sent,
            expected=first.expected,
            received=first.received,
        )
    return Verdict(
        contestant=contestant,
        role=role,
        workload=workload,
        checks=checks,
        failure=failure,
        elapsed_ns=elapsed_ns,
    )
