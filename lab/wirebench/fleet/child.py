"""The process that measures on a host. A worker starts it in a clean environment, and Dask is not
in it::

    python -m wirebench.fleet.child describe COMMAND...           prints the host as JSON
    python -m wirebench.fleet.child measure HOST_FOLDER ORDER     runs the trials of an order
    python -m wirebench.fleet.child serve HOST_FOLDER ORDER CERTIFICATES         of a pair's order
    python -m wirebench.fleet.child attend HOST_FOLDER ORDER CERTIFICATES PORT   loads its servers
    python -m wirebench.fleet.child generate HOST_FOLDER ORDER    becomes wireload
    python -m wirebench.fleet.child reflect HOST_FOLDER ADDRESS      answers for a link's floor
    python -m wirebench.fleet.child link HOST_FOLDER ADDRESS PORT    measures it; prints JSON

The last two read a token from the first line of their standard input. ``serve`` prints the port at
which it waits for the host that attends.

It ends after the trial in hand when its standard input ends, as it does when its worker is gone.
Exit codes: 0 done, 1 refused (the last line of its errors says why), 74 the other host of the pair
is not reached (the same), 75 its worker is gone.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from wirebench import __version__
from wirebench.catalog import Catalog, CatalogError, load_catalog
from wirebench.catalog.model import Contestant
from wirebench.fleet.apart import Attendant, GeneratorThere
from wirebench.fleet.bundles import BundleError
from wirebench.fleet.certificates import Identity
from wirebench.fleet.channel import await_generator, reach_server
from wirebench.fleet.link import FLOOR, reflect
from wirebench.fleet.link import measure as measure_link
from wirebench.fleet.orders import (
    LOAD_ORDER,
    ORDER,
    PROGRAMS,
    BlockOrder,
    LoadOrder,
    OrderError,
    UnreachedError,
    write_trial,
)
from wirebench.fleet.place import DOCUMENT, LOG, HostPlace
from wirebench.host import capture, presence
from wirebench.plan.blocks import PlannedTrial
from wirebench.plan.model import PlannedCell
from wirebench.process.interrupt import Interrupted, hold, interruptible
from wirebench.process.native import PROGRAMS_VARIABLE
from wirebench.process.process import open_files
from wirebench.process.supervise import Supervisor
from wirebench.run.bench import Check
from wirebench.run.local import GENERATOR, LocalBench, find_link
from wirebench.run.measure import not_run
from wirebench.run.sound import UntilSound
from wirebench.run.spec import spec_of
from wirebench.stats import repeat_reason
from wirebench.store.jsonl import LineFile, no_room
from wirebench.trial.apart import GeneratorLostError
from wirebench.trial.record import FailureRecord, TrialRecord

REFUSED = 1
UNREACHED = 74
WORKER_GONE = 75
CORES_VARIABLE = "WIREBENCH_CORES"
"""Where the trials run. The child takes it out of its environment."""


def main(arguments: Sequence[str]) -> int:
    cores = os.environ.pop(CORES_VARIABLE, "")
    if cores:
        os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    try:
        match arguments:
            case ["describe", *commands]:
                print(json.dumps(describe(commands)))
                return 0
            case ["measure", folder, order]:
                given = ORDER.validate_json(Path(order).read_bytes())
                with interruptible():
                    return measure(given, HostPlace(folder=Path(folder)))
            case ["serve", folder, order, certificates]:
                given = ORDER.validate_json(Path(order).read_bytes())
                with interruptible():
                    identity = Identity(folder=Path(certificates))
                    return measure(given, HostPlace(folder=Path(folder)), identity)
            case ["attend", folder, order, certificates, port]:
                given = ORDER.validate_json(Path(order).read_bytes())
                with interruptible():
                    identity = Identity(folder=Path(certificates))
                    attend(given, HostPlace(folder=Path(folder)), identity, int(port))
                    return 0
            case ["generate", folder, order]:
                wanted = LOAD_ORDER.validate_json(Path(order).read_bytes())
                generate(wanted, HostPlace(folder=Path(folder)))
            case ["reflect", folder, address]:
                with HostPlace(folder=Path(folder)).alone():
                    _reflect(address)
                return 0
            case ["link", folder, address, port]:
                with HostPlace(folder=Path(folder)).alone():
                    print(FLOOR.dump_json(measure_link(address, int(port), _token())).decode())
                return 0
    except (GeneratorLostError, UnreachedError) as error:
        return _say(error, UNREACHED)
    except (BundleError, CatalogError, OrderError) as error:
        return _say(error, REFUSED)
    except OSError as error:
        if (full := no_room(error)) is None:
            raise
        where = "" if error.filename else f"{arguments[1]}: "
        return _say(f"{where}{full}", REFUSED)
    except Interrupted:
        return WORKER_GONE
    print(f"expected what to do, got {list(arguments)}", file=sys.stderr)
    return REFUSED


def _say(error: Exception | str, code: int) -> int:
    print(" ".join(str(error).split()), file=sys.stderr)
    return code


def _reflect(address: str) -> None:
    stdin = sys.stdin.fileno()
    reflect(address, _token(), say=lambda port: print(port, flush=True), ended=stdin)


def _token() -> bytes:
    return sys.stdin.buffer.readline().strip()


def describe(commands: Sequence[str]) -> dict[str, Any]:
    """The fingerprint of this host, and what a run needs to know of it."""
    from wirebench.process.link import refusal

    with Supervisor() as supervisor:
        link = refusal(supervisor, find_link())
    return {
        **capture(commands).to_json(),
        "open_files": open_files(),
        "link_refusal": link,
        "wirebench": __version__,
    }


def measure(order: BlockOrder, place: HostPlace, identity: Identity | None = None) -> int:
    """Run what the host does not have of the order's trials. ``identity``: of this host in a pair,
    whose other host puts the load on.
    """
    if (order.pair is None) != (identity is None):
        raise OrderError(f"{order.host}: expected the order of a host alone, or a pair's to serve")
    root = place.root(order.run, seed=order.seed, host=order.host)
    root.mkdir(parents=True, exist_ok=True)
    with place.alone():
        for digest in order.bundles.values():
            place.unpack(digest, root)
        catalog = load_catalog(root)
        done = {json.loads(line)["trial"] for line in place.lines(order.run)}
        file = LineFile(place.trials(order.run))
        try:
            with ExitStack() as stack:
                bench = stack.enter_context(_bench(root, order, catalog))
                if order.pair is not None and identity is not None:
                    channel = stack.enter_context(
                        await_generator(order.pair, identity, lambda port: print(port, flush=True))
                    )
                    bench.load_from(GeneratorThere(order.pair, channel))
                return _Block(order, catalog, bench, file).run(done)
        finally:
            file.close()


def attend(order: BlockOrder, place: HostPlace, identity: Identity, port: int) -> None:
    """Load the servers of the pair's other host, until that has measured the block."""
    if order.pair is None:
        raise OrderError(f"{order.host}: expected an order for a pair, got one for a host")
    root = place.root(order.run, seed=order.seed, host=order.host)
    root.mkdir(parents=True, exist_ok=True)
    with place.alone():
        place.unpack(order.bundles[PROGRAMS], root)
        program = root / "bin" / GENERATOR
        with Supervisor() as supervisor, reach_server(order.pair, identity, port) as channel:
            Attendant(channel, supervisor, program, worker_is_gone=_worker_is_gone).serve()


def generate(order: LoadOrder, place: HostPlace) -> NoReturn:
    """Become the generator of this host, which connects and waits for its start."""
    folder = place.load(order.load)
    place.stay_alone()
    place.unpack(order.programs, folder)
    program = folder / "bin" / GENERATOR
    own = ["--part", f"{order.part}/{order.of}", "--start", "-", "--quiet"]
    own += ["--json", str(folder / DOCUMENT), "--hdr-log", str(folder / LOG)]
    try:
        os.execv(program, [str(program), *own, *order.words])
    except OSError as error:
        raise OrderError(f"{program}: not started: {error.strerror}") from error


def _bench(root: Path, order: BlockOrder, catalog: Catalog) -> LocalBench:
    os.environ[PROGRAMS_VARIABLE] = str(root / "bin")
    bench = LocalBench(root=root, jobs=1)
    for name, folder in order.builds.items():
        bench.adopt(catalog.contestants[name], root / folder)
    return bench


class _Block:
    def __init__(
        self, order: BlockOrder, catalog: Catalog, bench: LocalBench, file: LineFile
    ) -> None:
        # Only the bench needed it, and contestants inherit what is there.
        os.environ.pop(PROGRAMS_VARIABLE, None)
        self._order, self._bench, self._file = order, bench, file
        self._everybody = {
            name: catalog.contestants[name] for name in order.bundles if name != PROGRAMS
        }
        self._faults: dict[str, FailureRecord | None] = {}
        self._sound = UntilSound(run_trial=self._run_trial, void=repeat_reason)

    def run(self, done: set[str]) -> int:
        order = self._order
        for trial in order.cell.block(order.block, seed=order.seed):
            if trial.id not in order.trials or trial.id in done:
                continue
            if _worker_is_gone():
                return WORKER_GONE
            with hold():  # a finished trial is always stored
                record, _ = self._sound.run(trial, order.cell)
                self._file.append(write_trial(replace(record, host=order.host)))
        return 0

    def _run_trial(self, trial: PlannedTrial, cell: PlannedCell) -> TrialRecord:
        order = self._order
        for name in (trial.entry.contestant, *([cell.server] if cell.server else [])):
            fault = self._fault(name, "server" if name == cell.server else cell.role, cell)
            if fault is not None:
                return not_run(trial, fault)
        spec = spec_of(
            trial,
            cell,
            everybody=self._everybody,
            hardware_threads=order.hardware_threads,
            seed=order.seed,
            capacity=lambda _cell, name: order.capacities.get(name),
        )
        if isinstance(spec, FailureRecord):
            return not_run(trial, spec)
        # The host's own path is what a copy is in a repeat.
        return self._bench.run_trial(replace(spec, repeat=1))

    def _fault(self, name: str, role: Any, cell: PlannedCell) -> FailureRecord | None:
        """Why the contestant, which is right elsewhere, cannot be measured here."""
        if name not in self._faults:
            self._faults[name] = self._look(self._everybody[name], role, cell)
        return self._faults[name]

    def _look(self, one: Contestant, role: Any, cell: PlannedCell) -> FailureRecord | None:
        host, workload = self._order.hosts[0], cell.cell.workload
        found = presence(one)
        if not found.complete:
            return FailureRecord(
                kind="not_installed",
                phase="verify",
                message=f"on host {host}: {found.describe(one)}",
            )
        # Once for each host and run: the file outlives this process.
        mark = self._bench.root / f".checked-{role}-{workload}-{one.identity.replace('/', '.')}"
        if mark.exists():
            return None
        server = (
            self._everybody[cell.server] if cell.server is not None and role == "client" else None
        )
        verdict = self._bench.verify(
            Check(contestant=one, role=role, workload=workload, server=server)
        )
        if verdict.failure is not None:
            message = f"on host {host}: {verdict.failure.message}"
            return replace(verdict.failure, message=message)
        mark.touch()
        return None


def _worker_is_gone() -> bool:
    """Nobody writes to our standard input: it can be read only when it has ended."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
