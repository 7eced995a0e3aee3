"""Histograms of several generators put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from wirebench.trial.histogram import together
from wirebench.trial.wireload import DocumentError, Latency

PERCENTILES = (50, 75, 90, 99, 99.9, 99.99)


def latency(values: Sequence[int], names: Sequence[str] = ("50", "99")) -> Latency:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values:
        histogram.record_value(int(value))
    return Latency(
        count=len(values),
        min_ns=int(min(values)),
        mean_ns=float(np.mean(values)),
        max_ns=int(max(values)),
        percentiles_ns=dict.fromkeys(names),
        histogram=histogram.encode().decode("ascii"),
    )


def test_parts_are_the_whole() -> None:
    values = [int(value) for value in np.random.default_rng(1).lognormal(12, 1, 20_000)]
    names = [f"{percent:g}" for percent in PERCENTILES]
    parts = [latency(values[first::3], names) for first in range(3)]
    found = together(parts)
    assert found.count == len(values)
    assert (found.min_ns, found.max_ns) == (min(values), max(values))
    assert found.mean_ns == pytest.approx(np.mean(values))
    ordered = sorted(values)
    for percent, name in zip(PERCENTILES, names, strict=True):
        if percent == 99.99:  # two samples beyond it
            assert found.percentiles_ns[name] is None
            continue
        # The smallest value that so many do not exceed, within its bucket.
        truth = ordered[round(len(values) * percent / 100) - 1]
        assert found.percentiles_ns[name] == pytest.approx(truth, rel=1 / 1024 + 1e-9)
        assert (found.percentiles_ns[name] or 0) >= truth
    assert together([found]).percentiles_ns == found.percentiles_ns


def test_percentiles_need_ten_samples_beyond_them() -> None:
    found = together([latency([1] * 500), latency([2] * 500)])
    assert found.percentiles_ns == {"50": 1, "99": 2}
    assert together([latency([1] * 499), latency([2] * 500)]).percentiles_ns["99"] is None


def test_a_part_without_replies_adds_nothing() -> None:
    none = Latency(count=0, percentiles_ns={"50": None})
    assert together([none, none]).count == 0
    assert together([none, latency([5] * 30)]).percentiles_ns["50"] == 5


@pytest.mark.parametrize("histogram", [None, "HISTFAAA", "not base64"])
def test_a_histogram_that_cannot_be_read_is_an_error(histogram: str | None) -> None:
    broken = latency([1, 2]).model_copy(update={"histogram": histogram})
    with pytest.raises(DocumentError, match="histogram"):
        together([latency([1, 2]), broken])


def test_a_histogram_of_other_samples_is_an_error() -> None:
    wrong = latency([1, 2]).model_copy(update={"count": 3})
    with pytest.raises(DocumentError, match="of 3 samples, got one of 2"):
        together([wrong, wrong])
