"""Other load generators beside ours: what the self-test knows of them.

How each is called and read is not part of the lab; ``lab/developer/peers.py`` in a checkout has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from wirebench.process.supervise import Scope
from wirebench.selftest.cases import Case, Load
from wirebench.selftest.laws import Mode, Span

Percentiles = dict[str, float]
"""By the names of PERCENTILES and MAX, in nanoseconds. What a peer does not report is missing."""


@dataclass(frozen=True, kw_only=True)
class PeerRow:
    case: str
    peer: str
    mode: str
    rate: int
    truth: Mapping[str, Span | None]
    for_users: Mapping[str, Span | None]
    """The truth of an open loop at the same rate, which a closed loop does not see."""
    measured: Percentiles
    failed: int | None
    note: str


class Peer(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The loads that it knows."""
        ...

    def run(
        self,
        case: Case,
        load: Load,
        scope: Scope,
        *,
        port: int,
        cores: Sequence[int],
        base_ns: float,
    ) -> PeerRow:
        """Once, against the case's server on this port, with these cores to itself."""
        ...
