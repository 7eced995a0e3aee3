"""The commands ``report`` and ``compare``: what they print, write and refuse."""

from __future__ import annotations

import errno
import os
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from synthetic_run import write_run
from synthetic_world import World
from wirebench.cli.console import EXIT_OK, EXIT_USAGE, console
from wirebench.cli.main import run_app
from wirebench.cli.publish import publish
from wirebench.report import page, write_report

WORLD = World(studies=("concurrency",), samples=60)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_report_writes_the_page_where_it_is_asked_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path, WORLD)
    assert run_app(["report", str(run)]) == EXIT_OK
    assert (run / "report.html").exists()
    page, charts = tmp_path / "page.html", tmp_path / "charts"
    assert run_app(["report", str(run), "--out", str(page), "--charts", str(charts)]) == EXIT_OK
    assert page.exists()
    assert (charts / "concurrency.c50.ratios.svg").exists()
    assert str(page) in capsys.readouterr().out


@pytest.mark.parametrize("writable", [True, False])
def test_the_library_of_charts_is_kept_for_the_user_and_not_beside_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writable: bool
) -> None:
    cache = tmp_path / "cache"
    if not writable:
        cache.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    made = iter(("the first library", "the second library"))
    monkeypatch.setattr(page, "_bundle", lambda: next(made))
    run = write_run(tmp_path / "results", WORLD)
    assert "the first library" in write_report(run).read_text()
    again = "the first library" if writable else "the second library"
    assert again in write_report(run).read_text()
    assert {path.name for path in run.parent.iterdir()} == {run.name, "twins.jsonl"}


@pytest.mark.parametrize(
    ("given", "expected"), [("", "/home/.cache"), ("relative", "/home/.cache"), ("/x", "/x")]
)
def test_the_users_cache_is_found_by_xdg(
    monkeypatch: pytest.MonkeyPatch, given: str, expected: str
) -> None:
    monkeypatch.setenv("HOME", "/home")
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    assert page.cache_folder() == Path(expected, "wirebench")


def test_a_report_goes_into_what_is_no_file_of_its_own(tmp_path: Path) -> None:
    """As root, ``--out /dev/stdout`` put a file in the place of the device."""
    run = write_run(tmp_path, WORLD)
    page, link, pipe = tmp_path / "page.html", tmp_path / "link.html", tmp_path / "pipe"
    link.symlink_to(page)
    assert run_app(["report", str(run), "--out", str(link)]) == EXIT_OK
    assert link.is_symlink()
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text("utf-8")), daemon=True)
    reader.start()
    assert run_app(["report", str(run), "--out", str(pipe)]) == EXIT_OK
    assert pipe.is_fifo()
    reader.join()
    assert got[0].startswith("<!doctype html>")
    assert page.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "no-such-run"], "RUN: expected"),
        (["report", "{run}", "--out", "{run}/none/x.html"], "--out: expected a file"),
    ],
)
def test_report_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    run = write_run(tmp_path, WORLD)
    assert run_app([word.format(run=run) for word in arguments]) == EXIT_USAGE
    assert said in capsys.readouterr().err


def test_report_of_a_spoilt_run_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path, WORLD)
    lines = (run / "trials.jsonl").read_text().splitlines()
    (run / "trials.jsonl").write_text("\n".join([lines[0], "{spoilt", *lines[2:]]) + "\n")
    assert run_app(["report", str(run)]) == EXIT_USAGE
    assert "trials.jsonl: line 2: expected JSON" in capsys.readouterr().err


def test_a_folder_that_may_only_be_read_has_its_reports_and_comparisons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the kept runs of a pipeline, or those of another user."""
    world = replace(WORLD, samples=5)
    later = replace(world, seed=8, started_unix_ns=world.started_unix_ns + 10**12)
    runs = tmp_path / "kept"
    first, second = (str(write_run(runs, one)) for one in (world, later))
    page = tmp_path / "page.html"

    def refuse(path: Path, _records: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr("wirebench.stats.history.append_records", refuse)
    assert run_app(["compare", first, second]) == EXIT_OK
    assert run_app(["history", "show", "throughput_per_s", "--results", str(runs)]) == EXIT_OK
    assert run_app(["report", first, "--out", str(page)]) == EXIT_OK
    assert page.exists()
    capsys.readouterr()
    monkeypatch.setattr(
        "wirebench.cli.arguments.os.access", lambda path, _mode: not str(path).startswith(first)
    )
    assert run_app(["report", first]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert f"--out: expected a file that can be written, got {first}" in " ".join(said.split())


def test_compare_prints_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = replace(WORLD, generator_per_s=1_000_000)
    first = write_run(tmp_path, world)
    later = replace(
        world, seed=8, started_unix_ns=WORLD.started_unix_ns + 10**12, scale={"go/net-http": 1.4}
    )
    second = write_run(tmp_path, later)
    assert run_app(["compare", str(first), str(second)]) == EXIT_OK
    lines = capsys.readouterr().out.splitlines()
    changed = [line for line in lines if "go/net-http" in line]
    assert len(changed) == 2
    assert all(
        line.lstrip().startswith("▼") and "worse" in line and "0.7" in line for line in changed
    )
    assert all("worse" not in line for line in lines if "c/libevent" in line)
    assert any("what differs between runs" in line for line in lines)


def test_compare_names_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = write_run(tmp_path, replace(WORLD, studies=("concurrency", "rest")))
    second = write_run(
        tmp_path,
        replace(
            WORLD,
            studies=("concurrency", "roundtrip"),
            started_unix_ns=WORLD.started_unix_ns + 10**12,
        ),
    )
    assert run_app(["compare", str(first), str(second)]) == EXIT_OK
    lines = capsys.readouterr().out.splitlines()
    for run, study in (("A", "rest"), ("B", "roundtrip")):
        (said,) = [one for one in lines if one.startswith(f"not compared: only run {run} has ")]
        assert f"{study}." in said
        assert "concurrency" not in said
    gone = sum(" not decided" not in one and "no valid trial" in one for one in lines)
    assert gone > 0
    assert lines[-1].endswith(f", {gone} without a ratio")


def test_compare_refuses_another_host_unless_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = write_run(tmp_path, WORLD)
    second = write_run(tmp_path, replace(WORLD, host_id="ffffffffffff"))
    assert run_app(["compare", str(first), str(second)]) == EXIT_USAGE
    assert "same host, got 0123456789ab" in capsys.readouterr().err
    assert run_app(["compare", str(first), str(second), "--force"]) == EXIT_OK
    assert "a difference may come from the hosts" in capsys.readouterr().err


def test_compare_refuses_runs_without_a_common_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = write_run(tmp_path, WORLD)
    second = write_run(tmp_path, replace(WORLD, studies=("rest",)))
    assert run_app(["compare", str(first), str(second)]) == EXIT_USAGE
    assert "expected a run with a cell of" in capsys.readouterr().err


def test_compare_says_which_figures_are_bounds_and_which_rates_were_offered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = replace(WORLD, preset="load", generator_per_s=1_000_000)
    first = write_run(tmp_path, world)
    later = replace(
        world, seed=8, started_unix_ns=WORLD.started_unix_ns + 10**12, generator_per_s=140_000
    )
    second = write_run(tmp_path, later)
    assert run_app(["compare", str(first), str(second)]) == EXIT_OK
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "≥" in line and "cpp/floor" in line]
    assert sum("not over the floor" in line and "run B" in line for line in lines) == 1
    offered = [line for line in lines if re.search(r"\(offered [\d,]+/s and [\d,]+/s\)", line)]
    assert any("rust/axum" in line for line in offered)
    assert len(offered) < len([line for line in lines if "equivalent" in line or "not dec" in line])


def test_a_narrow_terminal_loses_nothing_of_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It wraps the lines; columns that do not fit would be left out, figures cut."""
    first = write_run(tmp_path, WORLD)
    second = write_run(tmp_path, replace(WORLD, seed=WORLD.seed + 1))
    monkeypatch.setenv("COLUMNS", "40")
    assert run_app(["compare", str(first), str(second)]) == EXIT_OK
    said = capsys.readouterr().out
    assert re.search(r"python/aiohttp +\S+ +\S+ +[\d.]+\S \[\S+, \S+\] +", said)
    assert re.search(r"^  .*python/aiohttp.*: the interval crosses the edge", said, re.MULTILINE)
    assert "…" not in said
    publish(first, console())
    said = capsys.readouterr().out
    assert re.search(r"^ ▼ +\S+ +python/flask +≤? ?\S+ \[\S+, \S+\] +\S*\d", said, re.MULTILINE)
    assert "closed_early" in said
    assert "…" not in said
