"""The suites of the lab: style, types, and its tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bootstrap import ROOT, VENV
from suites.commands import AGAIN_AT_MOST, DEV_PROGRAMS, RESULTS, run, tool
from suites.counts import Count, checked, count_junit, failed_cases, one

WORKERS_MORE = 1
"""Workers beyond the number of cores, since the lab's tests wait too. With more, tests that look at
the clock would fail beside the build of the native tests.
"""
FLEET_WORKERS_MORE = 4
"""Those of fleets wait most of their time: for what is measured, and for hosts that were lost."""


def lint() -> Count:
    """Style: ruff as linter and formatter for Python, clang-format for C and C++."""
    return (
        one(tool("ruff", "check"))
        + one(tool("ruff", "format", "--check", "-q"))
        + one(_clang_format())
    )


def _clang_format() -> int:
    """Whether each tracked C and C++ file is as .clang-format says."""
    tracked = subprocess.run(
        ["git", "ls-files", "*.cpp", "*.hpp", "*.c", "*.h"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    files = tracked.stdout.split()
    print(f"$ clang-format --dry-run -Werror ({len(files)} files)", flush=True)
    command = [str(VENV / "bin" / "clang-format"), "--dry-run", "-Werror", *files]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def types() -> Count:
    """Python types: mypy, strict."""
    return one(tool("mypy"))


def python() -> Count:
    """The lab's tests, without those of runs. They use the native programs of the preset dev."""
    return _pytest("python", "not long", programs=DEV_PROGRAMS)


def runs() -> Count:
    """The lab's longer tests: whole runs and duels, killed and completed, simulated worlds, and the
    report in a browser.
    """
    return _pytest("runs", "long and not fleet", programs=VENV / "bin")


def fleets() -> Count:
    """Whole runs on fleets of workers and of pairs, in namespaces too, whose hosts and links
    fail.
    """
    # Few and long, each goes to the next worker that is free, the longest first.
    one_by_one = ("--dist", "load", "--maxschedchunk", "1")
    return _pytest(
        "fleets",
        "fleet and not outage",
        programs=VENV / "bin",
        options=one_by_one,
        workers_more=FLEET_WORKERS_MORE,
    )


def outages() -> Count:
    """Those of fleets that wait minutes for a lost host or link. ``fleets`` has one of each
    kind.
    """
    return _pytest("outages", "outage", programs=VENV / "bin")


def _pytest(
    name: str,
    marked: str,
    *,
    programs: Path,
    options: Sequence[str] = ("--dist", "worksteal"),
    workers_more: int = WORKERS_MORE,
) -> Count:
    report = RESULTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    workers = str(len(os.sched_getaffinity(0)) + workers_more)
    several = ["-n", workers, *options, "-m", marked]
    about = ["--durations=10", f"--junitxml={report}", "--cache-clear"]
    python = [str(VENV / "bin" / "python"), "-m", "pytest"]
    env = {"WIREBENCH_PROGRAMS": str(programs)}
    status = run([*python, "-W", "error", *several, *about], env=env)
    count = checked(count_junit(report), status)
    if not 0 < failed_cases(report) <= AGAIN_AT_MOST:
        return count
    second = RESULTS / f"{name}-again.xml"
    second.unlink(missing_ok=True)
    failed = ["--last-failed", "--last-failed-no-failures=none", "-m", marked]
    status = run([*python, "-W", "error", *failed, f"--junitxml={second}"], env=env)
    again = checked(count_junit(second), status)
    recovered = min(count.failed, again.passed) if again.failed == 0 else 0
    return replace(
        count,
        passed=count.passed + recovered,
        failed=count.failed - recovered,
        again=recovered,
    )
