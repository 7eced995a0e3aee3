"""Percentiles, axes, numbers, and the colours and dashes of a report's lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from itertools import combinations

import numpy as np
import pytest

from wirebench.catalog.units import duration
from wirebench.report.bars import Bar, bar_chart
from wirebench.report.drawing import Style, ratio_ticks
from wirebench.report.figures import figure, percent, ratio_text, times
from wirebench.report.histograms import MEDIAN, curve, merge
from wirebench.report.palette import FLOOR, LINES, MARKS, ON_DARK, looks
from wirebench.report.plain import drawn
from wirebench.stats.types import Ratio


def test_percentile_curves_are_the_histogram_s_own() -> None:
    from hdrh.histogram import HdrHistogram

    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in range(1, 10_001):
        histogram.record_value(value * 1000)
    merged = merge([histogram.encode().decode(), "not a histogram", histogram.encode().decode()])
    assert merged is not None
    points = curve(merged)
    assert points[0].nines == MEDIAN
    by_nines = {round(point.nines, 3): point.value_ns for point in points}
    assert by_nines[1.0] == pytest.approx(9_000_000, rel=0.002)
    assert by_nines[2.0] == pytest.approx(9_900_000, rel=0.002)
    assert points[-1].nines == pytest.approx(3.3)  # 20,000 samples: ten lie beyond 99.95%
    few = HdrHistogram(1, 1_000_000, 3)
    few.record_value(5)
    assert curve(few) == []


@pytest.mark.parametrize(
    ("least", "most"),
    [(0.97, 1.03), (0.012, 1.05), (0.95, 30), (1e5, 9e9), (1.0, 1e12), (0.5, 1.3)],
)
def test_ticks_are_few_round_and_inside(least: float, most: float) -> None:
    ticks = ratio_ticks(least, most)
    assert 1 < len(ticks) <= 6
    assert all(least <= tick <= most for tick in ticks)


def test_numbers_for_people() -> None:
    assert [duration(ns) for ns in (999, 1_000, 999_960, 72_340_000, 3.2e9)] == [
        "999 ns",
        "1.00 µs",
        "1.00 ms",
        "72.3 ms",
        "3.20 s",
    ]
    assert figure("memory_per_connection_bytes", 4096 * 1.5) == "6.00 KiB"
    assert figure("success_ratio", 0.99951) == "99.95%"
    assert figure("success_ratio", 1 - 1e-6) == "99.99%", "one message of a million is missing"
    assert figure("success_ratio", 0.99996) == "99.99%"
    assert figure("success_ratio", 1.0) == "100%"
    assert figure("unanswered_ratio", 2e-8) == "<0.01%", "one message of fifty million"
    assert figure("unanswered_ratio", 0.0) == "0%"
    assert [percent(value) for value in (0.5, 1 - 1e-6, 1.0)] == ["50.0%", "99.9%", "100.0%"]
    assert [percent(value) for value in (0.0, 1e-6)] == ["0.0%", "<0.1%"]
    assert figure("throughput_per_s", 123456.7) == "123,457"
    assert [times(value) for value in (0.0123, 0.0404, 0.5, 1.074, 30.2, 1234)] == [
        "0.012×",
        "0.040×",
        "0.50×",
        "1.07×",
        "30.2×",
        "1,234×",
    ]
    assert ratio_text(Ratio(estimate=1.07, low=1.04, high=1.114, blocks=6)) == "1.07× [1.04, 1.11]"


def test_an_axis_of_seconds_begins_at_0_and_not_at_nanoseconds() -> None:
    style = Style(looks=looks([["a"]], floors=[]), target="file")
    bars = [Bar(name="a", value=8e9, text="8.00 s", fault="")]
    svg = drawn(bar_chart(bars, style, title="total"))
    assert ">4 s<" in svg
    assert ">0<" in svg
    assert "0 ns" not in svg


def test_lines_of_a_study_look_unlike_and_a_contestant_the_same_everywhere() -> None:
    first, second = (
        [f"a/{index:02}" for index in range(12)],
        [f"b/{index:02}" for index in range(8)],
    )
    both = [*second, "a/00", "cpp/floor"]
    found = looks([[*first, "cpp/floor"], both], floors=["cpp/floor"])
    assert set(found) == {*first, *second, "cpp/floor"}
    assert len(set(found.values())) == 21, "no two alike"
    assert len({found[name].colour for name in first}) == len(LINES)
    assert len({found[name].colour for name in ("a/00", *second[:7])}) == len(LINES)
    twice = [(a, b) for a, b in combinations(first, 2) if found[a].colour == found[b].colour]
    assert len(twice) == 4
    assert all(
        found[a].dash != found[b].dash and found[a].shape != found[b].shape for a, b in twice
    )
    many = looks([[f"a/{index:03}" for index in range(130)]], floors=[])
    assert len(set(many.values())) == 120


def linear_light(colour: str) -> list[float]:
    """Red, green and blue of ``#rrggbb`` without sRGB's coding."""
    coded = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [
        part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)
        for part in coded
    ]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, "contrast ratio" of "relative luminance"."""
    dark, light = sorted(
        float(np.dot(linear_light(colour), (0.2126, 0.7152, 0.0722))) for colour in (one, other)
    )
    return (light + 0.05) / (dark + 0.05)


def test_lines_and_marks_stand_out_on_both_pages() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005), (
        "WCAG's known example of just not enough"
    )
    style = (resources.files("wirebench.report") / "template" / "style.css").read_text()
    light, dark = re.findall(r"--ground: (#\w{6});", style)
    for colour in (*LINES, *MARKS.values(), FLOOR.colour):
        assert contrast(colour, light) >= 4.5, colour
        assert contrast(ON_DARK[colour], dark) >= 4.5, colour


@pytest.mark.parametrize("lines", [LINES, [ON_DARK[line] for line in LINES]], ids=["light", "dark"])
def test_the_colours_of_lines_stay_apart_for_the_colour_blind(lines: Sequence[str]) -> None:
    """Distances in Oklab of what protanopes, deuteranopes and tritanopes see (Machado, Oliveira and
    Fernandes 2009).
    """
    seen = {
        "all": np.eye(3),
        "protan": np.array(
            [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]
        ),
        "deutan": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
        "tritan": np.array(
            [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]
        ),
    }
    to_cones = np.array(
        [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
    )
    to_lab = np.array(
        [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    )
    linear = np.array([linear_light(line) for line in lines])
    for who, matrix in seen.items():
        lab = np.cbrt(np.clip(linear @ matrix.T, 0, 1) @ to_cones.T) @ to_lab.T
        closest = min(float(np.linalg.norm(a - b)) for a, b in combinations(lab, 2))
        assert closest > (0.17 if who == "all" else 0.1), who
