"""What a fleet of so many hosts costs its command: the figures of ``docs/scale.md``.

    python -m developer.fleet_scale --hosts 10 100 1000

Hosts are simulated (``simulated_fleet``): the workers, the scheduler and all that they say to each
other are real, and trials take no time. So a block costs what coordination costs. CPU time is that
of the command, in which the scheduler is.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import socket
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

from developer.simulated_fleet import (
    CONTESTANTS,
    ENTRIES,
    HISTOGRAM,
    Trials,
    bench_of,
    fleet_file,
    histogram_of,
    hosts_of,
    latencies_ns,
    name_of,
    plan_of,
    session_of,
)
from wirebench.fleet.clocks import EXCHANGES, Clock, compare_clocks
from wirebench.fleet.orders import read_trial, write_trial
from wirebench.fleet.rounds import Rounds
from wirebench.plan.estimate import Pace
from wirebench.plan.stop import Standstill
from wirebench.report.histograms import merge
from wirebench.report.markdown import table
from wirebench.run.session import Session

MS, MIB = 1e6, 2**20
CELLS = 2
IDLE_S = 20.0
CLOCKS_OF = 50
"""With more hosts, the clocks of so many are compared."""
JOIN_S = 300.0


# --- what is counted ------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Count:
    """What the scheduler sent and got, and what that cost the command."""

    messages: int = 0
    nbytes: int = 0
    cpu_ns: int = 0
    elapsed_ns: int = 0

    def __sub__(self, other: Count) -> Count:
        return Count(**{key: mine - getattr(other, key) for key, mine in vars(self).items()})

    def over(self, number: float) -> dict[str, float]:
        return {one.name: getattr(self, one.name) / number for one in fields(self)}


class Meter:
    """Counts while it is entered. Each message of the scheduler counts once: also those with its
    client, which is in this process and has the other end.
    """

    def __init__(self) -> None:
        self._messages = self._bytes = 0
        self.scheduler = ""
        """Its address, once it has one."""

    def __enter__(self) -> Meter:
        from distributed.comm import tcp

        reading: ContextVar[bool] = ContextVar("reading", default=False)
        patched: Any = tcp
        read, write, from_frames = patched.TCP.read, patched.TCP.write, patched.from_frames
        meter = self

        def counts(comm: Any) -> bool:
            return bool(comm.peer_address != meter.scheduler)

        async def counted_read(comm: Any, *arguments: Any, **options: Any) -> Any:
            reading.set(counts(comm))
            message = await read(comm, *arguments, **options)
            meter._messages += counts(comm)
            return message

        async def counted_write(comm: Any, *arguments: Any, **options: Any) -> int:
            written: int = await write(comm, *arguments, **options)
            if counts(comm):
                meter._messages += 1
                meter._bytes += written
            return written

        async def counted_frames(frames: Any, **options: Any) -> Any:
            if reading.get():
                meter._bytes += sum(memoryview(one).nbytes for one in frames)
            return await from_frames(frames, **options)

        patched.TCP.read, patched.TCP.write = counted_read, counted_write
        patched.from_frames = counted_frames
        self._undo = (read, write, from_frames)
        return self

    def __exit__(self, *_: object) -> None:
        from distributed.comm import tcp

        patched: Any = tcp
        patched.TCP.read, patched.TCP.write, patched.from_frames = self._undo

    def now(self) -> Count:
        return Count(
            messages=self._messages,
            nbytes=self._bytes,
            cpu_ns=time.process_time_ns(),
            elapsed_ns=time.monotonic_ns(),
        )

    @contextmanager
    def over(self, found: Count) -> Iterator[None]:
        """``found`` becomes what was counted inside."""
        before = self.now()
        yield
        vars(found).update(vars(self.now() - before))


def resident_bytes(pid: int | str = "self") -> int:
    pages = int(Path("/proc", str(pid), "statm").read_text().split()[1])
    return pages * resource.getpagesize()


# --- a fleet --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FleetCost:
    hosts: int
    describing: Count
    bundles: Count
    """Sending them, to all hosts."""
    welcome: Count
    """Of all hosts: asking what they have, collecting, and tidying up at the end."""
    block: Count
    """Of all hosts, one each."""
    idle: Count
    clocks: Sequence[Clock]
    before_bytes: int
    """What the command had before any host joined."""
    joined_bytes: int
    after_bytes: int
    host_bytes: int
    """Of all processes of hosts."""


def measure_fleet(
    hosts: int,
    folder: Path,
    scratch: Path,
    *,
    per_process: int,
    bundle_bytes: int = 50_000,
    more_blocks: int = 2,
    idle_s: float = IDLE_S,
) -> FleetCost:
    """``more_blocks``: of each host beyond its first, to see what a block costs."""
    from wirebench.fleet.cluster import Cluster
    from wirebench.fleet.quiet import make_quiet
    from wirebench.fleet.session import describe_hosts

    make_quiet()
    fleet = fleet_file(folder, hosts=hosts, per_process=per_process, port=_free_port())
    counts = {one: Count() for one in ("describing", "new", "known", "more", "idle")}
    before = resident_bytes()
    with (
        Meter() as meter,
        Cluster(fleet) as cluster,
        hosts_of(fleet, scratch, per_process=per_process) as processes,
    ):
        meter.scheduler = fleet.scheduler
        if missing := cluster.wait_for(set(fleet.hosts), timeout_s=JOIN_S):
            raise RuntimeError(f"{len(missing)} simulated hosts did not join in {JOIN_S:g} s")
        joined = resident_bytes()
        with meter.over(counts["describing"]):
            said = describe_hosts(cluster, [])
        for name, blocks in (("new", 1), ("known", 1), ("more", 1 + more_blocks)):
            bench = bench_of(folder, said, bundle_bytes)
            session = session_of(folder, bench, CONTESTANTS)
            with meter.over(counts[name]):
                _run(session, bench, cluster, blocks=hosts * blocks)
        with meter.over(counts["idle"]):
            time.sleep(idle_s)
        clocks = [_clock_of(cluster, name_of(number)) for number in range(min(hosts, CLOCKS_OF))]
        after, there = resident_bytes(), sum(map(resident_bytes, processes))
    more = counts["more"] - counts["known"]
    block = Count(**{key: round(one) for key, one in more.over(more_blocks).items()})
    return FleetCost(
        hosts=hosts,
        describing=counts["describing"],
        bundles=counts["new"] - counts["known"],
        welcome=counts["known"] - block,
        block=block,
        idle=counts["idle"],
        clocks=clocks,
        before_bytes=before,
        joined_bytes=joined,
        after_bytes=after,
        host_bytes=there,
    )


def _run(session: Session, bench: Any, cluster: Any, *, blocks: int) -> None:
    from wirebench.fleet.session import FleetRun

    plan = plan_of(cells=CELLS, blocks=blocks // CELLS)
    run = FleetRun(
        session=session,
        plan=plan,
        bench=bench,
        hosts=cluster,
        look=lambda *_: Standstill(),
        say=lambda _: None,
        patience_s=30,
    )
    measured = run.measure()
    session.directory.close()
    assert sum(measured.blocks.values()) == blocks // CELLS * CELLS
    assert len(session.trials) == sum(measured.blocks.values()) * ENTRIES


def _clock_of(cluster: Any, host: str) -> Clock:
    from wirebench.fleet import worker

    return compare_clocks(lambda: int(cluster.ask(host, worker.steady_clock)))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# --- parts without Dask ---------------------------------------------------------------------------


def rounds_ns(hosts: int, *, blocks: int, cells: int) -> tuple[float, float]:
    """CPU time to choose the block of a host and to take its trials: the mean of the first tenth
    of the blocks, and of the last. Each host has ``blocks`` in all.
    """
    trials = Trials()
    total = hosts * blocks
    rounds = Rounds(
        plan=plan_of(cells=cells, blocks=-(-total // cells)),
        look=lambda *_: Standstill(),
        dropped=lambda _: False,
        keep=lambda *_: None,
        leave=lambda _: None,
        note=lambda _: None,
        pace=Pace(estimated={}),
        clock_ns=lambda: 0,
    )
    rounds.resume((), ())
    took = []
    for number in range(total):
        host = name_of(number % hosts)
        begun = time.process_time_ns()
        handed = rounds.next(host)
        own = time.process_time_ns() - begun
        assert handed is not None
        records = [trials.of(one, host=host) for one in handed.trials]
        begun = time.process_time_ns()
        rounds.take(records)
        rounds.ended(handed)
        took.append(own + time.process_time_ns() - begun)
    tenth = max(1, total // 10)
    return float(np.mean(took[:tenth])), float(np.mean(took[-tenth:]))


@dataclass(frozen=True, kw_only=True)
class Merging:
    histograms: int
    ns_each: float
    peak_bytes: int
    """Of Python's memory, beside the texts."""
    count: int
    lossless: bool
    """Whether each bucket of the merged one has the sum of the buckets."""


def measure_merging(histograms: int, *, kinds: int = 20) -> Merging:
    """``kinds``: how many different ones there are."""
    texts = [histogram_of(seed) for seed in range(kinds)]
    begun = time.process_time_ns()
    merged = merge(texts[number % kinds] for number in range(histograms))
    took = time.process_time_ns() - begun
    assert merged is not None
    tracemalloc.start()
    merge(texts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    direct = HdrHistogram(*HISTOGRAM)
    for seed in range(kinds):
        times = len(range(seed, histograms, kinds))
        values, counts = np.unique(latencies_ns(seed), return_counts=True)
        for value, count in zip(values.tolist(), (counts * times).tolist(), strict=True):
            if count:
                direct.record_value(value, count)
    same = list(direct.counts) == list(merged.counts)
    return Merging(
        histograms=histograms,
        ns_each=took / histograms,
        peak_bytes=peak,
        count=int(merged.get_total_count()),
        lossless=same and direct.get_total_count() == merged.get_total_count(),
    )


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Of a trial that a host sent."""

    line_bytes: int
    ns: float
    kept_bytes: float
    """What the command holds of it until the run ends."""


def measure_reading(count: int = 200) -> Reading:
    (trial, *_) = plan_of(cells=1, blocks=1).cells[0].block(1, seed=1)
    line = json.dumps(write_trial(Trials().of(trial, host="h")), separators=(",", ":"))
    begun = time.process_time_ns()
    for _ in range(count):
        read_trial(line, host="h")
    took = time.process_time_ns() - begun
    tracemalloc.start()
    kept = [read_trial(line, host="h") for _ in range(count)]
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Reading(line_bytes=len(line), ns=took / count, kept_bytes=held / len(kept))


# --- the tables -----------------------------------------------------------------------------------


def fleet_rows(costs: Sequence[FleetCost]) -> list[tuple[str, ...]]:
    """A row for each figure, a column for each fleet."""

    def row(name: str, figure: Any) -> tuple[str, ...]:
        return (name, *(figure(one) for one in costs))

    def each(name: str, unit: str, scale: float, what: str, count: Any) -> tuple[str, ...]:
        return row(f"{name}: {unit}", lambda one: _text(count(one).over(one.hosts)[what] / scale))

    rows = []
    for name, count in (
        ("describing a host", lambda one: one.describing),
        ("welcoming a host", lambda one: one.welcome),
        ("sending it the bundles", lambda one: one.bundles),
        (f"a block of {ENTRIES} trials", lambda one: one.block),
    ):
        rows += [
            each(name, "messages", 1, "messages", count),
            each(name, "KiB", 1024, "nbytes", count),
            each(name, "ms of CPU", MS, "cpu_ns", count),
            each(name, "ms elapsed", MS, "elapsed_ns", count),
        ]
    rows += [
        row("a trial: messages", lambda one: _text(one.block.messages / one.hosts / ENTRIES)),
        row("idle: messages/s", lambda one: _text(_per_s(one.idle, one.idle.messages))),
        row("idle: % of a core", lambda one: _text(_per_s(one.idle, one.idle.cpu_ns) / 1e7)),
        row(
            "command: KiB a host that joins",
            lambda one: _text((one.joined_bytes - one.before_bytes) / 1024 / one.hosts),
        ),
        row("command: MiB at the end", lambda one: _text(one.after_bytes / MIB)),
        row("simulated host: MiB", lambda one: _text(one.host_bytes / MIB / one.hosts)),
        row(
            f"clocks: best of {EXCHANGES} round trips, us, median",
            lambda one: _text(float(np.median([each.round_trip_ns for each in one.clocks])) / 1e3),
        ),
        row(
            "clocks: largest, us",
            lambda one: _text(max(each.round_trip_ns for each in one.clocks) / 1e3),
        ),
        row(
            "clocks: largest error of the offset, us",
            lambda one: _text(max(abs(each.offset_ns) for each in one.clocks) / 1e3),
        ),
    ]
    return rows


def _per_s(idle: Count, figure: float) -> float:
    return figure / (idle.elapsed_ns / 1e9)


def _text(figure: float) -> str:
    return f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:.3g}"


def machine() -> Mapping[str, str]:
    """What the figures were measured on, and what else it did."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown processor",
    )
    return {
        "processor": f"{model}, {os.cpu_count()} cores",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load average": _load(),
        "at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def _load() -> str:
    return " ".join(f"{one:.1f}" for one in os.getloadavg())


def main() -> None:
    parser = argparse.ArgumentParser(prog="fleet_scale", description=__doc__)
    parser.add_argument("--hosts", nargs="+", type=int, default=[10, 100, 1000])
    parser.add_argument("--per-process", type=int, default=250)
    parser.add_argument("--merge", nargs="+", type=int, default=[10, 100, 1000, 10_000])
    parser.add_argument(
        "--bundle-bytes", type=int, default=50_000, help="0: one empty bundle for all."
    )
    parser.add_argument("--more-blocks", type=int, default=2)
    parser.add_argument("--scratch", type=Path, help="For what the simulated hosts write.")
    asked = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for name, what in machine().items():
        print(f"{name}: {what}", flush=True)
    costs = []
    for hosts in asked.hosts:
        with (
            tempfile.TemporaryDirectory(prefix="fleet-scale-") as folder,
            tempfile.TemporaryDirectory(prefix="fleet-hosts-", dir=asked.scratch) as scratch,
        ):
            begun = time.monotonic()
            costs.append(
                measure_fleet(
                    hosts,
                    Path(folder),
                    Path(scratch),
                    per_process=asked.per_process,
                    bundle_bytes=asked.bundle_bytes,
                    more_blocks=asked.more_blocks,
                )
            )
            took = time.monotonic() - begun
        print(f"\n{hosts} hosts took {took:.0f} s, load {_load()}", flush=True)
        heads = ("", *(f"{one.hosts:,} hosts" for one in costs))
        print("\n".join(table(heads, fleet_rows(costs), figures=range(1, len(heads)))), flush=True)
    rows = []
    for hosts in asked.hosts:
        for blocks, cells in ((6, 2), (6, 30)):
            first, last = rounds_ns(hosts, blocks=blocks, cells=cells)
            rows.append((f"{hosts:,}", str(cells), _text(first / MS), _text(last / MS)))
    heads = ("hosts", "cells", "ms for one of the first blocks", "for one of the last")
    print("\n".join(table(heads, rows, figures=range(4))), flush=True)
    merged = []
    for count in asked.merge:
        one = measure_merging(count)
        merged.append(
            (
                f"{count:,}",
                _text(one.ns_each / MS),
                _text(one.ns_each * count / 1e9),
                _text(one.peak_bytes / MIB),
                "yes" if one.lossless else "NO",
            )
        )
    heads = ("histograms", "ms each", "s in all", "MiB", "lossless")
    print("\n".join(table(heads, merged, figures=range(4))), flush=True)
    trial = measure_reading()
    print(
        f"a trial is a line of {trial.line_bytes:,} bytes: {trial.ns / MS:.2f} ms to read,"
        f" {trial.kept_bytes:,.0f} bytes kept"
    )


if __name__ == "__main__":
    main()
