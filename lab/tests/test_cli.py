"""The commands: what they print, how they fail, and with which exit code."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from typer import rich_utils

from conftest import MANIFEST, Project
from wirebench.catalog import CatalogError
from wirebench.cli.app import COMMANDS, make_app
from wirebench.cli.arguments import check_folder, check_output, check_outputs, say_left_out
from wirebench.cli.console import console
from wirebench.cli.main import run_app
from wirebench.fleet.hosts import read_fleet
from wirebench.process.bystanders import Bystander

LANGUAGE = """
title = "Shell"
example = "pattern"
needs = { commands = ["sh"] }
[build]
steps = [["true"]]
[run]
server = ["sh", "{source}/server.sh"]
"""


@pytest.fixture
def shell(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a language and three contestants, ``sh/pattern`` its example; ``sh`` says its
    version.
    """
    tools = project.root / "tools"
    tools.mkdir()
    (tools / "sh").write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo sh 1.0 || exec /bin/sh "$@"\n'
    )
    (tools / "sh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    project.write("contestants/sh/language.toml", LANGUAGE)
    project.add(
        "sh/pattern",
        MANIFEST.replace('"mine"', '"Model/1"').replace("idiomatic", "tuned")
        + 'note = "its own"\n',
        server_sh="# Model as a server\nset -e\nserve http.hello\nexec model_server\n",
    )
    project.add("sh/good", MANIFEST)
    project.add("sh/absent", MANIFEST + 'needs = { commands = ["no-such-tool"] }\n')
    return project


def test_who_was_named_and_is_left_out_is_said(
    shell: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.add("sh/off", MANIFEST + 'disabled = { reason = "broken", since = 2026-01-31 }\n')
    selectors = ["sh/good, absent", "sh", "off"]
    say_left_out(shell.catalog(), selectors, {"sh/good"}, why="no client")
    assert capsys.readouterr().err.splitlines() == [
        "warning: absent is left out: no client",
        "warning: off is left out: broken",
    ]
    say_left_out(shell.catalog(), None, (), why="no client")
    assert capsys.readouterr().err == ""


def test_every_command_file_is_there_and_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    app = make_app()
    names = [one.name for one in app.registered_commands]
    names += [one.name for one in app.registered_groups]
    assert sorted(str(name) for name in names) == sorted(
        name.rstrip("_").replace("_", "-") for name in COMMANDS
    )
    for name in names:
        assert name is not None
        assert run_app([name, "--help"]) == 0
        assert f"wirebench {name}" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["fleet"]])
def test_a_command_alone_shows_its_help_and_no_empty_error(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(words) == 64
    said = capsys.readouterr()
    assert "Usage: wirebench" in said.out + said.err
    assert "error:" not in said.err


def test_a_narrow_terminal_cuts_no_option_of_the_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rich_utils, "MAX_WIDTH", None)
    monkeypatch.setenv("COLUMNS", "40")
    assert run_app(["decide", "--help"]) == 0
    said = capsys.readouterr().out
    assert "--memory-per-connection" in said
    assert "--max-dependencies" in said


def test_the_help_shows_a_whole_file_of_a_fleet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["fleet", "init", "--help"]) == 0
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    first = shown.index("A fleet.toml:")
    lines = [one for one in shown[first + 1 :] if not one.startswith("With pairs")]
    file = tmp_path / "fleet.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    fleet = read_fleet(file)
    assert sorted(fleet.hosts) == ["alpha", "beta"]
    assert sorted(fleet.pairs) == ["rack"]


def test_list(shell: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["list"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[1] == [
        "sh/absent",
        "mine",
        "1.0",
        "idiomatic",
        "http.hello",
        "not",
        "installed:",
        "no-such-tool",
    ]
    assert rows[2] == ["sh/good", "mine", "1.0", "idiomatic", "http.hello", "ready"]
    assert rows[3] == ["sh/pattern", "Model/1", "1.0", "tuned", "http.hello", "ready"]


def test_list_as_json_with_a_wrong_manifest_among_them(
    shell: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.add("sh/bad", "library = 1")
    assert run_app(["list", "--json"]) == 1
    said = capsys.readouterr()
    rows = json.loads(said.out)
    assert [(row["contestant"], row["status"]) for row in rows] == [
        ("sh/absent", "not_installed"),
        ("sh/good", "ready"),
        ("sh/pattern", "ready"),
        ("sh/bad", "bad_manifest"),
    ]
    assert "sh/bad is left out" in said.err
    assert "sh/bad/manifest.toml: library: expected a valid string, got 1" in said.err
    assert {tuple(row) for row in rows} == {tuple(rows[0])}, "each has the same keys"


def test_list_with_a_wrong_manifest_among_them(
    shell: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.add("sh/bad", "library = 1")
    assert run_app(["list"]) == 1
    said = capsys.readouterr()
    assert said.out.splitlines()[4].split() == ["sh/bad", "bad", "manifest"]
    assert "sh/bad is left out" in said.err
    assert "'wirebench doctor' shows how to install what is missing" in said.err


def test_show_prints_the_effective_manifest(
    shell: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.add(
        "sh/own",
        MANIFEST + 'documented = { "HTTP/2" = false, "chunked out" = true, TLS = true }\n'
        'disabled = { reason = "why \\"not\\"", since = 2026-01-31 }\n[build]\ninputs ='
        ' ["studies"]\n',
    )
    assert run_app(["show", "own"]) == 0
    shown = capsys.readouterr().out
    effective = tomllib.loads(shown)
    own = tomllib.loads((shell.root / "contestants/sh/own/manifest.toml").read_text())
    language = tomllib.loads(LANGUAGE)
    assert effective["build"] == {**language["build"], "inputs": ["studies"]}
    assert effective["run"] == language["run"]
    assert effective["disabled"] == own["disabled"]
    assert effective["documented"] == own["documented"]
    assert [line for line in shown.splitlines() if line.startswith("steps")] == [
        'steps = [["true"]]  # *'
    ]
    # Shown, it is a manifest that means the same.
    before = shell.contestant("sh/own")
    shell.add("sh/own", shown)
    assert shell.contestant("sh/own") == before


def test_new_makes_a_contestant_that_works_and_says_what_to_edit(
    shell: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["new", "sh/fresh"]) == 0
    said = capsys.readouterr().out
    assert "made contestants/sh/fresh, a copy of sh/pattern that works" in said
    assert "contestants/sh/fresh/manifest.toml:2:" in said
    edited = [line.strip() for line in said.splitlines() if "server.sh" in line]
    assert edited == [
        "contestants/sh/fresh/server.sh:1: # Model as a server",
        "contestants/sh/fresh/server.sh:3: serve http.hello",
        "contestants/sh/fresh/server.sh:4: exec model_server",
    ]
    assert "wirebench verify sh/fresh" in said
    fresh, model = shell.contestant("sh/fresh"), shell.contestant("sh/pattern")
    assert (fresh.library, fresh.tier, fresh.note) == ("fresh", "idiomatic", None)
    assert fresh == replace(
        model, identity="sh/fresh", name="fresh", folder=fresh.folder, library="fresh",
        tier="idiomatic", note=None,
    )  # fmt: skip
    script = "contestants/sh/{}/server.sh"
    assert (shell.root / script.format("fresh")).read_text() == (
        shell.root / script.format("pattern")
    ).read_text()
    assert sorted(path.name for path in (shell.root / "contestants/sh").iterdir()) == [
        "absent", "fresh", "good", "language.toml", "pattern",
    ]  # fmt: skip


REAL_ROOT = Path(__file__).resolve().parents[2]


def test_a_line_number_is_no_emoji() -> None:
    file = StringIO()
    console(file).print("server.rs:100: tokio")
    assert file.getvalue() == "server.rs:100: tokio\n"


@pytest.mark.parametrize(
    "language", sorted(path.parent.name for path in REAL_ROOT.glob("contestants/*/language.toml"))
)
def test_every_language_has_an_example_whose_copy_is_built_as_it_is(
    project: Project, capsys: pytest.CaptureFixture[str], language: str
) -> None:
    """The same steps on the same files, so that it works if the example does."""
    shutil.copytree(REAL_ROOT / "contestants", project.root / "contestants", dirs_exist_ok=True)
    for folder in ("cmake", "wire", "studies"):
        (project.root / folder).mkdir(exist_ok=True)
    (project.root / "CMakeLists.txt").touch()
    assert run_app(["new", f"{language}/mine"]) == 0
    said = capsys.readouterr().out
    mine = project.contestant(f"{language}/mine")
    example = project.contestant(said.partition("a copy of ")[2].partition(" ")[0])
    assert mine == replace(
        example, identity=f"{language}/mine", name="mine", folder=mine.folder, library="mine",
        tier="idiomatic", note=None, published=None, released=None, documented={},
    )  # fmt: skip
    for path in example.folder.rglob("*"):
        copied = mine.folder / path.relative_to(example.folder)
        assert copied.exists()
        if path.is_file() and path.name != "manifest.toml":
            assert copied.read_bytes() == path.read_bytes()
    for line in said.splitlines():
        if line.startswith("  ") and "run there: " not in line:
            place, number, _ = line.strip().split(":", 2)
            assert len((project.root / place).read_text().splitlines()) >= int(number)
    assert f"contestants/{language}/mine/manifest.toml:2: library = " in said
    # Nothing but `wirebench new` refers to the example: without it the others stand.
    shutil.rmtree(example.folder)
    assert project.catalog().errors == ()
    assert run_app(["new", f"{language}/other"]) == 64
    assert "expected a contestant of this language" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["new", "sh/good"],
            "sh/good: expected a new name, got one that is there: contestants/sh/good",
        ),
        (
            ["new", "shh/mine"],
            "shh: expected a language with an example to copy (`example` in "
            "contestants/shh/language.toml), got none; did you mean sh?",
        ),
        (["new", "cobol/mine"], "got none; these have one: sh"),
        (["new", "sh"], "sh: expected LANG/NAME of a-z, 0-9, '-' and '_', such as python/mine"),
        (["new", "../x/y"], "../x/y: expected LANG/NAME"),
        (["show", "sh/goood"], "sh/goood: no contestant has this name; did you mean sh/good?"),
        (
            ["build", "nothing-like-it"],
            "nothing-like-it: no contestant has this name; 'wirebench list' shows them all",
        ),
        (["lst"], "No such command 'lst'"),
        (["list", "--jsn"], "No such option: --jsn"),
        (["build", "--jobs", "many"], "--jobs"),
        (["show"], "Missing argument 'CONTESTANT'; see 'wirebench show --help'"),
    ],
)
def test_what_the_user_wrote_wrongly_is_one_line(
    shell: Project, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    assert run_app(arguments) == 64
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert len(said.err.splitlines()) == 1
    assert expected in said.err


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("missing/x", "--json: expected a file in a folder that exists, got missing/x"),
        (".", "--json: expected a file, got the folder ."),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        ["verify"],
        ["syscalls"],
        ["phases"],
        ["conformance", "http://127.0.0.1:9/"],
        ["footprint"],
        ["google-benchmark"],
        ["decide", "--workload", "http.hello"],
        ["duel", "./a", "./b"],
        ["selftest"],
    ],
)
def test_a_result_that_could_not_be_written_is_told_before_the_work(
    shell: Project,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    file: str,
    expected: str,
) -> None:
    assert run_app([*command, "--json", file]) == 64
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [f"error: {expected}"]


@pytest.mark.parametrize("command", ["syscalls", "phases", "footprint", "google-benchmark"])
def test_results_that_could_not_be_kept_are_told_before_the_work(
    shell: Project, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (shell.root / "results").touch()
    assert run_app([command]) == 64
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: results: expected a folder, got")


@pytest.mark.parametrize(
    "command",
    [
        ["footprint", "--json", "x", "--markdown", "./x"],
        ["duel", "./a", "./b", "--json", "x", "--html", "./x"],
        ["gate", "./a", "./b", "--junit", "x", "--markdown", "./x"],
    ],
)
def test_two_results_do_not_go_into_one_file(
    shell: Project, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert run_app(command) == 64
    said = capsys.readouterr()
    assert said.err == (
        f"error: {command[-2]}: expected another file than that of {command[-4]}, got x\n"
    )


def test_several_results_may_go_to_one_device() -> None:
    check_outputs({"--json": Path("/dev/null"), "--markdown": Path("/dev/null"), "--html": None})


def test_results_need_a_place_that_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    check_output("--json", tmp_path / "file")
    check_output("--json", tmp_path / "new")
    check_output("--json", None)
    check_folder("--out", tmp_path)
    check_folder("--out", tmp_path / "new" / "below")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(CatalogError, match="--out: expected a folder, got"):
            check_folder("--out", folder)
    # For the superuser there is no such place.
    monkeypatch.setattr(os, "access", lambda *_: False)
    for file in (tmp_path / "file", tmp_path / "new"):
        with pytest.raises(CatalogError, match="--json: expected a file that can be written"):
            check_output("--json", file)
    with pytest.raises(CatalogError, match="--out: expected a folder that can be written"):
        check_folder("--out", tmp_path / "new")


def test_outside_a_project(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_app(["list"]) == 64
    assert (
        "expected contestants (contestants/LANG/NAME/manifest.toml), got none"
        in capsys.readouterr().err
    )


def test_build_says_what_became_of_each(shell: Project, capsys: pytest.CaptureFixture[str]) -> None:
    shell.add(
        "sh/failing", MANIFEST + '[build]\nsteps = [["sh", "-c", "echo [red]no luck; exit 1"]]\n'
    )
    assert run_app(["build"]) == 1
    said = capsys.readouterr().out
    assert "not installed sh/absent" in said
    assert "  needs no-such-tool" in said
    assert "failed sh/failing" in said
    assert "  | [red]no luck" in said
    assert "built sh/good in" in said
    assert "built sh/pattern in" in said
    assert said.splitlines()[-1] == "2 built, 1 failed, 1 not installed"
    assert run_app(["build", "sh/good"]) == 0
    assert "built sh/good (as before)" in capsys.readouterr().out
    assert run_app(["build", "sh/absent"]) == 1, "nothing was built"


def test_build_as_json(shell: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["build", "--json"]) == 0
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(result["contestant"], result["status"]) for result in results] == [
        ("sh/absent", "not_installed"),
        ("sh/good", "ok"),
        ("sh/pattern", "ok"),
    ]
    assert Path(results[1]["folder"]).is_dir()


@pytest.mark.parametrize("lacks", ["is_root", "has_apt"])
def test_setup_prints_the_line_when_it_may_not_or_cannot_install(
    shell: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    shell.add("sh/library", MANIFEST + 'needs = { commands = ["sh"], debian = ["libnone-dev"] }\n')
    for name in ("is_root", "has_apt"):
        monkeypatch.setattr(f"wirebench.cli.setup.{name}", lambda here=name != lacks: here)
    monkeypatch.setattr("wirebench.host.debian.is_root", lambda: False)
    assert run_app(["setup"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "sudo apt-get update && sudo apt-get install -y --no-install-recommends libnone-dev"
    ]
    assert run_app(["setup", "sh/good"]) == 0


def test_doctor_exits_by_whether_something_is_missing(
    shell: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["doctor"]) == 0, "a tool that no package brings is a note"
    said = capsys.readouterr().out
    assert "sh/absent: needs no-such-tool; no-such-tool: see https://example.org/mine" in said
    assert "nothing is missing" not in said
    assert "nothing to install" in said
    shell.add("sh/library", MANIFEST + 'needs = { debian = ["libnone-dev"] }\n')
    assert run_app(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "missing: not installed: libnone-dev" in said
    assert "why: not measured without: sh/library" in said


def test_doctor_names_those_that_run_now(
    shell: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = (
        Bystander(pid=12, name="compiler", share=0.61),
        Bystander(pid=13, name=None, share=0.02),
    )
    monkeypatch.setattr("wirebench.cli.doctor.busy_now", lambda: busy)
    assert run_app(["doctor"]) == 0, "a warning"
    said = capsys.readouterr().out
    assert "warning: other programs use 63% of a core now: compiler (pid 12) 61%, ?" in said
    monkeypatch.setattr("wirebench.cli.doctor.busy_now", lambda: busy[1:])
    assert run_app(["doctor"]) == 0
    assert "other programs" not in capsys.readouterr().out


def test_a_full_disk_is_no_mistake_of_ours(
    shell: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("wirebench.cli.list_.open_catalog", full)
    assert run_app(["list"]) == 69
    assert capsys.readouterr().err.splitlines() == [
        "error: No space left on device; what was stored before is kept"
    ]


def test_no_colour_in_pipes_nor_with_no_color(shell: Project) -> None:
    command = [sys.executable, "-m", "wirebench.cli.main", "list"]
    for extra in ({"NO_COLOR": "1", "TERM": "xterm-256color"}, {}):
        answer = subprocess.run(
            command, capture_output=True, env={**os.environ, **extra}, check=True
        )
        assert b"\x1b[" not in answer.stdout + answer.stderr


def test_what_a_terminal_cannot_show_is_no_reason_to_fail(shell: Project) -> None:
    shell.add("sh/good", MANIFEST.replace('"mine"', '"≥ caf\u00e9"'))
    for encoding, shown in (("ascii", b"? caf?"), ("latin-1", b"? caf\xe9"), ("utf-8", b"\xe2")):
        answer = subprocess.run(
            [sys.executable, "-m", "wirebench.cli.main", "list"],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        assert shown in answer.stdout


@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", ">&-", "2>&-"])
def test_closed_streams_are_no_reason_to_fail(shell: Project, closed: str) -> None:
    script = f"{sys.executable} -m wirebench.cli.main list {closed}; echo $? >&9"
    answer = subprocess.run(
        ["bash", "-c", f"exec 9>&1; {script}"], capture_output=True, text=True, check=True
    )
    assert answer.stdout.endswith("0\n")
    assert "Traceback" not in answer.stderr


def test_completion_is_a_result() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", "from wirebench.cli.main import main; main()"],
        capture_output=True,
        text=True,
        env={**os.environ, "_WIREBENCH_COMPLETE": "source_bash"},
        check=False,
    )
    assert answer.returncode == 0
    assert "complete -o default" in answer.stdout


@pytest.mark.parametrize("words", [("list",), ("show", "sh/good"), ("--version",), ("--help",)])
@pytest.mark.parametrize("stream", ["stdout", "both"])
def test_a_pipe_that_nobody_reads_is_no_result(
    shell: Project, words: tuple[str, ...], stream: str
) -> None:
    """Code 1 would say that a contestant failed, or a threshold of a gate."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "wirebench.cli.main", *words],
            stdout=write_end,
            stderr=subprocess.PIPE if stream == "stdout" else write_end,
            check=False,
        )
    finally:
        os.close(write_end)
    assert answer.returncode == 141
    assert not answer.stderr


def test_a_closed_pipe_is_no_mistake_of_ours(shell: Project) -> None:
    script = f"{sys.executable} -m wirebench.cli.main list | true"
    answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("where", "differs", "code", "said"),
    [
        ("build/x", 1, 70, "build/x: expected a file of yours, got one of "),
        ("results/x", 1, 70, "sudo chown -R $(id -u):$(id -g) {root}/results"),
        ("build/x", 0, 70, "this is a bug in wirebench"),
        ("elsewhere", 1, 70, "this is a bug in wirebench"),
    ],
)
def test_what_another_user_made_is_no_bug(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    where: str,
    differs: int,
    code: int,
    said: str,
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    file = project.write(where, "")
    own = os.geteuid()
    monkeypatch.setattr("os.geteuid", lambda: own + differs)

    def refused() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(file))

    monkeypatch.setattr("wirebench.cli.main.make_app", refused)
    assert run_app(["build"]) == code
    heard = capsys.readouterr().err
    assert said.format(root=project.root) in heard
    assert ("Traceback" in heard) == ("bug" in said)
