"""The layout of a report as wide as reports get, on a desktop, on a phone and on paper: nothing is
cut off, covered or out of reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import Page, chromium, find_chromium
from crowded_run import write_crowded_run
from wirebench.report import write_report
from wirebench.report.palette import LINES, ON_DARK

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        find_chromium() is None, reason="chromium is not installed: apt-get install chromium"
    ),
]

DESKTOP, PHONE = 1280, 390
A4_LANDSCAPE = 1047
"""In CSS pixels, without the margins."""
DRAWN = "document.documentElement.dataset.charts === 'drawn'"
UNFOLD = "document.querySelectorAll('details').forEach(one => { one.open = true; })"
BOXES = """[...document.querySelectorAll('.scroll')].map(box => ({
    label: box.getAttribute('aria-label'), role: box.getAttribute('role'), keys: box.tabIndex === 0,
    beyond: box.scrollWidth - box.clientWidth,
}))"""
BESIDE_THE_PAGE = """[...document.querySelectorAll('body *')]
    .filter(one => !one.closest('.scroll table, nav, svg'))
    .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map(one => one.tagName + ' ' + one.textContent.slice(0, 60))"""
SCROLLED = """[...document.querySelectorAll('.scroll')].flatMap(box => {
    box.scrollLeft = 1e6;
    const [left, right] = [box.getBoundingClientRect().left, box.getBoundingClientRect().right];
    const seen = one => one.getBoundingClientRect();
    const names = [...box.querySelectorAll('tr > .name:first-child')]
        .filter(one => Math.abs(seen(one).left - left) > 2);
    const remarks = [...box.querySelectorAll('.remarks p')]
        .filter(one => seen(one).left < left || seen(one).right > right + 1);
    return [...names, ...remarks].map(one => [box.getAttribute('aria-label'), one.textContent]);
})"""
LABELS_COVERED = """[...document.querySelectorAll('.chart .role-axis-label')].flatMap(axis => {
        const boxes = [...axis.querySelectorAll('text')]
            .filter(text => text.textContent && text.getAttribute('opacity') !== '0')
            .map(text => ({said: text.textContent, box: text.getBoundingClientRect()}));
        return boxes.flatMap((one, index) => boxes.slice(index + 1)
            .filter(other => one.box.left < other.box.right - 1
                && other.box.left < one.box.right - 1
                && one.box.top < other.box.bottom - 4 && other.box.top < one.box.bottom - 4)
            .map(other => [axis.closest('.chart').id, one.said, other.said]));
    })"""
OUTSIDE = """[...document.querySelectorAll('.chart svg')].flatMap(svg => {
    const whole = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].filter(text => text.textContent)
        .map(text => ({said: text.textContent, box: text.getBoundingClientRect()}))
        .filter(({box}) => box.left < whole.left - 1 || box.right > whole.right + 1
            || box.top < whole.top - 1 || box.bottom > whole.bottom + 1)
        .map(({said}) => [svg.closest('.chart').id, said]);
})"""
COVERED = """[...document.querySelectorAll('.chart svg .mark-text.role-mark')].flatMap(marks => {
    const boxes = [...marks.querySelectorAll('text')]
        .map(text => ({said: text.textContent, box: text.getBoundingClientRect()}));
    return boxes.flatMap((one, index) => boxes.slice(index + 1)
        .filter(other => one.box.left < other.box.right && other.box.left < one.box.right
            && one.box.top < other.box.bottom - 3 && other.box.top < one.box.bottom - 3)
        .map(other => [marks.closest('.chart').id, one.said, other.said]));
})"""
UNNAMED = """[...document.querySelectorAll('.chart')].filter(chart =>
    chart.querySelectorAll('.mark-line.role-mark path').length
        !== chart.querySelectorAll('.mark-text.role-mark text').length
    && chart.querySelector('.mark-line')).map(chart => chart.id)"""
SIZES = pytest.mark.parametrize(("width", "phone"), [(DESKTOP, False), (PHONE, True)])


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(write_crowded_run(tmp_path_factory.mktemp("results")))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def show(page: Page, report: Path, width: int, *, phone: bool, dark: bool = False) -> None:
    """The whole report, with nothing folded."""
    page.window(width, 900, phone=phone, dark=dark)
    page.open(report)
    page.wait_for(DRAWN)
    page.value(UNFOLD)


def boxes(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.value(BOXES)
    assert len(found) > 100
    return found


@SIZES
def test_the_page_itself_never_scrolls_sideways(
    page: Page, report: Path, width: int, *, phone: bool
) -> None:
    show(page, report, width, phone=phone)
    assert page.value("document.scrollingElement.scrollWidth") <= width
    assert page.value(BESIDE_THE_PAGE) == []
    assert page.problems == []


def test_every_table_is_whole_on_a_desktop(page: Page, report: Path) -> None:
    show(page, report, DESKTOP, phone=False)
    assert {one["label"]: one["beyond"] for one in boxes(page) if one["beyond"] > 0} == {}


def test_a_wide_table_on_a_phone_scrolls_in_its_box_with_the_names_in_view(
    page: Page, report: Path
) -> None:
    show(page, report, PHONE, phone=True)
    page.wait_for("document.querySelectorAll('.scroll[tabindex]').length > 50")
    found = boxes(page)
    assert all(one["role"] == "region" and one["label"] for one in found)
    assert len({one["label"] for one in found}) == len(found)
    assert [one for one in found if one["keys"] != (one["beyond"] > 0)] == []
    assert page.value(SCROLLED) == []


def test_a_wide_table_scrolls_by_keys(page: Page, report: Path) -> None:
    show(page, report, PHONE, phone=True)
    box = "document.querySelector('.scroll[tabindex]')"
    page.wait_for(f"{box} !== null")
    page.value(f"{box}.focus()")
    page.press("ArrowRight")
    page.wait_for(f"{box}.scrollLeft > 0")


@SIZES
def test_every_text_of_a_chart_is_whole(
    page: Page, report: Path, width: int, *, phone: bool
) -> None:
    show(page, report, width, phone=phone)
    names = "[...document.querySelectorAll('.chart svg .mark-text text')].length"
    assert page.value(names) > 50
    assert page.value(OUTSIDE) == []
    assert page.value(COVERED) == []
    assert page.value(LABELS_COVERED) == []


def test_every_line_is_named_where_it_ends(page: Page, report: Path) -> None:
    show(page, report, DESKTOP, phone=False)
    assert page.value("document.querySelectorAll('.chart .mark-line path').length") > 500
    assert page.value(UNNAMED) == []


def test_nothing_is_cut_off_on_paper_and_dark_charts_have_the_colours_of_white(
    page: Page, report: Path
) -> None:
    show(page, report, A4_LANDSCAPE, phone=False, dark=True)
    page.window(A4_LANDSCAPE, 720, phone=False, dark=True, paper=True)
    assert {one["label"]: one["beyond"] for one in boxes(page) if one["beyond"] > 0} == {}
    assert page.value("document.scrollingElement.scrollWidth") <= A4_LANDSCAPE
    strokes = page.value(
        """[...new Set([...document.querySelectorAll('.chart .mark-line path')].map(path =>
        getComputedStyle(path).stroke))]"""
    )
    assert {as_hex(one) for one in strokes} & set(ON_DARK.values()) == set()
    assert set(LINES) <= {as_hex(one) for one in strokes}
    ground = page.value("getComputedStyle(document.body).backgroundColor")
    assert as_hex(ground) == "#ffffff"


def as_hex(colour: str) -> str:
    """Of ``rgb(1, 2, 3)``."""
    parts = colour.removeprefix("rgb(").removesuffix(")").split(",")
    return "#" + "".join(f"{int(part):02x}" for part in parts)
