"""``./wirebench``: when it makes its environment, which parts of it, and what it says when it
cannot.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import bootstrap

REAL_ROOT = Path(__file__).resolve().parents[2]
PROJECT = """
[build-system]
requires = ["scikit-build-core"]
build-backend = "scikit_build_core.build"
[project]
name = "wirebench"
dependencies = ["rich>=14"]
[project.optional-dependencies]
dev = ["pytest"]
[tool.scikit-build]
minimum-version = "0.11"
[tool.ruff]
line-length = 100
"""


class FakeProcess:
    """A command that has done its work when it is waited for."""

    returncode = 0


class FakeInstaller:
    """In place of ``bootstrap.start``: notes commands, and makes what they would."""

    def __init__(self, venv: Path) -> None:
        self.venv = venv
        self.kinds: list[str] = []
        self.commands: list[list[str]] = []
        self.stop_at: str | None = None
        self.fail_at: str | None = None
        self.ended = 0

    def start(self, command: list[str], **_options: object) -> FakeProcess:
        self.commands.append(command)
        kind = (
            "venv"
            if "venv" in command
            else "lab"
            if "-e" in command
            else "packages"
            if "pip" in command
            else f"compile {command[2]}"
            if "--build" in command
            else command[0]
        )
        if kind == self.stop_at:
            raise KeyboardInterrupt
        if kind == self.fail_at:
            raise SystemExit(bootstrap.BROKEN)
        (self.venv / "bin").mkdir(parents=True, exist_ok=True)
        if kind != "cmake":
            self.kinds.append(kind)
        if kind == "venv":
            (self.venv / "bin/python").touch()
            (self.venv / "pyvenv.cfg").write_text(f"version = {platform.python_version()}\n")
        if kind == "packages":
            constraints = (self.venv.parent / "lab/constraints.txt").read_text()
            packages = self.venv / "lib/python3/site-packages"
            shutil.rmtree(packages, ignore_errors=True)
            (packages / constraints.strip()).mkdir(parents=True)
        if kind == "lab":
            (self.venv / "bin/wirebench").touch()
        if "--install" in command:
            for name in bootstrap.PROGRAMS:
                (self.venv / "bin" / name).touch()
        return FakeProcess()

    def wait_for(self, process: FakeProcess, **_options: object) -> None:
        assert process.returncode == 0

    def end(self, process: FakeProcess) -> None:
        self.ended += 1


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "lab").mkdir()
    (tmp_path / "wire/tests").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "lab/constraints.txt").write_text("rich==15.0.0\n")
    (tmp_path / "CMakeLists.txt").write_text("project(wirebench)\n")
    (tmp_path / "wire/wire.cpp").write_text("int wire;\n")
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(bootstrap, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(bootstrap, "BEFORE", tmp_path / ".venv.before")
    monkeypatch.setattr(bootstrap, "STAMP", tmp_path / ".venv/wirebench.stamp")
    monkeypatch.setattr(bootstrap, "LOG", tmp_path / "build/bootstrap.log")
    monkeypatch.setattr(bootstrap, "CONSTRAINTS", tmp_path / "lab/constraints.txt")
    monkeypatch.setattr(bootstrap, "missing_system_packages", list)
    monkeypatch.setattr(bootstrap, "check_compiler", lambda: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    return tmp_path


@pytest.fixture
def installer(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> FakeInstaller:
    fake = FakeInstaller(checkout / ".venv")
    for name in ("start", "wait_for", "end"):
        monkeypatch.setattr(bootstrap, name, getattr(fake, name))
    return fake


RELEASE, DEV = "compile build/native/release", "compile build/dev"


def made_by(installer: FakeInstaller) -> list[str]:
    """What is done at the next start."""
    installer.kinds.clear()
    if not bootstrap.up_to_date():
        bootstrap.make()
    assert bootstrap.up_to_date()
    return installer.kinds


def test_the_first_start_makes_everything_and_the_second_nothing(installer: FakeInstaller) -> None:
    assert made_by(installer) == [RELEASE, "venv", "packages", "lab"]
    assert made_by(installer) == []


def test_only_what_changed_is_made_again(checkout: Path, installer: FakeInstaller) -> None:
    made_by(installer)
    (checkout / "wire/wire.cpp").write_text("int wire = 1;\n")
    assert made_by(installer) == [RELEASE]
    (checkout / "wire/new.hpp").write_text("\n")
    assert made_by(installer) == [RELEASE]
    (checkout / "CMakePresets.json").write_text("{}\n")
    assert made_by(installer) == [RELEASE]
    (checkout / "wire/wire_test.cpp").write_text("\n")
    (checkout / "wire/tests/data").write_text("\n")
    (checkout / "pyproject.toml").write_text(
        PROJECT.replace("line-length = 100", "line-length = 99")
    )
    assert made_by(installer) == [], "tests and linters have no part in it"
    (checkout / "lab/constraints.txt").write_text("rich==15.0.1\n")
    assert made_by(installer) == [RELEASE, "packages", "lab"]
    (checkout / "pyproject.toml").write_text(PROJECT.replace("rich>=14", "rich>=15"))
    assert made_by(installer) == [RELEASE, "packages", "lab"]
    (checkout / ".venv/bin/wireload").unlink()
    assert made_by(installer) == [RELEASE]


def test_the_tests_have_native_programs_of_their_own(
    checkout: Path, installer: FakeInstaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "TESTS", True)
    assert made_by(installer) == [DEV, "venv", "packages", "lab"]
    (checkout / "wire/wire.cpp").write_text("int wire = 1;\n")
    assert made_by(installer) == []
    monkeypatch.setattr(bootstrap, "TESTS", False)
    assert made_by(installer) == [RELEASE], "the first command makes what was left out"
    monkeypatch.setattr(bootstrap, "TESTS", True)
    assert made_by(installer) == [], "and the tests leave it in place"
    (checkout / "lab/constraints.txt").write_text("rich==15.0.1\n")
    assert made_by(installer) == [DEV, "packages", "lab"]
    monkeypatch.setattr(bootstrap, "TESTS", False)
    assert made_by(installer) == [RELEASE]


@pytest.mark.parametrize(
    ("stop_at", "then", "ended"),
    [
        ("venv", [RELEASE, "venv", "packages", "lab"], 1),
        ("packages", [RELEASE, "venv", "packages", "lab"], 1),
        ("lab", [RELEASE, "venv", "packages", "lab"], 1),
        (RELEASE, [RELEASE, "venv", "packages", "lab"], 0),
    ],
)
def test_after_an_interruption_the_next_start_mends_it(
    installer: FakeInstaller, stop_at: str, then: list[str], ended: int
) -> None:
    installer.stop_at = stop_at
    with pytest.raises(SystemExit) as caught:
        bootstrap.make()
    assert caught.value.code == 130
    assert installer.ended == ended, "what compiles beside does not outlive it"
    assert not bootstrap.up_to_date()
    installer.stop_at = None
    assert made_by(installer) == then


@pytest.mark.parametrize("what", ["the checkout", "the version", "the python"])
def test_where_the_environment_is_of_another_place_or_python_it_starts_again(
    checkout: Path, installer: FakeInstaller, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    made_by(installer)
    stamp = json.loads(bootstrap.STAMP.read_text())
    if what == "the checkout":
        bootstrap.STAMP.write_text(json.dumps({**stamp, "root": "/elsewhere"}))
    elif what == "the version":
        (checkout / ".venv/pyvenv.cfg").write_text("version = 3.9.2\n")
    else:
        (checkout / ".venv/bin/python").unlink()
        (checkout / ".venv/bin/python").symlink_to("/no/such/python")
    assert not bootstrap.up_to_date()
    monkeypatch.setenv("WIREBENCH_ANEW", "")
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda _program, arguments: started.append(arguments))
    monkeypatch.setattr(bootstrap, "_write_stamp", lambda _stamp: None)
    bootstrap.make()
    assert started[0][:2] == ["sh", str(checkout / "wirebench")]
    assert os.environ["WIREBENCH_ANEW"] == "1"
    assert bootstrap.STAMP.exists(), "until another stands"


def test_an_environment_of_another_python_is_there_until_the_new_one_stands(
    checkout: Path, installer: FakeInstaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_by(installer)
    (checkout / ".venv/pyvenv.cfg").write_text("version = 3.9.2\n")
    (checkout / ".venv/old").touch()
    monkeypatch.setattr(bootstrap, "ANEW", True)
    for kind in ("venv", "packages", "lab"):
        installer.fail_at = kind
        with pytest.raises(SystemExit):
            bootstrap.make()
        assert (checkout / ".venv/old").exists()
        assert bootstrap.STAMP.exists()
        assert not bootstrap.BEFORE.exists()
    # A start that was killed brings nothing back: the next one finds it as it was left.
    (checkout / ".venv").rename(bootstrap.BEFORE)
    (checkout / ".venv").mkdir()
    installer.fail_at = "packages"
    with pytest.raises(SystemExit):
        bootstrap.make()
    assert (checkout / ".venv/old").exists()
    installer.fail_at = None
    assert made_by(installer) == [RELEASE, "venv", "packages", "lab"]
    assert not (checkout / ".venv/old").exists()
    assert not bootstrap.BEFORE.exists()


def test_packages_that_cannot_be_had_leave_the_environment_as_it_was(
    checkout: Path, installer: FakeInstaller
) -> None:
    made_by(installer)
    stamp = bootstrap.STAMP.read_text()
    constraints = checkout / "lab/constraints.txt"
    constraints.write_text("rich==15.0.1\n")
    installer.fail_at = "packages"
    for _start in range(2):
        with pytest.raises(SystemExit):
            bootstrap.make()
        assert bootstrap.STAMP.read_text() == stamp
        assert (checkout / ".venv/bin/wirebench").exists()
    constraints.write_text("rich==15.0.0\n")
    assert made_by(installer) == [], "what was there before the change is there"


def test_packages_of_which_some_changed_are_made_anew_and_kept_until_then(
    checkout: Path, installer: FakeInstaller
) -> None:
    made_by(installer)
    (checkout / "lab/constraints.txt").write_text("rich==15.0.1\n")
    installer.fail_at = "lab"
    with pytest.raises(SystemExit):
        bootstrap.make()
    assert not bootstrap.STAMP.exists()
    installer.fail_at = "packages"
    with pytest.raises(SystemExit):
        bootstrap.make()
    assert (checkout / ".venv/bin/wirebench").exists(), "the next start without a network"
    installer.fail_at = None
    assert made_by(installer) == [RELEASE, "venv", "packages", "lab"]


@pytest.mark.parametrize(
    ("made_for", "generator", "kept"),
    [
        ("", "Ninja", True),
        ("elsewhere", "Ninja", False),
        ("gone", "Ninja", False),
        ("", "Unix Makefiles", False),
    ],
)
def test_a_build_folder_of_another_place_or_generator_is_made_anew(
    checkout: Path, installer: FakeInstaller, made_for: str, generator: str, kept: bool
) -> None:
    (checkout / "elsewhere").mkdir()
    folder = checkout / "build/native/release"
    folder.mkdir(parents=True)
    (folder / "CMakeCache.txt").write_text(
        "CMAKE_CACHE_MAJOR_VERSION:INTERNAL=3\n"
        f"CMAKE_HOME_DIRECTORY:INTERNAL={checkout / made_for}\n"
        f"CMAKE_GENERATOR:INTERNAL={generator}\n"
    )
    assert made_by(installer) == [RELEASE, "venv", "packages", "lab"]
    assert folder.exists() is kept


def test_missing_packages_are_one_line_to_run_for_those_who_are_not_root(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(SystemExit) as caught:
        bootstrap.install_system_packages(["g++", "libfmt-dev"])
    assert caught.value.code == 69
    line = "sudo apt-get update && sudo apt-get install -y --no-install-recommends g++ libfmt-dev"
    assert line in [text.strip() for text in capsys.readouterr().err.splitlines()]


def test_root_installs_missing_packages_by_name(
    installer: FakeInstaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    bootstrap.install_system_packages(["g++", "libfmt-dev"])
    assert installer.kinds == ["apt-get", "apt-get"]


def test_what_is_missing_is_found_by_looking(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        bootstrap,
        "SYSTEM",
        (("sh", "dash"), ("no-such-tool", "tool"), ("no/such.hpp", "libsuch-dev")),
    )
    assert bootstrap.missing_system_packages() == ["tool", "libsuch-dev"]


def test_a_command_that_fails_shows_the_end_of_its_log(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bootstrap.LOG.parent.mkdir()
    with pytest.raises(SystemExit) as caught:
        bootstrap.run(["sh", "-c", "echo why it failed; exit 7"])
    assert caught.value.code == 70
    said = capsys.readouterr().err
    assert "  | why it failed" in said
    assert "exited with 7; log: build/bootstrap.log" in said


def test_what_the_user_has_set_for_python_does_not_reach_an_installation(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap.LOG.parent.mkdir()
    command = ["sh", "-c", "echo $GIVEN ${PYTHONPATH-none} ${PYTHONHOME-none}"]
    for name in ("GIVEN", "PYTHONPATH", "PYTHONHOME"):
        monkeypatch.setenv(name, "/elsewhere")
    bootstrap.run(command)
    assert bootstrap.LOG.read_text().splitlines()[-1] == "/elsewhere none none"
    bootstrap.run(command, env={**os.environ, "GIVEN": "here"})
    assert bootstrap.LOG.read_text().splitlines()[-1] == "here none none"


def test_pip_installs_into_the_environment_also_where_a_pip_conf_says_user(
    installer: FakeInstaller,
) -> None:
    made_by(installer)
    installs = [command for command in installer.commands if "pip" in command]
    assert len(installs) == 2
    assert all("--no-user" in command for command in installs)


COMPILER = """#!/bin/sh
echo '#define __GNUC__ {gcc}'
{more}
"""


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_checkout_whose_path_is_no_ascii_runs_in_every_locale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locale: str
) -> None:
    lab = tmp_path / "bänke ✓" / "lab"
    lab.mkdir(parents=True)
    (lab / "what_is_there.py").write_text("print('found')\n")
    environment = lab.parent / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "_editable.pth").write_bytes(b"import json\n" + os.fsencode(lab) + b"\n")
    monkeypatch.setattr(bootstrap, "VENV", environment)
    bootstrap.spell_paths_in_ascii()
    answer = subprocess.run(
        [environment / "bin/python", "-c", "import what_is_there"],
        capture_output=True,
        text=True,
        env={"LC_ALL": locale},
        check=False,
    )
    assert answer.stdout == "found\n", answer.stderr


@pytest.mark.parametrize(
    ("gcc", "clang", "got"),
    [(12, None, None), (13, None, None), (11, None, "GCC 11"), (4, 14, None), (4, 13, "Clang 13")],
)
def test_a_compiler_that_is_too_old_is_said_with_what_to_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    gcc: int,
    clang: int | None,
    got: str | None,
) -> None:
    compiler = tmp_path / "its c++"
    more = "" if clang is None else f"echo '#define __clang_major__ {clang}'"
    compiler.write_text(COMPILER.format(gcc=gcc, more=more))
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", f"env '{compiler}'")
    if got is None:
        bootstrap.check_compiler()
        return
    with pytest.raises(SystemExit) as caught:
        bootstrap.check_compiler()
    assert caught.value.code == 69
    said = capsys.readouterr().err
    assert "expected GCC 12 or newer, or Clang 14 or newer, got " + got in said
    assert "sudo apt-get install -y g++-12\n" in said


def test_the_workflow_of_the_gate_installs_what_the_first_start_needs() -> None:
    """Its steps run as a normal user, for whom nothing is installed."""
    text = (REAL_ROOT / "docs/ci/gate.yml").read_text()
    named = text.partition("apt-get install")[2].partition(".wirebench/")[0].split()
    assert {package for _probe, package in bootstrap.SYSTEM} | {"python3-venv"} <= set(named)


def test_the_readme_names_the_least_compiler() -> None:
    readme = (REAL_ROOT / "README.md").read_text()
    assert f"GCC {bootstrap.LEAST_GCC} or newer" in readme
    language = (REAL_ROOT / "contestants/cpp/language.toml").read_text()
    assert f'"g++ >= {bootstrap.LEAST_GCC}"' in language


@pytest.mark.parametrize("place", ["build/.bootstrap.lock", ".venv/lib/module.py"])
def test_files_of_another_user_are_said_with_what_to_do(
    checkout: Path,
    installer: FakeInstaller,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: str,
) -> None:
    made_by(installer)
    file = checkout / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    # As it is for another user, whoever runs this.
    monkeypatch.setattr("os.geteuid", lambda: file.stat().st_uid + 1)
    monkeypatch.setattr("os.access", lambda path, mode: mode == os.F_OK or Path(path) != file)
    (checkout / "lab/constraints.txt").write_text("rich==15.0.1\n")
    with pytest.raises(SystemExit) as caught:
        bootstrap.make()
    assert caught.value.code == 70
    said = capsys.readouterr().err
    assert f"{file}: expected a file of yours, got one of " in said
    assert f"sudo chown -R $(id -u):$(id -g) {checkout / '.venv'} {checkout / 'build'}" in said
    assert bootstrap.STAMP.exists()


def test_a_folder_that_cannot_be_written_is_said_in_a_line(
    checkout: Path, installer: FakeInstaller, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "build").write_text("not a folder")
    with pytest.raises(SystemExit) as caught:
        bootstrap.make()
    assert caught.value.code == 70
    said = capsys.readouterr().err
    assert said.startswith("wirebench: cannot make the environment: [Errno 17] File exists")
    assert str(checkout / "build") in said


@pytest.mark.parametrize(("before", "handled"), [(signal.SIG_DFL, True), (signal.SIG_IGN, False)])
def test_a_lost_terminal_is_an_interruption_but_under_nohup(
    installer: FakeInstaller,
    monkeypatch: pytest.MonkeyPatch,
    before: signal.Handlers,
    handled: bool,
) -> None:
    handlers: dict[int, object] = {}
    monkeypatch.setattr("signal.getsignal", lambda _number: before)
    monkeypatch.setattr("signal.signal", handlers.__setitem__)
    made_by(installer)
    assert (signal.SIGHUP in handlers) is handled
    assert signal.SIGTERM in handlers


def test_an_interruption_while_it_looks_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(bootstrap, "up_to_date", interrupted)
    with pytest.raises(SystemExit) as caught:
        bootstrap.main()
    assert caught.value.code == 130
    assert capsys.readouterr().err == "wirebench: interrupted\n"


@pytest.mark.parametrize(
    ("version", "otherwise"),
    [("3.9.2", "exit 1"), ("3.11.2", 'case "$*" in *tomllib*) exit 1 ;; esac')],
    ids=["too old", "without all of its library"],
)
def test_without_a_python_that_suits(tmp_path: Path, version: str, otherwise: str) -> None:
    (tmp_path / "lab").mkdir()
    shutil.copy(REAL_ROOT / "wirebench", tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("dirname", "readlink"):
        (tools / name).symlink_to(shutil.which(name) or "")
    old = tools / "python3"
    old.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo Python {version}\n{otherwise}\n')
    old.chmod(0o755)
    # The system's own Python is tried by its path: let that be the old one too.
    script = (tmp_path / "wirebench").read_text().replace("/usr/bin/python3 ", f"{old} ")
    (tmp_path / "wirebench").write_text(script)
    answer = subprocess.run(
        ["/bin/sh", "wirebench"],
        cwd=tmp_path,
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 69
    assert f"expected Python 3.11 or newer, got Python {version}" in answer.stderr


def test_a_start_that_makes_the_environment_anew_does_not_run_on_its_python(tmp_path: Path) -> None:
    shutil.copy(REAL_ROOT / "wirebench", tmp_path)
    for place, says in ((".venv/bin/python", "environment"), ("tools/python3", "system")):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text(
            f'#!/bin/sh\ncase "$*" in *tomllib*) ;; *) echo {says} ;; esac\n'
        )
        (tmp_path / place).chmod(0o755)
    (tmp_path / ".venv/wirebench.stamp").touch()
    env = {"PATH": f"{tmp_path / 'tools'}:/usr/bin:/bin"}
    for anew, expected in (("", "environment"), ("1", "system")):
        answer = subprocess.run(
            ["/bin/sh", "wirebench"],
            cwd=tmp_path,
            env={**env, "WIREBENCH_ANEW": anew},
            capture_output=True,
            text=True,
        )
        assert answer.stdout == f"{expected}\n"


def test_git_changes_no_line_ends_in_a_checkout() -> None:
    lines = (REAL_ROOT / ".gitattributes").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["* -text"]


def test_the_stamp_of_this_checkout_names_all_native_parts() -> None:
    assert all((REAL_ROOT / name).exists() for name in bootstrap.NATIVE)
    assert os.access(REAL_ROOT / "wirebench", os.X_OK)
