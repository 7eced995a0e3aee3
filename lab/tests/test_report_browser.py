"""The report in a real browser with its network off, on a desktop and on a phone: every chart is
drawn, nothing complains.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Page, chromium, find_chromium
from synthetic_footprint import footprint
from synthetic_run import write_run
from synthetic_world import World, studies
from wirebench.footprint import records
from wirebench.report import analyse_run, write_report
from wirebench.report.facts import facts_of
from wirebench.report.palette import LINES, ON_DARK
from wirebench.report.view import page_view
from wirebench.store.rundir import read_run

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        find_chromium() is None, reason="chromium is not installed: apt-get install chromium"
    ),
]

DRAWN = "document.documentElement.dataset.charts === 'drawn'"
MARKS = """[...document.querySelectorAll('.chart')].map(chart => ({
    id: chart.id,
    state: chart.dataset.state,
    marks: chart.querySelectorAll(
        'svg .mark-symbol path, svg .mark-line path, svg .mark-rule line').length,
    labels: [...chart.querySelectorAll('svg .role-axis-label text')].map(text => text.textContent),
    left: chart.getBoundingClientRect().left, right: chart.getBoundingClientRect().right,
    width: chart.querySelector('svg')
        ? chart.querySelector('svg').getBoundingClientRect().width : 0,
}))"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(write_run(tmp_path_factory.mktemp("results"), World(samples=800)))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize(
    ("width", "height", "phone", "dark"),
    [
        (1280, 900, False, False),
        (1280, 900, False, True),
        (390, 844, True, False),
        (390, 844, True, True),
    ],
    ids=["desktop", "desktop-dark", "phone", "phone-dark"],
)
def test_every_chart_is_drawn_and_nothing_complains(
    page: Page, report: Path, width: int, height: int, phone: bool, dark: bool
) -> None:
    page.window(width, height, phone=phone, dark=dark)
    page.open(report)
    page.wait_for(DRAWN)
    charts = page.value(MARKS)
    # At least two for each cell (ratios and percentiles), and one more for each study.
    cells = [cell for study in studies().values() for cell in study.preset("quick").cells]
    assert len(charts) >= 2 * len(cells) + len(studies())
    for chart in charts:
        assert chart["state"] == "drawn", chart
        assert chart["marks"] > 0, chart
        assert len(chart["labels"]) >= 4, chart
        assert not any("…" in label for label in chart["labels"]), chart
        assert -0.5 <= chart["left"] < chart["right"] <= width + 0.5, chart
        assert (
            0.9 * (chart["right"] - chart["left"])
            < chart["width"]
            <= chart["right"] - chart["left"] + 1
        ), chart
    assert page.value("document.scrollingElement.scrollWidth") <= width
    assert page.value("document.title").startswith("wirebench: ")
    assert page.value("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    assert page.problems == []
    assert [url for url in page.requests if not url.startswith("file:")] == []


def test_a_name_of_the_legend_singles_out_its_line(page: Page, report: Path) -> None:
    page.window(1280, 900, phone=False)
    page.open(report)
    page.wait_for(DRAWN)
    faded = """[...document.querySelectorAll('#study-concurrency .mark-line path')]
        .filter(path => Number(path.getAttribute('opacity') ?? 1) < 0.5).length"""
    assert page.value(faded) == 0
    button = (
        "document.querySelector('#study-concurrency .legend button[data-entry=\"go/net-http\"]')"
    )
    page.value(f"{button}.click()")
    page.wait_for(f"{faded} > 10")
    assert page.value(f"{button}.getAttribute('aria-pressed')") == "true"
    page.value(f"{button}.click()")
    page.wait_for(f"{faded} === 0")
    assert page.problems == []


def test_the_theme_button_redraws_in_the_other_theme(page: Page, report: Path) -> None:
    page.window(1280, 900, phone=False)
    page.open(report)
    page.wait_for(DRAWN)
    page.value("document.getElementById('theme').click()")
    page.wait_for(DRAWN)
    assert page.value("document.documentElement.dataset.theme") == "dark"
    strokes = (
        "[...document.querySelectorAll('.chart svg .mark-line path')].map(path =>"
        " path.getAttribute('stroke'))"
    )
    samples = (
        "[...document.querySelectorAll('.legend svg')].map(sample => sample.getAttribute('stroke'))"
    )
    assert set(page.value(strokes)) & set(LINES) == set()
    assert set(page.value(samples)) <= set(page.value(strokes)) <= set(ON_DARK.values())
    label = page.value(
        "document.querySelector('.chart .role-axis-label text').getAttribute('fill')"
    )
    assert label == page.value(
        "getComputedStyle(document.documentElement).getPropertyValue('--text').trim()"
    )
    assert page.problems == []


def test_footprints_are_sorted_by_a_heading_and_the_unknown_come_last(
    page: Page, tmp_path: Path
) -> None:
    path = write_run(tmp_path, World(studies=("rest",), samples=60))
    facts = facts_of(read_run(path))
    starts: dict[str, int | None] = {"a": 9_000_000, "b": None, "c": 12_000_000, "d": 800_000}
    names = dict(zip(sorted(facts), starts.values(), strict=False))
    for name, start_ns in names.items():
        one = footprint(name, version=facts[name].version, first_reply_ns=start_ns)
        records.write(tmp_path, one)
    page.window(1280, 900, phone=False)
    page.open(write_report(path))
    page.wait_for(DRAWN)
    table = "#footprint table.sortable"
    heading = (
        f"[...document.querySelectorAll('{table} th')].find(one => one.textContent === 'start')"
    )
    column = (
        f"[...document.querySelectorAll('{table} tbody tr')]"
        f".map(row => row.cells[{heading}.cellIndex].textContent)"
    )
    first = f"[...document.querySelectorAll('{table} tbody td.name')].length"
    assert page.value(first) == len(names)
    unknown = page.value(column)[1]
    page.value(f"{heading}.firstElementChild.click()")
    assert page.value(column) == ["800 µs", "9.00 ms", "12.0 ms", unknown]
    assert page.value(f"{heading}.getAttribute('aria-sort')") == "ascending"
    page.value(f"{heading}.firstElementChild.click()")
    assert page.value(column) == ["12.0 ms", "9.00 ms", "800 µs", unknown]
    assert page.problems == []


def test_limits_leave_those_that_meet_them(page: Page, tmp_path: Path) -> None:
    path = write_run(tmp_path, World(studies=("concurrency",), samples=300))
    run = read_run(path)
    view = page_view(run, analyse_run(run)).studies[0].choice
    assert view is not None
    rate = next(index for index, one in enumerate(view.criteria) if one.at_least)
    values = sorted(row.fields[rate].value or 0.0 for row in view.rows)
    limit = (values[-1] + values[-2]) / 2
    page.window(1280, 900, phone=False)
    page.open(write_report(path))
    page.wait_for(DRAWN)

    def shown() -> list[str]:
        rows = "[...document.querySelectorAll('.choice tbody tr')].filter(row => !row.hidden)"
        return list(page.value(f"{rows}.map(row => row.cells[0].textContent)"))

    def ask(limit: str, text: str) -> None:
        page.value(
            f"(() => {{ const input = document.querySelector('.choice [data-limit=\"{limit}\"]');"
            f" input.value = '{text}';"
            " input.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )

    names = [row.contestant for row in view.rows]
    assert shown() == names
    ask(str(rate), f"{limit:,.0f}")
    maybe = [
        row.contestant
        for row in view.rows
        if (found := row.fields[rate]).value is not None
        and (found.high is None or found.high >= limit)
    ]
    assert shown() == maybe
    assert 0 < len(maybe) < len(names)
    status = "document.querySelector('.choice [role=status]').textContent"
    assert f"of {len(names)} meet it" in page.value(status)
    ask(str(rate), "20 ms")
    wrong = f"document.querySelector('.choice [data-limit=\"{rate}\"]').validationMessage"
    assert page.value(wrong) == "expected a number such as 10,000"
    assert shown() == names
    ask(str(rate), "1,500.5")
    assert page.value(wrong) == ""
    ask(str(rate), "1,5")
    assert page.value(wrong) == "expected a number such as 10,000", "no comma for the point"
    ask(str(rate), "")
    ask("language", "go")
    assert shown() == [name for name in names if name.startswith("go/")]
    assert page.problems == []


def test_a_chart_that_cannot_be_drawn_is_seen(page: Page, report: Path, tmp_path: Path) -> None:
    """So that the tests above can fail."""
    broken = tmp_path / "broken.html"
    broken.write_text(
        report.read_text().replace('"mark":{"type":"line"', '"mark":{"type":"no such mark"')
    )
    page.window(1280, 900, phone=False)
    page.open(broken)
    page.wait_for(DRAWN)
    assert any(chart["state"] == "failed" for chart in page.value(MARKS))
    assert page.problems != []
