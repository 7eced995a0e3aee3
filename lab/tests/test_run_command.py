"""``wirebench run`` and ``wirebench quick`` as a user calls them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from run_project import SERVER, Project
from wirebench.cli.execute import words_to_resume
from wirebench.store.records import RunInfo, Selection
from wirebench.store.rundir import RUN_FILE, TRIALS_FILE, RunDirectory, read_run

pytestmark = pytest.mark.long  # each starts whole runs


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def test_quick_says_what_it_will_do_and_ends_with_a_table_and_a_report(project: Project) -> None:
    code, output = project.run("quick")
    assert code == 0, output
    assert "measuring  about" in output
    assert (
        output.index("measuring  about")
        < output.index("block 1 of 6")
        < output.index("python/plain~twin")
    )
    run = read_run(project.only_run())
    assert run.info.status == "complete"
    assert run.info.command[:2] == ("wirebench", "quick")
    assert str(run.path / "report.html") in output
    assert "python/floor" in (run.path / "table.txt").read_text()
    assert {record.status for record in run.trials} == {"ok"}
    assert project.survivors() == []
    assert project.leftovers() == []


def test_the_command_of_a_run_repeats_it(project: Project) -> None:
    project.run("run", "concurrency", "--quick", "--blocks", "2")
    first = read_run(project.only_run())
    code, output = project.run(*first.info.command[1:])
    assert code == 0, output
    second = read_run(project.root / "results" / "latest")
    assert second.path != first.path
    assert [record.trial for record in second.trials] == [record.trial for record in first.trials]
    assert second.info.selection == first.info.selection


def test_resuming_a_complete_run_only_shows_it_again(project: Project) -> None:
    project.run("run", "concurrency", "--quick", "--blocks", "1")
    run = project.only_run()
    before = (run / "trials.jsonl").read_bytes()
    (run / "report.html").unlink()
    code, output = project.run("run", "--resume", "latest", "--dry-run")
    assert code == 0, output
    assert "is complete" in output
    assert not (run / "report.html").exists(), "nothing is written"
    code, output = project.run("run", "--resume", "latest")
    assert code == 0, output
    assert "is complete" in output
    assert "python/plain" in output
    assert (run / "report.html").exists()
    assert (run / "trials.jsonl").read_bytes() == before


def test_what_a_resumed_run_has_takes_no_time_again(project: Project) -> None:
    words = ("run", "concurrency", "--quick", "--blocks", "6")
    _, fresh = project.run(*words, "--dry-run")
    project.run(*words)
    run = project.only_run()
    info = (run / RUN_FILE).read_text()
    (run / RUN_FILE).write_text(info.replace('"complete"', '"interrupted"'))
    trials = (run / TRIALS_FILE).read_text().splitlines(keepends=True)

    def seconds(output: str, what: str) -> int:
        found = re.search(rf"{what} +about (\d+) s", output)
        assert found is not None, output
        return int(found[1])

    for kept in (len(trials), len(trials) // 2):
        (run / TRIALS_FILE).write_text("".join(trials[:kept]))
        code, output = project.run("run", "--resume", "latest", "--dry-run")
        assert code == 0, output
        assert f"{kept} trials of this run are done" in output
        assert seconds(output, "checking") == 0
        left = seconds(output, "measuring")
        assert left == 0 if kept == len(trials) else 0 < left < seconds(fresh, "measuring")


def test_a_run_elsewhere_is_completed_there(tmp_path: Path) -> None:
    results, elsewhere = tmp_path / "results", tmp_path / "else where"
    assert words_to_resume("run", results / "x", results=results) == "run"
    found = words_to_resume("quick", elsewhere / "x", results=results)
    assert found == f"quick --out '{elsewhere}'"


def test_a_run_of_a_study_that_is_gone_cannot_be_resumed(project: Project) -> None:
    run = RunDirectory.create(project.root / "results", label="gone")
    run.write_info(
        RunInfo(
            name=run.path.name,
            wirebench="0.1.0",
            status="interrupted",
            command=("wirebench", "run", "gone"),
            selection=Selection(studies=("gone",), preset="quick", seed=1),
            started_unix_ns=1,
        )
    )
    run.close()
    code, output = project.run("run", "--resume", run.path.name)
    assert code == 64, output
    assert "--resume: expected a run of concurrency, got one of gone" in output


def test_a_wrong_contestant_is_named_with_what_it_was_sent_and_the_others_stand(
    project: Project,
) -> None:
    project.add("wrong", server=SERVER.replace("hello from route_01", "hullo from route_01"))
    code, output = project.run("run", "concurrency", "--quick", "--blocks", "2")
    assert code == 1, output
    assert "python/wrong" in output
    assert "nonconformant" in output
    assert "hello from route_01" in output
    assert "hullo from route_01" in output
    run = read_run(project.only_run())
    assert {record.entry for record in run.trials if record.status == "ok"} >= {
        "python/plain",
        "python/floor",
    }


def test_a_contestant_that_is_not_installed_is_listed_and_is_no_failure(project: Project) -> None:
    project.add("absent")
    manifest = project.root / "contestants" / "python" / "absent" / "manifest.toml"
    manifest.write_text(manifest.read_text() + 'needs = { commands = ["no-such-toolchain"] }\n')
    code, output = project.run("run", "concurrency", "--quick", "--blocks", "1")
    assert code == 0, output
    assert "without python/absent" in output
    assert "no-such-toolchain" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run",), "expected a study or --resume RUN"),
        (("run", "speed"), "STUDY: expected one of concurrency, got 'speed'"),
        (("run", "concurrency", "--preset", "slow"), "has no preset 'slow'; it has: full, quick"),
        (
            ("run", "concurrency", "--quick", "--cells", "c3"),
            "--cells: expected one of c2, got 'c3'",
        ),
        (("run", "concurrency", "--quick", "--budget", "soon"), "--budget: expected a duration"),
        (
            ("run", "concurrency", "--quick", "--only", "python/none"),
            "python/none: no contestant has this name",
        ),
        (("run", "concurrency", "--quick", "--out", "/bin/sh"), "--out: expected a folder"),
        (("run", "--resume", "no-such-run"), "is .* a run directory"),
        (
            ("run", "concurrency", "--resume", "latest", "--seed", "0", "--budget", "1m"),
            "--resume: expected no STUDY, --seed, --budget with it: a run is completed as it was",
        ),
        (("quick", "--resume", "latest", "--blocks", "9"), "--resume: expected no --blocks with"),
        (("quick", "--blocks", "0"), "--blocks.*greater than or equal to 1"),
    ],
)
def test_wrong_usage_is_one_line_and_64(
    project: Project, arguments: tuple[str, ...], message: str
) -> None:
    code, output = project.run(*arguments)
    assert code == 64, output
    assert re.search(message, output), output
    assert "Traceback" not in output
    assert not (project.root / "results").exists()


def test_a_dry_run_says_what_would_run_and_leaves_nothing(project: Project) -> None:
    code, output = project.run("run", "all", "--quick", "--dry-run")
    assert code == 0, output
    assert re.search(r"concurrency +c2 +3 +6 +\d+\.\d s +\d+\.\d s", output), output
    assert "total: 1 cell, 3 entries, 18 trials" in output
    assert re.search(r"ends +about \w{3} \d\d:\d\d", output)
    assert not (project.root / "results").exists()
    assert not (project.root / "build").exists()
    assert project.started() == []
    code, output = project.run("quick", "--dry-run", "--budget", "1m")
    assert code == 0, output
    assert "6-200" in output
    assert "what is undecided then goes on to 1 min 00 s" in output


def test_who_was_asked_for_and_takes_no_part_is_named(project: Project) -> None:
    project.add("other")
    manifest = project.root / "contestants/python/other/manifest.toml"
    manifest.write_text(manifest.read_text().replace("http.hello", "ws.echo"))
    only = ("--only", "python/plain,other", "--only", "floor")
    code, output = project.run("run", "concurrency", "--quick", "--dry-run", *only)
    assert code == 0, output
    assert "other is left out: it takes part in no cell of this run" in output
    assert output.count("is left out") == 1


def test_a_dry_run_needs_no_generator(project: Project) -> None:
    (project.root / "bin" / "wireload").unlink()
    code, output = project.run("run", "concurrency", "--quick", "--dry-run")
    assert code == 0, output


def test_repeats_run_from_copies_and_who_cannot_move_runs_in_place(project: Project) -> None:
    noting = (
        "import os, pathlib\n"
        f"with pathlib.Path({str(project.root / 'where')!r}).open('a') as file:\n"
        "    file.write(os.getcwd() + '\\n')\n"
    )
    project.add("mover", server=noting + SERVER)
    staying = "import os\nif '/copies/' in os.getcwd():\n    raise SystemExit('not here')\n"
    project.add("stayer", server=staying + SERVER)
    code, output = project.run(
        "run", "concurrency", "--quick", "--blocks", "2", "--repeats", "2", "--seed", "1"
    )
    assert code == 0, output
    where = (project.root / "where").read_text().splitlines()
    assert any("/build/contestants/" in line for line in where)
    assert any("/build/copies/" in line for line in where)
    assert len({len(line) for line in where}) > 1, "paths of other lengths"
    run = read_run(project.only_run())
    assert {(record.block, record.repeat) for record in run.trials} == {(1, 1), (2, 2)}
    assert {record.status for record in run.trials} == {"ok"}
    (note,) = (one for one in run.info.notes if "same folder" in one)
    assert note.startswith("python/stayer ran from the same folder in every repeat: its build does")
    assert not (project.root / "build" / "copies").exists()
    assert run.info.command[-4:] == ("--repeats", "2", "--seed", "1")
