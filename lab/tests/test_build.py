"""Builds: what is built, when it is built again, how failures read, and that nothing is left
behind.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import MANIFEST, RUN, Project
from wirebench.build import (
    BuildResult,
    Builds,
    build,
    builds_folder,
    resolve_command,
)
from wirebench.build.cache import COMPILER_VARIABLES, content_digest
from wirebench.catalog import CatalogError


def steps(*commands: str, needs: str = "") -> str:
    """A manifest whose steps are these shell commands."""
    quoted = ", ".join(f"['sh', '-c', '''{command}''']" for command in commands)
    return f"{MANIFEST}{needs}\n[build]\nsteps = [{quoted}]\n{RUN}"


def made(project: Project, identity: str = "sh/mine") -> BuildResult:
    return build(project.contestant(identity), project.root, jobs=2)


def folder_of(result: BuildResult) -> Path:
    assert result.folder is not None, result.message
    return result.folder


def test_a_socket_or_pipe_in_the_folder_is_not_opened(project: Project) -> None:
    # As a server leaves that keeps its control socket beside its source.
    project.add("sh/mine", steps("true"))
    folder = project.contestant("sh/mine").folder
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as control:
        control.bind(str(folder / "control"))
    first = made(project)
    assert first.status == "ok", first.message
    (folder / "pipe").unlink()
    assert folder_of(made(project)) != folder_of(first)


def test_sources_that_cannot_be_read_fail_one_contestant(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.add("sh/mine", steps("true"), secret="x")
    read_bytes = Path.read_bytes

    def refused(path: Path) -> bytes:  # root, who may run the tests, can read everything
        if path.name == "secret":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", refused)
    result = made(project)
    assert result.status == "failed"
    assert result.message.endswith("secret: expected a readable file, got Permission denied")


def test_steps_run_in_the_build_folder_with_placeholders_filled(project: Project) -> None:
    where = 'echo "$0" >where; pwd >>where; echo {jobs} {all_jobs} {root} >>where'
    project.add("sh/mine", steps(f"{where}; cp {{source}}/input.txt out"), input_txt="hi")
    one = project.contestant("sh/mine")
    result = build(one, project.root, jobs=3, all_jobs=6)
    folder = folder_of(result)
    assert folder.parent == project.root / "build/contestants/sh"
    assert folder.name.startswith("mine-")
    assert len(folder.name) == len("mine-") + 12
    assert (folder / "where").read_text().splitlines() == ["sh", str(folder), f"3 6 {project.root}"]
    assert (folder / "out").read_text() == "hi"
    assert resolve_command(one, folder, "server") == [f"{folder}/server"]
    with pytest.raises(
        CatalogError, match=r"sh/mine: expected a client, got a contestant for http\.hello only"
    ):
        resolve_command(one, folder, "client")


@pytest.mark.parametrize("before", [[], ["env"], ["env", "NODE_ENV=production", "A=1"]])
def test_the_toolchain_that_built_it_runs_it(
    before: list[str], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "wirebench.build.builder.find_command",
        lambda name: "/home/me/bin/node" if name == "node" else f"/usr/bin/{name}",
    )
    command = [*before, "node", "server.js", "--env=X"]
    project.add("sh/mine", steps("true").replace(RUN, f"[run]\nserver = {command}\n"))
    found = resolve_command(project.contestant("sh/mine"), project.root / "b", "server")
    assert found == [*before, "/home/me/bin/node", "server.js", "--env=X"]


def test_what_was_built_is_not_built_again_until_something_it_is_made_from_changes(
    project: Project,
) -> None:
    project.add(
        "sh/mine",
        steps("date +%N >stamp").replace("[build]", '[build]\ninputs = ["shared"]'),
        server_py="1",
    )
    project.write("shared/common.h", "1")
    first = made(project)
    again = made(project)
    assert (again.cached, again.folder) == (True, first.folder)

    folders = {first.folder}
    for change in (
        "contestants/sh/mine/server.py",
        "shared/common.h",
        "contestants/sh/language.toml",
    ):
        project.write(change, "title = 'Shell'\n")
        result = made(project)
        assert not result.cached, change
        folders.add(result.folder)
    assert len(folders) == 4
    project.write("contestants/sh/mine/__pycache__/server.pyc", "not a source")
    assert made(project).cached


def test_what_a_link_points_to_is_built_again_when_it_changes(project: Project) -> None:
    project.write("elsewhere/shared/common.h", "1")
    (project.root / "shared").symlink_to("elsewhere/shared")
    folder = project.add(
        "sh/mine", steps("true").replace("[build]", '[build]\ninputs = ["shared"]'), server_py="1"
    )
    real = folder.rename(project.root / "elsewhere/mine")
    folder.symlink_to(real)
    first = content_digest(folder)
    assert first == content_digest(real)
    assert not made(project).cached
    assert made(project).cached
    for change in ("elsewhere/mine/server.py", "elsewhere/shared/common.h"):
        project.write(change, "2")
        assert not made(project).cached, change
    assert content_digest(folder) == content_digest(real) != first


def test_another_installation_of_a_library_that_no_package_brings_is_built_with(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = 'needs = { files = ["mine.hpp"] }'
    project.add("sh/mine", steps('echo "$CMAKE_PREFIX_PATH" >prefix', needs=needs))
    assert made(project).status == "not_installed"
    for prefix, text in (("one", "1"), ("one", "22"), ("two", "22")):
        project.write(f"{prefix}/include/mine.hpp", text)
        monkeypatch.setenv("CMAKE_PREFIX_PATH", str(project.root / prefix))
        result = made(project)
        assert not result.cached, (prefix, text)
        assert (folder_of(result) / "prefix").read_text() == f"{project.root / prefix}\n"
        assert made(project).cached


def test_what_was_built_with_other_flags_of_compilers_is_not_taken(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in COMPILER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    project.add("sh/mine", steps('echo "$CXXFLAGS" >flags'))
    plain = made(project)
    monkeypatch.setenv("CXXFLAGS", "-O0 -fsanitize=address")
    other = made(project)
    assert not other.cached
    assert (folder_of(other) / "flags").read_text() == "-O0 -fsanitize=address\n"
    monkeypatch.setenv("CXXFLAGS", "")
    again = made(project)
    assert (again.cached, again.folder) == (True, plain.folder)


def test_a_link_inside_a_folder_counts_as_a_link(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.write_text("1")
    (folder / "link").symlink_to(file)
    first = content_digest(folder)
    file.write_text("2")
    assert content_digest(folder) == first
    (folder / "link").unlink()
    (folder / "link").symlink_to("../file")
    assert content_digest(folder) != first


BOTH_ROLES = MANIFEST + 'calls = ["http"]\n'
BY_TARGET = "[build]\nsteps = [['sh', '-c', 'echo {target} >>targets; touch made-{target}']]\n"
BOTH_COMMANDS = RUN + 'client = ["{build}/client"]\n'


def test_one_role_of_two_is_built_alone_and_the_rest_when_it_is_needed(project: Project) -> None:
    project.add("sh/mine", BOTH_ROLES + BY_TARGET + BOTH_COMMANDS)
    one = project.contestant("sh/mine")
    first = build(one, project.root, jobs=1, roles={"server"})
    targets = folder_of(first) / "targets"
    assert targets.read_text().split() == ["server"]
    assert build(one, project.root, jobs=1, roles={"server"}).cached

    # The folder may be in use: what it has stays.
    other = build(one, project.root, jobs=1, roles={"client"})
    assert (other.cached, other.folder) == (False, first.folder)
    assert targets.read_text().split() == ["server", "all"]
    assert (targets.parent / "made-server").exists()
    for roles in ({"server"}, {"client"}, {"server", "client"}, None):
        assert build(one, project.root, jobs=1, roles=roles).cached  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "manifest",
    [
        MANIFEST + BY_TARGET + RUN,
        BOTH_ROLES + "[build]\nsteps = [['touch', 'x']]\n" + BOTH_COMMANDS,
    ],
    ids=["a single role", "steps that name no target"],
)
def test_where_no_role_can_be_left_out_everything_is_built(project: Project, manifest: str) -> None:
    project.add("sh/mine", manifest)
    one = project.contestant("sh/mine")
    result = build(one, project.root, jobs=1, roles={"server"})
    targets = folder_of(result) / "targets"
    assert not targets.exists() or targets.read_text().split() == ["all"]
    assert build(one, project.root, jobs=1).cached


def test_a_failed_build_of_the_rest_leaves_the_role_that_was_built(project: Project) -> None:
    fails = BY_TARGET.replace("touch made-{target}", "test {target} = server")
    project.add("sh/mine", BOTH_ROLES + fails + BOTH_COMMANDS)
    one = project.contestant("sh/mine")
    assert build(one, project.root, jobs=1, roles={"server"}).status == "ok"
    assert build(one, project.root, jobs=1).status == "failed"
    assert build(one, project.root, jobs=1, roles={"server"}).cached


def test_a_mark_that_a_full_disk_left_empty_is_none(project: Project) -> None:
    project.add("sh/mine", steps("mkdir made"))
    folder = folder_of(made(project))
    (folder / ".wirebench-built").write_text("")
    again = made(project)
    assert (again.status, again.cached, again.folder) == ("ok", False, folder), again.message


def test_builds_of_long_ago_are_removed_and_those_of_others_are_not(project: Project) -> None:
    project.add("sh/mine", steps("true"), server_py="0")
    project.add("sh/mine-2", steps("true"))
    other = folder_of(made(project, "sh/mine-2"))
    built = []
    for version in ("1", "2", "3"):
        project.write("contestants/sh/mine/server.py", version)
        built.append(folder_of(made(project)))
        os.utime(built[-1], (int(version), int(version)))
    assert [folder.exists() for folder in [*built, other]] == [False, True, True, True]


def test_a_step_that_fails_is_named_with_the_end_of_its_log(project: Project) -> None:
    project.add("sh/mine", steps("echo first", "echo what went wrong >&2; exit 3", "echo never"))
    result = made(project)
    assert (result.status, result.folder) == ("failed", None)
    where, _, log = result.message.partition("; log: ")
    assert where == "step 2 of 3, sh -c 'echo what went wrong >&2; exit 3': exited with 3"
    assert (project.root / log).read_text().endswith("what went wrong\n")
    assert result.log_tail.splitlines()[-1] == "what went wrong"
    assert "never" not in result.log_tail.splitlines()
    # It is tried again, from nothing.
    assert made(project).cached is False


def test_a_program_that_is_not_there(project: Project) -> None:
    project.add("sh/mine", MANIFEST + '[build]\nsteps = [["no-such-compiler", "x"]]\n' + RUN)
    assert made(project).message.startswith(
        "step 1 of 1, no-such-compiler x: expected the program no-such-compiler, got none in PATH"
    )


def test_what_is_needed_and_not_here(project: Project) -> None:
    needs = """
published = "https://example.org/get"
needs = { commands = ["no-such-go"], debian = ["no-such-lib-dev"], files = ["no/such.hpp"] }
"""
    project.add("sh/mine", steps("touch built", needs=needs))
    result = made(project)
    assert (result.status, result.folder) == ("not_installed", None)
    assert "needs no-such-go, no-such-lib-dev, no/such.hpp" in result.message
    assert "apt-get install -y --no-install-recommends no-such-lib-dev" in result.message
    assert "published at https://example.org/get" in result.message


def test_disabled(project: Project) -> None:
    project.add(
        "sh/mine",
        steps("true", needs='disabled = { reason = "broken upstream", since = 2026-01-31 }'),
    )
    result = made(project)
    assert (result.status, result.message) == (
        "disabled",
        "disabled since 2026-01-31: broken upstream",
    )


def test_a_build_that_writes_beside_its_source_fails(project: Project) -> None:
    project.add("sh/mine", steps("touch {source}/left-over"))
    result = made(project)
    assert result.status == "failed"
    assert "sources changed during the build" in result.message


def test_the_environment_does_not_change_builds(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAKEFLAGS", "-j99")
    monkeypatch.setenv("VIRTUAL_ENV", "/elsewhere")
    monkeypatch.setenv("PIP_USER", "1")
    monkeypatch.delenv("HOME")
    project.add("sh/mine", steps("env >environment"))
    environment = dict(
        line.split("=", 1)
        for line in (folder_of(made(project)) / "environment").read_text().splitlines()
    )
    assert "MAKEFLAGS" not in environment
    assert "VIRTUAL_ENV" not in environment
    assert environment["PIP_USER"] == "0"
    assert environment["HOME"] == str(project.root / "build/home")
    assert environment["CARGO_BUILD_BUILD_DIR"] == str(project.root / "build/cargo")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return False


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text().strip()):
            return text
        time.sleep(0.01)
    raise AssertionError(f"{path} did not come")


def test_a_helper_left_in_the_background_is_ended(project: Project) -> None:
    project.add("sh/mine", steps("setsid sleep 1000 & echo $! >{root}/pid"))
    assert made(project).status == "ok"
    assert not alive(int((project.root / "pid").read_text()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_no_process_and_is_not_taken_for_built(
    project: Project, number: signal.Signals
) -> None:
    """The step ignores what is asked of it and has a child in a session of its own; both are gone
    when the command returns.
    """
    stubborn = (
        "trap '' TERM INT; echo $$ >{root}/step.pid; setsid sleep 1000 & echo $! >{root}/child.pid;"
        " wait; sleep 1000"
    )
    project.add("sh/mine", steps(stubborn))
    command = [sys.executable, "-m", "wirebench.cli.main", "build", "sh/mine"]
    environment = {**os.environ, "WIREBENCH_ROOT": str(project.root)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        pids = [int(wait_for(project.root / name)) for name in ("step.pid", "child.pid")]
        process.send_signal(number)
        try:
            said, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 128 + number, said
    assert "Traceback" not in said
    assert [pid for pid in pids if alive(pid)] == []
    project.add("sh/mine", steps("true"))
    assert made(project).status == "ok"


def test_several_are_built_at_once(project: Project) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        meet = f"touch {{root}}/{name}; until [ -e {{root}}/{other} ]; do sleep 0.01; done"
        project.add(f"sh/{name}", steps(meet))
    both = [project.contestant(name) for name in ("sh/one", "sh/two")]
    builds = Builds(project.root, jobs=2)
    builds.begin(both)
    assert [builds.wait(one).status for one in both] == ["ok", "ok"]
    assert [builds.wait(one).cached for one in both] == [False, False], "each is built once"
    builds.close()


def test_a_build_knows_its_jobs_and_those_of_all(project: Project) -> None:
    project.add("sh/mine", steps("echo {jobs} {all_jobs} >jobs"))
    one = project.contestant("sh/mine")
    builds = Builds(project.root, jobs=5)
    builds.begin([one])
    assert (folder_of(builds.wait(one)) / "jobs").read_text() == "2 5\n"
    builds.close()


def test_the_build_that_ends_first_is_told_first(project: Project) -> None:
    project.add("sh/slow", steps("until [ -e {root}/go ]; do sleep 0.01; done"))
    project.add("sh/fast", steps("true"))
    both = [project.contestant(name) for name in ("sh/slow", "sh/fast")]
    builds = Builds(project.root, jobs=2)
    builds.begin(both)
    assert builds.first_ended(both).identity == "sh/fast"
    assert builds.running() == ("sh/slow",)
    (project.root / "go").touch()
    assert builds.first_ended(both[:1]).identity == "sh/slow"
    assert builds.running() == ()
    builds.close()


def test_builds_that_nobody_waits_for_are_ended(project: Project) -> None:
    project.add("sh/mine", steps("setsid sleep 1000 & echo $! >{root}/child.pid; wait; sleep 1000"))
    builds = Builds(project.root, jobs=1)
    builds.begin([project.contestant("sh/mine")])
    child = int(wait_for(project.root / "child.pid"))
    builds.close()
    assert not alive(child)
    project.add("sh/mine", steps("true"))
    assert made(project).status == "ok"


def test_closing_does_not_wait_for_a_lock_that_another_process_holds(project: Project) -> None:
    project.add("sh/mine", steps("true"))
    contestant = project.contestant("sh/mine")
    folder = builds_folder(contestant, project.root)
    folder.mkdir(parents=True)
    with (folder / ".mine.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        builds = Builds(project.root, jobs=1)
        builds.begin([contestant])
        time.sleep(0.1)
        assert builds.running() == ("sh/mine",)
        builds.close()
    assert made(project).status == "ok"
