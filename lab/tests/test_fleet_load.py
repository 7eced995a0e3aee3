"""Generators on several hosts as one load: real ones here, and fakes where clocks matter."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from fleet_project import fleet_of
from test_fleet_together import MS, S, told
from wirebench.catalog.errors import CatalogError
from wirebench.cli import fleet_load
from wirebench.fleet import load_text, worker
from wirebench.fleet.bundles import Packed, pack_programs
from wirebench.fleet.cluster import Event, HostError
from wirebench.fleet.generators import (
    LEAD_NS,
    LEAD_OF_EACH_NS,
    Generators,
    address_of,
    check_words,
)
from wirebench.fleet.link import FLOOR, Floor
from wirebench.fleet.orders import LOAD_ORDER, LoadOrder, OrderError
from wirebench.fleet.place import HostPlace
from wirebench.fleet.together import whole
from wirebench.fleet.worker import HostSide
from wirebench.process.native import find_native

WIRELOAD = find_native("wireload")
needs_wireload = pytest.mark.skipif(WIRELOAD is None, reason="wireload is not built")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


class HostsHere:
    """Hosts whose tasks run in this process, one after another; their children are real."""

    def __init__(self, names: Sequence[str], folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.sides = {name: HostSide(name, HostPlace(folder=folder / name)) for name in names}
        self.asked: list[tuple[str, str]] = []
        self._patch = patch
        self._events: list[Event] = []

    def present(self) -> Mapping[str, str]:
        return {name: f"tls://{name}" for name in self.sides}

    @property
    def idle(self) -> Sequence[str]:
        return list(self.sides)

    def begin(self, host: str, task: Callable[..., Any], *arguments: Any) -> None:
        self.asked.append((host, task.__name__))
        self._patch.setattr(worker, "_side", lambda: self.sides[host])
        try:
            self._events.append(Event(host=host, result=task(*arguments)))
        except OrderError as error:
            self._events.append(Event(host=host, error=str(error)))

    def wait(self, *, timeout_s: float) -> Event | None:
        return self._events.pop(0) if self._events else None

    def ask(self, host: str, question: Callable[[], Any]) -> Any:
        return question()


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostsHere]:
    made = HostsHere(("alpha", "beta", "gamma"), tmp_path / "hosts", monkeypatch)
    yield made
    for side in made.sides.values():
        side.close()


def generators(hosts: Any, *words: str) -> Generators:
    assert WIRELOAD is not None
    return Generators(
        hosts=hosts,
        programs=pack_programs([WIRELOAD]),
        words=words,
        name="one",
        say=lambda _: None,
    )


def left(hosts: HostsHere) -> list[Path]:
    return [path for side in hosts.sides.values() for path in side.place.load("one").glob("*")]


@needs_wireload
def test_a_load_is_divided_and_what_comes_of_it_is_whole(
    url: str, hosts: HostsHere, tmp_path: Path
) -> None:
    found = generators(
        hosts, *("-n", "200", "--rate", "400", "-c", "2", "-t", "1", "--interval", "100ms", url)
    ).run()
    assert found.sent == found.ok == 200
    assert found.latency.count == 200
    assert [one.document.requests.sent for one in found.parts] == [67, 67, 66]
    assert [one.raw["plan"]["part"] for one in found.parts] == [
        {"number": number, "of": 3} for number in (1, 2, 3)
    ]
    assert all(one.start.late_ns >= 0 for one in found.parts)
    assert count_of(found.series) == 200
    assert [count_of(one.log) for one in found.parts] == [67, 67, 66]
    assert left(hosts) == []
    assert fleet_load.write(found, tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    own = {f"{host}.{kind}" for host in hosts.sides for kind in ("json", "hlog")}
    assert names == own | {"load.json", "merged.hlog"}
    stored = json.loads((tmp_path / "out" / "load.json").read_text())
    assert stored["requests"]["ok"] == 200
    assert [one["host"] for one in stored["validity"]["of"]] == ["alpha", "beta", "gamma"]


def count_of(log: str) -> int:
    rows = [line for line in log.splitlines() if line[0].isdigit()]
    return sum(HdrHistogram.decode(row.split(",")[3]).get_total_count() for row in rows)


@needs_wireload
def test_all_are_connected_before_one_is_told_to_begin(url: str, hosts: HostsHere) -> None:
    generators(hosts, "-n", "3", "-c", "1", "-t", "1", url).run()
    tasks = [task for _, task in hosts.asked]
    last = len(tasks) - 1 - tasks[::-1].index("connect_load")
    assert tasks.index("begin_load") > last
    assert tasks[-3:] == ["finish_load"] * 3


@needs_wireload
def test_one_that_cannot_take_part_ends_the_load_of_all(hosts: HostsHere) -> None:
    for words, why in (
        (("-n", "3", "http://127.0.0.1:9/"), "host alpha: "),
        (("--rats", "7", "http://127.0.0.1:9/"), "--rats"),
    ):
        hosts.asked.clear()
        with pytest.raises(HostError, match=why):
            generators(hosts, *words).run()
        assert [task for _, task in hosts.asked if task == "abandon_load"] == ["abandon_load"] * 3
        assert left(hosts) == []


@needs_wireload
def test_generators_that_wait_end_when_one_of_them_cannot_connect(
    url: str, hosts: HostsHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = hosts.begin

    def fail_on_gamma(host: str, task: Callable[..., Any], *arguments: Any) -> None:
        if (host, task.__name__) == ("gamma", "connect_load"):
            hosts._events.append(Event(host=host, lost=True, error="its worker is gone"))
        else:
            begin(host, task, *arguments)

    monkeypatch.setattr(hosts, "begin", fail_on_gamma)
    with pytest.raises(HostError, match="host gamma: its worker is gone"):
        generators(hosts, "-n", "3", "-c", "1", url).run()
    for side in hosts.sides.values():
        with pytest.raises(OrderError, match="expected a process of it, got none"):
            _ = side.child


def order(host: str = "alpha") -> str:
    return LOAD_ORDER.dump_json(
        LoadOrder(load="one", host=host, part=1, of=1, words=(), programs="0" * 64)
    ).decode()


def test_an_order_for_another_host_and_a_load_taken_twice_are_refused(hosts: HostsHere) -> None:
    hosts.begin("alpha", worker.connect_load, order("beta"))
    hosts.begin("alpha", worker.connect_load, order())
    hosts.begin("alpha", worker.connect_load, order())
    errors = [str(event.error) for event in hosts._events]
    assert "expected an order for it, got one for beta" in errors[0]
    assert "expected it here, got none" in errors[1]  # the bundle
    assert "expected a new load, got one that was taken" in errors[2]


@pytest.mark.parametrize("word", ["--part", "--start=-", "--json", "-q", "--idle", "--help"])
def test_options_that_a_fleet_sets_are_refused(word: str) -> None:
    check_words(["-c", "5", "--rate", "7", "http://h/"])
    with pytest.raises(CatalogError, match=f"^{word}: expected no such option"):
        check_words(["-c", "5", word, "http://h/"])


# --- clocks ---------------------------------------------------------------------------------------


class FarHosts:
    """Hosts whose clocks are far apart, which answer what generators would."""

    def __init__(self, offsets: Mapping[str, int]) -> None:
        self.offsets = offsets
        self.now = 1000 * S
        self.begun: dict[str, int] = {}
        self._events: list[Event] = []

    def clock_ns(self) -> int:
        self.now += 10
        return self.now

    def present(self) -> Mapping[str, str]:
        return {name: name for name in self.offsets}

    @property
    def idle(self) -> Sequence[str]:
        return list(self.offsets)

    def begin(self, host: str, task: Callable[..., Any], *arguments: Any) -> None:
        self._events.append(Event(host=host, result=self._answer(host, task.__name__, arguments)))

    def _answer(self, host: str, task: str, arguments: Sequence[Any]) -> Any:
        if task == "has":
            return list(arguments[0])
        if task == "connect_load":
            return '{"ready":true,"opened":5,"steady_ns":1}\n'
        if task == "reflect":
            return 4242
        if task == "measure_link":
            assert arguments[:2] == ("h", 4242)
            return FLOOR.dump_json(floor()).decode()
        if task == "begin_load":
            self.begun[host] = arguments[0]
        if task == "finish_load":
            one = told(begun_ns=self.begun[host])
            return json.dumps({"schema": "wireload/1", **one.raw}), one.log
        return None

    def wait(self, *, timeout_s: float) -> Event | None:
        return self._events.pop(0)

    def ask(self, host: str, question: Callable[[], Any]) -> int:
        self.now += MS
        return self.now + self.offsets[host]


def far(
    hosts: FarHosts, *, say: Callable[[str], None] = lambda _: None, server: str | None = None
) -> Generators:
    return Generators(
        hosts=hosts,
        programs=Packed(files={}, content=b""),
        words=("http://h/",),
        name="one",
        say=say,
        server=server,
        clock_ns=hosts.clock_ns,
    )


def test_each_is_told_one_moment_by_its_own_clock() -> None:
    offsets = {"a": 0, "b": 5_000 * S, "c": -900 * S}
    hosts = FarHosts(offsets)
    load = far(hosts)
    before = hosts.now
    found = load.run()
    moments = {host: at - offsets[host] for host, at in hosts.begun.items()}
    # A millisecond there and none back: half of it is what nobody can know.
    assert max(moments.values()) == min(moments.values())
    assert moments["a"] > before + LEAD_NS + 3 * LEAD_OF_EACH_NS
    assert found.skew_ns == 2 * found.parts[0].uncertainty_ns
    assert found.void == ()


@pytest.mark.parametrize(
    ("task", "answer", "why"),
    [
        ("connect_load", "{}", "host a: opened: expected a value, got nothing"),
        ("connect_load", "soon", "host a: "),
        ("finish_load", ["{}", 5], "host a: 1: expected a valid string, got 5"),
        ("finish_load", ["{}", ""], "host a: wireload: schema: expected 'wireload/1', got None"),
    ],
)
def test_what_a_host_answers_is_read_with_care(
    task: str, answer: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = FarHosts({"a": 0})
    right = hosts._answer

    def given(host: str, name: str, arguments: Sequence[Any]) -> Any:
        return answer if name == task else right(host, name, arguments)

    monkeypatch.setattr(hosts, "_answer", given)
    load = far(hosts)
    with pytest.raises(HostError, match=f"^{re.escape(why)}"):
        load.run()


# --- the link -------------------------------------------------------------------------------------

FLOOR_TEXT = (
    "link: 100 µs there and back at least, 120 µs in the median; 8.00 Gbit/s to the server,"
    " 4.00 Gbit/s back"
)


def floor() -> Floor:
    return Floor(
        round_trip_min_ns=100_000,
        round_trip_p50_ns=120_000,
        out_bytes_per_s=1e9,
        in_bytes_per_s=5e8,
    )


@needs_wireload
def test_with_the_servers_host_the_link_is_measured_before_the_load(
    url: str, hosts: HostsHere
) -> None:
    load = generators(hosts, "-n", "3", "-c", "1", "-t", "1", url)
    load.server = "beta"
    found = load.run()
    assert [one.host for one in found.parts] == ["alpha", "gamma"], "the server's has no generator"
    assert all(one.link is not None for one in found.parts)
    tasks = [one for one in hosts.asked if one[1] not in ("has", "receive")]
    assert tasks[:5] == [
        ("beta", "reflect"),
        ("alpha", "measure_link"),
        ("gamma", "measure_link"),
        ("beta", "stop_reflecting"),
        ("alpha", "connect_load"),
    ]
    stored = found.to_json()["validity"]["of"][0]["link"]
    assert stored["round_trip_min_ns"] > 0


@needs_wireload
def test_where_the_url_leads_elsewhere_the_load_does_not_begin(hosts: HostsHere) -> None:
    load = generators(hosts, "-n", "3", "http://192.0.2.1:8080/")
    load.server = "beta"
    with pytest.raises(HostError, match=r"host beta: 192\.0\.2\.1: expected an address"):
        load.run()
    assert "connect_load" not in {task for _, task in hosts.asked}


def test_the_floor_of_each_link_is_told_with_the_result() -> None:
    hosts, said = FarHosts({"a": 0, "b": 0, "server": 0}), list[str]()
    load = far(hosts, say=said.append, server="server")
    found = load.run()
    assert [one for one in said if "link" in one] == [f"a: {FLOOR_TEXT}", f"b: {FLOOR_TEXT}"]
    text = "\n".join(load_text.lines(found))
    assert text.count(FLOOR_TEXT) == 2
    assert found.to_json()["validity"]["of"][1]["link"]["in_bytes_per_s"] == 5e8
    alone = far(FarHosts({"server": 0}), server="server")
    with pytest.raises(HostError, match="expected a host for a generator beside"):
        alone.run()


def test_the_link_is_that_to_the_host_of_the_url() -> None:
    assert address_of(["-c", "5", "http://10.0.0.9:8080/{uuid}"]) == "10.0.0.9"
    assert address_of(["wss://[fd00::1]:1/x", "http://other/"]) == "fd00::1"
    for words in ([], ["-c", "5"], ["http://"]):
        with pytest.raises(CatalogError, match="expected the server's URL"):
            address_of(words)


# --- what is said ---------------------------------------------------------------------------------


def test_the_summary_has_skew_and_lag_of_each_and_why_it_is_void() -> None:
    text = "\n".join(
        load_text.lines(
            whole([told(1), told(2, begun_ns=10 * S + 30 * MS, errors={"bad_body": 1})])
        )
    )
    assert "Requests    4 right in 2.00 s: 3/s" in text
    assert "Errors      bad_body 1" in text
    assert "Validity    void: the generators began up to 30.20 ms apart" in text
    assert "h1: began 0 ns after the first (known to 100 µs), p99 of its lag 7.00 ns, 30%" in text
    assert "h2: began 30.0 ms after the first" in text
    assert "Validity    one load" in "\n".join(load_text.lines(whole([told(1)])))


# --- the page -------------------------------------------------------------------------------------


def test_the_page_has_charts_the_generators_and_the_link() -> None:
    values = tuple(range(1_000, 4_000))
    late = told(2, values=values, begun_ns=10 * S + MS)
    found = whole([replace(told(1, values=values), link=floor()), late])
    text = load_text.page(found, ["-c", "5", "http://h/<x>"])
    titles = re.findall("<h2>([^<]*)</h2>", text)
    drawn = ["Latency by percentile", "Right replies a second", "Latency over time"]
    assert titles == [*drawn, "Generators", "The link to the server"]
    assert text.count("<svg") == 3
    assert text.count("Latency by percentile") == 1, "the heading is not repeated in the chart"
    for word in ("all together", "h1", "h2", "p50", "p99", "max"):
        assert f">{word}</text>" in text, "each line is named beside its chart"
    assert "6,000 right in 2.00 s: 3/s" in text
    row = "".join(f"<td>{one}</td>" for one in ("1.00 ms", "100 µs", "2", "7.00 ns", "30%", ""))
    assert f"<tr><th>h2</th>{row}</tr>" in text
    assert "<td>8.00 Gbit/s</td><td>4.00 Gbit/s</td>" in text
    assert "http://h/&lt;x&gt;" in text
    assert "<script" not in text


def test_the_page_says_why_a_load_is_void_and_draws_nothing_that_was_not_measured() -> None:
    found = whole([told(1), told(2, begun_ns=10 * S + 30 * MS)])
    text = load_text.page(replace(found, series="", parts=found.parts[:1]), [])
    assert "Void: the generators began up to 30.20 ms apart" in text
    assert "<svg" not in text
    assert "The link" not in text


# --- the command ----------------------------------------------------------------------------------


def test_files_that_cannot_be_written_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert not fleet_load.write(whole([told(1)]), tmp_path / "file" / "out")
    said = " ".join(capsys.readouterr().err.split())
    assert said == f"warning: {tmp_path / 'file' / 'out'}: not written: Not a directory"


@needs_wireload
@pytest.mark.long
@pytest.mark.fleet
def test_workers_of_a_fleet_load_a_server_together(url: str, tmp_path: Path) -> None:
    words = ("--", "-n", "100", "--rate", "200", "-c", "2", "-t", "1", url)
    assert WIRELOAD is not None
    with fleet_of(tmp_path / "project", ("alpha", "beta")) as fleet:
        fleet.project.use(WIRELOAD)

        def load(*options: str) -> tuple[int, str]:
            given = ("--fleet", str(fleet.file), "--wait", "60", *options, *words)
            with fleet.project.start("fleet", "load", *given) as process:
                output, _ = process.communicate(timeout=120)
                return process.returncode, output

        code, output = load("--out", str(tmp_path / "both"))
        # Void where other programs held a generator up; what was sent is exact even so.
        assert code in (0, 3), output
        assert "alpha: 2 connections" in output
        both = json.loads((tmp_path / "both" / "load.json").read_text())
        assert (both["generators"], both["requests"]["ok"]) == (2, 100)
        # Their clocks are one, so the moments are.
        parts = both["validity"]["of"]
        assert all(abs(one["drift_ns"]) <= 2 * one["uncertainty_ns"] for one in parts)

        page = tmp_path / "load.html"
        code, output = load(
            *("--out", str(tmp_path / "apart"), "--server", "beta", "--html", str(page))
        )
        assert code in (0, 3), output
        assert "alpha: link: " in output
        apart = json.loads((tmp_path / "apart" / "load.json").read_text())
        assert [one["host"] for one in apart["validity"]["of"]] == ["alpha"]
        assert apart["requests"]["ok"] == 100
        assert "The link to the server" in page.read_text()

        for options, message in (
            (("--server", "gamma"), "--server: expected one of alpha, beta, got 'gamma'"),
            (("--", "--part", "1/2"), "--part: expected no such option"),
            (("--html", str(tmp_path / "no" / "x")), "--html: expected a file in a folder"),
        ):
            code, output = load(*options)
            assert code == 64, output
            assert message in output
        assert fleet.project.survivors() == []
