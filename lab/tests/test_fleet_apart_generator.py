"""The generator on the other host of a pair: what it is asked, its window, and its end."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from misbehaving import support
from misbehaving.support import leaves_nothing, spec
from test_fleet_load import WIRELOAD, needs_wireload
from test_trial_apart import document
from wirebench.catalog.loads import (
    ClientLoad,
    ClosedLoad,
    Load,
    RampLoad,
)
from wirebench.catalog.workloads import request_of
from wirebench.fleet.apart import (
    _ENDED,
    _LAUNCH,
    _STARTED,
    Attendant,
    Ended,
    GeneratorThere,
    Launch,
    LinkWatch,
    _wall_less_steady_ns,
    _window,
)
from wirebench.fleet.channel import ChannelError
from wirebench.fleet.hosts import Pair
from wirebench.fleet.orders import OrderError
from wirebench.process.interfaces import interface_of
from wirebench.process.network import Network
from wirebench.process.supervise import Scope, Supervisor
from wirebench.trial import wireload
from wirebench.trial.apart import (
    GeneratorElsewhere,
    GeneratorLostError,
    Told,
)
from wirebench.trial.trial import run_trial
from wirebench.trial.wireload import Aim, ServerLoad, ServerUse, parse_document

S = 1_000_000_000
PAIR = Pair(name="near", server="alpha", generator="beta", address="127.0.0.1")
LOAD = ClosedLoad(connections=2, warmup_ns=0, window_ns=S)


CLIENT = ClientLoad(
    scheme="http", policy="reuse", payload_bytes=1, warmup=1, operations=1, typical_ns=1
)


PROGRAM = """#!{python}
import json, pathlib, signal, sys, time
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
(pathlib.Path({folder!r}) / "argv").write_text(json.dumps(sys.argv[1:]))
begun = time.time_ns()
while {waits} and not stopped:
    time.sleep(0.01)
text = {document!r}.replace('"start_unix_ns": null', f'"start_unix_ns": {{begun}}')
pathlib.Path(sys.argv[sys.argv.index("--json") + 1]).write_text(text)
print("said so")
sys.exit(3 if stopped else 0)
"""


def program(folder: Path, *, waits: bool = False) -> Path:
    """Something like wireload."""
    path = folder / "wireload"
    text = PROGRAM.format(
        python=sys.executable, folder=str(folder), waits=waits, document=document()
    )
    path.write_text(text)
    path.chmod(0o755)
    return path


class Asks:
    """The connection as the generator's host has it: what it is asked between loads, and in one."""

    has_line = False
    local_address = "127.0.0.1"

    def __init__(self, *asks: bytes, within: bytes | None, is_on: Callable[[], bool]) -> None:
        """``within``: what comes while the load is on; empty: the connection ends."""
        self.sent: list[bytes] = []
        self._asks, self._within, self._is_on = list(asks), within, is_on
        self._ours, self._theirs = socket.socketpair()

    def fileno(self) -> int:
        return self._ours.fileno()

    def send(self, message: object) -> None:
        self.sent.append(json.dumps(message).encode())

    def send_line(self, line: bytes) -> None:
        self.sent.append(line)
        if b"argv" in line and self._within is not None:
            while not self._is_on():
                time.sleep(0.01)
            self._theirs.send(b"x")

    def receive(self, _timeout_s: float | None) -> bytes:
        if self._within is not None and len(self.sent) and b"argv" in self.sent[-1]:
            self._ours.recv(1)
            ask, self._within = self._within, None
        else:
            ask = self._asks.pop(0) if self._asks else b""
        if not ask:
            raise ChannelError("the other host has ended the connection")
        return ask

    def close(self) -> None:
        self._ours.close()
        self._theirs.close()


@pytest.fixture
def attend(tmp_path: Path) -> Iterator[Callable[..., list[bytes]]]:
    """Answers asks; returns what was sent."""
    opened: list[Asks] = []

    def run(*asks: bytes, within: bytes | None = None, gone: bool = False) -> list[bytes]:
        argv = tmp_path / "argv"
        channel: Any = Asks(*asks, within=within, is_on=argv.exists)
        opened.append(channel)
        with Supervisor(scratch_parent=tmp_path) as supervisor:
            stand_in = program(tmp_path, waits=within is not None)
            Attendant(channel, supervisor, stand_in, worker_is_gone=lambda: gone).serve()
        sent: list[bytes] = channel.sent
        return sent

    yield run
    for one in opened:
        one.close()


def launch(load: Load = LOAD, *, authority: str | None = None) -> bytes:
    return _LAUNCH.dump_json(
        Launch(
            load=load,
            origin="http://127.0.0.1:9",
            request=request_of("http.hello"),
            timeout_ns=5 * S,
            seed=7,
            authority=authority,
            limit_ns=60 * S,
        )
    )


def test_a_load_is_put_on_as_asked_and_its_window_is_by_the_steady_clock(
    attend: Callable[..., list[bytes]], tmp_path: Path
) -> None:
    before = time.monotonic_ns()
    clock, started, ended = attend(b'"clock"', launch(authority="PEM"), b'"stop"')
    after = time.monotonic_ns()
    assert before < int(clock) < after
    argv = json.loads((tmp_path / "argv").read_text())
    assert list(_STARTED.validate_json(started).argv[1:]) == argv
    assert argv[-1] == "http://127.0.0.1:9/route_01"
    assert argv[argv.index("-c") + 1] == "2"
    assert "--watch" not in argv
    assert "--cacert" in argv
    found = _ENDED.validate_json(ended)
    assert (found.exit_code, found.output) == (0, "said so")
    assert found.window is not None
    assert before < found.window[0] < after
    assert found.window[1] - found.window[0] == S
    assert found.slew_ns < S
    assert not found.link_was_lost
    assert found.covariates["watched_ns"]


def test_rounds_have_no_single_window(attend: Callable[..., list[bytes]]) -> None:
    _, ended = attend(launch(RampLoad(rounds=1, add=1, messages=1, pacing="burst")))
    assert _ENDED.validate_json(ended).window is None


def test_a_generator_that_is_told_to_stop_writes_what_it_has(
    attend: Callable[..., list[bytes]],
) -> None:
    _, ended = attend(launch(), within=b'"stop"')
    found = _ENDED.validate_json(ended)
    assert found.exit_code == 3
    assert found.document is not None


def test_a_generator_ends_with_the_connection(attend: Callable[..., list[bytes]]) -> None:
    with pytest.raises(OrderError, match="the server's host: the other host has ended"):
        attend(launch(), within=b"")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (b"{}", "what the server's host asks"),
        (b'"run"', "what the server's host asks"),
        (b"\xff", "what the server's host asks"),
        (launch(CLIENT), "got one of a client"),
    ],
)
def test_what_the_servers_host_asks_is_read_with_care(
    attend: Callable[..., list[bytes]], ask: bytes, message: str
) -> None:
    with pytest.raises(OrderError, match=message):
        attend(ask)


def test_no_load_begins_once_the_worker_is_gone(attend: Callable[..., list[bytes]]) -> None:
    with pytest.raises(OrderError, match="its worker is gone"):
        attend(launch(), gone=True)


class Answers:
    """The connection as the server's host has it. Clocks there are ahead."""

    ahead_ns = 70_000 * S

    def __init__(self, *, ended: Ended | None = None, answer: bytes | None = None) -> None:
        self.asked: list[bytes] = []
        self._ended, self._answer = ended, answer
        self._lines: list[bytes] = []

    def send_line(self, line: bytes) -> None:
        self.asked.append(line)
        if self._answer is not None:
            self._lines.append(self._answer)
        elif line == b'"clock"':
            self._lines.append(str(time.monotonic_ns() + self.ahead_ns).encode())
        elif b"load" in line:
            self._lines.append(b'{"argv":["wireload","x"]}')
            if self._ended is not None:
                self._lines.append(_ENDED.dump_json(self._ended))

    def receive(self, _timeout_s: float | None) -> bytes | None:
        return self._lines.pop(0) if self._lines else None


def ended_at(begin_ns: int, *, link_was_lost: bool = False) -> Ended:
    return Ended(
        exit_code=0,
        output="",
        document=document(),
        window=(begin_ns, begin_ns + S),
        slew_ns=5,
        link_was_lost=link_was_lost,
        covariates={"steal_ns": 7},
    )


def aim(folder: Path) -> Aim:
    return Aim(
        origin="http://127.0.0.1:9",
        request=request_of("http.hello"),
        cores=(0,),
        watch="123",
        timeout_ns=5 * S,
        seed=7,
        json_file=folder / "wireload.json",
    )


def there(channel: Any) -> GeneratorThere:
    return GeneratorThere(PAIR, channel)


def test_a_window_there_is_told_by_the_clock_here(tmp_path: Path) -> None:
    begin = 1000 * S
    channel = Answers(ended=ended_at(begin + Answers.ahead_ns))
    generator = there(channel).launch(LOAD, aim(tmp_path), limit_ns=S)
    assert generator.argv == ("wireload", "x")
    assert generator.exit_code() is None
    assert generator.wait(1) == 0
    found = generator.told
    assert found.window is not None
    assert abs(found.window[0] - begin) <= found.uncertainty_ns
    assert found.window[1] - found.window[0] == S
    assert (found.host, found.covariates) == ("beta", {"steal_ns": 7})
    assert json.loads((tmp_path / "wireload.json").read_text())["schema"] == "wireload/1"
    assert generator.stop()
    assert b'"stop"' not in channel.asked
    asked = _LAUNCH.validate_json(next(one for one in channel.asked if b"load" in one))
    assert (asked.load, asked.seed, asked.authority) == (LOAD, 7, None)


def test_a_generator_that_goes_on_is_told_to_stop(tmp_path: Path) -> None:
    channel = Answers()
    generator = there(channel).launch(LOAD, aim(tmp_path), limit_ns=S)
    assert generator.wait(0) is None
    with pytest.raises(GeneratorLostError, match="host beta: its generator did not end"):
        generator.stop()
    assert channel.asked[-1] == b'"stop"'


def test_a_load_whose_link_was_down_says_nothing_about_the_server(tmp_path: Path) -> None:
    lost_there = ended_at(1000 * S + Answers.ahead_ns, link_was_lost=True)
    generator = there(Answers(ended=lost_there)).launch(LOAD, aim(tmp_path), limit_ns=S)
    with pytest.raises(GeneratorLostError, match="host beta: the link to it was down during the"):
        generator.wait(1)
    generator = there(Answers(ended=ended_at(0))).launch(LOAD, aim(tmp_path), limit_ns=S)
    assert not generator.link.was_lost()
    generator.link = LinkWatch(interface=interface_of("127.0.0.1"), losses=-1)
    with pytest.raises(GeneratorLostError, match="host beta: the link to it was down during the"):
        generator.wait(1)


@pytest.mark.parametrize("answer", [b"{}", b"soon", b"[]", b"\xff\xfe"])
def test_what_the_generators_host_answers_is_read_with_care(tmp_path: Path, answer: bytes) -> None:
    host = there(Answers(answer=answer))
    with pytest.raises(GeneratorLostError, match="the generator's host beta: "):
        host.launch(LOAD, aim(tmp_path), limit_ns=S)


def test_a_lost_generator_leaves_no_result_and_no_process(tmp_path: Path) -> None:
    class Lost:
        network = Network(address="127.0.0.2")
        origin = ""

        def launch(self, _load: ServerLoad, aim: Aim, *, limit_ns: int) -> GeneratorElsewhere:
            self.origin = aim.origin
            raise GeneratorLostError(f"gone, in {limit_ns} ns")

    scratch, lost = tmp_path / "scratch", Lost()
    scratch.mkdir()
    with leaves_nothing(scratch) as supervisor, pytest.raises(GeneratorLostError, match="gone"):
        run_trial(
            spec("lonely", tmp_path),
            program=support.program("server.py"),
            supervisor=supervisor,
            wireload=tmp_path / "never-started",
            apart=lost,
        )
    assert lost.origin.startswith("http://127.0.0.2:")


class Beside:
    """This host as the other one: its generator sees the server, too."""

    network = Network(address="127.0.0.2")

    def __init__(self, program: Path, scope: Scope) -> None:
        self.seen: ServerUse | None = None
        self._program, self._scope = program, scope

    def launch(self, load: ServerLoad, aim: Aim, *, limit_ns: int) -> GeneratorElsewhere:
        wall = _wall_less_steady_ns()
        process = self._scope.start(
            wireload.command(self._program, load, aim),
            name="generator",
            cwd=self._scope.folder,
            env={},
            alone=True,
        )
        beside = self

        class Generator:
            argv, output, errors = process.argv, process.output, process.errors
            exit_code, wait, stop = process.exit_code, process.wait, process.stop
            signal = process.signal

            @property
            def told(self) -> Told:
                text = aim.json_file.read_text()
                beside.seen = parse_document(text).document.server
                window = _window(text, load, wall_less_steady_ns=wall)
                return Told(host="beside", window=window, uncertainty_ns=0, covariates={})

        return Generator()


@needs_wireload
def test_the_cpu_that_is_read_here_is_what_a_generator_beside_the_server_reads(
    tmp_path: Path,
) -> None:
    assert WIRELOAD is not None
    with Supervisor(scratch_parent=tmp_path) as supervisor, supervisor.scope() as scope:
        beside = Beside(WIRELOAD, scope)
        record = run_trial(
            replace(spec("busy", tmp_path), load=replace(LOAD, warmup_ns=S // 5)),
            program=support.program("server.py"),
            supervisor=supervisor,
            wireload=WIRELOAD,
            apart=beside,
        )
    assert record.failure is None
    assert record.load is not None
    assert beside.seen is not None
    assert beside.seen.cpu_ns
    ours = record.load["server"]["cpu_user_ns"] + record.load["server"]["cpu_system_ns"]
    unknown = record.load["apart"]["server_cpu_uncertainty_ns"]
    # wireload itself reads a moment after an edge.
    assert abs(ours - beside.seen.cpu_ns) <= unknown + beside.seen.cpu_ns / 50
    assert unknown < ours / 10
    assert record.metrics["cpu_per_request_ns"]
