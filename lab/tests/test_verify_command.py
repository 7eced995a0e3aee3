"""``wirebench verify`` on a project where most contestants misbehave."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from misbehaving.support import HERE
from run_project import Project
from wirebench.process import cgroup, procfs
from wirebench.process.supervise import OWNER

SERVER = f"""
import os, sys
os.execv(sys.executable, [sys.executable, "-B", {str(HERE / "server.py")!r}, "FAULT"])
"""


def groups_of(pid: int) -> list[Path]:
    """What cgroups that lab has; others may be at work on this host."""
    parent = cgroup.parent_folder()
    return list(parent.glob(f"wirebench-*-{pid}-*")) if parent is not None else []


def add(project: Project, fault: str) -> None:
    project.add(fault, server=SERVER.replace("FAULT", fault))


def edit_manifest(project: Project, name: str, more: str) -> None:
    manifest = project.root / "contestants" / "python" / name / "manifest.toml"
    manifest.write_text(manifest.read_text() + more)


def nothing_is_left(project: Project) -> None:
    assert project.survivors() == []
    assert project.leftovers() == []
    for pid in project.started():
        assert not procfs.has_environment(pid, OWNER)


def test_faults_are_reported_and_the_others_stand(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    for fault in ("wrong_body", "crashes_at_start", "ignores_sigterm"):
        add(project, fault)
    project.add("unbuildable")
    edit_manifest(
        project,
        "unbuildable",
        '[build]\nsteps = [["sh", "-c", "echo the glue is dry >&2; exit 5"]]\n',
    )
    project.add("absent")
    edit_manifest(project, "absent", 'needs = { commands = ["no-such-tool-anywhere"] }\n')
    results = tmp_path / "verify.jsonl"
    code, output = project.run("verify", "--json", str(results))
    assert code == 1
    assert output.splitlines()[-1] == "2 passed, 4 failed, 1 skipped"
    for name in ("floor", "plain"):
        assert f"passed python/{name} http.hello" in output
    for name in ("wrong_body", "crashes_at_start", "ignores_sigterm"):
        assert f"failed python/{name} http.hello" in output
    assert 'expected 200, text/plain, "hello from route_01"' in output
    assert 'received 200 OK, text/plain; charset=utf-8: "hallo from route_01"' in output
    assert "no such table: users" in output
    assert "still there after 2 s, and killed" in output
    assert "failed python/unbuildable" in output
    assert "the glue is dry" in output
    assert "skipped python/absent" in output
    assert "no-such-tool-anywhere" in output
    records = {
        record["contestant"]: record for record in map(json.loads, results.read_text().splitlines())
    }
    kinds = {
        name.removeprefix("python/"): (one["failure"] or {}).get("kind")
        for name, one in records.items()
    }
    assert kinds == {
        "floor": None,
        "plain": None,
        "wrong_body": "nonconformant",
        "crashes_at_start": "start_crashed",
        "ignores_sigterm": "nonconformant",
        "unbuildable": "build_failed",
        "absent": "not_installed",
    }
    nothing_is_left(project)


def test_all_that_conform_exit_with_0(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    code, output = project.run("verify", "plain,floor", "--all", "--workload", "http.hello")
    assert code == 0
    assert "ok      http.keep_alive" in output
    assert output.splitlines()[-1] == "2 passed, 0 failed, 0 skipped"
    nothing_is_left(project)


def test_what_is_built_is_checked_while_another_is_being_built(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    results = tmp_path / "verify.jsonl"
    project.add("a_slow_one")
    checked = f"for _ in $(seq 300); do grep -q python/plain {results} && exit; sleep 0.1; done"
    steps = json.dumps([["sh", "-c", f"{checked}; exit 1"]])
    edit_manifest(project, "a_slow_one", f"[build]\nsteps = {steps}\n")
    code, output = project.run("verify", "--jobs", "2", "--json", str(results))
    assert code == 0, output
    assert output.splitlines()[-1] == "3 passed, 0 failed, 0 skipped"


def test_an_unknown_workload_is_wrong_usage(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    code, output = project.run("verify", "--workload", "http.helo")
    assert code == 64
    assert "expected one of http.hello" in output
    code, output = project.run("verify", "--workload", "ws.echo")
    assert code == 64
    assert "ws.echo" in output


@pytest.mark.parametrize("fault", ["hangs", "leaves_children"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_check_leaves_nothing(
    fault: str, number: signal.Signals, tmp_path: Path
) -> None:
    project = Project(tmp_path / "project")
    add(project, fault)
    with project.start("verify", fault) as process:
        _wait_for_start(project, fault)
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode == 128 + number
    nothing_is_left(project)
    assert groups_of(process.pid) == []


def test_what_a_killed_check_left_is_gone_after_the_next(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    add(project, "leaves_children")
    # A test beside this one may start a lab at any time, which sweeps this one's first.
    for _ in range(5):
        with project.start("verify", "leaves_children") as process:
            _wait_for_start(project, "leaves_children")
            os.kill(process.pid, signal.SIGKILL)
            process.communicate(timeout=30)
        # The server itself dies with the lab; its child in a session of its own does not.
        assert project.survivors() == []
        assert project.leftovers() != []
        if orphans := _marked(project):
            break
    assert len(orphans) == 1, "else this test shows nothing"
    code, output = project.run("verify", "plain")
    assert code == 0, output
    assert _marked(project) == []
    nothing_is_left(project)
    assert groups_of(process.pid) == []


def _wait_for_start(project: Project, fault: str) -> None:
    """Until the server is there, with the child it leaves if it leaves one. It takes seconds to
    check.
    """
    deadline = time.monotonic() + 30
    wanted = "time.sleep(3600)" if fault == "leaves_children" else "server.py"
    while not any(wanted in line for line in _marked(project)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _marked(project: Project) -> list[str]:
    """Living processes that the lab started in this project's temporary folder, by their
    environment.
    """
    marker = f"TMPDIR={project.temporary}".encode()
    found = []
    for pid in procfs.pids():
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if marker in environment and OWNER.encode() in environment:
            found.append(procfs.command_line(pid))
    return found
