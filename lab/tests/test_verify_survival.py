"""One client that sends what is no count, nests deeply, announces much or leaves in the middle:
servers that then fail the others are found, whether they end, hang, lose a process or start
another; any reply is right.
"""

from __future__ import annotations

import pytest

from misbehaving.support import PORT_SEED, program
from wirebench.catalog.model import Workload
from wirebench.process.start import ServerSettings, ended, start_server
from wirebench.process.supervise import Supervisor
from wirebench.verify import CheckResult, Traits, http, survival_checks, verify_server
from wirebench.verify.checks import run_checks
from wirebench.verify.http import Peer

IN_FRAMES = [
    "ws.left_in_frame_head",
    "ws.reset_in_frame_head",
    "ws.left_in_payload",
    "ws.reset_in_payload",
]
IN_HEADS = ["http.left_in_head", "http.reset_in_head"]
IN_BODIES = [
    "http.left_in_body",
    "http.reset_in_body",
    "http.left_in_chunk",
    "http.reset_in_chunk",
]
ODD_JSON = [f"count.odd_json {name}" for name, _ in survival_checks.ODD_MESSAGES]
DEEP_COUNTS = [f"count.deep_json {depth}" for depth in survival_checks.DEPTHS]
DEEP_BODIES = [f"rest.deep_json {depth}" for depth in survival_checks.DEPTHS]
ANNOUNCED_FRAMES = [f"ws.announced {size}" for size in survival_checks.ANNOUNCED]
ANNOUNCED_BODIES = [f"http.announced {size}" for size in survival_checks.ANNOUNCED]
IN_COUNTS = ODD_JSON + DEEP_COUNTS + IN_FRAMES + ANNOUNCED_FRAMES


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody here answers late: they answer, or never do."""
    monkeypatch.setattr(http, "TIMEOUT_S", 0.7)
    monkeypatch.setattr(survival_checks, "_UNANSWERED_S", 0.05)


def checked(
    script: str, fault: str, workload: Workload, supervisor: Supervisor
) -> list[CheckResult]:
    """These checks alone."""
    with supervisor.scope() as scope:
        server = start_server(
            scope,
            program(script, fault),
            ServerSettings(workload=workload),
            port_seed=PORT_SEED,
        )
        return run_checks(
            survival_checks.survival_checks(
                Peer(port=server.port), workload, server.process.pids, posts=True
            ),
            alive=lambda: not ended(server.process),
        )


@pytest.mark.parametrize(
    ("script", "fault", "workload", "check", "received"),
    [
        ("server.py", "ends_at_no_object", "ws.count", "count.odd_json text", "opened before: "),
        ("server.py", "ends_at_no_count", "ws.count", "count.odd_json no_count", "opened before: "),
        ("server.py", "takes_others_along", "ws.count", "count.odd_json text", "opened before: "),
        (
            "server.py",
            "stops_at_no_count",
            "ws.count",
            "count.odd_json no_count",
            "opened before: nothing, and no more in 0.7 s",
        ),
        (
            "server.py",
            "listens_no_more",
            "ws.count",
            "count.odd_json text",
            "a new connection: no connection",
        ),
        (
            "server.py",
            "ends_at_no_object_respawned",
            "ws.count",
            "count.odd_json text",
            "opened before: ",
        ),
        (
            "server.py",
            "loses_a_process",
            "ws.count",
            "count.odd_json text",
            "1 of its 2 processes ended",
        ),
        ("server.py", "ends_at_depth", "ws.count", DEEP_COUNTS[0], "opened before: "),
        ("server.py", "ends_at_length", "ws.count", ANNOUNCED_FRAMES[0], "opened before: "),
        ("server.py", "ends_at_sign", "ws.count", ANNOUNCED_FRAMES[1], "opened before: "),
        ("server.py", "ends_in_frame_head", "ws.count", "ws.left_in_frame_head", "connection"),
        ("server.py", "ends_in_payload", "ws.count", "ws.left_in_payload", "connection"),
        ("server.py", "ends_at_reset", "ws.count", "ws.reset_in_frame_head", "connection"),
        ("server.py", "ends_in_head", "http.hello", "http.left_in_head", "connection"),
        # The worker that ends may have accepted the next one, which else comes to another.
        ("server.py", "ends_in_head_respawned", "http.hello", "http.left_in_head", ""),
        ("rest_server.py", "ends_at_depth", "rest", DEEP_BODIES[0], "connection"),
        ("rest_server.py", "ends_at_length", "rest", ANNOUNCED_BODIES[0], "connection"),
        ("rest_server.py", "ends_at_sign", "rest", ANNOUNCED_BODIES[1], "connection"),
        ("rest_server.py", "ends_in_body", "rest", "http.left_in_body", "connection"),
        ("rest_server.py", "ends_at_reset", "rest", "http.reset_in_body", "connection"),
        ("rest_server.py", "ends_in_chunk", "rest", "http.left_in_chunk", "connection"),
    ],
)
def test_what_one_client_may_not_do_to_others_is_found(
    script: str,
    fault: str,
    workload: Workload,
    check: str,
    received: str,
    supervisor: Supervisor,
) -> None:
    results = checked(script, fault, workload, supervisor)
    found = next(one for one in results if not one.passed)
    assert (found.id, found.required) == (check, True)
    assert received in found.received


@pytest.mark.parametrize(
    ("script", "fault", "workload", "checks"),
    [
        ("server.py", "none", "http.hello", IN_HEADS),
        ("server.py", "none_respawned", "http.hello", IN_HEADS),
        ("rest_server.py", "none", "rest", DEEP_BODIES + IN_HEADS + IN_BODIES + ANNOUNCED_BODIES),
        ("echo_server.py", "none", "ws.echo", IN_FRAMES + ANNOUNCED_FRAMES),
        ("server.py", "none", "ws.broadcast", IN_FRAMES + ANNOUNCED_FRAMES),
        ("server.py", "none", "ws.count", IN_COUNTS),
        ("server.py", "none_respawned", "ws.count", IN_COUNTS),
    ],
)
def test_one_that_answers_the_others_passes(
    script: str, fault: str, workload: Workload, checks: list[str], supervisor: Supervisor
) -> None:
    results = checked(script, fault, workload, supervisor)
    assert [one.id for one in results if one.passed and one.required] == checks
    assert len(results) == len(checks)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("none", "closed in a frame"),
        ("skips_what_is_wrong", "nothing"),
        ("falls_silent", "nothing"),
        ("names_what_is_wrong", 'text "{"error":"expected a count"}"'),
    ],
)
def test_a_message_that_is_no_count_may_have_any_reply(
    fault: str, said: str, supervisor: Supervisor
) -> None:
    results = checked("server.py", fault, "ws.count", supervisor)
    odd = [one for one in results if one.id in ODD_JSON]
    assert [one.id for one in odd if one.passed] == ODD_JSON
    assert all(one.received.startswith(said) for one in odd)


def test_bodies_are_cut_where_a_server_takes_them() -> None:
    def asked(*, posts: bool) -> list[str]:
        checks = survival_checks.survival_checks(Peer(port=1), "http.payload", list, posts=posts)
        return [check.id for check in checks]

    assert asked(posts=False) == IN_HEADS
    assert asked(posts=True) == IN_HEADS + IN_BODIES + ANNOUNCED_BODIES


@pytest.mark.parametrize(
    ("fault", "traits", "check"),
    [
        ("ends_at_no_object", Traits(), "count.odd_json text"),
        ("ends_at_no_object_over_tls", Traits(tls=True), "tls.count.odd_json text"),
        # Which of the workers has the connection is the kernel's choice.
        (
            "ends_at_no_object_in_workers",
            Traits(processes=True),
            "threads.count.odd_json text",
        ),
    ],
)
def test_each_start_of_a_server_is_asked(
    fault: str, traits: Traits, check: str, supervisor: Supervisor
) -> None:
    served = program("server.py", fault)
    verdict = verify_server(
        f"fake/{fault}", "ws.count", served, supervisor, port_seed=PORT_SEED, traits=traits
    )
    assert verdict.failed[0].id == check


def test_several_processes_that_live_pass(supervisor: Supervisor) -> None:
    served = program("server.py", "none_in_workers")
    verdict = verify_server(
        "fake/none_in_workers",
        "ws.count",
        served,
        supervisor,
        port_seed=PORT_SEED,
        traits=Traits(processes=True),
    )
    assert verdict.failure is None
    names = {check.id for check in verdict.checks}
    assert {f"threads.{name}" for name in IN_COUNTS} <= names
