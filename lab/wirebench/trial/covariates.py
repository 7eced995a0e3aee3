"""What else happened on the host during the load. Every trial records it, so that a disturbed block
can be found.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from wirebench.process import procfs
from wirebench.process.process import Process


@dataclass(frozen=True, kw_only=True)
class HostCounters:
    """Monotonic counters at one moment. None: this host does not report it."""

    at_ns: int
    steal_ns: int | None
    cpu_pressure_us: int | None
    retransmits: int | None
    accepted: int | None
    """TCP connections that this network namespace accepted, from any client."""
    other_programs_ns: int
    """CPU time of the programs that are not the lab's. One that ends leaves its time to its parent,
    so that the sum only grows.
    """


def read_counters(namespaces: Sequence[int | None] = (None,)) -> HostCounters:
    """``namespaces``: a process in each network namespace whose connections count; None is
    our own.
    """
    tcp = [procfs.tcp_counters(pid) for pid in namespaces]
    return HostCounters(
        at_ns=time.monotonic_ns(),
        steal_ns=procfs.steal_ns(),
        cpu_pressure_us=procfs.cpu_pressure_us(),
        retransmits=_sum(one.get("RetransSegs") for one in tcp),
        accepted=_sum(one.get("PassiveOpens") for one in tcp),
        other_programs_ns=sum(procfs.other_programs_ns().values()),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    found = [count for count in counts if count is not None]
    return sum(found) if found else None


@dataclass(kw_only=True)
class HostWatch:
    """The growth of the host's counters over the load; complete after the ``with`` block."""

    before: HostCounters
    after: HostCounters
    server_switches: int | None = None
    """None: processes that ended took their counts with them."""
    server_is_ours: bool = True
    """False: one of the other programs is the server, or runs it."""

    @property
    def accepted(self) -> int | None:
        return _growth(self.before.accepted, self.after.accepted)

    def covariates(self, *, generator_switches: int | None = 0) -> dict[str, int | None]:
        """The record's covariates. ``generator_switches`` are added to the server's."""
        server = self.server_switches
        return {
            "watched_ns": self.after.at_ns - self.before.at_ns,
            "steal_ns": _growth(self.before.steal_ns, self.after.steal_ns),
            "psi_cpu_some_us": _growth(self.before.cpu_pressure_us, self.after.cpu_pressure_us),
            "involuntary_switches": server + generator_switches
            if server is not None and generator_switches is not None
            else None,
            "retransmits": _growth(self.before.retransmits, self.after.retransmits),
            "other_programs_ns": max(
                0, self.after.other_programs_ns - self.before.other_programs_ns
            )
            if self.server_is_ours
            else None,
        }


@contextmanager
def watch_host(
    server: Process | None,
    namespaces: Sequence[int | None] = (None,),
    *,
    server_is_ours: bool = True,
) -> Iterator[HostWatch]:
    """Read the counters at the start and the end of the block, which puts the load on. ``server``:
    None for one that the lab did not start, or that runs on another host.
    """
    counters = read_counters(namespaces)
    watch = HostWatch(before=counters, after=counters, server_is_ours=server_is_ours)
    switches = procfs.involuntary_switches(server.pids()) if server is not None else 0
    yield watch
    pids = server.pids() if server is not None else set()
    growth = procfs.involuntary_switches(pids) - switches if pids else -1
    watch.server_switches = growth if growth >= 0 else None
    watch.after = read_counters(namespaces)


def _growth(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
