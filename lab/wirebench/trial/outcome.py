"""What a trial has found so far, step by step; ``wirebench.trial.trial`` makes the result of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wirebench.process.network import LOOPBACK, Network
from wirebench.process.types import Failure


class TrialError(Exception):
    """The load was put on, and there is no valid figure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(kw_only=True)
class Outcome:
    failure: Failure | None = None
    warnings: list[str] = field(default_factory=list)
    port: int | None = None
    served_at: Network = LOOPBACK
    """What the port is of."""
    ready_ns: int | None = None
    metrics: dict[str, float | int | None] = field(default_factory=dict)
    series: Mapping[str, Any] | None = None
    rounds: tuple[Mapping[str, Any], ...] | None = None
    histogram: str | None = None
    validity: dict[str, Any] = field(default_factory=dict)
    covariates: dict[str, int | None] = field(default_factory=dict)
    load: Mapping[str, Any] | None = None
    packets: Mapping[str, Any] | None = None
