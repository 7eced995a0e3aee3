"""Server and generator on two hosts: the pair, and how its hosts talk."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

import wirebench.fleet.channel as channel_module
from developer import simulated_fleet as simulated
from test_fleet import write_fleet
from test_fleet_load import floor
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.link import Link
from wirebench.catalog.loads import (
    ClientLoad,
    ClosedLoad,
    EachLoad,
    IdleLoad,
    Load,
    RampLoad,
    StormLoad,
)
from wirebench.fleet.bench import FleetBench
from wirebench.fleet.certificates import Identity, make_certificates
from wirebench.fleet.channel import ChannelError, await_generator, reach_server
from wirebench.fleet.cluster import HostError
from wirebench.fleet.hosts import Pair, read_fleet
from wirebench.fleet.orders import OrderError
from wirebench.report.provenance import host_rows

S = 1_000_000_000
PAIR = Pair(name="near", server="alpha", generator="beta", address="127.0.0.1")
FAR = Pair(name="far", server="gamma", generator="delta", address="127.0.0.1")
LOAD = ClosedLoad(connections=2, warmup_ns=0, window_ns=S)

HOSTS = 'listen = "x"\n[hosts.alpha]\n[hosts.beta]\n[hosts.gamma]\n'


def pair_table(name: str, server: str, generator: str, address: str = "10.0.0.2") -> str:
    return (
        f'[pairs.{name}]\nserver = "{server}"\ngenerator = "{generator}"\naddress = "{address}"\n'
    )


def test_a_fleet_file_names_pairs_and_who_measures(tmp_path: Path) -> None:
    fleet = read_fleet(write_fleet(tmp_path, HOSTS + pair_table("near", "beta", "alpha")))
    (pair,) = fleet.pairs.values()
    assert (pair.name, pair.hosts, pair.address) == ("near", ("beta", "alpha"), "10.0.0.2")
    assert fleet.measuring == {"alpha", "beta"}
    assert read_fleet(write_fleet(tmp_path, HOSTS)).measuring == {"alpha", "beta", "gamma"}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (pair_table("beta", "alpha", "beta"), "pairs.beta: expected a name that no host has"),
        (pair_table("near", "alpha", "delta"), "pairs.near.generator: expected one of alpha, beta"),
        (pair_table("near", "alpha", "alpha"), "got 'alpha', which has one in 'near'"),
        (
            pair_table("near", "alpha", "beta") + pair_table("far", "gamma", "beta"),
            "pairs.far.generator: expected a host of no other place in a pair, got 'beta'",
        ),
        (pair_table("near", "alpha", "beta", "0.0.0.0"), "expected an address of alpha"),
        (
            pair_table("near", "alpha", "beta", "alpha.example"),
            "pairs.near.address: expected an IPv4 address, got 'alpha.example'",
        ),
        ('[pairs.near]\nserver = "alpha"\n', "pairs.near.generator: expected a value, got nothing"),
    ],
)
def test_a_wrong_pair_is_explained(tmp_path: Path, pairs: str, message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        read_fleet(write_fleet(tmp_path, HOSTS + pairs))
    assert message in str(caught.value)


def bench(tmp_path: Path, pairs: Mapping[str, Pair]) -> FleetBench:
    cores = {"alpha": 8, "beta": 2}
    hosts = {name: {**simulated.describe(name), "cores": n} for name, n in cores.items()}
    return FleetBench(root=tmp_path, jobs=1, fleet_id="1", hosts=hosts, pairs=pairs)


CLIENT = ClientLoad(
    scheme="http", policy="reuse", payload_bytes=1, warmup=1, operations=1, typical_ns=1
)
EACH = EachLoad(producers=1, messages=1, delay_ms=0, policy="reuse", threads=None)
LINKED = EachLoad(
    producers=1,
    messages=1,
    delay_ms=0,
    policy="reuse",
    threads=None,
    link=Link(rtt_ms=1, jitter_ms=0, loss_percent=0, rate_mbit=1),
)


@pytest.mark.parametrize(
    ("load", "word"),
    [
        (LOAD, None),
        (EACH, None),
        (RampLoad(rounds=1, add=1, messages=1, pacing="burst"), None),
        (StormLoad(connections=1, restart=True), None),
        (IdleLoad(connections=1, window_ns=1), "idle connections"),
        (LINKED, "not emulated"),
        (CLIENT, "clients"),
    ],
)
def test_a_load_that_needs_both_on_one_host_is_refused(
    tmp_path: Path, load: Load, word: str | None
) -> None:
    assert bench(tmp_path, {}).load_refusal(load) is None
    said = bench(tmp_path, {"near": PAIR}).load_refusal(load)
    assert (said is None) if word is None else (said is not None and word in said)


def test_a_cell_must_fit_the_hosts_of_servers_and_the_run_is_of_another_host(
    tmp_path: Path,
) -> None:
    alone, paired = bench(tmp_path, {}), bench(tmp_path, {"near": PAIR})
    assert (alone.hardware_threads, paired.hardware_threads) == (2, 8)
    assert alone.host()["host_id"] == "fleet-1"
    assert paired.host()["host_id"] == "fleet-1-apart"
    assert any("server and generator were on different hosts" in one for one in paired.notes())
    paired.add("gamma", {**simulated.describe("gamma"), "cores": 1})
    with pytest.raises(HostError, match="cores: expected at least 2, got 1"):
        alone.add("gamma", {**simulated.describe("gamma"), "cores": 1})
    paired.add_floor(PAIR, floor())
    rows = dict(host_rows(paired.host()))
    assert rows["pair near"] == (
        "servers on alpha (127.0.0.1), generator on beta; link: 100 µs there and back at least,"
        " 120 µs in the median; 8.00 Gbit/s to the server, 4.00 Gbit/s back"
    )


def test_a_run_is_completed_with_the_pairs_that_it_began_with(tmp_path: Path) -> None:
    before = bench(tmp_path, {"near": PAIR})
    before.add_floor(PAIR, floor())
    again = bench(tmp_path, {"near": PAIR})
    again.remember(before.host())
    again.add_floor(PAIR, floor())
    assert len(again.host()["pairs"]["near"]["floors"]) == 2
    other = bench(tmp_path, {"far": FAR})
    other.remember(before.host())
    assert list(other.host()["pairs"]) == ["near", "far"], "its trials stay in the run"
    swapped = Pair(name="near", server="beta", generator="alpha", address="127.0.0.1")
    with pytest.raises(CatalogError, match=r"pairs.near: expected it as it was when the run began"):
        bench(tmp_path, {"near": swapped}).remember(before.host())


@pytest.fixture
def identities(tmp_path: Path) -> Mapping[str, Identity]:
    names = ("alpha", "beta", "gamma")
    make_certificates(tmp_path / "certificates", names)
    return {name: Identity(folder=tmp_path / "certificates" / name) for name in names}


class Waiting:
    """The server's host, waiting in a thread; it answers each line with the same."""

    def __init__(self, identity: Identity, *, patience_s: float = 20) -> None:
        self.port = 0
        self.error: Exception | None = None
        self._identity, self._patience_s = identity, patience_s
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._listening.wait(20)

    def _run(self) -> None:
        def say(port: int) -> None:
            self.port = port
            self._listening.set()

        try:
            with await_generator(PAIR, self._identity, say, patience_s=self._patience_s) as channel:
                while (line := channel.receive(20)) is not None:
                    channel.send_line(line)
        except (ChannelError, OrderError) as error:
            self.error = error

    def ended(self) -> str:
        self._thread.join(30)
        assert not self._thread.is_alive()
        return str(self.error)


def test_the_two_hosts_talk_in_lines(identities: Mapping[str, Identity]) -> None:
    waiting = Waiting(identities["alpha"])
    with reach_server(PAIR, identities["beta"], waiting.port) as channel:
        channel.send({"a": "\n" * 100_000})
        channel.send("clock")
        answers = [channel.receive(20) for _ in range(2)]
        assert [json.loads(one or b"") for one in answers] == [{"a": "\n" * 100_000}, "clock"]
        assert channel.receive(0.01) is None
    assert "ended the connection" in waiting.ended()


def test_whoever_is_not_the_pairs_other_host_is_sent_away(
    identities: Mapping[str, Identity], tmp_path: Path
) -> None:
    make_certificates(tmp_path / "others", ["beta"])
    stranger = Identity(folder=tmp_path / "others" / "beta")
    waiting = Waiting(identities["alpha"])
    with socket.create_connection(("127.0.0.1", waiting.port), timeout=20) as plain:
        plain.sendall(b'"stop"\n')
        with suppress(OSError):
            while plain.recv(100):
                pass
    with pytest.raises(OrderError), reach_server(PAIR, stranger, waiting.port):
        pass
    anonymous = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anonymous.check_hostname, anonymous.verify_mode = False, ssl.CERT_NONE
    raw = socket.create_connection(("127.0.0.1", waiting.port), timeout=20)
    with anonymous.wrap_socket(raw) as nobody, suppress(OSError):
        assert nobody.recv(100) == b""
    # Of the fleet, but of another place in it.
    with (
        reach_server(PAIR, identities["gamma"], waiting.port) as channel,
        pytest.raises(ChannelError),
    ):
        channel.receive(20)
    with reach_server(PAIR, identities["beta"], waiting.port) as channel:
        channel.send("clock")
        assert channel.receive(20) == b'"clock"'
    waiting.ended()


def test_strangers_who_stay_silent_keep_nobody_waiting(identities: Mapping[str, Identity]) -> None:
    """Each would have the whole time that a handshake may take."""
    waiting = Waiting(identities["alpha"])
    silent = [socket.create_connection(("127.0.0.1", waiting.port), timeout=20) for _ in range(2)]
    with reach_server(PAIR, identities["beta"], waiting.port) as channel:
        channel.send("clock")
        assert channel.receive(20) == b'"clock"'
        for one in silent:
            assert one.recv(1) == b"", "they are sent away when the other host is here"
            one.close()
    waiting.ended()


def test_a_crowd_of_strangers_keeps_nobody_out(
    identities: Mapping[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_module, "_MOST_VISITORS", 2)
    waiting = Waiting(identities["alpha"])
    crowd = [socket.create_connection(("127.0.0.1", waiting.port), timeout=20) for _ in range(4)]
    assert crowd[0].recv(1) == b"", "the first ones go"
    with reach_server(PAIR, identities["beta"], waiting.port) as channel:
        channel.send("clock")
        assert channel.receive(20) == b'"clock"'
    for one in crowd:
        one.close()
    waiting.ended()


def test_a_generator_asks_no_other_host_than_the_pairs(identities: Mapping[str, Identity]) -> None:
    waiting = Waiting(identities["gamma"])
    with (
        pytest.raises(OrderError, match="expected host alpha, got 'gamma'"),
        reach_server(PAIR, identities["beta"], waiting.port),
    ):
        pass
    waiting.ended()


def test_an_address_of_another_host_and_a_generator_that_never_comes_are_explained(
    identities: Mapping[str, Identity],
) -> None:
    elsewhere = Pair(name="near", server="alpha", generator="beta", address="192.0.2.1")
    with (
        pytest.raises(OrderError, match=r"192\.0\.2\.1: expected an address of host alpha"),
        await_generator(elsewhere, identities["alpha"], lambda _: None),
    ):
        pass
    waiting = Waiting(identities["alpha"], patience_s=0.01)
    assert "expected host beta to connect within 0.01 s, got nobody" in waiting.ended()


def test_a_line_without_an_end_is_refused(
    identities: Mapping[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_module, "MOST_BYTES", 1000)
    waiting = Waiting(identities["alpha"])
    with reach_server(PAIR, identities["beta"], waiting.port) as channel, suppress(ChannelError):
        channel.send_line(b"x" * 100_000)
        channel.receive(20)
    assert "more than 1,000 bytes in a line" in waiting.ended()
