"""The fleet as the command sees it: a scheduler in this process, and the workers that join it."""

from __future__ import annotations

import queue
import tempfile
import time
from collections.abc import Callable, Container, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

import distributed
from distributed.diagnostics.plugin import SchedulerPlugin

from wirebench.catalog.errors import CatalogError
from wirebench.fleet.certificates import Identity
from wirebench.fleet.hosts import SCHEDULER, FleetFile
from wirebench.fleet.orders import UnreachedError
from wirebench.fleet.quiet import NO_PAGES, make_quiet, slow_down
from wirebench.fleet.ssh import SshWorker
from wirebench.fleet.worker import reason
from wirebench.process.interrupt import waiting

_LOOK_S = 1.0
"""How often this process looks whether hosts are there. It costs some 0.1 ms."""

Result = TypeVar("Result")


class HostError(Exception):
    """A host refused what it was asked, or failed at it. The text is for the user."""


class HostLostError(HostError):
    """A host is not there any more."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """What a host answered; or that it refused (``error``), or is lost (``lost``): itself, or the
    other host of its pair as it sees it.
    """

    host: str
    result: Any = None
    error: str | None = None
    lost: bool = False


class Presence(SchedulerPlugin):
    """Which hosts are here, as the scheduler hears of their workers, in its own thread. Looking
    through all workers for each answer would make a fleet of many hosts slow.
    """

    name = "wirebench-presence"

    def __init__(self, hosts: Container[str], gone: Callable[[str], None]) -> None:
        """``gone`` is told the address of a worker that has left."""
        self.here: dict[str, str] = {}
        """Each host with the address of its worker."""
        self.strangers: set[str] = set()
        """What workers call themselves that are of no host."""
        self._hosts, self._gone = hosts, gone

    def look_round(self, scheduler: distributed.Scheduler) -> None:
        for worker in scheduler.workers:
            self.add_worker(scheduler, worker)

    def add_worker(self, scheduler: distributed.Scheduler, worker: str) -> None:
        name = str(scheduler.workers[worker].name)
        if name in self._hosts:
            self.here[name] = worker
        else:
            self.strangers.add(name)

    def remove_worker(self, scheduler: distributed.Scheduler, worker: str, **_more: Any) -> None:
        for name, address in list(self.here.items()):
            if address == worker:
                del self.here[name]
        self._gone(worker)


class Cluster:
    """Use it as a context manager. Each host does one thing at a time."""

    def __init__(self, fleet: FleetFile) -> None:
        self.fleet = fleet
        self._stack = ExitStack()
        self._events: queue.SimpleQueue[distributed.Future[Any] | str] = queue.SimpleQueue()
        """What is done, and the addresses of workers that left."""
        self.presence = Presence(fleet.hosts, self._events.put)
        self._busy: dict[str, tuple[str, distributed.Future[Any]]] = {}
        """By host: its worker, and what it is doing."""
        self._asked: dict[object, str] = {}
        """The hosts that are busy, by the key of what they are doing."""
        self._number = 0
        self._failures: dict[str, str] = {}

    def __enter__(self) -> Cluster:
        make_quiet(lost_after_s=self.fleet.lost_after_s)
        identity = Identity(folder=self.fleet.certificates / SCHEDULER)
        security = identity.security()
        scratch = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="wirebench-fleet-"))
        try:
            self._cluster = self._stack.enter_context(
                distributed.SpecCluster(
                    scheduler={
                        "cls": distributed.Scheduler,
                        "options": {
                            "protocol": "tls://",
                            "security": security,
                            "host": self.fleet.listen,
                            "port": self.fleet.port,
                            "local_directory": scratch,
                            "dashboard": False,
                            "dashboard_address": NO_PAGES,
                        },
                    },
                    workers=dict(_by_ssh(self.fleet, self._failures)),
                    security=security,
                )
            )
        except Exception as error:
            self._stack.close()
            raise CatalogError(
                f"{self.fleet.path}: listen at {self.fleet.scheduler}: {reason(error)}"
            ) from error
        slow_down(self._cluster.scheduler)
        self._cluster.sync(self._watch)
        self._client = self._stack.enter_context(distributed.Client(self._cluster))
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    async def _watch(self) -> None:
        scheduler = self._cluster.scheduler
        scheduler.add_plugin(self.presence)
        self.presence.look_round(scheduler)

    def present(self) -> dict[str, str]:
        """The hosts of the fleet whose workers are here, each with what names this worker."""
        return dict(self.presence.here)

    def wait_for(self, names: set[str], *, timeout_s: float) -> set[str]:
        """Wait until these hosts are here, but for those that cannot come. Returns those that are
        not.
        """
        deadline = time.monotonic() + timeout_s
        while (missing := names - set(self.present())) - set(self._failures):
            if time.monotonic() > deadline:
                break
            with waiting():
                time.sleep(_LOOK_S / 5)
        return missing

    def failure(self, host: str) -> str | None:
        """Why there is no worker on a host that is reached by ssh, as far as is known."""
        return self._failures.get(host)

    @property
    def idle(self) -> list[str]:
        free = self.present().keys() - self._busy.keys()
        return [name for name in self.fleet.hosts if name in free]

    def begin(self, host: str, task: Callable[..., Any], *arguments: Any) -> None:
        """Ask a host that is idle. ``wait()`` has the answer."""
        address = self.present().get(host)
        if address is None:
            raise HostLostError(f"host {host}: expected its worker, got none")
        self._number += 1
        future = self._client.submit(
            task,
            *arguments,
            key=f"{task.__name__}-{host}-{self._number}",
            workers=[address],
            allow_other_workers=False,
            resources={"host": 1},
            retries=0,
            pure=False,
        )
        self._busy[host] = (address, future)
        self._asked[future.key] = host
        future.add_done_callback(self._events.put)

    def wait(self, *, timeout_s: float) -> Event | None:
        """The next thing that a host answers, or that happens to it; None if nothing does."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                with waiting():
                    what = self._events.get(timeout=_LOOK_S)
            except queue.Empty:
                if time.monotonic() > deadline:
                    return None
                continue
            if not isinstance(what, str):
                host = self._asked.get(what.key)
                if host is not None:
                    return self._answer(host, what)
                continue
            for host, (address, future) in self._busy.items():
                if address == what and not future.done():
                    return self._forget(host, future)

    def ask(self, host: str, question: Callable[[], Any]) -> Any:
        """What a worker answers from its loop, whatever its host does meanwhile. It is no task, so
        that its messages wait for no others: only the way there and back takes time.
        """
        address = self.present().get(host)
        if address is None:
            raise HostLostError(f"host {host}: expected its worker, got none")
        try:
            with waiting():
                return self._client.run(question, workers=[address])[address]
        except (OSError, KeyError) as error:
            raise HostLostError(f"host {host}: it is lost: {reason(error)}") from error

    def _answer(self, host: str, future: distributed.Future[Any]) -> Event:
        if future.status != "finished":
            error = future.exception()
            if not isinstance(error, distributed.KilledWorker) and future.status == "error":
                self._free(host)
                return Event(
                    host=host,
                    error=reason(error) if error is not None else "it failed",
                    lost=isinstance(error, UnreachedError),
                )
            return self._forget(host, future)
        self._free(host)
        try:
            return Event(host=host, result=future.result())
        except Exception as error:  # it went between its answer and our reading it
            return Event(host=host, lost=True, error=reason(error))

    def _forget(self, host: str, future: distributed.Future[Any]) -> Event:
        # It must not run anywhere else, nor here when the host comes back.
        future.cancel()
        self._free(host)
        return Event(host=host, lost=True, error="its worker is gone, or has been silent")

    def _free(self, host: str) -> None:
        _, future = self._busy.pop(host)
        del self._asked[future.key]


def _by_ssh(fleet: FleetFile, failures: dict[str, str]) -> Mapping[str, Mapping[str, Any]]:
    return {
        host.name: {
            "cls": SshWorker,
            "options": {
                "host": host,
                "certificates": fleet.certificates / host.name,
                "failures": failures,
            },
        }
        for host in fleet.hosts.values()
        if host.ssh is not None
    }
