"""What a trial has found out so far; ``wirebench.trial.trial`` makes the record of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wirebench.process.types import Failure


@dataclass(kw_only=True)
class Outcome:
    failure: Failure | None = None
    warnings: list[str] = field(default_factory=list)
    port: int | None = None
    ready_ns: int | None = None
    metrics: dict[str, float | int | None] = field(default_factory=dict)
    series: Mapping[str, Any] | None = None
    rounds: tuple[Mapping[str, Any], ...] | None = None
    histogram: str | None = None
    validity: dict[str, Any] = field(default_factory=dict)
    covariates: dict[str, int | None] = field(default_factory=dict)
    load: Mapping[str, Any] | None = None
