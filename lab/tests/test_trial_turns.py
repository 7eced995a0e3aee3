"""Trials of several servers in turns: each has its figures, one that fails spoils no other, and
nothing is left behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from misbehaving.support import CLOSED, PORT_SEED, assert_free, program, spec
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import EachLoad
from wirebench.process.supervise import Supervisor
from wirebench.run.local import find_generator
from wirebench.trial import watchdog
from wirebench.trial.record import TrialRecord
from wirebench.trial.trial import run_in_turns
from wirebench.trial.wireload import Turn

TURN_NS = 100_000_000
LOAD = replace(CLOSED, connections=2, window_ns=200_000_000)


def serve(
    faults: Sequence[str], supervisor: Supervisor, tmp_path: Path, *, length_ns: int = TURN_NS
) -> list[TrialRecord]:
    try:
        wireload = find_generator()
    except CatalogError:
        pytest.skip("wireload is neither beside this Python nor in PATH: ./test builds it")
    results = run_in_turns(
        [
            (
                replace(
                    spec(fault, tmp_path, load=LOAD),
                    trial=f"t{place}",
                    port_seed=PORT_SEED + place,
                ),
                program("server.py", fault),
            )
            for place, fault in enumerate(faults)
        ],
        length_ns=length_ns,
        supervisor=supervisor,
        wireload=wireload,
    )
    assert [one.trial for one in results] == [f"t{place}" for place in range(len(faults))]
    for one in results:
        if one.port is not None:
            assert_free(one.port)
    return results


def test_each_server_has_its_own_figures(supervisor: Supervisor, tmp_path: Path) -> None:
    results = serve(["none", "none", "none"], supervisor, tmp_path)
    assert [one.status for one in results] == ["ok"] * 3
    assert len({one.port for one in results}) == 3
    for place, one in enumerate(results, start=1):
        assert one.load is not None
        turns = one.load["turns"]
        assert (turns["number"], turns["of"], turns["length_ns"]) == (place, 3, TURN_NS)
        assert turns["taken"] == 3
        assert (one.metrics["throughput_per_s"] or 0) > 0
        assert one.series is not None
        assert len(one.series["ok"]) == 3
        # CPU time is of all that was answered; the share is of what was measured.
        cpu_ns = one.load["server"]["cpu_user_ns"] + one.load["server"]["cpu_system_ns"]
        cost = one.metrics["cpu_per_request_ns"]
        assert cost == pytest.approx(cpu_ns / turns["answered"])
        share = cost * one.load["requests"]["ok"] / one.load["window"]["elapsed_ns"]
        cores = one.validity["server_cores"]
        assert one.validity["server_cpu_share"] == pytest.approx(share / cores)
        assert 0.0 <= one.validity["late_turns"] <= 1.0


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("wrong_body", "wrong_reply"),
        ("crashes_under_load", "crashed"),
        ("crashes_at_start", "start_crashed"),
    ],
)
def test_one_that_fails_leaves_the_others_their_figures(
    fault: str, kind: str, supervisor: Supervisor, tmp_path: Path
) -> None:
    first, wrong, last = serve(["none", fault, "none"], supervisor, tmp_path)
    assert (first.status, last.status) == ("ok", "ok")
    assert wrong.status == "failed"
    assert wrong.failure is not None
    assert wrong.failure.kind == kind
    # One that never ran had no turn.
    assert first.load is not None
    assert first.load["turns"]["of"] == (2 if wrong.failure.phase == "start" else 3)


def test_a_generator_is_waited_for_through_the_turns_of_others() -> None:
    turn = Turn(number=1, of=4, length_ns=TURN_NS)
    alone = watchdog.waiting_ns(LOAD, replace(turn, of=1))
    assert alone >= LOAD.window_ns / Turn.MEASURED
    assert watchdog.waiting_ns(LOAD, turn) == 4 * alone
    with pytest.raises(TypeError, match="closed loop"):
        watchdog.waiting_ns(
            EachLoad(producers=1, messages=1, delay_ms=0, policy="reuse", threads=1), turn
        )
