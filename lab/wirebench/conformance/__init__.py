"""What a server does where the standards say what it must: probes by section, each over a plain
socket.

The conformance check of :mod:`wirebench.verify` asks whether a contestant may be timed; this asks
how well it keeps to RFC 9110, 9112, 6455 and 7692, hostile input included. The probes are written
from the standards, know no contestant, and go to any server.
"""

from __future__ import annotations

from wirebench.conformance.run import probes_for, run_probes
from wirebench.conformance.types import (
    PARTS,
    Level,
    Part,
    Probe,
    ProbeResult,
    Score,
    Target,
    scores,
)

__all__ = [
    "PARTS",
    "Level",
    "Part",
    "Probe",
    "ProbeResult",
    "Score",
    "Target",
    "probes_for",
    "run_probes",
    "scores",
]
