"""The probes of clients: put to a real client, and to clients that take or refuse everything."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Callable

import pytest

from wirebench.conformance import ProbeResult, run_probes
from wirebench.conformance.answers import BODY, Answer, Called, answering
from wirebench.conformance.client_probes import GOOD, NOWHERE, client_probes, every_client_probe
from wirebench.process.ports import HOST

TAKEN = ("length", "until_close", "chunked", "interim_100", "bytewise", "close_said")
REFUSED = ("nothing", "body_cut", "chunk_cut", "chunk_word", "status_long")


def results(call: Callable[[int, int], Called], *ids: str) -> tuple[ProbeResult, ...]:
    return run_probes(NOWHERE, [one for one in client_probes(call) if not ids or one.id in ids])


def with_http_client(port: int, operations: int) -> Called:
    """Python's own client, as a contestant would be."""
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    errors = 0
    for _ in range(operations):
        try:
            connection.request("GET", "/payload/16")
            response = connection.getresponse()
            if response.status != 200 or response.read() != BODY:
                errors += 1
        except (http.client.HTTPException, OSError, ValueError):
            errors += 1
            connection.close()
    connection.close()
    return Called(ended=True, errors=errors, said="")


def test_a_client_that_keeps_the_rules_passes() -> None:
    found = results(with_http_client, *TAKEN, *REFUSED)
    assert len(found) == len(TAKEN) + len(REFUSED)
    assert [one.id for one in found if one.outcome != "passed"] == []


@pytest.mark.parametrize("errors", [0, 1, 2])
def test_what_the_client_reports_decides(errors: int) -> None:
    def call(_port: int, operations: int) -> Called:
        return Called(ended=True, errors=min(errors, operations), said="said")

    for one in results(call):
        wanted = {
            "0 of two operations fails": errors == 0,
            "1 of two operations fails": errors == 1,
        }.get(_expected(one.id), errors > 0)
        if _expected(one.id).startswith("two operations that succeed"):
            wanted = errors == 0
        assert (one.outcome == "passed") == wanted, one
        assert one.outcome == "passed" or "said" in one.received


def _expected(id_: str) -> str:
    return next(one.expected for one in every_client_probe() if one.id == id_)


REQUESTS = (
    "request_line",
    "request_host",
    "request_fields",
    "request_without_body",
    "close_said_and_not_done",
)


def test_a_client_s_own_requests_are_judged() -> None:
    def careless(port: int, operations: int) -> Called:
        with socket.create_connection((HOST, port), timeout=5) as connection:
            for _ in range(operations):
                request = b"GET payload HTTP/1.1\r\nHost : x\r\nContent-Length: 0\r\n\r\n"
                connection.sendall(request)
                connection.recv(65_536)
        return Called(ended=True, errors=0, said="")

    assert {one.outcome for one in results(with_http_client, *REQUESTS)} == {"passed"}
    assert {one.outcome for one in results(careless, *REQUESTS)} == {"failed"}


def test_a_client_that_hangs_or_says_nothing_fails() -> None:
    hung = results(lambda _p, _n: Called(ended=False, errors=0, said="still running"))
    assert {one.outcome for one in hung} == {"failed"}
    assert "still running" in hung[0].received
    (silent,) = results(lambda _p, _n: Called(ended=True, errors=None, said="dead"), "length")
    assert silent.outcome == "failed"


def test_each_request_gets_its_answer() -> None:
    with answering([Answer(data=b"one"), Answer(data=b"two", closes=True)]) as port:
        with socket.create_connection((HOST, port), timeout=5) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert connection.recv(10) == b"one"
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert connection.recv(10) == b"two"
            assert connection.recv(10) == b""
        with socket.create_connection((HOST, port), timeout=5) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert connection.recv(10) == b"two"


def test_the_right_response_is_right() -> None:
    assert GOOD.endswith(BODY)
    assert len({one.id for one in every_client_probe()}) == len(list(every_client_probe())) > 45
