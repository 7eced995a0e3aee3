"""The round trip of a link as it is, and not as it was asked for: measured through the floor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wirebench.catalog.link import Link
from wirebench.catalog.loads import REPLY_TIMEOUT_NS, EachLoad
from wirebench.catalog.workloads import request_of
from wirebench.process.cores import choose_cores
from wirebench.process.link import LinkError, open_link
from wirebench.process.start import ServerSettings, StartError, start_server
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.trial import watchdog
from wirebench.trial import wireload as generator

REQUESTS = 25
"""Enough for a median with ten samples beyond it, and over in three seconds at 100 ms."""


@dataclass(frozen=True, kw_only=True)
class LinkRtt:
    """Round trips of requests over one kept connection."""

    link: Link
    emulator: str
    median_ns: int
    min_ns: int
    max_ns: int

    def __str__(self) -> str:
        return (
            f"link of {self.link}, by {self.emulator}; measured {self.median_ns / 1e6:.2f} ms"
            f" through the floor, the median of {REQUESTS} requests ({self.min_ns / 1e6:.2f} to"
            f" {self.max_ns / 1e6:.2f} ms)"
        )


def measure_rtt(
    supervisor: Supervisor, link: Link, *, program: Program, wireload: Path, wirelink: Path
) -> LinkRtt | None:
    """Ask a server of the workload ``rest`` over a link of its own. None where that fails: the
    trials over the link then fail too, and say why.
    """
    load = EachLoad(
        producers=1, messages=REQUESTS, delay_ms=0, policy="reuse", threads=1, link=link
    )
    cores = choose_cores()
    timeout_ns = watchdog.reply_timeout_ns(load, patience_ns=REPLY_TIMEOUT_NS, threads=1)
    with supervisor.scope() as scope:
        try:
            # With a record, as in the trials: without one it might be another emulator.
            between = open_link(
                scope,
                wirelink,
                link,
                cores=cores.generator,
                record=scope.folder / "packets.txt",
            )
            settings = ServerSettings(workload="rest")
            server = start_server(
                scope, program, settings, cores=cores.contestant, network=between.server
            )
        except (LinkError, StartError):
            return None
        aim = generator.Aim(
            origin=f"http://{between.server.address}:{server.port}",
            request=request_of("rest"),
            cores=cores.generator,
            watch=server.process.watch,
            timeout_ns=timeout_ns,
            seed=1,
            json_file=scope.folder / "wireload.json",
        )
        process = scope.start(
            generator.command(wireload, load, aim),
            name="generator",
            cwd=scope.folder,
            env={},
            cores=cores.generator,
            alone=True,
            enter=between.client.enter,
        )
        code = process.wait(watchdog.limit_ns(load, timeout_ns=timeout_ns, threads=1) / 1e9)
        process.stop()
        if code != generator.EXIT_OK:
            return None
        try:
            latency = generator.read_document(aim.json_file).document.latency
        except generator.DocumentError:
            return None
    median = latency.percentiles_ns.get("50")
    if latency.count != REQUESTS or median is None:
        return None
    if latency.min_ns is None or latency.max_ns is None:
        return None
    return LinkRtt(
        link=link,
        emulator=between.emulator,
        median_ns=median,
        min_ns=latency.min_ns,
        max_ns=latency.max_ns,
    )
