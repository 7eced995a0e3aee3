"""The conformance check of servers and clients that misbehave: each fault is found, by its own
check, and named.
"""

from __future__ import annotations

import pytest

from misbehaving.support import program
from wirebench.catalog.model import Scheme, Workload
from wirebench.process import process, start
from wirebench.process.supervise import Supervisor
from wirebench.verify import (
    Traits,
    Verdict,
    client,
    http,
    http_checks,
    server,
    verify_client,
    verify_server,
    websocket_workloads,
)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody here answers late: they answer, or never do."""
    monkeypatch.setattr(http, "TIMEOUT_S", 0.7)


def failed(verdict: Verdict) -> list[str]:
    return [check.id for check in verdict.failed]


@pytest.mark.parametrize("workload", ["http.hello", "ws.count", "ws.broadcast"])
def test_one_that_does_all_right_passes_every_check(
    workload: Workload, supervisor: Supervisor
) -> None:
    verdict = verify_server("fake/none", workload, program("server.py"), supervisor)
    assert verdict.failure is None
    assert verdict.passed
    assert failed(verdict) == []
    assert len(verdict.checks) > 10
    assert len({check.id for check in verdict.checks}) == len(verdict.checks), (
        "each has a name of its own"
    )


@pytest.mark.parametrize(
    ("fault", "check", "expected", "received"),
    [
        ("wrong_body", "hello.route_01", "hello from route_01", "hallo from route_01"),
        ("not_found", "hello.route_01", "200", "404"),
        ("wrong_type", "hello.route_01", "text/plain", "text/html"),
        ("bare_line_feeds", "hello.route_01", "200", "HTTP/1.1 200 OK\\nContent-Type"),
        ("old_version", "hello.route_01", "200", "HTTP/1.0 200 OK"),
        ("found_everywhere", "hello.not_found /", "404", "200"),
        ("closes_each", "http.keep_alive", "each time 200", "request 2: closed in a response head"),
        (
            "closes_at_100",
            "http.keep_alive",
            "each time 200",
            "request 101: closed in a response head",
        ),
        ("wrong_later", "http.keep_alive", "hello from route_01", "hallo from route_01"),
        (
            "ignores_close",
            "http.connection_close",
            "the end of the connection",
            "the connection stays open",
        ),
        ("hangs", "hello.route_01", "200", "nothing, and no more in 0.7 s"),
        ("never_accepts", "hello.route_01", "200", "nothing, and no more in 0.7 s"),
        (
            "ignores_sigterm",
            "lifecycle.sigterm",
            "the end of all its processes",
            "still there after 0.6 s",
        ),
        (
            "leaves_children",
            "lifecycle.sigterm",
            "the end of all its processes",
            "still there after 0.6 s",
        ),
        (
            "never_reuses_its_port",
            "lifecycle.restart",
            "a connection on 127.0.0.1",
            "ddress already in use",
        ),
    ],
)
def test_a_fault_of_an_http_server_is_found(
    fault: str,
    check: str,
    expected: str,
    received: str,
    supervisor: Supervisor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Whoever does not end, or close, never does: only that is waited for.
    if check == "lifecycle.sigterm":
        monkeypatch.setattr(process, "GRACE_S", 0.6)
    if check == "http.connection_close":
        monkeypatch.setattr(http_checks, "_CLOSE_WITHIN_S", 0.6)
    verdict = verify_server(f"fake/{fault}", "http.hello", program("server.py", fault), supervisor)
    assert failed(verdict)[0] == check
    assert verdict.failure is not None
    assert verdict.failure.kind == "nonconformant"
    assert check in verdict.failure.message
    assert verdict.failure.sent
    assert expected in (verdict.failure.expected or "")
    assert received in (verdict.failure.received or "")


def test_processes_that_a_manifest_promises_are_counted(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_PROCESSES_WITHIN_S", 0.3)
    traits = Traits(processes=True)
    alone = verify_server(
        "fake/none", "http.hello", program("server.py"), supervisor, traits=traits
    )
    assert failed(alone) == ["parity.processes"]
    assert alone.failure is not None
    assert alone.failure.received == "1 process"
    monkeypatch.setattr(server, "_PROCESSES_WITHIN_S", 10.0)
    several = verify_server(
        "fake/workers", "http.hello", program("server.py", "workers"), supervisor, traits=traits
    )
    assert failed(several) == []
    assert "parity.processes" in {check.id for check in several.checks}


@pytest.mark.parametrize(
    ("fault", "workload", "traits", "advice"),
    [
        ("none", "http.hello", Traits(tls=True), []),
        ("none", "ws.count", Traits(tls=True), []),
        ("announces_close", "http.hello", Traits(closes=True), []),
        ("holds_back", "http.hello", Traits(), ["parity.nodelay"]),
        ("holds_back", "http.hello", Traits(closes=True), ["parity.nodelay"]),
        ("holds_back", "ws.count", Traits(), ["parity.nodelay"]),
        ("holds_back", "ws.broadcast", Traits(), ["parity.nodelay"]),
        ("holds_back_over_tls", "http.hello", Traits(tls=True), ["tls.parity.nodelay"]),
    ],
)
def test_a_server_without_tcp_nodelay_is_advised_of_it(
    fault: str, workload: Workload, traits: Traits, advice: list[str], supervisor: Supervisor
) -> None:
    verdict = verify_server(
        f"fake/{fault}", workload, program("server.py", fault), supervisor, traits=traits
    )
    assert "parity.nodelay" in {check.id for check in verdict.checks if check.checked}
    assert [one.id for one in verdict.advice if "nodelay" in one.id] == advice


def test_a_server_that_logs_each_request_is_advised_of_it(supervisor: Supervisor) -> None:
    found = {
        fault: verify_server(f"fake/{fault}", "http.hello", program("server.py", fault), supervisor)
        for fault in ("none", "logs")
    }
    assert all(one.passed for one in found.values())
    said = {fault: [check.id for check in one.advice] for fault, one in found.items()}
    assert "parity.quiet" not in said["none"]
    assert "parity.quiet" in said["logs"]


@pytest.mark.parametrize(
    ("fault", "workload", "check"),
    [
        ("wrong_body_with_threads", "http.hello", "threads.http.concurrent"),
        ("off_by_one_with_threads", "ws.count", "threads.ws.concurrent"),
        ("leaves_out_the_last_with_threads", "ws.broadcast", "threads.broadcast.senders"),
    ],
)
def test_a_fault_that_shows_with_several_threads_alone_is_found(
    fault: str, workload: Workload, check: str, supervisor: Supervisor
) -> None:
    verdict = verify_server(f"fake/{fault}", workload, program("server.py", fault), supervisor)
    assert failed(verdict) == [check]
    assert verdict.failure is not None
    assert (verdict.failure.sent or "").endswith(", with WIREBENCH_THREADS=4")


@pytest.mark.parametrize("workload", ["http.hello", "ws.count", "ws.broadcast"])
def test_one_that_does_all_right_is_asked_the_same_over_tls(
    workload: Workload, supervisor: Supervisor
) -> None:
    verdict = verify_server(
        "fake/none", workload, program("server.py"), supervisor, traits=Traits(tls=True)
    )
    assert verdict.failure is None
    assert failed(verdict) == []
    names = {check.id for check in verdict.checks}
    asked = {
        name for name in names if name.startswith(("hello", "count", "broadcast", "http", "ws"))
    }
    assert len(asked) > 10
    assert {name.removeprefix("tls.") for name in names if name.startswith("tls.")} == {
        *asked,
        "parity.nodelay",
        "lifecycle.sigterm",
    }


@pytest.mark.parametrize(
    ("fault", "workload", "check", "received"),
    [
        ("wrong_body_over_tls", "http.hello", "tls.hello.route_01", "hallo from route_01"),
        ("wrong_later_over_tls", "http.hello", "tls.http.keep_alive", "hallo from route_01"),
        ("closes_at_100_over_tls", "http.hello", "tls.http.keep_alive", "request 101: closed"),
        ("speaks_no_tls", "http.hello", "tls.hello.route_01", "no end of the TLS handshake"),
        ("shows_another_certificate", "http.hello", "tls.hello.route_01", "no TLS handshake: "),
        ("off_by_one_over_tls", "ws.count", "tls.count.0", '"c": 1'),
        ("never_closes_over_tls", "ws.count", "tls.ws.close", "nothing, and no more"),
        ("doubles_over_tls", "ws.broadcast", "tls.broadcast.text", 'text "joined 0"'),
        ("ignores_sigterm_over_tls", "http.hello", "tls.lifecycle.sigterm", "still there after"),
    ],
)
def test_a_fault_that_shows_over_tls_alone_is_found(
    fault: str,
    workload: Workload,
    check: str,
    received: str,
    supervisor: Supervisor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if check == "tls.lifecycle.sigterm":
        monkeypatch.setattr(process, "GRACE_S", 0.6)
    served = program("server.py", fault)
    assert verify_server(f"fake/{fault}", workload, served, supervisor).passed
    verdict = verify_server(f"fake/{fault}", workload, served, supervisor, traits=Traits(tls=True))
    assert failed(verdict)[0] == check
    assert verdict.failure is not None
    assert (verdict.failure.sent or "").endswith(", over TLS")
    assert received in (verdict.failure.received or "")


@pytest.mark.parametrize(
    ("fault", "kind", "received"),
    [
        ("crashes_at_start_over_tls", "start_crashed", "no such table: users"),
        ("crashes_under_load_over_tls", "crashed", "the cat sat on the keyboard"),
    ],
)
def test_one_that_cannot_be_asked_over_tls_is_told_apart(
    fault: str, kind: str, received: str, supervisor: Supervisor
) -> None:
    verdict = verify_server(
        f"fake/{fault}",
        "http.hello",
        program("server.py", fault),
        supervisor,
        traits=Traits(tls=True),
    )
    assert verdict.failure is not None
    assert verdict.failure.kind == kind
    assert "over TLS" in f"{verdict.failure.message} {verdict.failure.sent}"
    assert received in (verdict.failure.received or "")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("announces_close", None),
        ("closes_each", "may end unannounced"),
        ("none", "may end unannounced"),
        ("keeps_in_spite", "stays open"),
    ],
)
def test_a_server_that_ends_each_connection_must_say_so_and_do_so(
    fault: str, said: str | None, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_checks, "_CLOSE_WITHIN_S", 0.6)
    verdict = verify_server(
        f"fake/{fault}",
        "http.hello",
        program("server.py", fault),
        supervisor,
        traits=Traits(closes=True),
    )
    found = next(check for check in verdict.checks if check.id == "http.closes")
    assert found.passed == (said is None)
    assert (said or "") in found.received
    assert "http.keep_alive" not in {check.id for check in verdict.checks}


@pytest.mark.parametrize(
    ("fault", "check", "received"),
    [
        ("wrong_accept", "ws.handshake", "Sec-WebSocket-Accept"),
        ("masks", "count.0", "a masked frame"),
        ("off_by_one", "count.0", '"c": 1'),
        ("milliseconds", "count.0", '"ts": 17'),
        ("text_stamp", "count.0", '"ts": "'),
        ("binary_replies", "count.0", "binary"),
        ("forgives_commas", "count.bad_json", '"c": 11'),
        ("forgives_what_follows", "count.trailing", '"c": 12'),
        ("reads_nan", "count.nan", '"c": NaN'),
        ("no_pong", "ws.ping", "nothing, and no more"),
        ("mute_later", "ws.burst", "nothing, and no more"),
        ("never_closes", "ws.close", "nothing, and no more"),
    ],
)
def test_a_fault_of_a_websocket_server_is_found(
    fault: str, check: str, received: str, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    if check == "ws.close":
        monkeypatch.setattr(websocket_workloads, "_CLOSE_WITHIN_S", 0.6)
    verdict = verify_server(f"fake/{fault}", "ws.count", program("server.py", fault), supervisor)
    assert failed(verdict)[0] == check
    assert verdict.failure is not None
    assert received in (verdict.failure.received or "")


@pytest.mark.parametrize(
    ("fault", "check", "received"),
    [
        ("leaves_out_the_sender", "broadcast.text", "nothing, and no more"),
        ("leaves_out_the_last", "broadcast.text", "connection 20 of 20, message 1: nothing"),
        ("shouts", "broadcast.text", 'connection 1 of 1, message 1: text "JOINED 0"'),
        ("doubles", "broadcast.text", 'connection 1 of 2, message 1: text "joined 0"'),
        ("swaps", "broadcast.in_order", 'connection 20 of 20, message 8: text "message 8"'),
        ("remembers", "broadcast.text", 'connection 2 of 2, message 1: text "joined 0"'),
        ("keeps_the_gone", "broadcast.text", "nothing, and no more"),
    ],
)
def test_a_fault_of_a_broadcast_is_found(
    fault: str, check: str, received: str, supervisor: Supervisor
) -> None:
    verdict = verify_server(
        f"fake/{fault}", "ws.broadcast", program("server.py", fault), supervisor
    )
    assert failed(verdict)[0] == check
    assert verdict.failure is not None
    assert received in (verdict.failure.received or "")


@pytest.mark.parametrize(
    ("fault", "kind", "received"),
    [
        ("crashes_at_start", "start_crashed", "no such table: users"),
        ("never_listens", "start_timeout", "still thinking"),
        ("crashes_under_load", "crashed", "the cat sat on the keyboard"),
    ],
)
def test_one_that_cannot_be_asked_is_told_apart(
    fault: str, kind: str, received: str, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "START_TIMEOUT_NS", 1_000_000_000)
    verdict = verify_server(f"fake/{fault}", "http.hello", program("server.py", fault), supervisor)
    assert not verdict.passed
    assert verdict.failure is not None
    assert verdict.failure.kind == kind
    assert received in (verdict.failure.received or "")


def test_a_hung_server_is_not_waited_for_again_and_again(supervisor: Supervisor) -> None:
    verdict = verify_server("fake/hangs", "http.hello", program("server.py", "hangs"), supervisor)
    asked = [check for check in verdict.checks if not check.id.startswith("lifecycle.")]
    assert len(asked) == 4, "three of the first start, and one of the second"


def test_a_right_client_passes_every_check(supervisor: Supervisor) -> None:
    verdict = verify_client("fake/none", "http.payload", program("client.py"), supervisor)
    assert verdict.failure is None
    assert [check.id for check in verdict.checks if not check.passed] == []
    assert len({check.id for check in verdict.checks}) == len(verdict.checks)


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("none", None),
        ("posts_chunks", None),
        ("gets_anyway", "the method GET, not POST"),
        ("posts_text", "the Content-Type text/plain"),
        ("posts_other_bytes", "POST /payload/16 with 16 bytes: b'abcdefghijklmno!'"),
        ("posts_less", "POST /payload/16 with 15 bytes"),
    ],
)
def test_what_a_client_posts_is_checked(
    fault: str, problem: str | None, supervisor: Supervisor
) -> None:
    verdict = verify_client(
        f"fake/{fault}",
        "http.payload",
        program("client.py", fault),
        supervisor,
        schemes=("http",),
        traits=Traits(posts=True),
    )
    said = {check.id: check.received for check in verdict.failed}
    if problem is None:
        assert said == {}
        assert "post.reuse.16.protocol" in {check.id for check in verdict.checks}
    else:
        assert problem in said["post.reuse.16.protocol"]
        assert all(check.startswith("post.") for check in said)


def test_a_client_that_cannot_post_is_not_asked_to(supervisor: Supervisor) -> None:
    verdict = verify_client(
        "fake/gets_anyway",
        "http.payload",
        program("client.py", "gets_anyway"),
        supervisor,
        schemes=("http",),
    )
    assert verdict.passed
    assert not [check for check in verdict.checks if check.id.startswith("post.")]


@pytest.mark.parametrize(
    ("fault", "kept", "wrong"),
    [
        ("opens_a_second", 2, []),
        ("opens_a_second", 1, ["reuse.16.connections", "reuse.65536.connections"]),
        ("reconnects_openly", 2, ["reuse.16.connections", "reuse.65536.connections"]),
    ],
)
def test_a_client_may_keep_as_many_connections_as_its_manifest_says(
    fault: str, kept: int, wrong: list[str], supervisor: Supervisor
) -> None:
    verdict = verify_client(
        f"fake/{fault}",
        "http.payload",
        program("client.py", fault),
        supervisor,
        schemes=("http",),
        traits=Traits(kept_connections=kept),
    )
    assert failed(verdict) == wrong


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("checks_nothing", {"wrong.wrong_body.reported": "exited with 0, 0 errors"}),
        ("checks_the_length", {"wrong.wrong_body.reported": "exited with 0, 0 errors"}),
        ("says_one_connection", {"new.16.connections_said": "1"}),
        ("counts_attempts", {"localhost.new.16.connections_said": "40"}),
        ("reconnects", {"reuse.16.connections_said": "1", "reuse.16.connections": "20"}),
        ("reconnects_openly", {"reuse.16.connections": "20"}),
        ("keeps_its_connection", {"new.16.connections": "1", "cold.16.connections": "1"}),
        ("keeps_its_connection", {"https.cold.65536.connections": "1"}),
        ("trusts_anyone", {"https.impostor.other_authority.reported": "exited with 0, 0 errors"}),
        ("checks_no_name", {"https.impostor.other_host.reported": "exited with 0, 0 errors"}),
        ("loses_a_sample", {"reuse.16.samples": "16 samples"}),
        ("says_microseconds", {"slow.reuse.samples": "one of 2"}),
        ("times_the_sending", {"slow.reuse.samples": "one of ", "slow.new.samples": "one of "}),
        ("says_picoseconds", {"slow.reuse.wall": "", "slow.new.wall": ""}),
        ("asks_ahead", {"slow.reuse.protocol": "before the reply"}),
        ("skips_the_warmup", {"reuse.16.requests": "17"}),
        ("prints_nothing", {"reuse.16.json_line": "printed no JSON line"}),
        ("chatters", {"reuse.16.json_line": "not JSON"}),
        ("crashes", {"reuse.16.exit_code": "ended by signal 6"}),
        ("hangs", {"reuse.16.ends": "still running, and killed"}),
    ],
)
def test_a_fault_of_a_client_is_found(
    fault: str, found: dict[str, str], supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "hangs":  # only that is waited for: the others end, however busy the machine
        monkeypatch.setattr(client, "LIMIT_NS", 3_000_000_000)
    scheme: Scheme = "https" if any(check.startswith("https.") for check in found) else "http"
    verdict = verify_client(
        f"fake/{fault}",
        "http.payload",
        program("client.py", fault),
        supervisor,
        schemes=(scheme,),
    )
    assert verdict.failure is not None
    assert verdict.failure.kind == "nonconformant"
    for check, received in found.items():
        assert check in failed(verdict)
        result = next(one for one in verdict.checks if one.id == check)
        assert received in result.received
        assert result.sent
        assert result.expected
