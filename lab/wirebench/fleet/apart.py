"""A trial on two hosts. The server's host runs it as it runs any trial, but for the generator: it
asks the other host to start that one, and gets its document. The generator's host does what it is
asked, and knows of the load alone.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from wirebench.catalog.errors import explain
from wirebench.catalog.loads import ClientLoad, Load
from wirebench.catalog.workloads import Request
from wirebench.fleet.channel import Channel, ChannelError
from wirebench.fleet.clocks import Clock, compare_clocks
from wirebench.fleet.hosts import Pair
from wirebench.fleet.orders import OrderError, UnreachedError
from wirebench.host import cores_awake
from wirebench.process import interrupt
from wirebench.process.cores import choose_cores
from wirebench.process.interfaces import interface_of, losses_of_link
from wirebench.process.network import Network
from wirebench.process.process import Process
from wirebench.process.start import tail_of
from wirebench.process.supervise import Supervisor
from wirebench.trial import wireload
from wirebench.trial.apart import GeneratorLostError, Told, has_window
from wirebench.trial.covariates import watch_host
from wirebench.trial.wireload import Aim, DocumentError, ServerLoad

_ANSWER_S = 30.0
"""How long the other host may take to answer what takes it no time."""
_STOP_S = 5.0
"""How long a generator has after SIGTERM to write what it has measured."""
_MARGIN_S = 30.0
"""Beyond the load's own limit, after which the server's host has it stopped."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """The load that is asked for."""

    load: Load
    origin: str
    request: Request
    timeout_ns: int
    seed: int
    authority: str | None
    """The certificate to trust over TLS, as PEM."""
    limit_ns: int


@dataclass(frozen=True, kw_only=True)
class Started:
    argv: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A generator that has ended, by the clocks of its host."""

    exit_code: int
    output: str
    document: str | None
    window: tuple[int, int] | None
    """Its edges by the steady clock. None: the load has no single window."""
    slew_ns: int
    """How much the wall clock, by which the document has the window, went against the steady one
    meanwhile.
    """
    link_was_lost: bool
    """Whether its interface to the other host lost its link meanwhile."""
    covariates: Mapping[str, int | None]


_ASK: TypeAdapter[Launch | Literal["clock", "stop"]] = TypeAdapter(
    Launch | Literal["clock", "stop"]
)
_LAUNCH, _STARTED, _ENDED = TypeAdapter(Launch), TypeAdapter(Started), TypeAdapter(Ended)
_READING = TypeAdapter(int)
Answer = TypeVar("Answer")


# --- the server's host ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LinkWatch:
    """Whether the interface with an address loses its link from now on. One that is down for less
    than the connection takes to notice would look like a server that does not answer.
    """

    interface: int | None
    losses: int | None

    @classmethod
    def of(cls, address: str) -> LinkWatch:
        interface = interface_of(address)
        losses = losses_of_link(interface) if interface is not None else None
        return cls(interface=interface, losses=losses)

    def was_lost(self) -> bool:
        """False where this is not known, as on loopback addresses that no interface has."""
        return self.interface is not None and losses_of_link(self.interface) != self.losses


@dataclass(frozen=True, kw_only=True)
class _Output:
    said: str

    def text(self) -> str:
        return self.said


class GeneratorThere:
    """The other host of the pair, as ``trial.apart.GeneratorHost`` has it."""

    def __init__(self, pair: Pair, channel: Channel) -> None:
        self.pair, self._channel = pair, channel
        self.network = Network(address=pair.address)

    def launch(self, load: ServerLoad, aim: Aim, *, limit_ns: int) -> RemoteGenerator:
        before = self.clock()
        ca_file = aim.ca_file
        asked = Launch(
            load=load,
            origin=aim.origin,
            request=aim.request,
            timeout_ns=aim.timeout_ns,
            seed=aim.seed,
            authority=ca_file.read_text("utf-8") if ca_file is not None else None,
            limit_ns=limit_ns,
        )
        link = LinkWatch.of(self.pair.address)
        self.send(_LAUNCH.dump_json(asked))
        started = self.answer(_STARTED)
        return RemoteGenerator(
            host=self, argv=started.argv, document=aim.json_file, before=before, link=link
        )

    def clock(self) -> Clock:
        """Its steady clock beside ours."""

        def ask() -> int:
            self.send(b'"clock"')
            return self.answer(_READING)

        return compare_clocks(ask)

    def send(self, line: bytes) -> None:
        try:
            self._channel.send_line(line)
        except ChannelError as error:
            raise self.lost(error) from error

    def answer(self, adapter: TypeAdapter[Answer]) -> Answer:
        found = self.next(adapter, timeout_s=_ANSWER_S)
        if found is None:
            raise self.lost(f"no answer in {_ANSWER_S:g} s")
        return found

    def next(self, adapter: TypeAdapter[Answer], *, timeout_s: float) -> Answer | None:
        """None at the timeout."""
        try:
            line = self._channel.receive(timeout_s)
            return None if line is None else adapter.validate_json(line)
        except ChannelError as error:
            raise self.lost(error) from error
        except ValidationError as error:
            raise self.lost(explain(error, path="its answer")) from error

    def lost(self, why: object) -> GeneratorLostError:
        return GeneratorLostError(f"the generator's host {self.pair.generator}: {why}")


@dataclass(kw_only=True)
class RemoteGenerator:
    """A generator on the other host, as a trial sees it."""

    host: GeneratorThere
    argv: tuple[str, ...]
    document: Path
    """Where its document is to be, on this host."""
    before: Clock
    """Its host's clock beside ours, before the load."""
    link: LinkWatch
    """Of this host."""
    errors: None = None
    _ended: Ended | None = field(default=None, init=False)
    _told: Told | None = field(default=None, init=False)

    @property
    def output(self) -> _Output:
        return _Output(said=self._ended.output if self._ended is not None else "")

    def exit_code(self) -> int | None:
        return self._ended.exit_code if self._ended is not None else None

    def wait(self, timeout_s: float) -> int | None:
        """Its exit code; None at the timeout. Sleeps until then."""
        if self._ended is None:
            self._ended = self.host.next(_ENDED, timeout_s=timeout_s)
            if self._ended is not None:
                self._keep(self._ended)
        return self.exit_code()

    def signal(self, _number: signal.Signals) -> None:
        """Whatever the signal, it is told to end and to write what it has."""
        if self._ended is None:
            self.host.send(b'"stop"')

    def stop(self) -> bool:
        if self._ended is None:
            self.signal(signal.SIGTERM)
            if self.wait(_ANSWER_S) is None:
                raise self.host.lost("its generator did not end")
        return True

    @property
    def told(self) -> Told:
        assert self._told is not None, "only of a generator that has ended"
        return self._told

    def _keep(self, ended: Ended) -> None:
        if ended.link_was_lost or self.link.was_lost():
            raise self.host.lost("the link to it was down during the load")
        if ended.document is not None:
            self.document.write_text(ended.document, encoding="utf-8")
        after = self.host.clock()
        offset = (self.before.offset_ns + after.offset_ns) // 2
        drift = abs(after.offset_ns - self.before.offset_ns)
        self._told = Told(
            host=self.host.pair.generator,
            window=(ended.window[0] - offset, ended.window[1] - offset) if ended.window else None,
            uncertainty_ns=max(self.before.uncertainty_ns, after.uncertainty_ns)
            + drift
            + ended.slew_ns,
            covariates=ended.covariates,
        )


# --- the generator's host -------------------------------------------------------------------------


class Attendant:
    """Does what the server's host asks, until that ends the connection."""

    def __init__(
        self,
        channel: Channel,
        supervisor: Supervisor,
        program: Path,
        *,
        worker_is_gone: Callable[[], bool],
    ) -> None:
        """``program``: wireload."""
        self._channel, self._supervisor, self._program = channel, supervisor, program
        self._worker_is_gone = worker_is_gone

    def serve(self) -> None:
        """``OrderError`` where it is asked what it cannot do, ``UnreachedError`` where the
        connection ends in a load.
        """
        while (ask := self._next()) is not None:
            if isinstance(ask, Launch):
                self._load(ask)
            elif ask == "clock":
                self._channel.send(time.monotonic_ns())
            # A stop that comes late is for a generator that has ended.

    def _next(self) -> Launch | Literal["clock", "stop"] | None:
        """None at the end of the connection."""
        try:
            line = self._channel.receive(None)
        except ChannelError:
            return None
        try:
            return _ASK.validate_json(line or b"")
        except ValidationError as error:
            raise OrderError(explain(error, path="what the server's host asks")) from error

    def _load(self, asked: Launch) -> None:
        if self._worker_is_gone():
            raise OrderError("its worker is gone: no new load")
        if isinstance(asked.load, ClientLoad):
            raise OrderError("expected the load of a server, got one of a client")
        with self._supervisor.scope() as scope, cores_awake():
            document = scope.folder / "wireload.json"
            ca_file = scope.folder / "ca.pem" if asked.authority is not None else None
            if ca_file is not None and asked.authority is not None:
                ca_file.write_text(asked.authority, encoding="utf-8")
            cores = choose_cores().generator
            aim = Aim(
                origin=asked.origin,
                request=asked.request,
                cores=cores,
                watch=None,
                timeout_ns=asked.timeout_ns,
                seed=asked.seed,
                json_file=document,
                ca_file=ca_file,
            )
            wall, link = _wall_less_steady_ns(), LinkWatch.of(self._channel.local_address)
            with watch_host(None) as host:
                process = scope.start(
                    wireload.command(self._program, asked.load, aim),
                    name="generator",
                    cwd=scope.folder,
                    env={},
                    cores=cores,
                    alone=True,
                )
                self._send(_STARTED.dump_json(Started(argv=process.argv)))
                self._await(process, limit_s=asked.limit_ns / 1e9 + _MARGIN_S)
            process.stop()
            code = process.exit_code()
            slew = abs(_wall_less_steady_ns() - wall)
            text = document.read_text("utf-8") if document.exists() else None
            ended = Ended(
                exit_code=code if code is not None else -signal.SIGKILL,
                output=tail_of(process),
                document=text,
                window=_window(text, asked.load, wall_less_steady_ns=wall),
                slew_ns=slew,
                link_was_lost=link.was_lost(),
                covariates=host.covariates(),
            )
            self._send(_ENDED.dump_json(ended))

    def _await(self, process: Process, *, limit_s: float) -> None:
        """Until it has ended; one that is to stop, or is late, gets SIGTERM first. Sleeps until the
        process ends or the other host says something.
        """
        deadline = time.monotonic() + limit_s
        ended = os.pidfd_open(process.pid)
        try:
            poller = select.poll()
            poller.register(ended, select.POLLIN)
            poller.register(self._channel, select.POLLIN)
            while process.exit_code() is None and (left := deadline - time.monotonic()) > 0:
                with interrupt.waiting():
                    ready = dict(poller.poll(0 if self._channel.has_line else left * 1000))
                if ended in ready:
                    return
                if (self._channel.fileno() in ready or self._channel.has_line) and self._is_told():
                    process.signal(signal.SIGTERM)
                    deadline = min(deadline, time.monotonic() + _STOP_S)
        finally:
            os.close(ended)

    def _is_told(self) -> bool:
        """Whether it is to stop. ``UnreachedError`` if the other host is gone."""
        try:
            return self._channel.receive(_STOP_S) == b'"stop"'
        except ChannelError as error:
            raise UnreachedError(f"the server's host: {error}") from error

    def _send(self, line: bytes) -> None:
        try:
            self._channel.send_line(line)
        except ChannelError as error:
            raise UnreachedError(f"the server's host: {error}") from error


def _wall_less_steady_ns() -> int:
    return time.time_ns() - time.monotonic_ns()


def _window(text: str | None, load: Load, *, wall_less_steady_ns: int) -> tuple[int, int] | None:
    """The edges of the load's window by this host's steady clock. Rounds have many windows."""
    if text is None or not has_window(load):
        return None
    try:
        window = wireload.parse_document(text).document.window
    except DocumentError:
        return None  # the server's host says what is wrong with it
    if window.start_unix_ns is None or not window.elapsed_ns:
        return None
    begin = window.start_unix_ns - wall_less_steady_ns
    return begin, begin + window.elapsed_ns
