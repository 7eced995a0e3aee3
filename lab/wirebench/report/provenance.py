"""The provenance of the figures: the host, the state of the run, and its failures."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from wirebench.catalog.units import count_of, duration, scaled
from wirebench.report.model import FailureView
from wirebench.stats.types import (
    FailureCount,
    RunAnalysis,
)
from wirebench.store.rundir import StoredRun


def status_note(status: str) -> str:
    return {
        "complete": "",
        "interrupted": "This run was interrupted. The page shows what was finished.",
        "running": "This run has not ended, or was killed. The page shows what was finished.",
        "failed": "This run ended in an error. The page shows what was finished.",
    }[status]


def command_again(run: StoredRun, study: str, cell: str) -> str:
    """The command that measures a cell of the run as it was asked for, but for the number of
    blocks, which is to follow. A duel or gate has one cell, and is repeated as a whole.
    """
    asked, command = run.info.selection, run.info.command
    if command[1:2] in (("duel",), ("gate",)):
        return shlex.join(command)
    in_fleet = command[1:2] == ("fleet",) and asked.studies[0] in command
    start = command[: command.index(asked.studies[0])] if in_fleet else ("wirebench", "run")
    words = [*start, study, "--preset", asked.preset]
    for selector in asked.only:
        words += ["--only", selector]
    if asked.ramp is not None:
        for name, value in asdict(asked.ramp).items():
            words += [f"--{name}", str(value)]
    if asked.repeats is not None and not in_fleet:  # there each host is a repeat
        words += ["--repeats", str(asked.repeats)]
    return shlex.join([*words, "--cells", cell])


def failures_of(analysis: RunAnalysis) -> Iterable[FailureView]:
    """Each failure of each contestant once, with the cells in which it happened; that of a server
    that clients called once for all of them.
    """
    found: dict[tuple[str, str, str], tuple[list[str], FailureCount]] = {}
    for cell in analysis.cells:
        for entry in cell.entries:
            for failure in (*entry.failures, *entry.server_failures):
                key = (
                    failure.whose or entry.entry,
                    failure.kind,
                    failure.message if failure.phase != "load" else cell.key,
                )
                found.setdefault(key, ([], failure))[0].append(f"{cell.study} {cell.cell}")
    for (name, _, _), (where, failure) in found.items():
        yield FailureView(entry=name, where=", ".join(where), failure=failure)


def _pair_rows(pairs: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Who did what, and the floor of the link, each time that it was measured."""
    for name, pair in pairs.items():
        told = [
            f"servers on {pair['server']} ({pair['address']}), generator on {pair['generator']}"
        ]
        told += [link_text(floor) for floor in pair["floors"]] or ["its link was not measured"]
        yield f"pair {name}", "; ".join(told)


def link_text(floor: Mapping[str, Any]) -> str:
    """What a link allows at most: the fields of ``fleet.link.Floor``."""
    return (
        f"link: {duration(floor['round_trip_min_ns'])} there and back at least,"
        f" {duration(floor['round_trip_p50_ns'])} in the median;"
        f" {floor['out_bytes_per_s'] * 8 / 1e9:.2f} Gbit/s to the server,"
        f" {floor['in_bytes_per_s'] * 8 / 1e9:.2f} Gbit/s back"
    )


_HOST_ROWS = (
    ("cpu_model", "processor"),
    ("cores", "cores in use"),
    ("smt", "hyper-threading"),
    ("governor", "frequency governor"),
    ("turbo", "turbo"),
    ("cores_awake", "cores kept awake"),
    ("memory_bytes", "memory"),
    ("kernel", "kernel"),
    ("distribution", "distribution"),
    ("architecture", "architecture"),
    ("virtualisation", "virtualisation"),
    ("clocksource", "clock source"),
    ("host_id", "host"),
)


def host_rows(host: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """What is said of the host, or of each host and each pair of a fleet."""
    yield from _pair_rows(host.get("pairs") or {})
    for name, one in (host.get("hosts") or {}).items():
        known = [one.get("cpu_model"), count_of(one["cores"], "core") if one.get("cores") else None]
        known += [f"kernel {one['kernel']}" if one.get("kernel") else None]
        known += [one.get("distribution"), one.get("virtualisation")]
        yield name, ", ".join(str(part) for part in known if part)
    for key, name in _HOST_ROWS:
        value = host.get(key)
        if isinstance(value, bool):
            value = "on" if value else "off"
        elif key == "memory_bytes" and isinstance(value, int):
            value = scaled(value, ((2**30, "GiB"), (2**20, "MiB"), (1, "B")))
        if value is not None:
            yield name, str(value)
    limits, tools = host.get("limits"), host.get("tools")
    if isinstance(limits, Mapping):
        for key, value in limits.items():
            if isinstance(value, int | str | bool | float):
                yield str(key).replace("_", " "), str(value)
    if isinstance(tools, Mapping):
        for name, version in sorted(tools.items()):
            yield str(name), str(version)
