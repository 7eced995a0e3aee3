"""A fleet whose hosts are simulated: real workers of Dask, many in one process, that measure in no
time. All else is the fleet's own: the scheduler, TLS, orders, what hosts keep on disk, answers, and
what the command keeps.

    python -m developer.simulated_fleet FLEET_FILE FIRST COUNT FOLDER

serves the simulated hosts from FIRST on until its standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from hdrh.histogram import HdrHistogram

from wirebench import __version__
from wirebench.catalog.loads import ClosedLoad
from wirebench.catalog.model import Contestant
from wirebench.catalog.studies import Cell
from wirebench.fleet.bundles import Packed, pack
from wirebench.fleet.certificates import Identity, make_certificates
from wirebench.fleet.hosts import FleetFile, Pair, read_fleet
from wirebench.fleet.orders import ORDER, PROGRAMS, TRIAL
from wirebench.fleet.place import HostPlace
from wirebench.plan.blocks import PlannedTrial, entries_of
from wirebench.plan.estimate import Pace
from wirebench.plan.model import Plan, PlannedCell
from wirebench.run.session import Session
from wirebench.store.jsonl import LineFile
from wirebench.store.records import RunInfo, Selection
from wirebench.store.rundir import RunDirectory
from wirebench.trial.record import TrialRecord

if TYPE_CHECKING:
    from wirebench.fleet.bench import FleetBench
    from wirebench.fleet.worker import HostSide
    from wirebench.run.bench import Bench
    from wirebench.run.scope import Scope
    from wirebench.run.session import Reporter

CONTESTANTS = ("cpp/floor", "cpp/a", "go/b", "rust/c", "node/d")
ENTRIES = len(CONTESTANTS) + 1
"""With the twin."""
SAMPLES = 100_000
"""Replies of a simulated trial: about as many as in a second of a fast server."""
HISTOGRAM = (1, 3_600_000_000_000, 3)
LOAD_BYTES = 3_000
"""wireload's document without histogram and series."""
INTERVALS = 100
AT_ONCE = 20
"""How many workers of one process join at the same time."""


def name_of(number: int) -> str:
    return f"h{number:04d}"


def speed_of(host: str) -> float:
    """Requests a second of whatever is measured there."""
    return 1000.0 + zlib.crc32(host.encode()) % 1000


def latencies_ns(seed: int) -> Any:
    """Log-normal about 1 ms, as integers."""
    random = np.random.default_rng(seed)
    return np.rint(random.lognormal(np.log(1e6), 0.5, SAMPLES)).astype(np.int64)


def histogram_of(seed: int) -> str:
    """V2, compressed, base64: as wireload writes it."""
    histogram = HdrHistogram(*HISTOGRAM)
    values, counts = np.unique(latencies_ns(seed), return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        histogram.record_value(value, count)
    return str(histogram.encode().decode())


def plan_of(*, cells: int, blocks: int) -> Plan:
    """So many cells, each with exactly so many blocks."""
    load = ClosedLoad(connections=50, warmup_ns=10**8, window_ns=10**9)
    planned = [
        PlannedCell(
            study="concurrency",
            role="server",
            cell=Cell(
                id=f"c{number}",
                title=f"cell {number}",
                kind="closed",
                primary="throughput_per_s",
                workload="http.hello",
                load=load,
            ),
            entries=entries_of(CONTESTANTS, twin=CONTESTANTS[1]),
            floors=CONTESTANTS[:1],
            twin=CONTESTANTS[1],
            server=None,
            min_blocks=blocks,
            max_blocks=blocks,
            precision=0.02,
        )
        for number in range(cells)
    ]
    return Plan(
        seed=1,
        studies=(),
        cells=tuple(planned),
        budget_ns=None,
        estimate_ns=0,
        builds={},
        order=(),
    )


# --- the hosts ------------------------------------------------------------------------------------


class Trials:
    """Records as a host writes them, with the figures of one made-up trial."""

    def __init__(self) -> None:
        numbers = list(range(8_000, 8_000 + INTERVALS))
        self._base = TrialRecord(
            trial="",
            study="",
            cell="",
            block=1,
            position=1,
            entry="",
            contestant="",
            twin_of=None,
            status="ok",
            failure=None,
            started_unix_ns=1,
            elapsed_ns=1,
            metrics={f"metric_{number}": 1.5 for number in range(20)},
            series={"interval_ns": 10**7, "ok": numbers, "p50_ns": numbers},
            histogram=histogram_of(1),
            load={"document": "x" * LOAD_BYTES},
        )

    def of(self, trial: PlannedTrial, *, host: str) -> TrialRecord:
        return replace(
            self._base,
            trial=trial.id,
            study=trial.study,
            cell=trial.cell,
            block=trial.block,
            position=trial.position,
            entry=trial.entry.name,
            contestant=trial.entry.contestant,
            twin_of=trial.entry.twin_of,
            host=host,
            metrics={**self._base.metrics, "throughput_per_s": speed_of(host)},
        )


def describe(name: str) -> dict[str, Any]:
    """What a host says of itself; as much as a real one does."""
    return {
        "host_id": name,
        "architecture": "x86_64",
        "wirebench": __version__,
        "cores": 2,
        "open_files": 20_000,
        "link_refusal": None,
        "cores_awake": True,
        "tools": {f"tool_{number}": "1.2.3" for number in range(30)},
        "limits": {f"limit_{number}": number for number in range(20)},
    }


def simulated_side(trials: Trials) -> type[HostSide]:
    """The class of hosts that measure in no time."""
    from wirebench.fleet.worker import HostSide

    class Simulated(HostSide):
        def run_child(self, *arguments: str) -> str:
            if arguments[0] == "describe":
                return json.dumps(describe(self.name))
            order = ORDER.validate_json(Path(arguments[2]).read_bytes())
            file = LineFile(self.place.trials(order.run))
            file.append(
                *(
                    TRIAL.dump_python(trials.of(trial, host=order.host), mode="json")
                    for trial in order.cell.block(order.block, seed=order.seed)
                    if trial.id in order.trials
                )
            )
            file.close()
            return ""

    return Simulated


async def _serve(fleet: FleetFile, first: int, count: int, folder: Path) -> None:
    from wirebench.fleet.worker import HostWorker

    side = simulated_side(Trials())
    names = [name_of(number) for number in range(first, first + count)]
    security = Identity(folder=fleet.certificates / names[0]).security()
    workers = [
        HostWorker(
            fleet.scheduler,
            side=side(name, HostPlace(folder=folder / name)),
            security=security,
        )
        for name in names
    ]
    for begin in range(0, count, AT_ONCE):
        await asyncio.gather(*(one.start() for one in workers[begin : begin + AT_ONCE]))
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    await ended.wait()
    await asyncio.gather(*(one.close(timeout=5) for one in workers), return_exceptions=True)


def serve(fleet: Path, first: int, count: int, folder: Path) -> None:
    from wirebench.fleet.quiet import make_quiet

    make_quiet()
    asyncio.run(_serve(read_fleet(fleet), first, count, folder))


def fleet_file(folder: Path, *, hosts: int, per_process: int, port: int) -> FleetFile:
    """A fleet of so many hosts on loopback, with certificates for the first host of each process:
    any of a fleet's serves.
    """
    names = [name_of(number) for number in range(hosts)]
    path = folder / "fleet.toml"
    path.write_text(
        f'listen = "127.0.0.1"\nport = {port}\nlost_after_s = 3600\n'
        + "".join(f"[hosts.{name}]\n" for name in names)
    )
    fleet = read_fleet(path)
    make_certificates(fleet.certificates, names[::per_process])
    return fleet


@contextmanager
def hosts_of(fleet: FleetFile, folder: Path, *, per_process: int) -> Iterator[list[int]]:
    """The processes of the simulated hosts, which begin to join; their ids."""
    count = len(fleet.hosts)
    with ExitStack() as stack:
        started = []
        for first in range(0, count, per_process):
            here = min(per_process, count - first)
            words = [str(fleet.path), str(first), str(here), str(folder)]
            process = subprocess.Popen(
                [sys.executable, "-m", "developer.simulated_fleet", *words],
                cwd=Path(__file__).parents[1],
                stdin=subprocess.PIPE,
            )
            stack.callback(process.wait)
            assert process.stdin is not None
            stack.callback(process.stdin.close)
            started.append(process.pid)
        yield started


# --- the command ----------------------------------------------------------------------------------


@dataclass(kw_only=True)
class SimulatedBench:
    """Each contestant's bundle has ``bundle_bytes``; with none, one empty bundle is for all."""

    folder: Path
    bundle_bytes: int
    hosts: dict[str, Mapping[str, Any]]
    hardware_threads: int = 2
    pairs: Mapping[str, Pair] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._packed: dict[str, Packed] = {}

    def packed(self, name: str, _contestant: object = None) -> Packed:
        name = name if self.bundle_bytes else PROGRAMS
        if name not in self._packed:
            path = self.folder / name.replace("/", ".")
            path.write_bytes(np.random.default_rng(len(self._packed)).bytes(self.bundle_bytes))
            self._packed[name] = pack([(path, f"build/{path.name}")])
        return self._packed[name]

    def build_path(self, _contestant: object) -> str:
        return "build"

    def host(self) -> Mapping[str, Any]:
        return {"host_id": "fleet-simulated", "hosts": dict(self.hosts)}


class SimulatedSession(Session):
    def pace(self, plan: Plan) -> Pace:
        return Pace(
            estimated={(cell.key, entry.name): 1 for cell in plan.cells for entry in cell.entries}
        )


def session_of(folder: Path, bench: FleetBench, names: Sequence[str]) -> Session:
    directory = RunDirectory.create(folder, label="fleet")
    info = RunInfo(
        name=directory.path.name,
        wirebench=__version__,
        status="running",
        command=(),
        selection=Selection(studies=("concurrency",), preset="quick", seed=1),
        started_unix_ns=1,
    )
    return SimulatedSession(
        directory=directory,
        info=info,
        scope=cast(
            "Scope", SimpleNamespace(needed={name: cast("Contestant", None) for name in names})
        ),
        bench=cast("Bench", bench),
        reporter=cast("Reporter", None),
    )


def bench_of(folder: Path, hosts: Mapping[str, Mapping[str, Any]], nbytes: int) -> FleetBench:
    bench = SimulatedBench(folder=folder, bundle_bytes=nbytes, hosts=dict(hosts))
    for name in (PROGRAMS, *CONTESTANTS):
        bench.packed(name)
    return cast("FleetBench", bench)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
