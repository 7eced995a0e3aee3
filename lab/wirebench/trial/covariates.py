"""What else happened on the host while a trial ran. Recorded with every trial, so that a bad block
can be told by it.
"""

from __future__ import annotations

from dataclasses import dataclass

from wirebench.process import procfs


@dataclass(frozen=True, kw_only=True)
class HostCounters:
    """Counters that only grow, at one moment. None: this host does not tell."""

    steal_ns: int | None
    cpu_pressure_us: int | None
    retransmits: int | None
    accepted: int | None
    """TCP connections this network namespace took, whoever made them."""


def read_counters() -> HostCounters:
    tcp = procfs.tcp_counters()
    return HostCounters(
        steal_ns=procfs.steal_ns(),
        cpu_pressure_us=procfs.cpu_pressure_us(),
        retransmits=tcp.get("RetransSegs"),
        accepted=tcp.get("PassiveOpens"),
    )


def covariates(
    before: HostCounters, after: HostCounters, *, involuntary_switches: int | None
) -> dict[str, int | None]:
    """The record's covariates. ``involuntary_switches`` are those of the contestant and the
    generator.
    """
    return {
        "steal_ns": _growth(before.steal_ns, after.steal_ns),
        "psi_cpu_some_us": _growth(before.cpu_pressure_us, after.cpu_pressure_us),
        "involuntary_switches": involuntary_switches,
        "retransmits": _growth(before.retransmits, after.retransmits),
    }


def _growth(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def accepted(before: HostCounters, after: HostCounters) -> int | None:
    return _growth(before.accepted, after.accepted)
