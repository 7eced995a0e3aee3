"""Runs the test suites and adds up what they say: the program behind ``./test`` and ``.ci/run``.

Each suite, in ``suites``, ends in a count of passed, failed and skipped tests, from JUnit files
where the runner writes them. Results are in ``build/test-results``. Exit codes: 0 all passed, 1
something failed, 69 a Debian package is missing and we may not install it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from bootstrap import ROOT
from suites.commands import RESULTS
from suites.counts import ONE_FAILED, Count, add
from suites.fuzzing import FUZZ_SECONDS, fuzz
from suites.native import asan, clang, cpp, lean, openssl, size, soak
from suites.needs import build_dev_programs, complete_environment, install_needs
from suites.products import autobahn, contestants, docs, packages, peers
from suites.python import fleets, lint, outages, python, runs, types

SUMMARY = RESULTS / "summary.json"
COUNTS = RESULTS / "counts.json"
SUITES: dict[str, Callable[[], Count]] = {
    "lint": lint,
    "types": types,
    "python": python,
    "cpp": cpp,
    "runs": runs,
    "fleets": fleets,
    "asan": asan,
    "clang": clang,
    "fuzz": fuzz,
    "size": size,
    "lean": lean,
    "openssl": openssl,
    "docs": docs,
    "packages": packages,
    "autobahn": autobahn,
    "peers": peers,
    "contestants": contestants,
    "soak": soak,
    "outages": outages,
}
DEFAULT = ("lint", "types", "cpp", "python")
"""What ``./test`` runs: the tests of each part. ``.ci/run`` adds the others, but the soak
and the outages, which take long, and the fuzzing, which may find something in any change.
"""
NEED_ENVIRONMENT = ("runs", "fleets", "outages", "contestants")
"""These use the native programs of ``.venv``, which ``./test`` does not make."""
BESIDE = {
    "cpp": ("python", "types", "lint"),
    "asan": ("fleets", "runs", "autobahn", "docs"),
    "packages": ("peers",),
}
"""Run beside another suite, in this order, where both are asked for: most of their time they wait.
What is built meanwhile has a lower priority; and the native tests wait at their end, when mypy
computes.
"""


def counted_before() -> Count:
    """What ``./test`` counted; a failure where it did not get so far."""
    try:
        return Count(**json.loads(SUMMARY.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return ONE_FAILED


def run_suites(names: Sequence[str], *, seconds: int) -> dict[str, Count]:
    """Each suite's count. Those of ``BESIDE`` run in a second process, and their output comes when
    the suite that they run beside is done.
    """
    beside = {name: [one for one in BESIDE.get(name, ()) if one in names] for name in names}
    later = {one for others in beside.values() for one in others}
    counts: dict[str, Count] = {}
    for name in names:
        if name not in later:
            counts |= _run_beside(name, beside[name], seconds=seconds)
    return {name: counts[name] for name in names}


def _run_beside(name: str, beside: Sequence[str], *, seconds: int) -> dict[str, Count]:
    if not beside:
        return {name: _run_suite(name, seconds=seconds)}
    log = RESULTS / "beside.log"
    COUNTS.unlink(missing_ok=True)
    with log.open("wb") as output:
        command = [sys.executable, "-u", __file__, "--counts", *beside]
        second = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        counts = {name: _run_suite(name, seconds=seconds)}
        _follow(log, second)
    finally:
        # An interruption: they end as they do when they are interrupted alone.
        if second.poll() is None:
            second.send_signal(signal.SIGINT)
            second.wait()
    written = json.loads(COUNTS.read_text(encoding="utf-8")) if second.returncode == 0 else {}
    for one in beside:
        counts[one] = Count(**written[one]) if one in written else ONE_FAILED
    return counts


def _follow(log: Path, writer: subprocess.Popen[bytes]) -> None:
    """Prints a file that is being written, until its writer has ended."""
    with log.open("rb") as file:
        while True:
            ended = writer.poll() is not None
            sys.stdout.buffer.write(file.read())
            sys.stdout.flush()
            if ended:
                return
            time.sleep(0.2)


def _run_suite(name: str, *, seconds: int) -> Count:
    began = time.monotonic()
    print(f"\n=== {name}", flush=True)
    count = fuzz(seconds) if name == "fuzz" else SUITES[name]()
    print(f"=== {name}: {count} ({time.monotonic() - began:.0f} s)", flush=True)
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests.", prog="./test")
    described = "; ".join(f"{name}: {suite.__doc__}" for name, suite in SUITES.items())
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"{' '.join(DEFAULT)} if not given. {described}"
    )
    parser.add_argument(
        "--seconds",
        type=int,
        default=FUZZ_SECONDS,
        help="how long fuzz runs each program (%(default)s)",
    )
    parser.add_argument("--after-test", action="store_true", help="add what ./test counted before")
    # What run_suites() starts: write down the counts, for the process that adds them up.
    parser.add_argument("--counts", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    for name in given.suites:
        if name not in SUITES:
            parser.error(f"{name}: expected one of {', '.join(SUITES)}")
    # With it, each of some thousand Pythons that are started would compile again what it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    RESULTS.mkdir(parents=True, exist_ok=True)
    if given.counts:
        counts = {name: _run_suite(name, seconds=given.seconds) for name in given.suites}
        COUNTS.write_text(json.dumps({name: asdict(count) for name, count in counts.items()}))
        return 0
    before = counted_before() if given.after_test else Count()
    names = given.suites or DEFAULT
    if not given.after_test:
        install_needs()
    if set(names) & set(NEED_ENVIRONMENT):
        complete_environment()
    counts = {} if "python" not in names or build_dev_programs() else {"programs": ONE_FAILED}
    counts |= run_suites(names, seconds=given.seconds) if not counts else {}
    total = before + add(counts.values())
    SUMMARY.write_text(json.dumps(asdict(total)), encoding="utf-8")
    print()
    for name, count in counts.items():
        print(f"{name:12} {count}")
    if total.skipped:
        print(f"{total.skipped} skipped")
    if total.again:
        print(f"{total.again} passed only when run again alone: see the first run above")
    print(f"{total.passed} passed, {total.failed} failed", flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
