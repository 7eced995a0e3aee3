"""Runs as ``wirebench quick`` leaves them, made up from a seed: what the statistics and the report
are tested with.

Every entry has a true speed per study; a trial's figures are that speed times the block's luck
(shared by all of the block) times its own. What an entry does wrong is said in ``TROUBLE``.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

from wirebench.catalog.loads import (
    BroadcastLoad,
    ClientLoad,
    ClosedLoad,
    EachLoad,
    IdleLoad,
    OpenLoad,
    RampLoad,
    StormLoad,
)
from wirebench.catalog.studies import Cell, Study
from wirebench.catalog.study_files import load_studies
from wirebench.plan.blocks import PlannedTrial, entries_of
from wirebench.plan.model import Plan, PlannedCell, StudyText
from wirebench.run.bench import check_name
from wirebench.store.records import AbsentRecord, RunInfo, Selection, VerifyRecord
from wirebench.store.rundir import RunDirectory
from wirebench.trial.record import FailureRecord, TrialRecord

ROOT = Path(__file__).resolve().parents[2]
FLOOR = "cpp/floor"
HOSTILE = (
    "HTTP/1.1 200 OK\r\n\r\n</script><script>document.title='owned'</script><img src=x"
    " onerror=alert(1)>"
)

# Seconds of server time per request over the floor's.
COSTS: Mapping[str, Mapping[str, float]] = {
    "concurrency": {
        FLOOR: 1.0,
        "go/net-http": 2.1,
        "rust/axum": 1.22,
        "rust/hyper": 1.22,
        "c/libevent": 1.9,
        "node/http": 6.0,
        "python/aiohttp": 12.0,
        "python/flask": 70.0,
        "java/broken": 3.0,
    },
    "rest": {
        FLOOR: 1.0,
        "cpp/cpp-httplib": 3.4,
        "go/net-http": 2.2,
        "rust/axum": 1.9,
        "node/http": 4.1,
        "python/aiohttp": 9.0,
        "python/flask": 30.0,
    },
    "websocket": {
        FLOOR: 1.0,
        "c/libwebsockets": 1.9,
        "go/gorilla-websocket": 2.3,
        "rust/tokio-tungstenite": 2.0,
        "node/ws": 5.0,
        "python/websockets": 14.0,
        "java/java-websocket": 3.5,
    },
    "roundtrip": {
        FLOOR: 1.0,
        "cpp/libcurl": 1.15,
        "go/net-http": 1.4,
        "python/aiohttp": 4.0,
        "node/http": 2.5,
    },
}
WS_CLIENTS = {
    FLOOR: 1.0,
    "cpp/websocketpp": 1.3,
    "go/gorilla-websocket": 1.3,
    "python/websockets": 3.2,
    "node/ws": 1.8,
}


@dataclass(frozen=True, kw_only=True)
class World:
    seed: int = 7
    blocks: int = 6
    noise: float = 0.01
    """Standard deviation of a trial's own luck, in log terms."""
    block_noise: float = 0.10
    repeats: int = 1
    """The blocks are spread over so many repeats, in order."""
    run_noise: float = 0.0
    """Standard deviation of what an entry's cost differs by from repeat to repeat, in log terms."""
    intervals: int = 20
    host_id: str = "0123456789ab"
    started_unix_ns: int = 1_769_862_605_000_000_000
    studies: tuple[str, ...] = ("roundtrip", "concurrency", "rest", "websocket")
    samples: int = 400
    preset: str = "quick"
    generator_per_s: float = 100_000
    """Requests/s at which the generator is at its limit. It does not show in the figures."""
    scale: Mapping[str, float] | None = None
    """Cost of an entry times this, in every study."""
    cells: Mapping[str, tuple[Cell, ...]] | None = None
    """By study, in place of those of the preset."""
    costs: Mapping[str, Mapping[str, float]] | None = None
    """By study, in place of ``COSTS`` and ``WS_CLIENTS``."""
    failing: Collection[str] = ()
    """Contestants whose trial fails in the second block of every cell."""


def studies() -> dict[str, Study]:
    return load_studies(ROOT / "studies")


def costs_of(world: World, study: str, cell: Cell) -> Mapping[str, float]:
    if world.costs is not None:
        return world.costs[study]
    if isinstance(cell.load, ClientLoad) and cell.load.scheme in ("ws", "wss"):
        return WS_CLIENTS
    return COSTS[study]


def make_plan(world: World) -> Plan:
    cells, texts = [], []
    for study in studies().values():
        if study.name not in world.studies:
            continue
        preset = study.preset(world.preset)
        texts.append(
            StudyText(
                name=study.name,
                title=study.title,
                question=study.question,
                role=study.role,
                preset=preset.name,
                preset_title=preset.title,
                left_out=dict.fromkeys(preset.without, f"the preset {preset.name} leaves it out"),
            )
        )
        cells_of_study = preset.cells if world.cells is None else world.cells[study.name]
        for index, cell in enumerate(cells_of_study):
            names = list(costs_of(world, study.name, cell))
            twin = names[1 + index % (len(names) - 2)]
            cells.append(
                PlannedCell(
                    study=study.name,
                    role=study.role,
                    cell=cell,
                    entries=entries_of(names, twin=twin),
                    floors=(FLOOR,),
                    twin=twin,
                    server="c/nginx" if study.role == "client" else None,
                    min_blocks=world.blocks,
                    max_blocks=world.blocks,
                    precision=0.02,
                )
            )
    plan = Plan(
        seed=world.seed,
        studies=tuple(texts),
        cells=tuple(cells),
        budget_ns=None,
        estimate_ns=300_000_000_000,
        builds={name: "0" * 12 for study in (world.costs or COSTS).values() for name in study},
        order=(),
    )
    return replace(plan, order=tuple(trial.id for trial in plan.blocks(range(1, world.blocks + 1))))


def make_trials(world: World, plan: Plan) -> list[TrialRecord]:
    random = np.random.default_rng(world.seed)
    cells = {cell.key: cell for cell in plan.cells}
    luck: dict[tuple[str, int], float] = {}
    layout: dict[tuple[str, int], float] = {}
    records = []
    for planned in plan.blocks(range(1, world.blocks + 1)):
        key = (planned.study, planned.block)
        luck.setdefault(key, float(np.exp(random.normal(0, world.block_noise))))
        repeat = 1 + (planned.block - 1) // math.ceil(world.blocks / world.repeats)
        own = (f"{planned.study} {planned.entry.name}", repeat)
        if own not in layout:
            layout[own] = math.exp(random.normal(0, world.run_noise)) if world.run_noise else 1.0
        trial = _trial(
            world,
            planned,
            cells[f"{planned.study}.{planned.cell}"],
            luck[key] * layout[own],
            random,
        )
        records.append(replace(trial, repeat=repeat))
    for cell in plan.cells:
        if cell.study == "rest":
            records.append(_not_conformant(cell))
    return records


def _trial(
    world: World, planned: PlannedTrial, cell: PlannedCell, luck: float, random: np.random.Generator
) -> TrialRecord:
    contestant = planned.entry.contestant
    base = TrialRecord(
        trial=planned.id,
        study=planned.study,
        cell=planned.cell,
        block=planned.block,
        position=planned.position,
        entry=planned.entry.name,
        contestant=contestant,
        twin_of=planned.entry.twin_of,
        status="ok",
        failure=None,
        started_unix_ns=world.started_unix_ns,
        elapsed_ns=1_500_000_000,
        port=40_000 + planned.position,
        environment_bytes=planned.environment_bytes,
        ready_ns=30_000_000,
        covariates={
            "steal_ns": 2_000_000,
            "psi_cpu_some_us": 1200,
            "involuntary_switches": 40,
            "retransmits": 0,
        },
    )
    failure = _trouble(world, planned)
    if failure is not None:
        wrong = {"connect_refused": 7, failure.kind: 1}
        load = {"connect": {"failed": 7}, "errors": wrong}
        return replace(base, status="failed", failure=failure, load=load)
    cost = costs_of(world, planned.study, cell.cell)[contestant]
    cost *= (world.scale or {}).get(contestant, 1.0)
    cost *= luck * float(np.exp(random.normal(0, world.noise)))
    return _measured(world, base, cell.cell, cost, random)


def _trouble(world: World, planned: PlannedTrial) -> FailureRecord | None:
    contestant = planned.entry.contestant
    breaks = contestant == "java/broken" and planned.cell == "c1000" and planned.block in (2, 5)
    if breaks or (contestant in world.failing and planned.block == 2):
        return FailureRecord(
            kind="wrong_reply",
            phase="load",
            message=(
                "the server gave a wrong reply; 51200 right replies of 51201 requests; errors:"
                " bad_body 1"
            ),
            sent="GET /route_01 HTTP/1.1",
            expected="hello from route_01",
            received=HOSTILE,
        )
    if contestant == "python/flask" and planned.cell == "c1000":
        return FailureRecord(
            kind="closed_early",
            phase="load",
            message="the server closed connections it should have answered on",
            sent="GET /route_01 HTTP/1.1",
            expected="a reply to each request",
            received=None,
        )
    return None


def _not_conformant(cell: PlannedCell) -> TrialRecord:
    return TrialRecord(
        trial=f"{cell.key}.b00.java.broken",
        study=cell.study,
        cell=cell.cell.id,
        block=0,
        position=0,
        entry="java/broken",
        contestant="java/broken",
        twin_of=None,
        status="failed",
        failure=FailureRecord(
            kind="nonconformant",
            phase="verify",
            message="POST /test with a body that is not JSON: expected 400",
            sent="POST /test {",
            expected="400",
            received="200 OK <b>fine</b>",
        ),
        started_unix_ns=0,
        elapsed_ns=0,
    )


def _measured(
    world: World, base: TrialRecord, cell: Cell, cost: float, random: np.random.Generator
) -> TrialRecord:
    load = cell.load
    metrics: dict[str, float | int | None]
    if isinstance(load, ClosedLoad):
        rate = 150_000 / cost
        mean = load.connections / rate * 1e9
        metrics = _latency(mean) | {
            "throughput_per_s": rate,
            "cpu_per_request_ns": 5_000 * cost,
            "server_rss_peak_bytes": 4_000_000 + 4_000 * load.connections * cost,
            "server_rss_bytes": 4_000_000 + 4_200 * load.connections * cost,
            "server_pss_bytes": 3_000_000 + 4_000 * load.connections * cost,
            "server_kernel_bytes": None,
            "host_kernel_growth_bytes": 400_000 + 5_600 * load.connections,
            "connect_ns": 12_000_000,
        }
        return _with_load(world, base, metrics, mean, rate, random, connections=load.connections)
    if isinstance(load, OpenLoad):
        return _open(world, base, load, cost, random)
    if isinstance(load, EachLoad):
        per_request = (load.delay_ms * 1e6 if load.delay_ms else 0) + 60_000 * cost
        messages = load.producers * load.messages
        makespan = per_request * load.messages * (load.producers / 2 if not load.delay_ms else 2.5)
        metrics = _latency(per_request) | {
            "throughput_per_s": messages / makespan * 1e9,
            "makespan_ns": makespan,
            "service_makespan_ns": makespan - 50_000,
            "cpu_per_request_ns": 9_000 * cost,
            "server_rss_peak_bytes": 8_000_000 * cost,
        }
        return _with_load(
            world,
            base,
            metrics,
            per_request,
            messages / makespan * 1e9,
            random,
            connections=load.producers,
        )
    if isinstance(load, RampLoad):
        return _ramp(world, base, load, cost, random)
    if isinstance(load, StormLoad):
        return _storm(world, base, load, cost, random)
    if isinstance(load, IdleLoad):
        return _idle(base, load, cost)
    if isinstance(load, BroadcastLoad):
        return _broadcast(world, base, load, cost, random)
    assert isinstance(load, ClientLoad)
    trip = (
        30_000
        + 25_000 * cost
        + load.payload_bytes * 0.4
        + (120_000 * cost if load.policy != "reuse" else 0)
    )
    metrics = _latency(trip) | {
        "round_trip_ns": trip,
        "round_trip_p99_ns": trip * 2.2,
        "stddev_ns": trip * 0.3,
        "throughput_per_s": 1e9 / trip,
        "cpu_per_operation_ns": 14_000 * cost,
        "connections_opened": load.operations if load.policy != "reuse" else 1,
        "success_ratio": 1.0,
    }
    if load.resumption:
        metrics["connections_resumed"] = load.operations - 1
    return replace(
        base,
        metrics=metrics,
        histogram=_histogram(world, trip, random),
        validity={"completed": True},
    )


def _storm(
    world: World, base: TrialRecord, load: StormLoad, cost: float, random: np.random.Generator
) -> TrialRecord:
    each = 30_000 + 20_000 * cost
    ready = 40_000_000 if load.restart else 0
    metrics = _latency(load.connections * each / 3) | {
        "connect_ns": load.connections * each / 2,
        "makespan_ns": load.connections * each + ready,
        "ready_ns": 40_000_000,
        "success_ratio": 1.0,
        "server_rss_peak_bytes": 4_000_000 + 4_000 * load.connections * cost,
    }
    return replace(
        base,
        metrics=metrics,
        histogram=_histogram(world, load.connections * each / 3, random),
        validity={"completed": True, **_cpu_shares(world, base, 1e9 / each)},
    )


def _broadcast(
    world: World, base: TrialRecord, load: BroadcastLoad, cost: float, random: np.random.Generator
) -> TrialRecord:
    """Each message takes its time for each subscriber, one after the other."""
    each = 3_000 * cost
    last = load.connections * each
    metrics = _latency(last / 2) | {
        "throughput_per_s": 1e9 / each,
        "last_p50_ns": last,
        "last_p99_ns": last * 1.2,
        "cpu_per_request_ns": 2_800 * cost,
        "server_rss_peak_bytes": 4_000_000 + 4_000 * load.connections * cost,
        "connect_ns": load.connections * 30_000,
        "success_ratio": 1.0,
    }
    return _with_load(
        world, base, metrics, last / 2, 1e9 / each, random, connections=load.connections
    )


def _idle(base: TrialRecord, load: IdleLoad, cost: float) -> TrialRecord:
    """Nothing is sent: no latency, no rate, no histogram."""
    memory = 3_000_000 + 4_000 * load.connections * cost
    metrics = {
        "connect_ns": load.connections * 30_000,
        "connect_cpu_ns": load.connections * 15_000 * cost,
        "success_ratio": 1.0,
        "cpu_per_s_ns": 200_000 * cost,
        "wake_ups_per_s": 1.0 + cost,
        "server_rss_peak_bytes": memory * 1.2,
        "server_rss_bytes": memory * 1.1,
        "server_pss_bytes": memory,
        "server_kernel_bytes": None,
        "host_kernel_growth_bytes": 5_600 * load.connections,
    }
    return replace(base, metrics=metrics, validity={"completed": True})


def _open(
    world: World, base: TrialRecord, load: OpenLoad, cost: float, random: np.random.Generator
) -> TrialRecord:
    """A queue with one server: its delay grows as 1 / (1 - load)."""
    most = 150_000 / cost
    offered = load.rate_per_s if load.rate_per_s is not None else (load.share or 0.0) * most
    kept = offered < most
    rate = min(offered, most)
    mean = 1e9 / most / (1 - offered / most) + 20_000 if kept else 400_000_000.0
    metrics = (dict.fromkeys(_latency(mean)) if load.overload else _latency(mean)) | {
        "throughput_per_s": rate,
        "offered_per_s": offered,
        "cpu_per_request_ns": 5_000 * cost if kept else None,
        "server_rss_peak_bytes": 4_000_000,
        "success_ratio": 1.0,
        "lag_p99_ns": 3_000,
    }
    record = _with_load(world, base, metrics, mean, rate, random, connections=load.connections)
    return replace(record, validity={"completed": True, "kept_up": kept, "void": None})


def _latency(mean: float) -> dict[str, float | int | None]:
    return {
        "p50_ns": mean * 0.9,
        "p90_ns": mean * 1.5,
        "p99_ns": mean * 2.4,
        "p999_ns": None,
        "mean_ns": mean,
        "max_ns": mean * 6,
    }


def _with_load(
    world: World,
    base: TrialRecord,
    metrics: Mapping[str, float | int | None],
    mean: float,
    rate: float,
    random: np.random.Generator,
    *,
    connections: int,
) -> TrialRecord:
    ok = np.exp(random.normal(0, 0.004, world.intervals)) * rate / 10
    voided = base.entry == "node/http" and base.block == 3 and base.cell == "c50"
    return replace(
        base,
        metrics=metrics,
        series={
            "interval_ns": 100_000_000,
            "ok": [round(value) for value in ok],
            "errors": [0] * world.intervals,
            "p50_ns": [round(mean * 0.9 * value / rate * 10) for value in ok],
            "max_ns": [round(mean * 6)] * world.intervals,
        },
        histogram=_histogram(world, mean, random),
        validity={
            "little_ratio": 0.91 if voided else 0.998,
            **_cpu_shares(world, base, rate),
            "completed": True,
        },
        load={
            "plan": {"connections": connections},
            "connect": {"failed": 0},
            "errors": {"connect_refused": 0, "bad_body": 0},
        },
    )


def _cpu_shares(world: World, base: TrialRecord, rate: float) -> dict[str, float | int]:
    """A server with one core, and a generator that can send so many requests in a second."""
    generator = min(0.99, rate / world.generator_per_s)
    delayed = "-t" in base.cell and not base.cell.endswith("-t0")
    server = 0.02 if delayed else 0.85 if generator == 0.99 else 0.998
    return {"server_cpu_share": server, "generator_cpu_share": generator, "server_cores": 1}


def _ramp(
    world: World, base: TrialRecord, load: RampLoad, cost: float, random: np.random.Generator
) -> TrialRecord:
    breaks = base.contestant == "python/websockets" and load.pacing == "burst"
    rounds: list[dict[str, Any]] = []
    for number in range(1, load.rounds + 1):
        clients = number * load.add
        in_flight = clients * (load.messages if load.pacing == "burst" else 1)
        trip = 20_000 + 9_000 * cost * in_flight * 0.6
        sent = clients * load.messages
        answered = round(sent * 0.62) if breaks and number == load.rounds else sent
        rounds.append(
            {
                "round": number,
                "clients": clients,
                "opened": clients,
                "connect_elapsed_ns": round(load.add * 60_000 * (0.7 + 0.3 * cost)),
                "sent": sent,
                "answered": answered,
                "errors": {"read_timeout": sent - answered} if answered < sent else {},
                "success_ratio": answered / sent,
                "elapsed_ns": round(9_000 * cost * sent),
                "latency": {
                    "count": answered,
                    "min_ns": round(trip * 0.2),
                    "mean_ns": trip,
                    "stddev_ns": trip * 0.3,
                    "max_ns": round(trip * 3),
                    "percentiles_ns": {
                        "50": round(trip * 0.95),
                        "75": None,
                        "90": round(trip * 1.4),
                        "99": round(trip * 2),
                        "99.9": round(trip * 2.5) if answered >= 10_000 else None,
                    },
                    "histogram": None,
                },
                "server": {
                    "cpu_user_ns": round(2_000 * cost * answered),
                    "cpu_system_ns": round(5_000 * cost * answered),
                    "rss_bytes": round(8_000_000 * cost) + 4_096 * clients,
                    "rss_peak_bytes": round(9_000_000 * cost) + 4_096 * clients,
                    "pss_bytes": None,
                    "processes": 1,
                },
            }
        )
    elapsed = sum(one["elapsed_ns"] for one in rounds)
    answered = sum(one["answered"] for one in rounds)
    rate = answered / elapsed * 1e9
    metrics = _latency(float(rounds[-1]["latency"]["mean_ns"])) | {
        "throughput_per_s": rate,
        "cpu_per_request_ns": 7_000 * cost,
        "server_rss_peak_bytes": 9_000_000 * cost,
        "connect_ns": sum(one["connect_elapsed_ns"] for one in rounds),
        "success_ratio": answered / sum(one["sent"] for one in rounds),
    }
    warnings = (
        (
            f"partial_errors: in round {load.rounds} with {load.rounds * load.add} connections:"
            f" read_timeout {rounds[-1]['sent'] - rounds[-1]['answered']}",
        )
        if breaks
        else ()
    )
    return replace(
        base,
        metrics=metrics,
        rounds=tuple(rounds),
        warnings=warnings,
        histogram=_histogram(world, float(rounds[-1]["latency"]["mean_ns"]), random),
        validity={
            "little_ratio": None,
            **_cpu_shares(world, base, 50_000 / cost),
            "completed": True,
        },
    )


def _histogram(world: World, mean: float, random: np.random.Generator) -> str:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in random.gamma(4, mean / 4, world.samples):
        histogram.record_value(int(value) + 1)
    encoded = histogram.encode()
    assert base64.b64decode(encoded)
    return encoded.decode() if isinstance(encoded, bytes) else str(encoded)


def probes(contestant: str) -> tuple[dict[str, str], ...]:
    """What the standards' probes said: all right of the floor, one of each outcome of
    the others.
    """
    outcomes = (
        ("passed", "passed", "passed") if contestant == FLOOR else ("passed", "closed", "failed")
    )
    common = {
        "part": "http",
        "document": "RFC 9112",
        "level": "MUST",
        "expected": "400",
        "received": HOSTILE,
    }
    return tuple(
        {
            **common,
            "id": f"probe_{number}",
            "section": f"{number}.2",
            "sent": "two <b>Host</b> fields",
            "outcome": outcome,
        }
        for number, outcome in enumerate(outcomes)
    )


def verified(plan: Plan) -> list[VerifyRecord]:
    found = {}
    for cell in plan.cells:
        for entry in cell.entries:
            workload = check_name(cell.role, cell.cell.workload)
            found[entry.contestant, workload] = VerifyRecord(
                contestant=entry.contestant,
                workload=workload,
                status="ok",
                failure=None,
                elapsed_ns=400_000_000,
                checks=(
                    {"id": "status", "passed": True, "required": True},
                    {"id": "pipelining", "passed": cell.role == "client", "required": False},
                ),
                probes=probes(entry.contestant) if workload == "http.hello" else (),
            )
    found["java/broken", "rest"] = VerifyRecord(
        contestant="java/broken",
        workload="rest",
        status="failed",
        failure=FailureRecord(
            kind="nonconformant",
            phase="verify",
            message="POST /test with a body that is not JSON: expected 400",
            sent="POST /test {",
            expected="400",
            received="200 OK <b>fine</b>",
        ),
        elapsed_ns=100_000_000,
    )
    return list(found.values())


def write_run(
    results: Path, world: World, *, name: str = "20260131T123005Z-quick", status: str = "complete"
) -> Path:
    """A whole run directory; its path."""
    plan = make_plan(world)
    directory = RunDirectory.create(results, label=name.split("-", 1)[1])
    path = directory.path
    directory.write_info(
        RunInfo(
            name=path.name,
            wirebench="0.1.0",
            status=status,  # type: ignore[arg-type]
            command=("wirebench", "quick", "--seed", str(world.seed)),
            selection=Selection(studies=world.studies, preset=world.preset, seed=world.seed),
            started_unix_ns=world.started_unix_ns,
            ended_unix_ns=world.started_unix_ns + 310_000_000_000,
            exit_code=1,
            absent=(
                AbsentRecord(
                    contestant="cpp/crow",
                    studies=("rest",),
                    kind="not_installed",
                    reason="crow.h was not found",
                    install=None,
                ),
            ),
            notes=("server and generator are pinned to different cores",),
        )
    )
    directory.write_host(
        {
            "schema": 1,
            "host_id": world.host_id,
            "cpu_model": "Example CPU <1.0 GHz>",
            "cores": 2,
            "memory_bytes": 4 * 2**30,
            "kernel": "6.1.0",
            "distribution": "Debian GNU/Linux 12 (bookworm)",
            "architecture": "x86_64",
            "virtualisation": "virtual machine",
            "limits": {"open_files": 20000},
            "tools": {"go": "go version go1.22.1 linux/amd64"},
        }
    )
    directory.write_plan(plan)
    for record in verified(plan):
        directory.append_verify(record)
    for trial in make_trials(world, plan):
        directory.append_trial(trial)
    directory.close()
    return path
