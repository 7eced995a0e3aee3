"""What suites count: tests that passed, failed and were skipped, by their runners' files."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    again: int = 0
    """Of those that passed, how many failed at first and passed when they ran again alone."""

    def __add__(self, other: Count) -> Count:
        return Count(
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            skipped=self.skipped + other.skipped,
            again=self.again + other.again,
        )

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        again = f" ({self.again} only when run again alone)" if self.again else ""
        return f"{self.passed} passed{again}, {self.failed} failed{skipped}"


ONE_PASSED = Count(passed=1)
ONE_FAILED = Count(failed=1)


def add(counts: Iterable[Count]) -> Count:
    return sum(counts, start=Count())


def one(status: int) -> Count:
    """One test, by the exit code of a program."""
    return ONE_PASSED if status == 0 else ONE_FAILED


def checked(count: Count, status: int) -> Count:
    """A runner that failed although no test of it did has failed itself."""
    return count + ONE_FAILED if status != 0 and count.failed == 0 else count


def count_junit(path: Path, *, without: Container[str] = ()) -> Count:
    """The tests of a JUnit file but those of these names. One that is not there or empty is a
    failure: the runner did not get to its end.
    """
    cases = _cases(path)
    total = Count()
    for case in cases:
        if case.get("name") in without:
            continue
        if _failed(case):
            total += ONE_FAILED
        elif case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
            total += Count(skipped=1)
        else:
            total += ONE_PASSED
    return total if cases else ONE_FAILED


def _cases(path: Path) -> list[ET.Element]:
    try:
        return list(ET.parse(path).iter("testcase"))  # noqa: S314  # written by our own runner
    except (OSError, ET.ParseError):
        return []


def _failed(case: ET.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


def failed_cases(path: Path) -> int:
    """How many test cases of a JUnit file failed."""
    return sum(map(_failed, _cases(path)))


def count_ctest(report: Path, shards: Path, *, second: Path | None = None) -> Count:
    """The tests of ctest's JUnit file, where a shard stands for the tests in the JUnit file of its
    own. One that did not get to its end has none, and counts as ctest says. ``second``: the file of
    another run, whose tests count as they ended there.
    """
    own = {file.stem: file for file in shards.glob("*.xml")}
    shown = add(map(count_junit, own.values()))
    if second is None:
        return shown + count_junit(report, without=own)
    again = {str(case.get("name")) for case in _cases(second)}
    return shown + count_junit(report, without={*own, *again}) + count_junit(second, without=own)


def count_probes(report: Path) -> Count:
    """The MUSTs among the probes in what ``wirebench verify --conformance --json`` wrote."""
    if not report.exists():
        return ONE_FAILED
    records = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    musts = [
        probe
        for record in records
        for probe in record.get("probes", ())
        if probe["level"] == "MUST"
    ]
    kinds = {
        "passed": ONE_PASSED,
        "closed": ONE_FAILED,
        "failed": ONE_FAILED,
        "not_applicable": Count(skipped=1),
    }
    return add(kinds[probe["outcome"]] for probe in musts) if musts else ONE_FAILED


def count_verified(report: Path) -> Count:
    """The contestants' workloads in what ``wirebench verify --json`` wrote. Not installed is
    skipped, not passed.
    """
    if not report.exists():
        return ONE_FAILED
    total = Count()
    for line in report.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "probes" in record:
            continue
        if record["passed"]:
            total += ONE_PASSED
        elif (record["failure"] or {}).get("kind") in ("not_installed", "disabled"):
            total += Count(skipped=1)
        else:
            total += ONE_FAILED
    return total
