"""The trials of made-up runs: figures by kind of load, and what goes wrong."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

from synthetic_world import HOSTILE, World, costs_of
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
from wirebench.catalog.studies import Cell
from wirebench.plan.blocks import PlannedTrial
from wirebench.plan.model import Plan, PlannedCell
from wirebench.trial.record import FailureRecord, TrialRecord


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
