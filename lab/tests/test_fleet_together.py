"""Several generators as one load: made-up documents, whose sums and faults are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from wirebench.fleet.clocks import Clock
from wirebench.fleet.together import Told, merged_log, skew_ns, whole
from wirebench.trial.wireload import Document, DocumentError

S = 1_000_000_000
MS = 1_000_000
NO_DRIFT = Clock(offset_ns=0, round_trip_ns=200_000)


def histogram(*values: int) -> str:
    one = HdrHistogram(1, 3600 * S, 3)
    for value in values:
        one.record_value(value)
    return str(one.encode().decode())


def log(*intervals: tuple[int, ...]) -> str:
    rows = [f"{n / 10:.3f},0.100,0.001,{histogram(*one)}" for n, one in enumerate(intervals)]
    return "\n".join(["#wireload", '"StartTimestamp","Interval_Length"', *rows, ""])


def told(
    number: int = 1,
    *,
    begun_ns: int = 10 * S,
    offset_ns: int = 0,
    values: tuple[int, ...] = (1000, 2000),
    cpu_share: float = 0.3,
    quota: dict[str, Any] | None = None,
    void: str | None = None,
    stopped_by: str = "duration",
    errors: dict[str, int] | None = None,
) -> Told:
    """A generator that began at this moment of our clock."""
    empty = {"count": 0}
    latency = {
        "count": len(values),
        "min_ns": min(values, default=None),
        "max_ns": max(values, default=None),
        "mean_ns": sum(values) / len(values),
        "percentiles_ns": {"50": None},
        "histogram": histogram(*values),
    }
    raw: dict[str, Any] = {
        "connect": {"attempted": 1, "opened": 1, "failed": 0},
        "window": {"elapsed_ns": 2 * S, "stopped_by": stopped_by},
        "requests": {"sent": len(values), "ok": len(values), "errors": 0, "rate_per_s": 1.5},
        "errors": errors or {},
        "latency": latency,
        "open_loop": {
            "rate": 2.0,
            "scheduled": 2,
            "rate_kept": True,
            "lag": {"count": 2, "percentiles_ns": {"99": 7}},
            "service": empty,
            "void": void,
        },
        "generator": {"cpu_share": cpu_share, **(quota or {})},
        "start": {"asked_steady_ns": begun_ns + offset_ns - 5, "late_ns": 5},
    }
    clock = replace(NO_DRIFT, offset_ns=offset_ns)
    return Told(
        host=f"h{number}",
        number=number,
        before=clock,
        after=clock,
        document=Document.model_validate(raw),
        raw=raw,
        log=log(values),
    )


def test_counts_and_rates_add_up_and_histograms_lose_nothing() -> None:
    one = told(1, values=(1000, 2000), errors={"bad_body": 2})
    two = told(2, values=(3000, 4000, 5000), errors={"bad_body": 1, "tls": 1})
    found = whole([one, two])
    assert (found.sent, found.ok, found.rate_per_s) == (5, 5, 3.0)
    assert found.errors == {"bad_body": 3, "tls": 1}
    assert (found.latency.count, found.latency.min_ns, found.latency.max_ns) == (5, 1000, 5000)
    assert found.latency.histogram is not None
    merged = HdrHistogram.decode(found.latency.histogram)
    direct = HdrHistogram.decode(histogram(1000, 2000, 3000, 4000, 5000))
    assert list(merged.counts) == list(direct.counts)
    assert found.void == ()


def test_intervals_are_merged_by_their_number_and_each_log_stays() -> None:
    one, two = log((1000,), (2000, 2000)), log((3000,), (4000,), (5000,))
    lines = [line for line in merged_log([one, two]).splitlines() if line[0].isdigit()]
    assert [line.split(",")[0] for line in lines] == ["0.000", "0.100", "0.200"]
    counts = [HdrHistogram.decode(line.split(",")[3]).get_total_count() for line in lines]
    assert counts == [2, 3, 1]
    assert merged_log([one, two]).startswith("#wireload\n")
    assert merged_log([one]).count("\n") == one.count("\n")


def test_a_log_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(DocumentError, match="log: not read"):
        merged_log(["0.000,0.100,0.001,nonsense\n"])


def test_starts_are_compared_by_our_clock_with_what_is_not_known_of_them() -> None:
    # Clocks far apart, and one moment.
    here, there = told(1), told(2, offset_ns=70_000 * S)
    assert here.begun_ns == there.begun_ns
    assert skew_ns([here, there]) == 2 * here.uncertainty_ns == 200_000
    assert skew_ns([here]) == 0
    late = told(2, begun_ns=10 * S + 3 * MS)
    assert skew_ns([here, late]) == 3 * MS + 200_000
    # A clock that drifted is not known any better.
    drifted = replace(here, after=replace(NO_DRIFT, offset_ns=40_000))
    assert skew_ns([drifted, there]) == 100_000 + 100_000 + 40_000


def test_a_window_is_void_when_the_starts_differ_by_more_than_a_hundredth() -> None:
    # 2 s: 20 ms are allowed, of which 0.2 ms are not known.
    assert whole([told(1), told(2, begun_ns=10 * S + 19 * MS)]).void == ()
    (reason,) = whole([told(1), told(2, begun_ns=10 * S + 20 * MS)]).void
    assert "began up to 20.20 ms apart, which is more than 1% of the window of 2000 ms" in reason


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"cpu_share": 0.96}, "it used 96% of its CPUs"),
        (
            {
                "quota": {
                    "cpu_quota": 0.5,
                    "throttled_periods": 9,
                    "throttled_ns": 450_000_000,
                    "limited_by": "cpu_quota",
                }
            },
            "a CPU quota of 0.5 stopped the generator in 9 periods, for 450 ms",
        ),
        ({"void": "the rate was missed"}, "the rate was missed"),
        ({"stopped_by": "signal"}, "its window was ended by signal"),
    ],
)
def test_a_window_is_void_when_a_generator_was_the_limit(wrong: dict[str, Any], why: str) -> None:
    (reason,) = whole([told(1), told(2, **wrong)]).void
    assert reason == f"the generator on h2 was the limit: {why}; take more of them"


def test_skew_and_lag_of_each_are_told() -> None:
    found = whole([told(1), told(2, begun_ns=10 * S + MS, offset_ns=S)]).to_json()["validity"]
    assert found["skew_ns"] == MS + 200_000
    one, two = found["of"]
    assert (one["host"], one["skew_ns"]) == ("h1", 0)
    assert (two["host"], two["skew_ns"], two["late_ns"]) == ("h2", MS, 5)
    assert two["lag_ns"] == {"99": 7}
    assert two["uncertainty_ns"] == 100_000


def test_without_a_start_or_a_length_nothing_is_said() -> None:
    one = told()
    without = replace(one, document=one.document.model_copy(update={"start": None}))
    with pytest.raises(DocumentError, match="host h1: wireload: start: expected one, got none"):
        whole([without, told(2)])
    with pytest.raises(DocumentError, match="expected a length of each"):
        whole([])
