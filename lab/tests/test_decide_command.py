"""``wirebench decide``: the licences to choose from, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from decided import HTTP, WORLD, answer
from synthetic_run import write_run
from wirebench.catalog import find_root, load_catalog
from wirebench.catalog.licences import LicenceError, allows, is_permissive, parse
from wirebench.cli.console import EXIT_FAILED, EXIT_OK, EXIT_USAGE
from wirebench.cli.main import run_app
from wirebench.store.rundir import TRIALS_FILE


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    write_run(folder, WORLD)
    return folder


def test_without_runs_nothing_is_known(tmp_path: Path) -> None:
    decision = answer(tmp_path, HTTP)
    assert decision.shortlist == ()
    assert {it.where for one in decision.excluded for it in one.findings} == {""}
    assert decision.host_id == ""
    assert decision.unknown


@pytest.mark.parametrize(
    ("licence", "permissive"),
    [
        ("MIT", True),
        ("Apache-2.0 AND MIT", True),
        ("curl", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("AGPL-3.0-or-later OR LicenseRef-CPL", None),
        ("MIT OR LicenseRef-own", True),
        ("GPL-3.0-only AND LicenseRef-own", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("(MIT OR GPL-2.0-only) AND (Zlib OR AGPL-3.0-only)", True),
        ("", None),
        ("no such (", None),
    ],
)
def test_permissive_licences(licence: str, permissive: bool | None) -> None:
    assert is_permissive(licence) is permissive


def test_licences_to_choose_from() -> None:
    assert allows("MIT OR Apache-2.0", "Apache-2.0") is True
    assert allows("MIT AND Apache-2.0", "Apache-2.0") is False
    assert allows("MIT AND Apache-2.0", "Apache-2.0 OR MIT") is True
    for wrong in ("Nonsense-1.0", "", " "):
        with pytest.raises(LicenceError, match="SPDX"):
            parse(wrong)


def test_every_contestant_has_a_licence_that_can_be_judged() -> None:
    catalog = load_catalog(find_root())
    unclear = {
        one.license for one in catalog.contestants.values() if is_permissive(one.license) is None
    }
    assert unclear <= {"AGPL-3.0-or-later OR LicenseRef-CPL"}


def test_the_command_prints_the_shortlist_and_its_sources(
    results: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "decision.json"
    command = ["decide", "--workload", "http.hello", "--throughput", "30000"]
    command += ["--memory-per-connection", "30KiB", "--results", str(results)]
    assert run_app([*command, "--max-dependencies", "9", "--max-installed", "50MB"]) == EXIT_FAILED
    said = capsys.readouterr().out
    assert "installed <= 47.7 MiB: not measured; packages <= 9: not measured" in said
    assert "    wirebench footprint " in said
    assert run_app([*command, "--json", str(file)]) == EXIT_OK
    said = capsys.readouterr().out
    assert said.startswith("rust/axum, rust/hyper, which cannot be told apart, first by requests/s")
    assert "python/aiohttp: requests/s >= 30,000: " in said
    assert "wirebench run concurrency --preset hour --only " in said
    document = json.loads(file.read_text())
    assert document["schema"] == "wirebench-decision/1"
    assert document["first"] == ["rust/axum", "rust/hyper"]
    assert "{}" not in file.read_text()
    assert run_app([*command, "--language", "python"]) == EXIT_FAILED
    assert "Nobody is known to meet all of that." in capsys.readouterr().out


def test_the_answer_holds_whatever_a_contestant_said(tmp_path: Path) -> None:
    """Half of a surrogate pair is no UTF-8, and JSON has an escape for it."""
    path, file = write_run(tmp_path, WORLD) / TRIALS_FILE, tmp_path / "decision.json"
    lines = []
    for one in map(json.loads, path.read_text().splitlines()):
        if one["contestant"] == "python/aiohttp":
            failure = {"kind": "wrong_reply", "phase": "load", "message": "it said \ud800"}
            one |= {"status": "failed", "metrics": {}, "failure": failure}
        lines.append(json.dumps(one))
    path.write_text("\n".join([*lines, ""]))
    command = ["decide", "--workload", "http.hello", "--results", str(tmp_path)]
    assert run_app([*command, "--json", str(file)]) == EXIT_OK
    (found,) = (
        one
        for one in json.loads(file.read_text())["excluded"]
        if one["contestant"] == "python/aiohttp"
    )
    assert any("it said \ud800" in one["text"] for one in found["findings"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "expected either --workload or --client"),
        (["--workload", "http.hello", "--client", "ws"], "expected either"),
        (["--workload", "ftp"], "--workload: expected one of http.hello"),
        (["--client", "ftp"], "--client: expected one of http"),
        (["--client", "http", "--tls"], "are for servers"),
        (["--client", "http", "--connections", "5"], "are for servers"),
        (["--client", "http", "--rate", "1000"], "--rate, --throughput, "),
        (["--client", "http", "--must", "rfc9112"], "are for servers"),
        (["--client", "http", "--memory", "1MiB"], "are for servers"),
        (["--workload", "rest", "--memory", "10 apples"], "--memory: expected a size"),
        (["--client", "http", "--by", "memory"], "--by: expected one of"),
        (["--workload", "rest", "--language", "cobol"], "--language: expected one of bun"),
        (["--workload", "rest", "--p99", "fast"], "--p99: expected a duration"),
        (["--workload", "rest", "--rate", "inf"], "--rate: expected a finite number, got inf"),
        (["--workload", "rest", "--throughput", "inf"], "--throughput: expected a finite number"),
        (["--workload", "rest", "--throughput", "nan"], "'--throughput'"),
        (["--workload", "rest", "--memory-per-connection", "10 apples"], "expected a size"),
        (["--workload", "rest", "--max-installed", "little"], "--max-installed: expected a size"),
        (["--workload", "rest", "--max-dependencies", "-1"], "--max-dependencies"),
        (["--workload", "rest", "--licence", "Nonsense-1.0"], "--licence: expected an SPDX"),
        (["--workload", "rest", "--licence", " "], "--licence: expected an SPDX"),
        (["--workload", "rest", "--must", "rfc1"], "--must: expected one of rfc9110"),
        (["--workload", "rest", "--json", "/no/such/folder/x"], "--json: expected a file"),
        (
            ["--workload", "rest", "--host", "typo"],
            f"--host: expected one of {WORLD.host_id}, got 'typo'",
        ),
    ],
)
def test_the_command_says_what_is_wrong(
    results: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    assert run_app(["decide", *arguments, "--results", str(results)]) == EXIT_USAGE
    assert expected in capsys.readouterr().err


def test_without_runs_no_host_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["decide", "--workload", "rest", "--results", str(tmp_path)]
    assert run_app([*command, "--host", "any"]) == EXIT_USAGE
    assert "--host: expected one of nothing: there is no complete run" in capsys.readouterr().err
    assert run_app(command) == EXIT_FAILED
    assert "there is no complete run yet" in capsys.readouterr().out
