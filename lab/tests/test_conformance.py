"""The probes of the standards: put to servers that keep them, and to servers that break one rule at
a time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from probed_servers import BAD, GOOD, Reply, outcome, probe, server
from test_conformance_websocket import deflating
from wirebench.cli.conformance import _show, report
from wirebench.cli.console import console
from wirebench.cli.main import run_app
from wirebench.conformance import (
    PARTS,
    Level,
    ProbeResult,
    Target,
    probes_for,
    run_probes,
    scores,
)
from wirebench.conformance.contestant import probed_workloads, read_results, write_results
from wirebench.frames import (
    switching_protocols,
)
from wirebench.process.ports import HOST
from wirebench.report.standards import standards
from wirebench.store.records import VerifyRecord


def test_every_probe_has_a_name_of_its_own_and_says_where_it_stands() -> None:
    target = Target(host=HOST, port=1, path="/", websocket_path="/")
    probes = list(probes_for(target, PARTS))
    assert len({(one.part, one.id) for one in probes}) == len(probes) > 390
    for one in probes:
        assert one.document in ("RFC 9110", "RFC 9112", "RFC 6455", "RFC 7692"), one
        assert one.section[0].isdigit(), one
        assert one.sent, one
        assert one.expected, one


def test_only_what_the_target_serves_is_probed() -> None:
    assert {one.part for one in probes_for(Target(host=HOST, port=1), PARTS)} == {"http"}
    assert {
        one.part
        for one in probes_for(Target(host=HOST, port=1, path=None, websocket_path="/"), PARTS)
    } == {
        "websocket",
        "deflate",
    }
    assert {
        one.part
        for one in probes_for(Target(host=HOST, port=1, path="/", websocket_path="/"), ["deflate"])
    } == {"deflate"}


REFUSALS = (
    "host_missing",
    "host_twice",
    "host_invalid",
    "space_before_colon",
    "lengths_differ",
    "length_negative",
    "length_hexadecimal",
    "chunked_not_last",
    "field_without_colon",
    "absolute_form_without_host",
    "encoding_malformed",
    "connect_port_missing",
    "connect_port_invalid",
    "target_https",
    "target_user",
    "target_fragment",
    "absolute_form_no_host_field",
    "host_user",
    "host_ports",
    "length_fraction",
    "length_beyond_64_bits",
    "coding_prefixed",
    "coding_in_two_lines",
    "http_0_9",
    "http_2_preface",
)


@pytest.mark.parametrize("id_", REFUSALS)
def test_a_refusal_passes_and_an_answer_fails(id_: str) -> None:
    assert outcome(id_, lambda _: BAD, closes=True).outcome == "passed"
    answered = outcome(id_, lambda _: GOOD)
    assert answered.outcome == "failed"
    assert "200 OK" in answered.received


@pytest.mark.parametrize("id_", REFUSALS)
def test_a_refusal_without_a_word_is_told_apart(id_: str) -> None:
    assert outcome(id_, lambda _: b"", closes=True).outcome == "closed"


def test_a_refusal_that_must_end_the_connection_and_does_not_fails() -> None:
    assert outcome("lengths_differ", lambda _: BAD, closes=False).outcome == "failed"


def test_silence_fails() -> None:
    result = outcome("host_missing", lambda _: b"")
    assert result.outcome == "failed"
    assert "no more in" in result.received


@pytest.mark.parametrize("id_", ["chunk_size_overflow", "chunk_end_missing"])
def test_a_body_taken_for_a_request_fails(id_: str) -> None:
    smuggled = outcome(id_, lambda _: GOOD + GOOD, closes=True)
    assert smuggled.outcome == "failed"
    assert "no response" in smuggled.expected
    assert outcome(id_, lambda _: BAD, closes=True).outcome == "passed"


def test_pipelined_requests_need_three_replies() -> None:
    assert outcome("pipelining", lambda _: GOOD * 3).outcome == "passed"
    assert outcome("pipelining", lambda _: GOOD, closes=True).outcome == "failed"


def test_head_must_have_no_body() -> None:
    head = GOOD.removesuffix(b"hi")
    assert (
        outcome("head", lambda data: head if data.startswith(b"HEAD") else GOOD).outcome == "passed"
    )
    assert outcome("head", lambda _: GOOD).outcome == "failed"


HEAD_REFUSALS = (
    "host",
    "length",
    "version",
    "target",
    "field",
    "missing",
    "encoding",
    "secured",
    "host_invalid",
    "coding",
    "expectation",
)


@pytest.mark.parametrize("what", HEAD_REFUSALS)
def test_a_refusal_of_head_must_have_no_body(what: str) -> None:
    with_body = BAD.replace(b"Length: 0", b"Length: 2") + b"no"
    assert outcome(f"head_refused_{what}", lambda _: BAD, closes=True).outcome == "passed"
    assert outcome(f"head_refused_{what}", lambda _: with_body, closes=True).outcome == "failed"
    assert outcome(f"head_refused_{what}", lambda _: b"", closes=True).outcome == "closed"


def test_a_refusal_of_head_may_leave_the_connection_open() -> None:
    assert outcome("head_refused_host", lambda _: BAD).outcome == "passed"


def test_a_tunnel_begins_behind_the_head() -> None:
    tunnel = b"HTTP/1.1 200 OK\r\n\r\n"
    assert outcome("connect", lambda _: tunnel).outcome == "passed"
    assert outcome("connect", lambda _: BAD).outcome == "passed"
    assert outcome("connect", lambda _: GOOD).outcome == "failed"
    assert outcome("connect", lambda _: b"", closes=True).outcome == "closed"


def test_an_encoded_path_is_the_same_path() -> None:
    with server(lambda data: BAD if b"%" in data else GOOD, closes=False) as target:
        (at_root,) = run_probes(target, [probe("encoded_path")])
        (below,) = run_probes(replace(target, path="/echo"), [probe("encoded_path")])
    assert (at_root.outcome, below.outcome) == ("not_applicable", "failed")
    with server(lambda _: GOOD, closes=False) as target:
        (same,) = run_probes(replace(target, path="/echo"), [probe("encoded_path")])
    assert same.outcome == "passed"


BROKEN_BODIES = ("chunk_size_signed", "chunk_data_short", "trailer_space_before_colon")


@pytest.mark.parametrize("id_", BROKEN_BODIES)
def test_nothing_behind_a_broken_body_is_served(id_: str) -> None:
    assert outcome(id_, lambda _: BAD, closes=True).outcome == "passed"
    assert outcome(id_, lambda _: GOOD, closes=True).outcome == "passed"
    assert outcome(id_, lambda _: GOOD + BAD, closes=True).outcome == "passed"
    assert outcome(id_, lambda _: GOOD + GOOD, closes=True).outcome == "failed"


def test_a_trailer_section_may_be_refused_late() -> None:
    assert outcome("trailer_length", lambda _: GOOD + BAD, closes=True).outcome == "passed"
    assert outcome("trailer_length", lambda _: GOOD + GOOD, closes=True).outcome == "passed"
    assert outcome("trailer_length", lambda _: GOOD * 3, closes=True).outcome == "failed"


def test_a_request_inside_a_body_is_not_served() -> None:
    huge = b"Content-Length: 1000000000000"
    assert outcome("length_announced_huge", lambda _: GOOD, closes=True).outcome == "passed"
    taken = outcome("length_announced_huge", lambda data: GOOD * (1 + (huge in data)))
    assert taken.outcome == "failed"
    assert outcome("body_like_a_request_post", lambda _: GOOD * 3, closes=True).outcome == "failed"


def test_requests_cut_anywhere_are_whole() -> None:
    whole = bytearray()

    def reply(data: bytes) -> bytes:
        whole.extend(data)
        if not whole.endswith(b"\r\n\r\n"):
            return b""
        whole.clear()
        return GOOD

    assert outcome("cut_anywhere", reply).outcome == "passed"
    assert outcome("cut_anywhere", lambda _: BAD, closes=True).outcome == "failed"


def gathering(end: bytes, said: bytes) -> Reply:
    """Says it once these bytes have come, in however many pieces."""
    held = bytearray()

    def reply(data: bytes) -> bytes:
        held.extend(data)
        if not held.endswith(end):
            return b""
        held.clear()
        return said

    return reply


def test_requests_may_come_byte_by_byte() -> None:
    assert outcome("bytewise", gathering(b"\r\n\r\n", GOOD)).outcome == "passed"
    assert outcome("bytewise", gathering(b"\r\n\r\n", BAD)).outcome == "failed"


def test_a_large_body_in_chunks_gets_a_response() -> None:
    end = b"\r\n0\r\n\r\n"
    assert outcome("large_chunks_refused", gathering(end, BAD)).outcome == "passed"
    assert outcome("large_chunks_refused", lambda _: b"").outcome == "failed"


def test_a_refusal_instead_of_the_body_says_what_becomes_of_the_connection() -> None:
    assert outcome("refused_before_body", lambda _: BAD, closes=True).outcome == "passed"
    assert outcome("refused_before_body", lambda _: GOOD).outcome == "passed"
    goes_on = b"HTTP/1.1 100 Continue\r\n\r\n"
    assert outcome("refused_before_body", lambda _: goes_on).outcome == "passed"
    assert outcome("refused_before_body", lambda _: GOOD, closes=True).outcome == "failed"


def test_dates_have_one_format() -> None:
    other = GOOD.replace(b"Sat, 31 Jan 2026 12:00:00 GMT", b"Saturday, 31-Jan-26 12:00:00 GMT")
    assert outcome("date_format", lambda _: GOOD).outcome == "passed"
    assert outcome("date_format", lambda _: other).outcome == "failed"
    assert outcome("date_of_error", lambda _: BAD).outcome == "failed"


def test_the_length_of_a_head_is_that_of_the_get() -> None:
    def reply(data: bytes) -> bytes:
        return GOOD.removesuffix(b"hi") if data.startswith(b"HEAD") else GOOD

    assert outcome("head_length", reply).outcome == "passed"
    longer = outcome("head_length", lambda data: reply(data).replace(b"h: 2", b"h: 3") + b"!")
    assert longer.outcome == "passed"  # the GET has three bytes too
    wrong = outcome(
        "head_length",
        lambda d: reply(d).replace(b"h: 2", b"h: 9") if d.startswith(b"HEAD") else GOOD,
    )
    assert wrong.outcome == "failed"


HANDSHAKES = ("handshake_version_zeros", "handshake_key_15", "extensions_no_name")


@pytest.mark.parametrize("id_", HANDSHAKES)
def test_a_wrong_handshake_is_not_answered_with_101(id_: str) -> None:
    assert outcome(id_, lambda _: BAD, closes=True).outcome == "passed"
    assert outcome(id_, lambda _: switching_protocols("x")).outcome == "failed"


def test_nothing_unoffered_may_be_agreed() -> None:
    agreed = deflating("permessage-deflate", 15)
    assert outcome("handshake_nothing_unoffered", agreed).outcome == "failed"


def test_pipelines_keep_bodies_apart() -> None:
    four = GOOD * 4
    assert outcome("pipelined_mixed", lambda _: four, closes=True).outcome == "passed"
    assert outcome("pipelined_mixed", lambda _: BAD, closes=True).outcome == "passed"
    assert outcome("pipelined_mixed", lambda _: GOOD * 3, closes=True).outcome == "failed"
    assert outcome("pipelined_mixed", lambda _: GOOD * 5, closes=True).outcome == "failed"


def test_bodies_cut_anywhere_are_whole() -> None:
    whole = bytearray()

    def reply(data: bytes) -> bytes:
        whole.extend(data)
        if not whole.endswith(b"\r\n\r\n") or whole.count(b" HTTP/1.1\r\n") < 3:
            return b""
        whole.clear()
        return GOOD * 3

    assert outcome("cut_anywhere_bodies", reply).outcome == "passed"
    moved = GOOD.replace(b"200 OK", b"302 Found")
    assert outcome("cut_anywhere_bodies", lambda _: moved, closes=True).outcome == "failed"
    assert outcome("cut_anywhere_bodies", lambda _: GOOD, closes=True).outcome == "closed"


def test_responses_to_half_closed_connections_are_whole() -> None:
    assert outcome("half_closed", lambda _: GOOD, closes=True).outcome == "passed"
    assert outcome("half_closed_many", lambda _: GOOD * 3, closes=True).outcome == "passed"
    assert outcome("half_closed_many", lambda _: GOOD * 2, closes=True).outcome == "failed"
    assert outcome("half_closed_in_head", lambda _: GOOD, closes=True).outcome == "failed"
    assert outcome("half_closed_in_head", lambda _: BAD, closes=True).outcome == "passed"
    assert outcome("half_closed_in_body", lambda _: GOOD * 2, closes=True).outcome == "failed"
    assert outcome("half_closed_in_chunk", lambda _: BAD, closes=True).outcome == "passed"
    assert outcome("half_closed_in_chunk", lambda _: GOOD * 2, closes=True).outcome == "failed"


@pytest.mark.parametrize(
    ("id_", "right", "wrong"),
    [
        ("status_line_form", b"200 OK", b"200"),
        ("field_lines_form", b"Date: ", b"Date : "),
        ("fields_once", b"Date", b"Content-Type: a/b\r\nContent-Type: a/b\r\nDate"),
        ("version_said", b"HTTP/1.1", b"HTTP/1.0"),
        ("content_type", b"Date", None),
    ],
)
def test_responses_have_their_form(id_: str, right: bytes, wrong: bytes | None) -> None:
    typed = GOOD.replace(b"Date", b"Content-Type: text/plain\r\nDate")
    plain = typed if id_ == "content_type" else GOOD
    assert outcome(id_, lambda _: plain).outcome == "passed"
    broken = GOOD if wrong is None else plain.replace(right, wrong)
    assert outcome(id_, lambda _: broken).outcome == "failed"


def test_the_command_needs_an_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["conformance"]) == 64
    assert "or --list" in capsys.readouterr().err


def test_a_405_must_say_what_is_allowed() -> None:
    refusal = b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n"
    assert outcome("allow", lambda _: refusal + b"\r\n").outcome == "failed"
    assert outcome("allow", lambda _: refusal + b"Allow: GET\r\n\r\n").outcome == "passed"


def test_a_server_that_ends_at_a_probe_is_said_to_have_ended() -> None:
    with server(lambda _: GOOD, closes=False) as target:
        results = run_probes(target, [probe("keep_alive"), probe("date")], alive=lambda: False)
    assert [one.outcome for one in results] == ["failed"]
    assert results[0].received.endswith("the server ended")


def result(level: Level, outcome: str, *, part: str = "http", id_: str = "x") -> ProbeResult:
    return ProbeResult(
        id=id_,
        part=part,  # type: ignore[arg-type]
        document="RFC 9112",
        section="3.2",
        level=level,
        outcome=outcome,  # type: ignore[arg-type]
        sent="s",
        expected="e",
        received="r",
    )


def test_scores_count_what_applies() -> None:
    results = [
        result("MUST", "passed"),
        result("MUST", "closed"),
        result("MUST", "failed"),
        result("MUST", "not_applicable"),
        result("MAY", "passed", part="websocket"),
    ]
    found = {key: str(score) for key, score in scores(results).items()}
    assert found == {("http", "MUST"): "1 of 3, 1 by closing", ("websocket", "MAY"): "1 of 1"}


def test_results_are_kept_with_the_build_and_read_by_what_they_bear_on(tmp_path: Path) -> None:
    assert read_results(tmp_path, "http.hello") == ()
    write_results(tmp_path, [result("MUST", "passed"), result("MUST", "failed", part="websocket")])
    assert [one["part"] for one in read_results(tmp_path, "rest")] == ["http"]
    assert [one["part"] for one in read_results(tmp_path, "ws.count")] == ["websocket"]
    (tmp_path / "conformance.json").write_text("{")
    assert read_results(tmp_path, "rest") == ()


def test_one_http_workload_and_the_echo_are_probed() -> None:
    assert probed_workloads(("ws.count", "rest", "http.hello")) == ("http.hello",)
    assert probed_workloads(("ws.echo", "http.payload")) == ("http.payload", "ws.echo")
    assert probed_workloads(("ws.count",)) == ()


def test_the_report_s_table_has_only_columns_that_apply() -> None:
    def record(name: str, outcomes: Sequence[str]) -> VerifyRecord:
        probes = tuple(
            result("MUST", one, id_=str(number)).record() for number, one in enumerate(outcomes)
        )
        return VerifyRecord(
            contestant=name, workload="rest", status="ok", failure=None, elapsed_ns=1, probes=probes
        )

    assert standards([record("a/b", [])]) is None
    table = standards([record("c/d", ["passed", "closed", "failed"]), record("a/b", ["passed"])])
    assert table is not None
    assert table.columns == ("HTTP, MUST",)
    first, second = table.rows
    assert (first.contestant, first.fields[0].text, first.fields[0].whole, first.broken) == (
        "a/b",
        "1 of 1",
        True,
        (),
    )
    assert (second.fields[0].text, second.fields[0].whole, second.fields[0].note) == (
        "1 of 3",
        False,
        "1 more refused by closing",
    )
    assert second.broken == ("RFC 9112 section 3.2: to s, e is due; it gave r",)


def test_the_command_judges_a_running_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with server(lambda _: BAD, closes=True) as target:
        code = run_app(
            ["conformance", f"http://{HOST}:{target.port}/", "--json", str(tmp_path / "found.json")]
        )
    said = capsys.readouterr().out
    assert code == 1
    assert "http MUST: " in said
    assert "failed http.head (MUST, RFC 9110 section 9.3.2)" in said
    found = {one["id"]: one["outcome"] for one in json.loads((tmp_path / "found.json").read_text())}
    assert found["host_missing"] == "passed"
    assert found["keep_alive"] == "failed"


def test_a_path_that_looks_like_markup_is_shown_as_it_is() -> None:
    one = probe("date")
    with console(StringIO()).status("") as status:
        _show(status, "http://h/[/x]", one)
    assert str(status.status) == "http://h/[/x]: date"


@pytest.mark.parametrize(
    ("count", "words"), [(1, "1 probe does not apply: r"), (2, "2 probes do not apply: r")]
)
def test_probes_that_do_not_apply_are_counted(count: int, words: str) -> None:
    results = [result("MUST", "not_applicable")] * count
    assert list(report(results, everything=False)) == [words]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "127.0.0.1:80",
        "http:///x",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:0/",
        "http://a..b/",
        "http://\u2192/",
    ],
)
def test_a_wrong_address_is_said(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["conformance", url]) == 64
    assert "expected http://HOST:PORT/PATH" in capsys.readouterr().err


MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def test_a_long_target_may_be_served_as_a_short_one_is() -> None:
    def too_long(data: bytes) -> bytes:
        return b"HTTP/1.1 414 URI Too Long\r\nContent-Length: 0\r\n\r\n"

    end = b"\r\n\r\n"
    for served in (GOOD, MISSING):
        assert outcome("target_too_long", gathering(end, served)).outcome == "passed"
    assert outcome("target_too_long", lambda d: too_long(d) if len(d) > 999 else GOOD).outcome == (
        "passed"
    )
    refused = outcome(
        "target_too_long", lambda d: BAD if len(d) > 999 else GOOD, closes=lambda d: len(d) > 999
    )
    assert refused.outcome == "failed"


def test_a_server_may_take_the_preface_of_http_2_at_its_word() -> None:
    settings = bytes(3) + b"\x04" + bytes(5)
    assert outcome("http_2_preface", lambda _: settings).outcome == "not_applicable"


LARGE_LENGTHS = ("length_beyond_64_bits", "length_huge")


@pytest.mark.parametrize("id_", LARGE_LENGTHS)
def test_a_length_beyond_all_bounds_is_a_length(id_: str) -> None:
    def first_alone(received: bytes) -> bytes:
        return GOOD if b"Content-Length" in received else b""

    assert outcome(id_, first_alone).outcome == "passed"  # it reads on
    assert outcome(id_, lambda _: GOOD, closes=True).outcome == "passed"
    assert outcome(id_, lambda _: b"").outcome == "passed"  # it waits for the body
    late = outcome(id_, lambda d: b"" if b"Length" in d else BAD, closes=lambda d: b"Len" not in d)
    assert late.outcome == "passed"
    assert outcome(id_, lambda _: GOOD).outcome == "failed"  # it wrapped round, and took 5 bytes


@pytest.mark.parametrize(
    "id_", ["body_of_get", "chunked", "length_list_end", "body_like_a_request_post"]
)
def test_a_server_that_does_not_read_a_body_ends_the_connection(id_: str) -> None:
    assert outcome(id_, lambda _: GOOD, closes=True).outcome == "passed"
    assert outcome(id_, lambda _: GOOD + GOOD, closes=True).outcome == "passed"
    assert outcome(id_, lambda _: GOOD + b"rest", closes=True).outcome == "failed"
    assert outcome(id_, lambda _: GOOD).outcome == "failed"


def test_a_trailer_field_does_not_end_the_connection() -> None:
    def reply(data: bytes) -> bytes:
        return GOOD if b"0\r\nConnection: close" in data else GOOD + GOOD

    obeyed = outcome("trailer_close", reply, closes=True)
    assert obeyed.outcome == "failed"
    assert outcome("trailer_close", lambda _: GOOD + GOOD, closes=True).outcome == "passed"
    assert outcome("trailer_close", lambda _: GOOD, closes=True).outcome == "passed"


def test_a_broken_chunk_may_be_refused_behind_a_response() -> None:
    assert outcome("chunk_size_word", lambda _: GOOD + BAD, closes=True).outcome == "passed"
    assert outcome("chunk_size_word", lambda _: GOOD + GOOD, closes=True).outcome == "failed"


def test_a_refusal_may_be_of_http_1_0() -> None:
    old = BAD.replace(b"HTTP/1.1", b"HTTP/1.0")
    for id_ in ("host_missing", "length_negative", "head_refused_host", "chunk_size_word"):
        assert outcome(id_, lambda _: old, closes=True).outcome == "passed", id_
    assert outcome("chunk_size_word", lambda _: GOOD + old, closes=True).outcome == "passed"
    assert outcome("status_line_form_of_error", lambda _: old, closes=True).outcome == "passed"
    assert outcome("version_said_of_error", lambda _: old, closes=True).outcome == "failed"
    assert outcome("version_said_of_error", lambda _: BAD, closes=True).outcome == "passed"
    quoting = old.replace(b"Length: 0", b"Length: 14") + b"GET / HTTP/1.0"
    assert outcome("close_1_0", lambda _: quoting, closes=True).outcome == "passed"
    assert outcome("close_1_0", lambda _: GOOD + old, closes=True).outcome == "failed"
