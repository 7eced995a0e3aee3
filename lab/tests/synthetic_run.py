"""Runs as ``wirebench quick`` leaves them, made up from a seed: what the statistics and the report
are tested with.

Every entry has a true speed per study; a trial's figures are that speed times the block's luck
(shared by all of the block) times its own. What an entry does wrong is said in ``TROUBLE``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from synthetic_trials import make_trials
from synthetic_world import COSTS, FLOOR, HOSTILE, World, costs_of, studies
from wirebench.plan.blocks import entries_of
from wirebench.plan.model import Plan, PlannedCell, StudyText
from wirebench.run.bench import check_name
from wirebench.store.records import AbsentRecord, RunInfo, Selection, VerifyRecord
from wirebench.store.rundir import RunDirectory
from wirebench.trial.record import FailureRecord


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
