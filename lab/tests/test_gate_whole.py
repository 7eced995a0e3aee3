"""Whole gates of servers, from the command to its exit code."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from duel_world import SERVER, server
from run_project import Project, wait_for
from wirebench.cli.main import run_app

pytestmark = pytest.mark.long  # each starts whole duels

SLOW = SERVER.replace("Handler.asked += 1", "Handler.asked += 1; time.sleep(0.01)").replace(
    "import os,", "import time, os,"
)
WRONG = SERVER.replace("else 200", "else 500")
DIES_LATER = SERVER.replace(
    "class Handler",
    """
starts = pathlib.Path(__file__).with_suffix(".starts")
starts.write_text((starts.read_text() if starts.exists() else "") + "x")


class Handler""",
    1,
).replace("if Handler.asked > {dies}", "if Handler.asked > 5 and len(starts.read_text()) > {dies}")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def other(project: Project, name: str, source: str, *, dies: int = 10**9) -> str:
    file = project.root / name
    file.write_text(source.format(pids=str(project.pids), dies=dies, port="sys.argv[1]"))
    return f"{sys.executable} -B {file} {{port}}"


def run_gate(project: Project, limits: str, *words: str) -> tuple[int, str]:
    file = project.root / "gate.toml"
    file.write_text(limits)
    return project.run(
        *("gate", "-t", str(file), "--path", "/route_01", "-c", "2"),
        # An overloaded host may give a server no time at all for 50 ms.
        *("--warmup", "100ms", "--window", "300ms"),
        *words,
    )


def nothing_is_left(project: Project) -> bool:
    return project.survivors() == [] and project.leftovers() == []


def test_equal_servers_hold_a_wide_threshold(project: Project, tmp_path: Path) -> None:
    base, head = (server(project, name) + " {port}" for name in ("base.py", "head.py"))
    code, output = run_gate(
        project,
        'throughput = "-95%"\n',
        *(base, head, "--blocks", "6", "--junit", str(tmp_path / "g.xml")),
        *("--markdown", str(tmp_path / "g.md")),
    )
    assert code == 0, output
    assert "All 2 thresholds hold." in output
    assert 'failures="0" errors="0" skipped="0"' in (tmp_path / "g.xml").read_text()
    assert "| throughput ≥ -95% |" in (tmp_path / "g.md").read_text()
    assert nothing_is_left(project)


def test_a_slow_head_is_regressed(project: Project, tmp_path: Path) -> None:
    code, output = run_gate(
        project,
        'throughput = "-3%"\n',
        server(project, "base.py") + " {port}",
        other(project, "head.py", SLOW),
        *("--blocks", "6", "--junit", str(tmp_path / "g.xml")),
    )
    assert code == 1, output
    assert "Regressed: throughput ≥ -3%, measured -" in output
    assert '<failure message="-' in (tmp_path / "g.xml").read_text()
    assert nothing_is_left(project)


def test_too_few_blocks_are_not_decided(project: Project) -> None:
    base, head = (server(project, name) + " {port}" for name in ("base.py", "head.py"))
    code, output = run_gate(project, 'throughput = "-3%"\n', base, head, "--blocks", "1")
    assert code == 2, output
    assert "It takes 5 more blocks for an interval (" in output
    assert "try --blocks 6." in output
    assert nothing_is_left(project)


def test_wrong_replies_end_the_gate_at_once(project: Project) -> None:
    code, output = run_gate(
        project,
        'throughput = "-95%"\n',
        server(project, "base.py") + " {port}",
        other(project, "head.py", WRONG),
    )
    assert code == 1, output
    assert "errors ≤ 0, measured" in output
    assert nothing_is_left(project)


def test_a_server_that_dies_in_the_middle_makes_the_gate_invalid(
    project: Project, tmp_path: Path
) -> None:
    code, output = run_gate(
        project,
        'throughput = "-3%"\n',
        server(project, "base.py") + " {port}",
        other(project, "head.py", DIES_LATER, dies=2),
        *("--junit", str(tmp_path / "g.xml")),
    )
    assert code == 3, output
    assert "Invalid measurement: B: the server exited with 7 under load" in output
    assert "out of paper" in output
    assert "out of paper" in (tmp_path / "g.xml").read_text()
    assert nothing_is_left(project)


def test_an_interrupted_gate_prints_what_is_known_and_leaves_nothing(project: Project) -> None:
    file = project.root / "gate.toml"
    file.write_text('throughput = "-1%"\n')
    base, head = (server(project, name) + " {port}" for name in ("base.py", "head.py"))
    with project.start(
        "gate", base, head, "-t", str(file), "--path", "/route_01", "-c", "2", "--window", "50ms"
    ) as process:
        wait_for(lambda: len(project.started()) > 3, process)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "throughput ≥ -1%" in output
    assert nothing_is_left(project)
    code, output = project.run("run", "--resume", "latest")
    assert code == 64, output
    assert "--resume: expected a run of a study, got a duel or gate" in output


def test_a_server_that_does_not_start_makes_the_gate_invalid(project: Project) -> None:
    code, output = run_gate(
        project,
        'throughput = "-3%"\n',
        *(server(project, "base.py") + " {port}", "echo no such luck; exit 3"),
    )
    assert code == 3, output
    assert "no such luck" in output
    assert nothing_is_left(project)


def test_a_revision_that_does_not_build_makes_the_gate_invalid(
    project: Project, tmp_path: Path
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    for words in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "one"],
        ["commit", "-q", "--allow-empty", "-m", "two"],
    ):
        subprocess.run(
            ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b", *words],
            check=True,
        )
    code, output = run_gate(
        project,
        'throughput = "-3%"\n',
        *("--git", "HEAD~1..", "--build", "echo broken; false", "true"),
        *("--cwd", str(repository)),
    )
    assert code == 3, output
    assert "broken" in output
    assert nothing_is_left(project)


@pytest.mark.parametrize("name", ["cpu_per_request", "memory", "memory_peak", "ready"])
def test_what_is_not_known_of_an_address_is_refused(
    project: Project,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WIREBENCH_ROOT", str(project.root))
    file = project.root / "gate.toml"
    file.write_text(f'{name} = "+5%"\n')
    for words in (["./a", "http://127.0.0.1:9"], ["http://127.0.0.1:9", "./a"]):
        assert run_app(["gate", "-t", str(file), *words]) == 64
        said = capsys.readouterr().err
        assert f"{name}: not known of a server that runs already" in said
        assert "give its command" in said
    assert not (project.root / "results").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a"], "expected two commands"),
        (["a", "b", "c"], "expected two commands"),
        (["a", "b", "--baseline", "x"], "one stored run"),
        (["a", "--baseline", "x", "--git", "m.."], "no --git"),
        (["a", "--baseline", "x", "--rate", "5"], "--baseline: expected no --rate with it"),
        (["a", "--baseline", "x", "--blocks", "9", "--no-turns"], "no --no-turns, --blocks with"),
        (["a", "--baseline", "x", "--budget", "2m", "-c", "50"], "no --connections, --budget with"),
        (["a", "--baseline", "x"], "RUN: expected"),
        (["a", "b", "--cell", "c"], "expected --baseline"),
        (["http://a", "http://b", "--ready", "/"], "--ready: expected a command that starts"),
        (["a", "b", "--blocks", "9", "--budget", "5m"], "--budget: expected no --blocks with it"),
        (["a", "b", "--junit", "/nowhere/at/all/x.xml"], "/nowhere"),
        (["a", "b", "--out", "/bin/sh"], "--out: expected a folder"),
        (["a", "b", "--thresholds", "/nowhere/at/all/x.toml"], "not read"),
        (["a", "b", "--thresholds", "/nowhere/at/all/x.toml"], 'such as p99 = "+5%"'),
    ],
)
def test_wrong_usage_is_told_before_anything_starts(
    project: Project,
    words: Sequence[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WIREBENCH_ROOT", str(project.root))
    monkeypatch.setenv("COLUMNS", "200")
    file = project.root / "gate.toml"
    file.write_text('p99 = "+5%"\n')
    assert run_app(["gate", "-t", str(file), *words]) == 64
    assert says in capsys.readouterr().err
    assert not (project.root / "results").exists()
