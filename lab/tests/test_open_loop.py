"""Open-loop cells from the study file to the verdict: rates and shares, what the generator is asked
and says, capacities within a run, void windows, and cells on all cores.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from test_studies import minimal, parse
from test_trial_metrics import aim, document
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import REPLY_TIMEOUT_NS, ClosedLoad, Load, OpenLoad
from wirebench.catalog.selection import select_cells
from wirebench.catalog.study_files import load_studies
from wirebench.plan.estimate import trial_ns
from wirebench.trial import watchdog, wireload
from wirebench.trial.server_metrics import (
    BUSY_SHARE,
    judge,
    kept_up,
    metrics,
    server_cpu_share,
    stopped_by_quota,
    too_slow,
    void_reason,
)
from wirebench.trial.wireload import Document, read_document

SECOND = 1_000_000_000
STUDIES = load_studies(Path(__file__).resolve().parents[2] / "studies")
HALF = OpenLoad(
    connections=50,
    arrivals="poisson",
    rate_per_s=None,
    share=0.5,
    of="c50",
    warmup_ns=SECOND // 2,
    window_ns=2 * SECOND,
)
PINNED = replace(HALF, rate_per_s=10_000.0, share=None, of=None)
OVER = replace(HALF, share=1.5).at_capacity(6_000)


def with_cell(preset: list[str] | None = None, **changes: Any) -> dict[str, Any]:
    """The tiny study with an open cell ``o8`` beside its closed ones."""
    data = minimal()
    cell = {
        "id": "o8",
        "title": "half its capacity",
        "kind": "open",
        "primary": "p99_ns",
        "connections": 8,
        "share": 0.5,
        "of": "c8",
        **changes,
    }
    data["cells"].append({key: value for key, value in cell.items() if value is not None})
    data["presets"] = {"full": {"cells": preset or ["*"], "window": "1s", "warmup": "100ms"}}
    return data


def test_an_open_cell_has_a_rate_or_a_share() -> None:
    share = parse(with_cell()).preset("full").cells[-1].load
    assert share == OpenLoad(
        connections=8,
        arrivals="poisson",
        rate_per_s=None,
        share=0.5,
        of="c8",
        warmup_ns=100_000_000,
        window_ns=SECOND,
    )
    rate = parse(with_cell(share=None, of=None, rate=1000, arrivals="constant", window="3s"))
    load = rate.preset("full").cells[-1].load
    assert isinstance(load, OpenLoad)
    assert (load.rate_per_s, load.share, load.arrivals) == (1000, None, "constant")
    assert load.window_ns == 3 * SECOND


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate": 5.0}, "cells.o8: expected rate or share, got both"),
        ({"share": None, "of": None}, "cells.o8: expected rate or share, got neither"),
        ({"of": None}, "cells.o8.of: expected a closed cell that share is of, got nothing"),
        (
            {"share": None, "rate": 5.0},
            "cells.o8.of: expected no such key, got 'c8' without share",
        ),
        ({"share": 0.0}, "cells.o8: share: expected"),
        ({"arrivals": "bursts"}, "cells.o8: arrivals: expected"),
        ({"of": "o8"}, "expected 'o8' before 'o8'"),
        ({"tls": True}, "o8.of: expected a cell with tls True, got 'c8' with False"),
        ({"cores": "all"}, "o8.of: expected a cell with cores 'all', got 'c8' with 'one'"),
        (
            {"workload": "rest"},
            "o8.of: expected a cell with workload 'rest', got 'c8' with 'http.hello'",
        ),
        (
            {"preset": ["o8", "c8"]},
            "presets.full.cells: expected 'c8' before 'o8', whose rate is a share of its"
            " throughput, got none",
        ),
        ({"preset": ["c1", "o8"]}, "expected 'c8' before 'o8'"),
    ],
)
def test_what_a_share_is_of_is_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CatalogError) as error:
        parse(with_cell(**changes))
    assert message in str(error.value)


def test_a_share_of_a_share_is_refused() -> None:
    data = with_cell()
    data["cells"].append({**data["cells"][-1], "id": "o9", "of": "o8"})
    with pytest.raises(CatalogError, match=r"o9\.of: expected a cell with kind 'closed'"):
        parse(data)


def test_naming_a_share_brings_the_cell_that_it_is_of() -> None:
    study = STUDIES["concurrency"]
    ((_, chosen),) = select_cells([(study, study.preset("load"))], ("load-50",))
    assert [cell.id for cell in chosen.cells] == ["c50", "load-50"]
    ((_, pinned),) = select_cells([(study, study.preset("load"))], ("rate-1000",))
    assert [cell.id for cell in pinned.cells] == ["rate-1000"]


def test_a_stored_plan_tells_open_loads_from_closed_ones() -> None:
    adapter: TypeAdapter[Load] = TypeAdapter(Load)
    closed = ClosedLoad(connections=50, warmup_ns=1, window_ns=2)
    for load in (closed, HALF, PINNED, replace(closed, cores="all"), replace(HALF, cores="all")):
        assert adapter.validate_python(adapter.dump_python(load, mode="json")) == load
    before = {"connections": 50, "in_flight": 1, "tls": False, "warmup_ns": 1, "window_ns": 2}
    assert adapter.validate_python(before) == closed


def test_the_generator_is_asked_for_the_rate(tmp_path: Path) -> None:
    load = HALF.at_capacity(12_345.678)
    assert load.rate_per_s == pytest.approx(6172.839)
    words = wireload.command(Path("wireload"), load, aim(tmp_path))
    assert words[words.index("--rate") + 1] == "6172.839"
    assert words[words.index("--arrivals") + 1] == "poisson"
    assert words[words.index("-c") + 1] == "50"
    assert words[words.index("-d") + 1] == "2s"
    closed = ClosedLoad(connections=50, warmup_ns=1, window_ns=2)
    assert "--rate" not in wireload.command(Path("wireload"), closed, aim(tmp_path))


def test_a_share_of_an_unknown_capacity_is_never_sent(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="share of an unknown capacity"):
        wireload.command(Path("wireload"), HALF, aim(tmp_path))


def open_document(**changes: Any) -> dict[str, Any]:
    """20,000 requests were due in two seconds, and all were answered."""
    open_loop = {
        "arrivals": "poisson",
        "rate": 10_000.0,
        "scheduled": 20_000,
        "not_sent": 0,
        "rate_kept": True,
        "lag": {"count": 20_000, "percentiles_ns": {"99": 3_000}, "histogram": "AAAA"},
        "service": {
            "count": 20_000,
            "percentiles_ns": {"50": 50, "99": 90},
            "histogram": "AAAA",
        },
        "void": None,
        **changes.pop("open_loop", {}),
    }
    return document(
        requests={"sent": 20_000, "ok": 20_000, "errors": 0, "rate_per_s": 10_000.0},
        errors={},
        little=None,
        open_loop=open_loop,
        **changes,
    )


def overwhelmed(**changes: Any) -> dict[str, Any]:
    """The server took 12,000 of them; the others still waited when the generator ended."""
    return open_document(
        open_loop={"rate_kept": False, "not_sent": 7_950, **changes.pop("open_loop", {})}
    ) | {
        "requests": {"sent": 12_050, "ok": 12_000, "errors": 8_000, "rate_per_s": 6_000.0},
        "errors": {"deadline": 7_950, "read_timeout": 50},
        "first_error": {"kind": "deadline", "sent": "nothing"},
        **changes,
    }


def read(raw: dict[str, Any]) -> Document:
    return Document.model_validate(raw)


def figures(raw: dict[str, Any], load: OpenLoad) -> dict[str, float | int | None]:
    return metrics(read(raw), load, ready_ns=1)


def test_figures_of_an_open_loop() -> None:
    found = figures(open_document(), PINNED)
    assert found["offered_per_s"] == 10_000.0
    assert found["throughput_per_s"] == 10_000.0
    assert found["lag_p99_ns"] == 3_000
    assert (found["service_p50_ns"], found["service_p99_ns"]) == (50, 90)
    assert found["p50_ns"] == 5
    assert found["success_ratio"] == 1.0
    assert found["cpu_per_request_ns"] == 1000 / 20_000
    assert judge(read(open_document()), PINNED) == "right"
    assert too_slow(read(open_document()), PINNED) is None


def test_a_document_is_stored_without_the_histograms_of_its_open_loop(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    file.write_text(json.dumps(open_document()))
    load = read_document(file).load
    assert "histogram" not in load["open_loop"]["lag"]
    assert load["open_loop"]["lag"]["percentiles_ns"] == {"99": 3_000}


def test_a_server_that_cannot_keep_up_has_its_goodput_and_no_cost() -> None:
    raw = read(overwhelmed())
    assert judge(raw, PINNED) == "right"
    assert kept_up(raw) is False
    assert too_slow(raw, PINNED) == "could_not_keep_up: answered 6,000/s of 10,000/s"
    found = figures(overwhelmed(), PINNED)
    assert found["throughput_per_s"] == 6_000.0
    assert found["success_ratio"] == 0.6
    assert "cpu_per_request_ns" not in found
    assert found["p50_ns"] == 5, "the waiting is the server's, so it stays"


def test_the_servers_share_of_its_core_is_of_the_window_alone() -> None:
    raw = overwhelmed(open_loop={"drain_ns": SECOND // 2})
    raw["server"] = {"cpu_user_ns": SECOND // 4, "cpu_system_ns": SECOND // 4}
    assert raw["window"]["elapsed_ns"] == SECOND // 2
    assert server_cpu_share(read(raw), cores=1) == 1.0
    assert server_cpu_share(read(raw), cores=2) == 0.5


QUOTA = {"cpu_quota": 0.5, "throttled_periods": 5, "throttled_ns": SECOND // 4}


def test_what_a_cpu_quota_stopped_was_at_its_limit() -> None:
    raw = open_document()
    raw["server"] = {"cpu_user_ns": SECOND // 4, "cpu_system_ns": 0, **QUOTA}
    raw["generator"] = {"cpu_share": 0.3, **QUOTA, "limited_by": None}
    short = read(raw)
    assert server_cpu_share(short, cores=1) == 0.5
    assert short.generator.used_share == 0.3
    assert stopped_by_quota(short) == []
    raw["server"]["limited_by"] = raw["generator"]["limited_by"] = "cpu_quota"
    long = read(raw)
    assert server_cpu_share(long, cores=1) == 1.0
    assert long.generator.used_share == 1.0
    assert stopped_by_quota(long) == [
        f"{who}_stopped_by_cpu_quota: a CPU quota of 0.5 stopped the {who} in 5 periods, for 250 ms"
        for who in ("generator", "server")
    ]


def test_an_overload_is_no_surprise_and_has_no_latency() -> None:
    raw = read(overwhelmed())
    assert judge(raw, OVER) == "right"
    assert too_slow(raw, OVER) is None
    found = figures(overwhelmed(), OVER)
    assert (found["offered_per_s"], found["throughput_per_s"]) == (9_000.0, 6_000.0)
    assert found["p50_ns"] is found["p99_ns"] is None


@pytest.mark.parametrize(
    "changes",
    [
        {"errors": {"deadline": 7_000, "bad_body": 1}},
        # Sent and never answered: it hangs.
        {"first_error": {"kind": "read_timeout", "sent": "GET /"}},
        {"errors": {"deadline": 7_000, "read_timeout": 51}},
        {"open_loop": {"rate_kept": True}},
    ],
)
def test_other_errors_fail_an_open_loop(changes: dict[str, Any]) -> None:
    assert judge(read(overwhelmed(**changes)), PINNED) == "failed"


def test_a_void_window_is_void_but_in_an_overload() -> None:
    raw = read(open_document(open_loop={"void": "it sent late"}))
    assert void_reason(raw, PINNED) == "it sent late"
    assert void_reason(raw, OVER) is None
    assert (
        void_reason(read(document()), ClosedLoad(connections=1, warmup_ns=0, window_ns=1)) is None
    )


def test_a_generator_that_was_too_slow_is_not_the_servers_fault() -> None:
    raw = read(overwhelmed(open_loop={"limited_by": "generator", "void": "rate missed"}))
    assert too_slow(raw, PINNED) is None
    assert void_reason(raw, PINNED) == "rate missed"
    blamed = read(overwhelmed(open_loop={"limited_by": "server"}))
    assert too_slow(blamed, PINNED) is not None


@pytest.mark.parametrize(
    ("limited_by", "cpu_share", "void"),
    [
        ("generator", 0.6, True),
        # Nothing would mark its goodput as a bound.
        ("generator", None, True),
        ("generator", BUSY_SHARE, False),
        ("server", 0.6, False),
    ],
)
def test_an_overload_by_a_generator_that_was_late_but_not_busy_is_void(
    limited_by: str, cpu_share: float | None, void: bool
) -> None:
    raw = overwhelmed(open_loop={"limited_by": limited_by, "void": "it could not send more"})
    raw["generator"] = {"cpu_share": cpu_share}
    assert void_reason(read(raw), OVER) == ("it could not send more" if void else None)


def test_time_limits_and_estimate_hold_the_window() -> None:
    assert watchdog.limit_ns(PINNED, timeout_ns=5 * SECOND, threads=1) > 7 * SECOND
    cell = next(one for one in STUDIES["concurrency"].preset("load").cells if one.id == "rate-1000")
    assert isinstance(cell.load, OpenLoad)
    longer = replace(cell, load=replace(cell.load, window_ns=cell.load.window_ns + SECOND))
    short, long = (trial_ns(one, language="go", hardware_threads=2) for one in (cell, longer))
    assert long - short == SECOND


@pytest.mark.parametrize(
    ("share", "window_ns", "waiting_ns"),
    [
        (0.9, 2 * SECOND, 0),
        # Half of what was due in the warm-up and the window is still to be answered.
        (1.5, 2 * SECOND, (SECOND // 2 + 2 * SECOND) // 2),
        # The generator waits no longer than for one reply.
        (9.0, 2 * SECOND, REPLY_TIMEOUT_NS),
    ],
)
def test_the_estimate_of_an_overload_holds_its_last_replies(
    share: float, window_ns: int, waiting_ns: int
) -> None:
    cell = next(one for one in STUDIES["concurrency"].preset("load").cells if one.id == "load-50")

    def estimate(load: OpenLoad) -> int:
        return trial_ns(replace(cell, load=load), language="go", hardware_threads=2)

    load = replace(HALF, share=share, window_ns=window_ns)
    assert estimate(load) - estimate(replace(load, share=0.5)) == waiting_ns
