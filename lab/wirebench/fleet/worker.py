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

from wirebench.fleet.certificates import Identity
from wirebench.fleet.child import CORES_VARIABLE, UNREACHED, WORKER_GONE
from wirebench.fleet.cores import share_cores
from wirebench.fleet.orders import ORDER, BlockOrder, OrderError, UnreachedError
from wirebench.fleet.place import HostPlace
from wirebench.fleet.quiet import NO_PAGES, slow_down

_KEPT = ("HOME", "LOGNAME", "PATH", "SHELL", "USER")
"""All that a contestant inherits, beside what the contract gives it."""
GENERATED = (0, 1)
"""Exit codes with which wireload has measured: the second with errors."""
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


class Child:
    """A process of the lab that a worker has started. It is told by its standard input."""

    def __init__(self, arguments: Sequence[str], *, cores: Sequence[int]) -> None:
        self._generates = arguments[0] == "generate"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "wirebench.fleet.child", *arguments],
            env={
                **clean_environment(os.environ),
                CORES_VARIABLE: ",".join(map(str, cores)),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        # Not communicate(): that would close its standard input.
        self._errors: list[str] = []
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()

    def line(self) -> str:
        """The next line of its output; empty at its end."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended: finish() says how
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()

    def finish(self) -> tuple[int, str, str]:
        """Wait for its end without polling: its exit code, output, and last line of errors."""
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            output = "".join(pipe)
        code = self._process.wait()
        self._reader.join()
        last = self._errors[-1].strip() if self._errors else f"its process ended with {code}"
        return code, output, last

    def close_input(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def let_go(self) -> None:
        """It ends after the trial in hand. A generator, which looks at no input once it has begun,
        ends at once.
        """
        self.close_input()
        if self._generates:
            self.end()

    def end(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def wait(self, timeout_s: float) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as pipe:
            self._errors.extend(pipe)


class HostSide:
    """What the tasks of a worker use: the host's folder, and at most one child."""

    def __init__(self, name: str, place: HostPlace, identity: Identity | None = None) -> None:
        """``identity``: what the other host of a pair is shown."""
        self.name, self.place, self._identity = name, place, identity
        self._cores = share_cores()
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._closed = False

    @property
    def certificates(self) -> str:
        """Their folder. ``OrderError`` without one."""
        if self._identity is None:
            raise OrderError(f"host {self.name}: expected certificates of the fleet, got none")
        return str(self._identity.folder.absolute())

    @property
    def housekeeping(self) -> int:
        return self._cores.housekeeping

    def run_child(self, *arguments: str) -> str:
        """Its output. ``OrderError`` if it refused or failed."""
        self.start_child(*arguments)
        return self.finish_child()

    def start_child(self, *arguments: str) -> None:
        with self._lock:
            if self._closed:
                raise OrderError(f"host {self.name}: its worker ends")
            if self._child is not None:  # what asked for it has given up
                self._child.let_go()
            self._child = Child(arguments, cores=self._cores.measured)

    @property
    def child(self) -> Child:
        """``OrderError`` if none has been started."""
        if self._child is None:
            raise OrderError(f"host {self.name}: expected a process of it, got none")
        return self._child

    def finish_child(self, *, good: Sequence[int] = (0,)) -> str:
        """Its output, once it has ended. ``OrderError`` if not with one of these codes:
        ``UnreachedError`` if that is for want of the pair's other host.
        """
        child = self.child
        try:
            code, output, last = child.finish()
        finally:
            with self._lock:
                if self._child is child:  # and not the next one, when its worker was lost
                    self._child = None
                child.close_input()
        if code == WORKER_GONE:
            raise OrderError(f"host {self.name}: stopped before the end of the block")
        if code == UNREACHED:
            raise UnreachedError(f"host {self.name}: {last}")
        if code not in good:
            raise OrderError(f"host {self.name}: {last}")
        return output

    def let_go(self) -> None:
        """The child ends after the trial in hand."""
        with self._lock:
            if self._child is not None:
                self._child.let_go()

    def close(self) -> None:
        """The child ends now; its trial in hand is lost, the finished ones are stored."""
        with self._lock:
            self._closed = True
            child = self._child
            if child is not None:
                child.end()
        if child is not None:
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
    identity: Identity
    attached: bool = False
    """It ends when its standard input does."""


def serve(settings: WorkerSettings, say: Callable[[str], None]) -> None:
    """Serve schedulers at this address, one after another, until SIGTERM or SIGINT."""
    security = settings.identity.security()
    settings.identity.check_name(settings.host)
    settings.folder.mkdir(parents=True, exist_ok=True)
    side = HostSide(settings.host, HostPlace(folder=settings.folder), settings.identity)
    os.sched_setaffinity(0, {side.housekeeping})
    try:
        asyncio.run(_serve(settings, security, side, say))
    finally:
        side.close()


async def _serve(
    settings: WorkerSettings, security: Security, side: HostSide, say: Callable[[str], None]
) -> None:
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
            await _reach(settings, security)
            worker = HostWorker(settings.scheduler, side=side, security=security)
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


async def _reach(settings: WorkerSettings, security: Security) -> None:
    """Raise why the scheduler cannot be reached: a worker itself tries again without a word."""
    arguments = security.get_connection_args("worker")
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
    while (cause := error.__cause__) is not None or not error.__suppress_context__:
        cause = cause if cause is not None else error.__context__
        if cause is None:
            break
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
    side = _side()
    given, path = _taken(order, place=0)
    side.run_child("measure", str(side.place.folder), str(path))
    return side.place.lines(given.run, only=frozenset(given.trials))


def _taken(order: str, *, place: int) -> tuple[BlockOrder, Path]:
    """An order in which this host has the place, and its file. ``OrderError`` for any other."""
    side = _side()
    given = ORDER.validate_json(order)
    if given.hosts[place : place + 1] != (side.name,):
        raise OrderError(f"host {side.name}: expected an order for it, got one for {given.host}")
    return given, side.place.take(given)


def serve_block(order: str) -> int:
    """Begin a pair's block on the server's host. Returns the port at which it waits for the
    other host; ``finish_block()`` has the trials.
    """
    side = _side()
    _, path = _taken(order, place=0)
    side.start_child("serve", str(side.place.folder), str(path), side.certificates)
    line = side.child.line()
    if not line:
        side.finish_child(good=())
    return int(line)


def attend_block(order: str, port: int) -> None:
    """Load the servers of a pair's block from this host, until it is measured."""
    side = _side()
    _, path = _taken(order, place=1)
    side.run_child("attend", str(side.place.folder), str(path), side.certificates, str(port))


def finish_block(run: str, trials: Sequence[str]) -> list[str]:
    """Wait for the end of the block that ``serve_block()`` began; the lines of its trials."""
    side = _side()
    side.finish_child()
    return side.place.lines(run, only=frozenset(trials))


def collect(run: str) -> list[str]:
    """The lines of the run's trials."""
    return _side().place.lines(run)


def tidy(run: str, keep: frozenset[str]) -> None:
    _side().place.tidy(run, keep)


def reflect(address: str, token: str) -> int:
    """Answer those who measure their link to this address. Returns the port."""
    side = _side()
    side.start_child("reflect", str(side.place.folder), address)
    side.child.tell(token)
    line = side.child.line()
    if not line:
        side.finish_child(good=())
    return int(line)


def measure_link(address: str, port: int, token: str) -> str:
    """The floor of the link to a host that reflects, as JSON."""
    side = _side()
    side.start_child("link", str(side.place.folder), address, str(port))
    side.child.tell(token)
    return side.finish_child()


def stop_reflecting() -> None:
    side = _side()
    side.child.close_input()
    side.finish_child()


def connect_load(order: str) -> str:
    """Start this host's generator. Returns its line of JSON, when its connections are open."""
    from wirebench.fleet.orders import LOAD_ORDER

    side = _side()
    given = LOAD_ORDER.validate_json(order)
    if given.host != side.name:
        raise OrderError(f"host {side.name}: expected an order for it, got one for {given.host}")
    path = side.place.take_load(given)
    side.start_child("generate", str(side.place.folder), str(path))
    line = side.child.line()
    if not line:
        side.finish_child(good=())
    return line


def begin_load(at_ns: int) -> None:
    """Tell the generator when to begin, by this host's steady clock."""
    _side().child.tell(str(at_ns))


def finish_load(load: str) -> tuple[str, str]:
    """Wait for the generator's end. Returns its document and its log."""
    side = _side()
    side.finish_child(good=GENERATED)
    try:
        return side.place.take_result(load)
    except OSError as error:
        raise OrderError(f"host {side.name}: wireload's documents: {error.strerror}") from error


def abandon_load(load: str) -> None:
    """End the generator, if there is one."""
    side = _side()
    with suppress(OrderError):
        side.child.end()
        side.finish_child(good=())
    side.place.forget_load(load)
