"""Duels for tests: made-up trials of two sides, and small servers in Python."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from run_project import Project
from wirebench.duel.plan import DuelLoad, plan_of
from wirebench.duel.sides import Side, sides_of
from wirebench.plan.model import PlannedCell
from wirebench.trial.record import TrialRecord

LOAD = DuelLoad(connections=50, rate_per_s=None, warmup_ns=10**8, window_ns=10**9, websocket=False)
SIDES = sides_of(["./old", "./new"], folders=[Path("/")])


def cell_of(sides: Sequence[Side] = SIDES, *, load: DuelLoad = LOAD) -> PlannedCell:
    plan = plan_of(sides, load, floor=None, seed=1, budget_ns=120 * 10**9, blocks=None)
    return plan.cells[0]


def trials_of(
    cell: PlannedCell, blocks: int, *, factor: float, noise: float, seed: int
) -> list[TrialRecord]:
    """``factor``: the CPU per request of B over A's, and what its throughput is divided by."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(1, blocks + 1):
        luck = random.normal(0, 3 * noise)
        for trial in cell.block(number, seed=1):
            cost = 20_000 * (factor if trial.entry.contestant == "B" else 1.0)
            cost *= float(np.exp(luck + random.normal(0, noise)))
            found.append(
                TrialRecord(
                    trial=trial.id,
                    study=trial.study,
                    cell=trial.cell,
                    block=trial.block,
                    position=trial.position,
                    entry=trial.entry.name,
                    contestant=trial.entry.contestant,
                    twin_of=trial.entry.twin_of,
                    status="ok",
                    failure=None,
                    started_unix_ns=number,
                    elapsed_ns=1,
                    metrics={
                        "throughput_per_s": 1e9 / cost,
                        "cpu_per_request_ns": cost * float(np.exp(random.normal(0, noise))),
                        "p50_ns": 50 * cost,
                        "p99_ns": 90 * cost * float(np.exp(random.normal(0, 10 * noise))),
                        "server_rss_bytes": 10_000_000,
                    },
                    validity={"server_cpu_share": 0.99, "generator_cpu_share": 0.5},
                )
            )
    return found


SERVER = """
import os, sys, pathlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

pathlib.Path({pids!r}, str(os.getpid())).write_text("server")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    asked = 0

    def do_GET(self):
        Handler.asked += 1
        if Handler.asked > {dies}:
            print("out of paper", flush=True)
            os._exit(7)
        body = b"hello from route_01"
        self.send_response(503 if self.path == "/ready" and Handler.asked < 3 else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


# With the five places of its default, most connections wait seconds for a second SYN.
ThreadingHTTPServer.request_queue_size = 64
ThreadingHTTPServer(("127.0.0.1", int({port})), Handler).serve_forever()
"""


def server(project: Project, name: str, *, dies: int = 10**9, port: str = "sys.argv[1]") -> str:
    file = project.root / name
    file.write_text(SERVER.format(pids=str(project.pids), dies=dies, port=port))
    return f"{sys.executable} -B {file}"
