"""Markdown: text stays what it is, whoever wrote it."""

from __future__ import annotations

import pytest

from duel_world import cell_of, trials_of
from test_duel import duelled
from wirebench.duel.text import markdown
from wirebench.duel.verdicts import judged
from wirebench.report.markdown import one_line, row


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("* a footnote", "\\* a footnote"),
        ("![seen](http://elsewhere/)", "![seen]\\(http://elsewhere/)"),
        ("`code` **bold**", "\\`code\\` \\*\\*bold\\*\\*"),
        ("C:\\new\\*", "C:\\\\new\\\\\\*"),
        ("1.07x [1.04, 1.11] (of\nmany)", "1.07x [1.04, 1.11] (of many)"),
        ("a~twin and b~twin", "a\\~twin and b\\~twin"),
        ("in __init__: _x_ of p99_ns", "in \\_\\_init\\_\\_: \\_x\\_ of p99_ns"),
        ("<b> & cpu_per_request", "&lt;b> &amp; cpu_per_request"),
    ],
)
def test_text_is_no_markup(text: str, written: str) -> None:
    assert one_line(text) == written


def test_a_bar_in_a_cell_begins_no_other() -> None:
    assert row(["a|b", "c\\|d"]) == "| a\\|b | c\\\\\\|d |"


def test_the_footnote_of_a_duel_is_no_item_of_a_list() -> None:
    """Without the star nothing says what the stars of the table are about."""
    result = judged(
        cell_of(), trials_of(cell_of(), 8, factor=1, noise=0.01, seed=1), level=0.05, band=0.01
    )
    lines = markdown(duelled(result)).splitlines()
    assert any(line.startswith("\\* set by the load") for line in lines)
    assert not any(line.startswith("* ") for line in lines)
