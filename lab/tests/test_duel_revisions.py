"""Duels of revisions: work trees, what they build, and what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from duel_world import SERVER
from run_project import LAB, Project, alive
from wirebench.duel import revisions
from wirebench.duel.revisions import BuildError, Revision
from wirebench.process.supervise import sweep

pytestmark = pytest.mark.long  # each starts whole runs


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def test_revisions_of_a_repository_are_built_and_removed(project: Project, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()

    git = partial(in_git, repository)
    git("init", "-q")
    for text in ("one", "two"):
        (repository / "server.py").write_text(
            SERVER.format(pids=str(project.pids), dies=10**9, port="sys.argv[1]") + f"# {text}\n"
        )
        git("add", ".")
        git("commit", "-qm", text)
    command = f"{sys.executable} -B built.py {{port}}"
    words = ("duel", "--git", "HEAD~1..", command, "--blocks", "1", "--path", "/route_01")
    code, output = project.run(
        *words, "--no-floor", "--build", "cp server.py built.py", "--cwd", str(repository)
    )
    assert code == 0, output
    assert "HEAD~1 (" in output
    assert "uncommitted" not in output
    assert git("worktree", "list").count("\n") == 1
    (repository / "server.py").write_text("# three\n")
    code, output = project.run(
        *words, "--build", "echo broken >&2; false", "--cwd", str(repository)
    )
    assert code == 1, output
    assert "broken" in output
    assert "uncommitted changes are not measured" in output
    assert git("worktree", "list").count("\n") == 1
    assert "the same commit" not in output
    code, output = project.run(
        *("duel", "--git", "HEAD..", command, "--build", "false", "--cwd", str(repository))
    )
    assert code == 1, output
    assert "HEAD and HEAD are the same commit" in output
    code, output = project.run("duel", "--git", "nothere..", command, "--cwd", str(repository))
    assert code == 64, output
    assert "nothere" in output


def test_a_wrong_option_is_said_before_anything_is_built(project: Project, tmp_path: Path) -> None:
    """A build may take long."""
    repository, refusing = tmp_path / "repository", tmp_path / "refusing"
    committed(repository)
    refusing.write_text("#!/bin/sh\necho 'wireload: there is no --such' >&2\nexit 64\n")
    refusing.chmod(0o755)
    project.use(refusing)
    code, output = project.run(
        *("duel", "--git", "HEAD~1..", "./server {port}", "--build", "touch built"),
        *("--cwd", str(repository), "--wireload", "--such"),
    )
    assert code == 64, output
    assert "there is no --such" in output
    assert "building" not in output


def committed(repository: Path) -> None:
    """A repository of two commits."""
    repository.mkdir()
    in_git(repository, "init", "-q")
    for text in ("one", "two"):
        (repository / "file").write_text(text)
        in_git(repository, "add", ".")
        in_git(repository, "commit", "-qm", text)


def in_git(repository: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b", *words],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_what_is_staged_stays_staged_also_in_a_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git names its hooks the index that it is about to commit."""
    repository = tmp_path / "repository"
    committed(repository)
    (repository / "file").write_text("three")
    in_git(repository, "add", ".")
    before = in_git(repository, "diff", "--cached")
    with monkeypatch.context() as hook:
        hook.setenv("GIT_INDEX_FILE", str(repository / ".git" / "index"))
        hook.setenv("GIT_DIR", str(repository / ".git"))
        with revisions.worktrees(("HEAD~1", "HEAD"), here=repository) as (base, head):
            assert [(one.folder / "file").read_text() for one in (base, head)] == ["one", "two"]
            revisions.build(base, "git rev-parse HEAD >built")
            built = (base.folder / "built").read_text()
    assert built == in_git(repository, "rev-parse", "HEAD~1")
    assert before
    assert in_git(repository, "diff", "--cached") == before
    assert in_git(repository, "worktree", "list").count("\n") == 1


def test_a_repository_may_lie_in_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    repository = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    committed(repository)
    (repository / "file").write_text("three")
    assert revisions.has_changes(repository)
    with revisions.worktrees(("HEAD~1", "HEAD"), here=repository) as trees:
        assert [(one.folder / "file").read_text() for one in trees] == ["one", "two"]


def test_work_trees_of_a_killed_duel_are_removed_later(tmp_path: Path) -> None:
    repository, temporary = tmp_path / "repository", tmp_path / "tmp"
    committed(repository)
    temporary.mkdir()
    killed = f"""
import os, pathlib, signal
from wirebench.duel.revisions import worktrees
with worktrees(("HEAD~1", "HEAD"), here=pathlib.Path({str(repository)!r})):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", killed],
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(LAB)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    (left,) = temporary.iterdir()
    assert any(str(left) in said for said in sweep(temporary, None))
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("output", ["", ">/dev/null 2>&1"])
def test_what_a_build_leaves_in_the_background_is_ended(tmp_path: Path, output: str) -> None:
    revision = Revision(label="main", folder=tmp_path)
    revisions.build(revision, f"(sleep 30; touch ended) {output} & echo $! >pid")
    assert not (tmp_path / "ended").exists(), "it was waited for"
    assert not alive(int((tmp_path / "pid").read_text()))


def test_a_build_that_does_not_end_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revisions, "STEP_TIMEOUT_S", 2.0)
    revision = Revision(label="main", folder=tmp_path)
    with pytest.raises(BuildError, match=r"still running after 2 s; its last lines:\nbegun"):
        revisions.build(revision, "echo begun; sleep 1000")
