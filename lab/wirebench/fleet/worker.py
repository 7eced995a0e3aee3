"""The worker of a host: one Dask worker, pinned to the housekeeping core, that starts the child
which measures. It waits for a scheduler, serves it, and waits again when that is gone.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import distributed
from distributed.comm.addressing import get_address_host_port
from distributed.comm.core import connect
from distributed.security import Security

from wirebench.fleet.child import CORES_VARIABLE, WORKER_GONE
from wirebench.fleet.cores import share_cores
from wirebench.fleet.orders import OrderError
from wirebench.fleet.place import HostPlace
from wirebench.fleet.quiet import NO_PAGES, slow_down

_KEPT = ("HOME", "LOGNAME", "PATH", "SHELL", "USER")
"""All that a contestant inherits, beside what the contract gives it."""
_AGAIN_S = 1.0
_END_S = 30.0
"""How long a child has to end its trial's processes."""
_CLOSE_S = 2.0
_REACH_S = 10.0


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What the child starts with: nothing of Dask's, and no variable that changes a contestant."""
    return {
        **{name: environment[name] for name in _KEPT if name in environment},
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


class HostSide:
    """What the tasks of a worker use: the host's folder, and at most one child."""

    def __init__(self, name: str, place: HostPlace) -> None:
        self.name, self.place = name, place
        self._cores = share_cores()
        self._child: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._closed = False

    @property
    def housekeeping(self) -> int:
        return self._cores.housekeeping

    def run_child(self, *arguments: str) -> str:
        """Its output. ``OrderError`` if it refused or failed. It is waited for without polling."""
        with self._lock:
            if self._closed:
                raise OrderError(f"host {self.name}: its worker ends")
            self._child = child = subprocess.Popen(
                [sys.executable, "-m", "wirebench.fleet.child", *arguments],
                env={
                    **clean_environment(os.environ),
                    CORES_VARIABLE: ",".join(map(str, self._cores.measured)),
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        assert child.stdin is not None
        try:
            # Not communicate(): that would close the child's standard input.
            errors: list[str] = []
            reader = threading.Thread(target=lambda: errors.extend(child.stderr or ()), daemon=True)
            reader.start()
            output = "".join(child.stdout or ())
            code = child.wait()
            reader.join()
        finally:
            with self._lock:
                self._child = None
                with suppress(OSError):
                    child.stdin.close()
        if code == WORKER_GONE:
            raise OrderError(f"host {self.name}: stopped before the end of the block")
        if code != 0:
            last = errors[-1].strip() if errors else f"its process ended with {code}"
            raise OrderError(f"host {self.name}: {last}")
        return output

    def let_go(self) -> None:
        """The child ends after the trial in hand."""
        with self._lock:
            if self._child is not None and self._child.stdin is not None:
                with suppress(OSError):
                    self._child.stdin.close()

    def close(self) -> None:
        """The child ends now; its trial in hand is lost, the finished ones are stored."""
        with self._lock:
            self._closed = True
            child = self._child
            if child is not None:
                child.send_signal(signal.SIGTERM)
        if child is not None:
            with suppress(subprocess.TimeoutExpired):
                child.wait(_END_S)


class HostWorker(distributed.Worker):
    """A worker that does nothing by itself more often than every ``QUIET_S``."""

    def __init__(self, scheduler: str, *, side: HostSide, security: Security) -> None:
        self.side = side
        super().__init__(
            scheduler,
            name=side.name,
            nthreads=1,
            resources={"host": 1},
            security=security,
            host=local_address(scheduler),
            memory_limit=0,
            dashboard=False,
            dashboard_address=NO_PAGES,
            local_directory=str(side.place.folder / "dask"),
        )
        slow_down(self)

    async def heartbeat(self) -> None:
        await super().heartbeat()
        slow_down(self)  # the scheduler has just asked for more of them

    async def close(self, *arguments: Any, **options: Any) -> Any:
        self.side.let_go()
        return await super().close(*arguments, **options)


def local_address(scheduler: str) -> str:
    """This host's address on the way to the scheduler."""
    where, port = get_address_host_port(scheduler)
    family = socket.AF_INET6 if ":" in where else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((where, port))  # sends nothing
        return str(probe.getsockname()[0])


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    host: str
    scheduler: str
    folder: Path
    security: Security
    attached: bool = False
    """It ends when its standard input does."""


def serve(settings: WorkerSettings, say: Callable[[str], None]) -> None:
    """Serve schedulers at this address, one after another, until SIGTERM or SIGINT."""
    settings.folder.mkdir(parents=True, exist_ok=True)
    side = HostSide(settings.host, HostPlace(folder=settings.folder))
    os.sched_setaffinity(0, {side.housekeeping})
    try:
        asyncio.run(_serve(settings, side, say))
    finally:
        side.close()


async def _serve(settings: WorkerSettings, side: HostSide, say: Callable[[str], None]) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    if settings.attached:
        loop.add_reader(sys.stdin, lambda: _read_to_end(ended))
    said = ""

    def say_once(words: str) -> None:
        nonlocal said
        if words != said:
            say(f"{settings.host}: {words}")
        said = words

    while not ended.is_set():
        worker = None
        try:
            await _reach(settings)
            worker = HostWorker(settings.scheduler, side=side, security=settings.security)
            await _first(worker.start(), ended.wait())
            if ended.is_set():
                break
            say_once(f"serves {settings.scheduler}")
            await _first(worker.finished(), ended.wait())
        except Exception as error:  # of many classes: OSError, TLS, Dask's own
            say_once(f"no scheduler at {settings.scheduler} yet: {reason(error)}")
        finally:
            if ended.is_set():
                await asyncio.to_thread(side.close)
            if worker is not None:
                await worker.close(timeout=_CLOSE_S)
        await _first(ended.wait(), asyncio.sleep(_AGAIN_S))


async def _reach(settings: WorkerSettings) -> None:
    """Raise why the scheduler cannot be reached: a worker itself tries again without a word."""
    arguments = settings.security.get_connection_args("worker")
    comm = await connect(settings.scheduler, timeout=_REACH_S, **arguments)
    await comm.close()


def _read_to_end(ended: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        asyncio.get_running_loop().remove_reader(sys.stdin)
        ended.set()


async def _first(*awaitables: Any) -> None:
    """Until one of them is done, whose error is raised; the others are cancelled."""
    tasks = [asyncio.ensure_future(one) for one in awaitables]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    for task in done:
        task.result()


def reason(error: BaseException) -> str:
    """The innermost cause, which is what a user can act on."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return " ".join(str(error).split()) or type(error).__name__


# --- tasks: what a scheduler asks of a worker -----------------------------------------------------


def _side() -> HostSide:
    worker = distributed.get_worker()
    assert isinstance(worker, HostWorker)
    return worker.side


def describe(commands: Sequence[str]) -> str:
    """``child.describe``, as JSON."""
    return _side().run_child("describe", *commands)


def steady_clock() -> int:
    """This host's clock, which wireload's ``--start`` is by."""
    return time.monotonic_ns()


def has(digests: Sequence[str]) -> list[str]:
    """Those of the bundles that are here."""
    return [one for one in digests if _side().place.has(one)]


def receive(digest: str, files: Mapping[str, str], content: bytes) -> None:
    _side().place.receive(digest, files, content)


def measure(order: str) -> list[str]:
    """Run an order; the lines of its trials. ``collect()`` has those of all orders."""
    from wirebench.fleet.orders import ORDER

    side = _side()
    given = ORDER.validate_json(order)
    if given.host != side.name:
        raise OrderError(f"host {side.name}: expected an order for it, got one for {given.host}")
    path = side.place.take(given)
    side.run_child("measure", str(side.place.folder), str(path))
    return side.place.lines(given.run, only=frozenset(given.trials))


def collect(run: str) -> list[str]:
    """The lines of the run's trials."""
    return _side().place.lines(run)


def tidy(run: str, keep: frozenset[str]) -> None:
    _side().place.tidy(run, keep)
