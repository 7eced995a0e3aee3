"""Figures and judgements from the generator's documents, the command line that asks for them, and
the watchdog.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wirebench.catalog.link import Link
from wirebench.catalog.loads import (
    BroadcastLoad,
    ClientLoad,
    ClosedLoad,
    EachLoad,
    IdleLoad,
    Load,
    Policy,
    RampLoad,
    StormLoad,
)
from wirebench.catalog.units import exact_duration
from wirebench.catalog.workloads import Request, WebSocketMessage, payload, request_of
from wirebench.process.cores import choose_cores
from wirebench.trial import watchdog, wireload
from wirebench.trial.server_metrics import (
    failure_of,
    judge,
    metrics,
    partial_errors,
    server_cpu_share,
)
from wirebench.trial.wireload import (
    Aim,
    Document,
    DocumentError,
    ServerLoad,
    read_document,
)

SECOND = 1_000_000_000
CLOSED = ClosedLoad(connections=1000, warmup_ns=SECOND // 5, window_ns=SECOND // 2)
EACH = EachLoad(producers=10, messages=20, delay_ms=0, policy="new", threads=4)
RAMP = RampLoad(rounds=2, add=3, messages=5, pacing="serial")


def document(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "schema": "wireload/1",
        "connect": {
            "attempted": 1000,
            "opened": 1000,
            "failed": 0,
            "elapsed_ns": 7,
            "latency": {"count": 1, "histogram": "x"},
        },
        "window": {"start_unix_ns": 1, "elapsed_ns": SECOND // 2, "stopped_by": "duration"},
        "requests": {"sent": 200, "ok": 200, "errors": 0, "rate_per_s": 400.0},
        "errors": {"bad_body": 0, "closed_early": 0},
        "first_error": None,
        "latency": {
            "count": 200,
            "mean_ns": 5.5,
            "max_ns": 9,
            "percentiles_ns": {"50": 5, "90": 7, "99": None, "99.9": None},
            "histogram": "AAAA",
        },
        "little": {"in_flight_mean": 1.0, "samples": 9, "ratio": 1.01},
        "generator": {"cpu_share": 0.25, "involuntary_switches": 3},
        "server": {
            "cpu_user_ns": 300,
            "cpu_system_ns": 700,
            "rss_bytes": 5_000_000,
            "rss_peak_bytes": 6_000_000,
        },
        "series": {"interval_ns": 1, "ok": [1]},
        "rounds": None,
    }
    return {**base, **changes}


def rounds(*answered: int, errors: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "round": number,
            "clients": number * RAMP.add,
            "opened": RAMP.add,
            "connect_elapsed_ns": 10,
            "sent": number * RAMP.add * RAMP.messages,
            "answered": count,
            "elapsed_ns": 1000,
            "latency": {"count": count, "histogram": "AAAA"},
        }
        for number, count in enumerate(answered, start=1)
    ]


def parse(**changes: Any) -> Document:
    return Document.model_validate(document(**changes))


def test_without_a_reply_or_an_error_the_window_may_be_too_short() -> None:
    """Whether the server hangs is not known: it had less time than a reply may take."""
    nothing = {"sent": 0, "ok": 0, "errors": 0, "rate_per_s": 0.0}
    late = {"errors": {"read_timeout": 50}, "requests": {**nothing, "errors": 50}}
    for changes, hint in (({"requests": nothing}, True), (late, False)):
        failure = failure_of(
            parse(**changes), asked=request_of("http.hello"), server_end=None, output=""
        )
        assert failure.kind == "hung"
        assert ("the window of 500 ms ended before" in failure.message) == hint


def test_figures_of_a_closed_loop() -> None:
    found = metrics(parse(), CLOSED, ready_ns=77)
    assert found == {
        "throughput_per_s": 400.0,
        "p50_ns": 5,
        "p90_ns": 7,
        "p99_ns": None,
        "p999_ns": None,
        "mean_ns": 5.5,
        "max_ns": 9,
        "connect_ns": 7,
        "connect_cpu_ns": None,
        "success_ratio": 1.0,
        "server_rss_peak_bytes": 6_000_000,
        "cpu_per_request_ns": 5.0,
        "server_rss_bytes": 5_000_000,
        "server_pss_bytes": None,
        "server_kernel_bytes": None,
        "host_kernel_growth_bytes": None,
        "ready_ns": 77,
    }


def test_connecting_has_a_cost_of_its_own() -> None:
    connect = {
        "attempted": 2,
        "opened": 2,
        "failed": 0,
        "elapsed_ns": 7,
        "server": {"cpu_user_ns": 20, "cpu_system_ns": 30},
    }
    found = metrics(parse(connect=connect), CLOSED, ready_ns=1)
    assert (found["connect_ns"], found["connect_cpu_ns"]) == (7, 50)
    assert found["cpu_per_request_ns"] == 5.0, "of the window alone"


def test_memory_is_that_of_the_windows_end_and_of_the_kernel_for_it() -> None:
    server = {"rss_bytes": 5, "pss_bytes": 4, "kernel_bytes": 3, "host_kernel_growth_bytes": -2}
    found = metrics(parse(server=server), CLOSED, ready_ns=1)
    assert (found["server_rss_bytes"], found["server_pss_bytes"]) == (5, 4)
    assert (found["server_kernel_bytes"], found["host_kernel_growth_bytes"]) == (3, -2)


def test_what_is_not_known_is_null() -> None:
    found = metrics(parse(server=None), CLOSED, ready_ns=1)
    assert "cpu_per_request_ns" not in found
    assert found["p99_ns"] is None


def test_the_servers_share_is_of_the_cores_that_it_was_given() -> None:
    busy = {"cpu_user_ns": SECOND // 4, "cpu_system_ns": SECOND // 4}
    assert server_cpu_share(parse(server=busy), cores=1) == 1.0
    assert server_cpu_share(parse(server=busy), cores=4) == 0.25
    assert server_cpu_share(parse(server=None), cores=1) is None
    assert server_cpu_share(parse(server={"cpu_user_ns": 3}), cores=1) is None
    assert server_cpu_share(parse(server=busy, window={"elapsed_ns": None}), cores=1) is None


def test_figures_of_producers() -> None:
    found = metrics(parse(), EACH, ready_ns=1)
    assert found["makespan_ns"] == SECOND // 2
    assert found["success_ratio"] == 1.0
    assert found["connect_ns"] is None, "connecting goes on throughout"


def test_figures_of_a_ramp() -> None:
    whole = metrics(parse(rounds=rounds(15, 30)), RAMP, ready_ns=1)
    assert whole["throughput_per_s"] == pytest.approx(45 / 2000 * 1e9)
    assert whole["connect_ns"] == 20
    assert whole["makespan_ns"] == 2020
    assert whole["success_ratio"] == 1.0
    broken = metrics(parse(rounds=rounds(15)), RAMP, ready_ns=1)
    assert broken["success_ratio"] == pytest.approx(15 / 45), (
        "rounds that were never reached count as unanswered"
    )


@pytest.mark.parametrize(
    ("load", "changes", "expected"),
    [
        (CLOSED, {}, "right"),
        (CLOSED, {"requests": {"sent": 3, "ok": 2, "errors": 1}}, "failed"),
        (CLOSED, {"requests": {"sent": 3, "ok": 0, "errors": 0}}, "failed"),
        (CLOSED, {"errors": {"bad_body": 1}}, "failed"),
        (CLOSED, {"connect": {"attempted": 2, "opened": 1, "failed": 1}}, "failed"),
        (CLOSED, {"window": {"stopped_by": "signal"}}, "failed"),
        (CLOSED, {"window": {"stopped_by": "error"}}, "failed"),
        (EACH, {"window": {"stopped_by": "requests"}}, "right"),
        (EACH, {"requests": {"sent": 200, "ok": 199, "errors": 0}}, "failed"),
        (RAMP, {"rounds": rounds(15, 30)}, "right"),
        (RAMP, {"rounds": rounds(15, 29)}, "partly"),
        (RAMP, {"rounds": rounds(15)}, "partly"),
        (RAMP, {"rounds": rounds(14, 30)}, "failed"),
        (RAMP, {"rounds": []}, "failed"),
        (RAMP, {"rounds": None}, "failed"),
    ],
)
def test_what_counts(load: ServerLoad, changes: dict[str, Any], expected: str) -> None:
    assert judge(parse(**changes), load) == expected


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        (
            {"errors": {"bad_body": 3, "closed_early": 9}, "first_error": {"kind": "bad_body"}},
            "wrong_reply",
        ),
        ({"errors": {"bad_body": 3, "closed_early": 9}}, "closed_early"),
        ({"errors": {"bad_status": 1}}, "bad_status"),
        ({"errors": {"connect_refused": 5}}, "not_listening"),
        ({"errors": {"connect_failed": 5}}, "closed_early"),  # also a handshake that was refused
        ({"errors": {"read_timeout": 1}}, "hung"),
        ({"errors": {}}, "hung"),
        ({"errors": {}, "connect": {"attempted": 1, "opened": 0, "failed": 1}}, "generator_failed"),
    ],
)
def test_the_kind_of_a_failure(changes: dict[str, Any], kind: str) -> None:
    failure = failure_of(
        parse(**changes), asked=request_of("http.hello"), server_end=None, output=""
    )
    assert failure.kind == kind
    assert failure.sent == "GET /route_01"
    assert failure.expected == '200, body "hello from route_01"'


@pytest.mark.parametrize(
    ("kind", "limit"), [("connect_refused", "refused: "), ("connect_timeout", "backlog: ")]
)
def test_what_stopped_connections_is_said(kind: str, limit: str) -> None:
    def message(errors: dict[str, int]) -> str:
        asked = request_of("http.hello")
        return failure_of(parse(errors=errors), asked=asked, server_end=None, output="").message

    assert limit in message({kind: 3})
    assert limit not in message({kind: 0, "read_timeout": 3})


def test_a_server_that_ended_is_a_crash_whatever_the_errors() -> None:
    failure = failure_of(
        parse(errors={"closed_early": 1}),
        asked=request_of("ws.count"),
        server_end="exited with 9",
        output="ouch",
    )
    assert failure.kind == "crashed"
    assert failure.received == "its last output: ouch"


def test_the_warning_of_a_ramp_says_where_it_broke() -> None:
    text = partial_errors(parse(rounds=rounds(15, 20), errors={"read_timeout": 10}), RAMP)
    assert text == "partial_errors: in round 2 with 6 connections: read_timeout 10"


def aim(tmp_path: Path, workload: str = "http.hello") -> Aim:
    return Aim(
        origin=f"{'ws' if workload.startswith('ws.') else 'http'}://127.0.0.1:1234",
        request=request_of(workload),  # type: ignore[arg-type]
        cores=(1,),
        watch="77",
        timeout_ns=5 * SECOND,
        seed=3,
        json_file=tmp_path / "out.json",
    )


def test_the_command_line_of_each_load(tmp_path: Path) -> None:
    closed = wireload.command(Path("wireload"), CLOSED, aim(tmp_path))
    assert " ".join(closed[1:]) == (
        f"--quiet --json {tmp_path}/out.json --threads 1 --cpu 1 --watch 77 --timeout 5s --seed 3 "
        "-c 1000 --pipeline 1 --warmup 200ms -d 500ms --interval 12500us "
        "--method GET --expect-status 200 --expect-body hello from route_01 http://127.0.0.1:1234/route_01"
    )
    each = wireload.command(Path("wireload"), EACH, aim(tmp_path, "rest"))
    assert each[each.index("--each") + 1] == "20"
    assert "--no-keepalive" in each
    assert each[each.index("--body") + 1] == '{"param1":42,"param2":"test"}'
    assert (
        each[each.index("--expect-body") + 1] == 'Sending response: {"param1":42,"param2":"test"}'
    )
    ramp = wireload.command(Path("wireload"), RAMP, aim(tmp_path, "ws.count"))
    assert ramp[ramp.index("--ramp-pacing") + 1] == "serial"
    assert ramp[ramp.index("--check") + 1] == "count"
    assert ramp[-1] == "ws://127.0.0.1:1234/"
    over_tls = wireload.command(
        Path("wireload"),
        CLOSED,
        replace(aim(tmp_path), origin="https://127.0.0.1:1234", ca_file=tmp_path / "ca.pem"),
    )
    assert over_tls[-3:] == ["--cacert", f"{tmp_path}/ca.pem", "https://127.0.0.1:1234/route_01"]


@pytest.mark.parametrize(
    ("ns", "text"), [(2 * SECOND, "2s"), (1_500_000_000, "1500ms"), (25_000_500, "25000us")]
)
def test_durations(ns: int, text: str) -> None:
    assert exact_duration(ns) == text


def test_a_document_is_kept_without_what_has_a_place_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    file.write_text(json.dumps(document(rounds=rounds(15, 30), newer={"unknown": 1})))
    measured = read_document(file)
    assert "series" not in measured.load
    assert "rounds" not in measured.load
    assert "histogram" not in measured.load["latency"]
    assert "histogram" not in measured.load["connect"]["latency"]
    assert measured.series == {"interval_ns": 1, "ok": [1]}
    assert measured.rounds is not None
    assert [one["latency"] for one in measured.rounds] == [{"count": 15}, {"count": 30}]
    assert measured.document.latency.histogram == "AAAA"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "expected a document, got none"),
        ("{", "expected a JSON document"),
        ("[]", "schema: expected 'wireload/1', got None"),
        ('{"schema":"wireload/2"}', "got 'wireload/2'"),
        ('{"schema":"wireload/1"}', "wireload: connect: expected a value, got nothing"),
    ],
)
def test_what_is_no_document(text: str | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(DocumentError, match=message):
        read_document(file)


@pytest.mark.parametrize(
    ("allowed", "threads", "contestant", "generator"),
    [
        ({0}, 1, (0,), (0,)),
        ({0, 1}, 1, (0,), (1,)),
        ({0, 1}, 4, (0,), (1,)),
        ({2, 3, 5, 7}, 2, (2, 3), (7,)),
        ({0, 1, 2, 3}, 28, (0, 1, 2), (3,)),
    ],
)
def test_server_and_generator_share_a_core_only_where_there_is_one(
    allowed: set[int], threads: int, contestant: tuple[int, ...], generator: tuple[int, ...]
) -> None:
    cores = choose_cores(threads, allowed=allowed)
    assert (cores.contestant, cores.generator) == (contestant, generator)
    assert cores.shared == (len(allowed) == 1)


@pytest.mark.parametrize(
    ("load", "at_least_ns"),
    [
        (CLOSED, CLOSED.warmup_ns + CLOSED.window_ns),
        # Four handlers take ten producers' thousand messages of 200 ms in three turns each.
        (
            EachLoad(producers=10, messages=1000, delay_ms=200, policy="new", threads=4),
            3 * 200 * SECOND,
        ),
        (RampLoad(rounds=100, add=100, messages=100, pacing="burst"), 600 * SECOND),
        (
            ClientLoad(
                scheme="http",
                policy="reuse",
                payload_bytes=1,
                warmup=0,
                operations=10,
                typical_ns=SECOND,
            ),
            10 * SECOND,
        ),
    ],
)
def test_the_watchdog_gives_a_slow_contestant_its_time(load: Load, at_least_ns: int) -> None:
    assert watchdog.limit_ns(load, timeout_ns=5 * SECOND, threads=4) > at_least_ns


@pytest.mark.parametrize(
    ("load", "expected_ns"),
    [
        (ClosedLoad(connections=10_000, warmup_ns=0, window_ns=1), 10 * SECOND),
        (
            EachLoad(producers=10, messages=1000, delay_ms=200, policy="new", threads=4),
            5 * SECOND + 3 * SECOND // 5,
        ),
        # The last of a million messages sent at once is answered after all the others.
        (RampLoad(rounds=100, add=100, messages=100, pacing="burst"), 505 * SECOND),
        (RampLoad(rounds=100, add=100, messages=100, pacing="serial"), 10 * SECOND),
    ],
)
def test_a_reply_may_wait_for_those_before_it(load: Load, expected_ns: int) -> None:
    assert watchdog.reply_timeout_ns(load, patience_ns=5 * SECOND, threads=4) == expected_ns


def test_a_size_replaces_the_text_of_a_message(tmp_path: Path) -> None:
    sized = request_of("ws.echo")
    assert isinstance(sized, WebSocketMessage)
    sized = replace(sized, payload_bytes=1024)
    words = command_for(CLOSED, sized, tmp_path)
    assert words[words.index("--message-size") + 1] == "1024"
    assert "--message" not in words
    assert sized.sent == "a message of 1,024 bytes"


def test_idle_connections_are_asked_for_without_a_message(tmp_path: Path) -> None:
    idle = IdleLoad(connections=7, window_ns=SECOND)
    words = command_for(idle, request_of("ws.echo"), tmp_path)
    assert words[words.index("-c") + 1] == "7"
    assert "--idle" in words
    assert not {"--message", "--check", "--warmup"} & set(words)


def test_a_storm_is_a_round_with_one_message_each(tmp_path: Path) -> None:
    storm = StormLoad(connections=7, restart=False)
    words = command_for(storm, request_of("ws.echo"), tmp_path)
    asked = ("--ramp-rounds", "--ramp-add", "--ramp-messages")
    assert [words[words.index(one) + 1] for one in asked] == ["1", "7", "1"]


def test_a_broadcast_has_one_message_for_all(tmp_path: Path) -> None:
    load = BroadcastLoad(connections=7, warmup_ns=SECOND // 5, window_ns=SECOND // 2)
    words = command_for(load, request_of("ws.broadcast"), tmp_path)
    assert words[words.index("-c") + 1] == "7"
    assert words[words.index("--warmup") + 1] == "200ms"
    assert words[words.index("--message") + 1] == '{"b":{c}}'
    assert "--broadcast" in words
    assert "--check" not in words


def test_figures_of_a_broadcast() -> None:
    load = BroadcastLoad(connections=7, warmup_ns=0, window_ns=SECOND // 2)
    last = {"count": 40, "percentiles_ns": {"50": 11, "99": None}}
    found = metrics(parse(broadcast={"last": last}), load, ready_ns=1)
    assert (found["last_p50_ns"], found["last_p99_ns"]) == (11, None)
    assert (found["throughput_per_s"], found["p50_ns"]) == (400.0, 5)
    assert found["cpu_per_request_ns"] == pytest.approx(5)
    assert judge(parse(broadcast={"last": last}), load) == "right"
    lost = {"sent": 200, "ok": 199, "errors": 1}
    assert judge(parse(broadcast={"last": last}, requests=lost), load) == "failed"


def command_for(load: ServerLoad, request: Request, folder: Path) -> list[str]:
    aim = Aim(
        origin="ws://127.0.0.1:1",
        request=request,
        cores=(0,),
        watch=None,
        timeout_ns=SECOND,
        seed=1,
        json_file=folder / "out.json",
    )
    return wireload.command(Path("wireload"), load, aim)


@pytest.mark.parametrize(("idle", "expected"), [(None, "failed"), (6, "failed"), (7, "right")])
def test_every_idle_connection_must_last(idle: int | None, expected: str) -> None:
    held = None if idle is None else {"opened": 7, "held": idle}
    requests = {"sent": 0, "ok": 0, "errors": 0}
    load = IdleLoad(connections=7, window_ns=SECOND)
    assert judge(parse(idle=held, requests=requests), load) == expected


def test_what_idle_connections_cost_a_second() -> None:
    idle = {"opened": 7, "held": 7, "server_wake_ups": 30}
    requests = {"sent": 0, "ok": 0, "errors": 0}
    load = IdleLoad(connections=7, window_ns=SECOND)
    found = metrics(parse(idle=idle, requests=requests), load, ready_ns=1)
    assert found["cpu_per_s_ns"] == pytest.approx(2000)
    assert found["wake_ups_per_s"] == pytest.approx(60)
    assert "cpu_per_request_ns" not in found


def test_payloads() -> None:
    assert payload(28) == b"abcdefghijklmnopqrstuvwxyzab"
    assert payload(0) == b""
    assert len(payload(1_048_576)) == 1_048_576


@pytest.mark.parametrize(
    ("policy", "link", "tcp_ns", "outside_ns"),
    [
        ("reuse", None, 30_000, 0),
        ("new", None, 30_000, 30_000),
        ("reuse", Link(rtt_ms=54), 54_000_000, 54_000_000),
        ("new", Link(rtt_ms=54), 54_000_000, 108_000_000),
        ("new", None, None, None),
    ],
)
def test_the_services_own_time_is_from_first_byte_in_to_last_byte_out(
    policy: Policy, link: Link | None, tcp_ns: int | None, outside_ns: int | None
) -> None:
    load = replace(EACH, policy=policy, link=link)
    connect = {
        "attempted": 1,
        "opened": 1,
        "failed": 0,
        "phases": {"tcp": {"count": 1, "min_ns": tcp_ns}},
    }
    found = metrics(parse(connect=connect), load, ready_ns=1)
    whole = found["makespan_ns"]
    assert whole == SECOND // 2
    assert found["service_makespan_ns"] == (whole - outside_ns if outside_ns is not None else None)
