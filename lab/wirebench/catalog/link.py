"""An emulated wide-area link between a server and those who call it, as studies ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


@dataclass(frozen=True, kw_only=True)
class Link:
    """Both directions are alike: each has half of the round trip, and the rest in full."""

    rtt_ms: float
    jitter_ms: float = 0.0
    """Uniform around half of the round trip; never reorders."""
    loss_percent: float = 0.0
    rate_mbit: float = 0.0
    """The bottleneck; 0: none."""

    @property
    def rtt_ns(self) -> int:
        return round(self.rtt_ms * 1e6)

    def __str__(self) -> str:
        words = [f"{self.rtt_ms:g} ms round trip"]
        words += [f"{self.jitter_ms:g} ms jitter"] if self.jitter_ms else []
        words += [f"{self.loss_percent:g}% loss"] if self.loss_percent else []
        words += [f"{self.rate_mbit:g} Mbit/s"] if self.rate_mbit else []
        return ", ".join(words)


class LinkTable(BaseModel):
    """``link = { rtt_ms = 54 }`` in a study's file, within what wirelink takes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    rtt_ms: Annotated[float, Field(gt=0, le=60_000)]
    jitter_ms: Annotated[float, Field(ge=0)] = 0.0
    loss_percent: Annotated[float, Field(ge=0, lt=100)] = 0.0
    rate_mbit: Annotated[float, Field(ge=0, le=1e6)] = 0.0

    @model_validator(mode="after")
    def _jitter_within_the_delay(self) -> Self:
        if self.jitter_ms > self.rtt_ms / 2:
            raise ValueError("expected at most half of rtt_ms as jitter_ms")
        return self

    def link(self) -> Link:
        return Link(**self.model_dump())
