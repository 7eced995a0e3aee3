"""The lists of the probes and of the sections that they stand for."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from wirebench.cli.conformance import list_lines, section_lines
from wirebench.cli.main import run_app
from wirebench.conformance import UNPROBED, ProbeResult


def test_the_command_lists_the_probes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["conformance", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].endswith(" MAY")
    places = [line.split(" | ")[0] for line in lines[2:-2]]
    assert places.index("| RFC 9112 3.2") < places.index("| RFC 9112 7.1")
    assert sum(int(part.split()[0]) for part in lines[-1].split(", ")) == len(places)


def test_the_list_of_probes_may_be_a_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "probes.json"
    assert run_app(["conformance", "--list", "--json", str(file)]) == 0
    assert capsys.readouterr().out == "", "with /dev/stdout it is the document alone"
    probes = json.loads(file.read_text(encoding="utf-8"))
    assert len(probes) == sum(line.startswith("| RFC") for line in list_lines())
    keys = {"part", "id", "document", "section", "level", "sent", "expected"}
    assert all(set(one) == keys for one in probes)
    assert keys < {one.name for one in fields(ProbeResult)}, "as results have them"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--list", "http://127.0.0.1:1/"], "--list: expected no URL... with it"),
        (["--list", "--all"], "--list: expected no --all with it"),
        (["--list", "--sections"], "--list: expected no --sections with it"),
        (["--sections", "--json", "x.json"], "--sections: expected no --json with it"),
        (["--list", "--json", "/no/such/folder/x"], "--json: expected a file"),
    ],
)
def test_what_a_list_has_no_use_for_is_refused(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["conformance", *words]) == 64
    assert says in capsys.readouterr().err


DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_of_sections_is_what_the_command_prints() -> None:
    page = (DOCS / "conformance.md").read_text(encoding="utf-8")
    assert page.partition("\n| section")[2] == "\n".join(section_lines())[len("| section") :] + "\n"


def test_a_section_has_probes_or_a_reason_why_not() -> None:
    probed = {line.split(" | ")[0] for line in list_lines() if line.startswith("| RFC")}
    assert len({section for section, _ in UNPROBED}) == len(UNPROBED)
    assert not {f"| {section}" for section, _ in UNPROBED} & probed
