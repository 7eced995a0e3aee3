"""Trials of contestants that misbehave: reported with what was sent, expected and received, and
nothing left behind.
"""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from misbehaving.support import CALLS, CLOSED, assert_free, generator, leaves_nothing, program, spec
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import (
    BroadcastLoad,
    EachLoad,
    IdleLoad,
    Policy,
    RampLoad,
    StormLoad,
)
from wirebench.catalog.workloads import GivenRequest
from wirebench.process import cgroup, ports, process, start
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.run.local import find_generator
from wirebench.trial import watchdog
from wirebench.trial.record import FailureRecord, TrialRecord
from wirebench.trial.trial import run_trial
from wirebench.trial.types import OwnServer

# What goes wrong after so many requests goes wrong in this load however slow the host is; a window
# of time may end before.
COUNTED = EachLoad(producers=1, messages=300, delay_ms=0, policy="reuse", threads=1)
PATIENT_NS = 10_000_000_000


def serve(
    fault: str,
    supervisor: Supervisor,
    tmp_path: Path,
    *,
    wireload: Path | None = None,
    **changes: object,
) -> TrialRecord:
    result = run_trial(
        replace(spec(fault, tmp_path), **changes),  # type: ignore[arg-type]
        program=program("server.py", fault),
        supervisor=supervisor,
        wireload=wireload or generator(tmp_path),
    )
    if result.port is not None:
        assert_free(result.port)
    return result


def failure_of(result: TrialRecord) -> FailureRecord:
    assert result.status == "failed"
    assert result.failure is not None
    return result.failure


def test_one_that_does_all_right_has_its_figures(supervisor: Supervisor, tmp_path: Path) -> None:
    result = serve("none", supervisor, tmp_path)
    assert result.failure is None
    assert result.status == "ok"
    assert result.warnings == ()
    assert (result.metrics["throughput_per_s"] or 0) > 0
    assert result.metrics["success_ratio"] == 1.0
    assert result.metrics["ready_ns"] == result.ready_ns
    assert result.series is not None
    assert result.load is not None
    assert result.validity == {
        "little_ratio": 1.0,
        "generator_cpu_share": 0.5,
        "server_cpu_share": 2000 / result.load["window"]["elapsed_ns"],
        "server_cores": 1,
        "completed": True,
    }
    command = result.load["command"]
    assert command[command.index("--seed") + 1] == "2", "the block's, and not the run's"
    assert "series" not in result.load
    assert "histogram" not in result.load["latency"]
    assert result.environment_bytes == 100
    assert result.covariates.keys() == {
        "watched_ns",
        "steal_ns",
        "psi_cpu_some_us",
        "involuntary_switches",
        "retransmits",
        "other_programs_ns",
    }


def test_a_runtime_is_warm_before_it_is_measured(supervisor: Supervisor, tmp_path: Path) -> None:
    """What the first requests find is not in any figure; without a warm-up it is."""
    assert failure_of(serve("wrong_at_first", supervisor, tmp_path)).kind == "wrong_reply"
    one = replace(spec("wrong_at_first", tmp_path).contestant, warmup_ns=300_000_000)
    for load in (spec("none", tmp_path).load, COUNTED):
        result = serve("wrong_at_first", supervisor, tmp_path, contestant=one, load=load)
        assert result.failure is None
        assert result.metrics["success_ratio"] == 1.0


@pytest.mark.parametrize(("warmup_ns", "rounds"), [(0, 0), (300_000_000, 1), (1_100_000_000, 2)])
def test_a_runtime_sees_connections_end_before_it_is_measured(
    warmup_ns: int, rounds: int, supervisor: Supervisor, tmp_path: Path
) -> None:
    """Each second of the warm-up is a generator of its own, whose connections end with it."""
    one = replace(spec("none", tmp_path).contestant, warmup_ns=warmup_ns)
    assert len(connections_of_generators(supervisor, tmp_path, contestant=one)) == rounds + 1


@pytest.mark.parametrize(("delay_ms", "connections"), [(0, 50), (5, 2)])
def test_a_warm_up_leaves_no_queue_of_requests_that_wait(
    delay_ms: int, connections: int, supervisor: Supervisor, tmp_path: Path
) -> None:
    one = replace(spec("none", tmp_path).contestant, warmup_ns=200_000_000)
    load = replace(COUNTED, producers=10, messages=3, delay_ms=delay_ms, threads=2)
    used = connections_of_generators(supervisor, tmp_path, contestant=one, load=load, threads=2)
    assert used == [connections, 10]


def connections_of_generators(
    supervisor: Supervisor, tmp_path: Path, **changes: object
) -> list[int]:
    """Of each generator of a trial, in turn: how many connections it was to open."""
    log, counted = tmp_path / "log", tmp_path / "counted"
    counted.write_text(f'#!/bin/sh\necho "$*" >>"{log}"\nexec "{generator(tmp_path)}" "$@"\n')
    counted.chmod(0o755)
    result = serve("none", supervisor, tmp_path, wireload=counted, **changes)
    assert result.status == "ok"
    lines = [line.split() for line in log.read_text().splitlines()]
    return [int(words[words.index("-c") + 1]) for words in lines]


def real_generator() -> Path:
    try:
        return find_generator()
    except CatalogError:
        pytest.skip("wireload is neither beside this Python nor in PATH: ./test installs it")


def test_a_storm_lasts_until_all_are_served(supervisor: Supervisor, tmp_path: Path) -> None:
    load = StormLoad(connections=20, restart=False)
    result = serve("none", supervisor, tmp_path, wireload=real_generator(), load=load)
    assert result.failure is None
    assert result.metrics["success_ratio"] == 1.0
    assert (result.metrics["makespan_ns"] or 0) > (result.metrics["connect_ns"] or 0) > 0


def test_after_a_crash_all_come_again_to_a_server_at_the_same_port(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    load = StormLoad(connections=20, restart=True)
    result = serve("none", supervisor, tmp_path, wireload=real_generator(), load=load)
    assert result.failure is None
    assert result.warnings == (), "that it was killed is no fault of its own"
    assert result.metrics["success_ratio"] == 1.0
    again = result.metrics["ready_ns"]
    assert again == result.ready_ns
    assert (result.metrics["makespan_ns"] or 0) > (again or 0) > 0, "its start is in it"


def test_a_storm_that_is_not_served_entirely_is_a_failure(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    load = StormLoad(connections=20, restart=False)
    failure = failure_of(
        serve("wrong_body", supervisor, tmp_path, wireload=real_generator(), load=load)
    )
    assert failure.kind == "wrong_reply"


def test_a_server_that_holds_no_crowd_cannot_crash_with_it(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "MARGIN_NS", 200_000_000)
    load = StormLoad(connections=20, restart=True)
    failure = failure_of(
        serve("never_accepts", supervisor, tmp_path, wireload=real_generator(), load=load)
    )
    assert failure.kind == "hung"
    assert "no 20 connections stood" in failure.message


def test_a_crowd_that_this_host_does_not_hold_is_no_fault_of_the_server(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    refusing = tmp_path / "refusing"
    refusing.write_text(
        "#!/bin/sh\necho 'wireload: 20 connections need 60 open files' >&2\nexit 64\n"
    )
    refusing.chmod(0o755)
    load = StormLoad(connections=20, restart=True)
    failure = failure_of(serve("none", supervisor, tmp_path, wireload=refusing, load=load))
    assert failure.kind == "generator_failed"
    assert "20 connections need 60 open files" in (failure.received or "")


def test_a_broadcast_is_measured_to_the_last_subscriber(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    load = BroadcastLoad(connections=20, warmup_ns=100_000_000, window_ns=300_000_000)
    result = serve(
        "none",
        supervisor,
        tmp_path,
        workload="ws.broadcast",
        wireload=real_generator(),
        load=load,
    )
    assert result.failure is None
    assert (result.metrics["last_p50_ns"] or 0) >= (result.metrics["p50_ns"] or 0) > 0
    assert (result.metrics["cpu_per_request_ns"] or 0) > 0


@pytest.mark.parametrize(
    ("fault", "kind", "received"),
    [
        ("doubles", "wrong_reply", "each message once"),
        ("shouts", "wrong_reply", "the same message"),
        ("leaves_out_the_last", "hung", "the same message"),
    ],
)
def test_a_fault_of_a_broadcast_is_a_failure(
    fault: str, kind: str, received: str, supervisor: Supervisor, tmp_path: Path
) -> None:
    load = BroadcastLoad(connections=5, warmup_ns=0, window_ns=300_000_000)
    failure = failure_of(
        serve(
            fault,
            supervisor,
            tmp_path,
            workload="ws.broadcast",
            wireload=real_generator(),
            load=load,
            timeout_ns=200_000_000,
        )
    )
    assert failure.kind == kind
    assert received in (failure.expected or "")


def test_idle_connections_have_a_cost_and_no_throughput(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    load = IdleLoad(connections=20, window_ns=300_000_000)
    result = serve("none", supervisor, tmp_path, wireload=real_generator(), load=load)
    assert result.failure is None
    assert result.metrics["success_ratio"] == 1.0
    assert "throughput_per_s" not in result.metrics
    for metric in ("server_pss_bytes", "connect_cpu_ns", "cpu_per_s_ns", "wake_ups_per_s"):
        assert result.metrics[metric] is not None


@pytest.mark.parametrize("real", [False, True], ids=["stand-in", "wireload"])
@pytest.mark.parametrize(
    ("fault", "kind", "received"),
    [
        ("wrong_body", "wrong_reply", "hallo from route_01"),
        ("wrong_later", "wrong_reply", "hallo from route_01"),
        ("not_found", "bad_status", "404 Not Found"),
        ("closes_each", "closed_early", ""),
        ("closes_at_100", "closed_early", ""),
        ("hangs", "hung", "nothing"),
        ("never_accepts", "hung", "nothing"),
    ],
)
def test_a_wrong_reply_is_a_failure_and_no_figure(
    fault: str, kind: str, received: str, real: bool, supervisor: Supervisor, tmp_path: Path
) -> None:
    wireload = real_generator() if real else None
    # Only for a reply that never comes is it waited to the end.
    load, timeout_ns = (CLOSED, 200_000_000) if kind == "hung" else (COUNTED, PATIENT_NS)
    failure = failure_of(
        serve(fault, supervisor, tmp_path, wireload=wireload, load=load, timeout_ns=timeout_ns)
    )
    assert failure.kind == kind
    assert failure.phase == "load"
    assert failure.sent is not None
    assert "GET /route_01" in failure.sent
    assert failure.expected is not None
    assert ("200" if kind == "bad_status" else "hello from route_01") in failure.expected
    assert failure.received
    assert received in failure.received


def test_an_address_where_nobody_listens_is_no_wrong_reply(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    own = OwnServer(
        request=GivenRequest(path="/", options=()),
        url=f"http://{ports.HOST}:{ports.free_port(8)}",
    )
    failure = failure_of(serve("none", supervisor, tmp_path, wireload=real_generator(), own=own))
    assert failure.kind == "not_listening"


@pytest.mark.parametrize(
    ("fault", "warnings"),
    [
        ("none", []),
        ("crashes_under_load", ["in round 3 with 6", "exited with 7"]),
        ("mute_later", ["in round 3 with 6"]),
    ],
)
def test_a_ramp_counts_up_to_where_it_breaks(
    fault: str, warnings: list[str], supervisor: Supervisor, tmp_path: Path
) -> None:
    load = RampLoad(rounds=4, add=2, messages=20, pacing="serial")
    timeout_ns = 2_000_000_000 if fault == "mute_later" else PATIENT_NS
    result = serve(
        fault,
        supervisor,
        tmp_path,
        wireload=real_generator(),
        workload="ws.count",
        load=load,
        timeout_ns=timeout_ns,
    )
    assert result.status == "ok"
    assert result.validity["completed"] == (fault == "none")
    # The first two rounds have 40 and 80 of 400 messages; the server breaks in the third, after
    # 200.
    ratio = result.metrics["success_ratio"] or 0.0
    assert (ratio == 1.0) if fault == "none" else (0.3 <= ratio <= 0.5)
    assert result.rounds
    assert len(result.warnings) == len(warnings)
    for words, warning in zip(warnings, result.warnings, strict=True):
        assert words in warning


@pytest.mark.parametrize(
    ("fault", "closes", "policy", "warnings"),
    [
        ("none", False, "reuse", []),
        (
            "ends_at_100",
            False,
            "reuse",
            ["ended_connections: 6 were opened where 2 were to be kept"],
        ),
        ("ends_at_100", False, "new", []),
        ("announces_close", True, "reuse", []),
    ],
)
def test_a_server_that_ends_kept_connections_is_warned_of(
    fault: str,
    closes: bool,
    policy: Policy,
    warnings: list[str],
    supervisor: Supervisor,
    tmp_path: Path,
) -> None:
    one = replace(spec(fault, tmp_path).contestant, closes=closes)
    result = serve(
        fault,
        supervisor,
        tmp_path,
        wireload=real_generator(),
        contestant=one,
        load=EachLoad(producers=2, messages=250, delay_ms=0, policy=policy, threads=1),
        timeout_ns=PATIENT_NS,
    )
    assert result.status == "ok"
    assert list(result.warnings) == warnings


def test_a_ramp_whose_first_round_is_wrong_is_a_failure(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    load = RampLoad(rounds=2, add=2, messages=5, pacing="burst")
    result = serve(
        "off_by_one",
        supervisor,
        tmp_path,
        wireload=real_generator(),
        workload="ws.count",
        load=load,
    )
    failure = failure_of(result)
    assert failure.kind == "wrong_reply"
    assert failure.sent is not None
    assert '"c":' in failure.sent


def test_a_crash_at_start_is_told_with_its_last_words(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    failure = failure_of(serve("crashes_at_start", supervisor, tmp_path))
    assert failure.kind == "start_crashed"
    assert failure.phase == "start"
    assert "exited with 3" in failure.message
    assert "foreground" not in failure.message
    assert failure.received == "no such table: users"


def test_a_server_that_its_shell_leaves_in_the_background_is_told_to_stay(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    result = run_trial(
        spec("background", tmp_path),
        program=Program(argv=("/bin/sh", "-c", "sleep 3600 &"), folder=tmp_path),
        supervisor=supervisor,
        wireload=generator(tmp_path),
    )
    failure = failure_of(result)
    assert failure.kind == "start_crashed"
    assert "exited with 0" in failure.message
    assert failure.message.endswith("; keep it in the foreground")


def test_a_program_that_is_not_there_is_a_crash_at_start(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    result = run_trial(
        spec("gone", tmp_path),
        program=Program(argv=(str(tmp_path / "gone"),), folder=tmp_path),
        supervisor=supervisor,
        wireload=generator(tmp_path),
    )
    failure = failure_of(result)
    assert failure.kind == "start_crashed"
    assert failure.received is not None
    assert "gone" in failure.received


def test_never_listening_is_told_from_a_crash(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "START_TIMEOUT_NS", 700_000_000)
    failure = failure_of(serve("never_listens", supervisor, tmp_path))
    assert failure.kind == "start_timeout"
    assert failure.received == "still thinking"


def test_a_crash_under_load_is_told_with_its_last_words(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    result = serve("crashes_under_load", supervisor, tmp_path, load=COUNTED)
    failure = failure_of(result)
    assert failure.kind == "crashed"
    assert "exited with 7" in failure.message
    assert failure.received is not None
    assert "the cat sat on the keyboard" in failure.received
    assert result.load is not None, "what was measured until then is kept"


def test_a_stalled_load_is_stopped_by_the_watchdog(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "limit_ns", lambda *_, **__: 600_000_000)
    load = EachLoad(producers=1, messages=1, delay_ms=0, policy="reuse", threads=1)
    failure = failure_of(serve("hangs", supervisor, tmp_path, load=load, timeout_ns=60_000_000_000))
    assert failure.kind == "hung"
    assert "not done after" in failure.message


@pytest.mark.parametrize("code", [2, 64])
def test_a_generator_that_says_nothing_is_not_blamed_on_the_server(
    code: int, supervisor: Supervisor, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.write_text(f"#!/bin/sh\necho out of paper >&2\nexit {code}\n")
    broken.chmod(0o755)
    result = run_trial(
        spec("none", tmp_path), program=program("server.py"), supervisor=supervisor, wireload=broken
    )
    failure = failure_of(result)
    assert failure.kind == "generator_failed"
    assert failure.received == "out of paper"
    assert failure.message == f"the generator exited with {code}: out of paper"
    assert_free(result.port)


@pytest.mark.parametrize("groups", [True, False], ids=["as the host has them", "no cgroups"])
@pytest.mark.parametrize("fault", ["ignores_sigterm", "leaves_children"])
def test_one_that_does_not_end_is_killed_with_all_its_children_and_a_warning(
    fault: str, groups: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not groups:
        monkeypatch.setattr(cgroup, "parent_folder", lambda: None)
    monkeypatch.setattr(process, "GRACE_S", 0.6)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with leaves_nothing(scratch) as supervisor:
        result = serve(fault, supervisor, tmp_path)
        assert supervisor.uses_cgroups <= groups
    assert result.status == "ok", "its replies were right"
    # Tests beside this one may take its port: the server is then started again at the next.
    assert len(set(result.warnings)) == 1
    assert result.warnings[0].startswith("ignored_sigterm: ")


def test_a_port_that_is_taken_meanwhile_is_not_the_servers_fault(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = ports.free_port(7)
    with socket.create_server((ports.HOST, 0)) as other:
        taken = other.getsockname()[1]
        choices = iter([taken, free])
        monkeypatch.setattr(ports, "free_port", lambda _seed, **_more: next(choices))
        result = serve("none", supervisor, tmp_path)
    assert result.status == "ok"
    assert result.port == free


def test_a_server_that_listens_outside_the_command_is_told_apart(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server((ports.HOST, 0)) as elsewhere:
        port = elsewhere.getsockname()[1]
        monkeypatch.setattr(ports, "free_port", lambda _seed, **_more: port)
        failure = failure_of(serve("never_listens", supervisor, tmp_path))
    assert failure.kind == "start_crashed"
    assert f"port {port} accepts connections, but no process" in failure.message
    assert "container, sudo, service" in failure.message
    assert "address" in failure.message


def test_load_for_the_wrong_role_is_a_mistake_of_the_lab(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    with pytest.raises(TypeError, match="expected a load for a server"):
        serve("none", supervisor, tmp_path, load=CALLS)


def test_results_stand_beside_failures(supervisor: Supervisor, tmp_path: Path) -> None:
    statuses = [
        serve(fault, supervisor, tmp_path, load=COUNTED).status
        for fault in ("none", "crashes_under_load", "none")
    ]
    assert statuses == ["ok", "failed", "ok"]
