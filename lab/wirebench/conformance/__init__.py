"""How a server behaves where the standards make a demand: probes by section, each over a plain
socket.

The check of :mod:`wirebench.verify` decides whether a contestant may be timed. This measures how
well it follows RFC 9110, 9112, 6455 and 7692, hostile input included. The probes are written from
the standards, know no contestant, and work on any server.
"""

from __future__ import annotations

from wirebench.conformance.client_probes import every_client_probe
from wirebench.conformance.run import ENDED, probes_for, run_probes
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
from wirebench.conformance.unprobed import UNPROBED

__all__ = [
    "ENDED",
    "PARTS",
    "UNPROBED",
    "Level",
    "Part",
    "Probe",
    "ProbeResult",
    "Score",
    "Target",
    "every_client_probe",
    "probes_for",
    "run_probes",
    "scores",
]
