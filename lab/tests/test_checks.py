"""``./test``: what it counts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import checks
from bootstrap import ROOT
from suites import native
from suites.commands import RESULTS
from suites.counts import Count, add, count_ctest, count_junit, count_probes, count_verified
from suites.fuzzing import fuzzing_summary


def test_counts_are_added_and_printed() -> None:
    total = add([Count(passed=2), Count(failed=1), Count(skipped=3)])
    assert str(total) == "2 passed, 1 failed, 3 skipped"
    assert str(Count(passed=1)) == "1 passed, 0 failed"


def test_junit_of_pytest_and_of_ctest(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text("""<testsuites><testsuite name="pytest">
        <testcase name="a"/><testcase name="b"><failure message="x"/></testcase>
        <testcase name="c"><error message="x"/></testcase><testcase name="d"><skipped/></testcase>
        </testsuite></testsuites>""")
    assert count_junit(report) == Count(passed=1, failed=2, skipped=1)
    report.write_text(
        """<testsuite tests="3"><testcase name="a" status="run"/>\
<testcase name="b" status="fail"><failure/></testcase>
        <testcase name="c" status="disabled"/><testcase name="d" status="notrun"/></testsuite>"""
    )
    assert count_junit(report) == Count(passed=1, failed=1, skipped=2)


@pytest.mark.parametrize("content", [None, "", "<testsuite>", "<testsuite/>"])
def test_a_runner_that_did_not_get_to_its_end_has_failed(
    tmp_path: Path, content: str | None
) -> None:
    report = tmp_path / "report.xml"
    if content is not None:
        report.write_text(content)
    assert count_junit(report) == Count(failed=1)


def test_a_shard_stands_for_the_tests_it_ran(tmp_path: Path) -> None:
    report, shards = tmp_path / "report.xml", tmp_path / "shards"
    report.write_text("""<testsuite><testcase name="docs" status="run"/>
        <testcase name="wire_test.1" status="run"/>
        <testcase name="wire_test.2" status="fail"><failure/></testcase>
        <testcase name="wire_test.3" status="fail"><failure/></testcase></testsuite>""")
    assert count_ctest(report, shards) == Count(passed=2, failed=2)
    shards.mkdir()
    whole = "<testsuites><testsuite><testcase name='a'/><testcase name='b'/></testsuite>"
    (shards / "wire_test.1.xml").write_text(f"{whole}</testsuites>")
    (shards / "wire_test.2.xml").write_text("""<testsuites><testsuite>
        <testcase name="c" result="completed"><failure message="x"/></testcase>
        <testcase name="d" result="skipped"><skipped message="x"/></testcase>
        </testsuite></testsuites>""")
    # The third ended before it had written one.
    assert count_ctest(report, shards) == Count(passed=3, failed=2, skipped=1)


def test_what_ran_again_counts_as_it_ended_there(tmp_path: Path) -> None:
    report, shards, second = tmp_path / "first.xml", tmp_path / "shards", tmp_path / "second.xml"
    report.write_text("""<testsuite><testcase name="docs" status="fail"><failure/></testcase>
        <testcase name="other" status="run"/>
        <testcase name="bad" status="fail"><failure/></testcase>
        <testcase name="wire_test.1" status="fail"><failure/></testcase></testsuite>""")
    shards.mkdir()
    assert count_ctest(report, shards) == Count(passed=1, failed=3)
    (shards / "wire_test.1.xml").write_text("""<testsuites><testsuite><testcase name="a"/>
        <testcase name="b"/></testsuite></testsuites>""")
    second.write_text("""<testsuite><testcase name="docs" status="run"/>
        <testcase name="bad" status="fail"><failure/></testcase>
        <testcase name="wire_test.1" status="run"/></testsuite>""")
    assert count_ctest(report, shards, second=second) == Count(passed=4, failed=1)


IN_SHARDS = """
import os, pathlib, sys

number, shards = int(os.environ["GTEST_SHARD_INDEX"]), int(os.environ["GTEST_TOTAL_SHARDS"])
assert 0 <= number < shards
before = pathlib.Path(__file__).with_name(f"{number}.before")
fails = number < FAILING and (ALWAYS or not before.exists())
before.touch()
report = sys.argv[-1].removeprefix("--gtest_output=xml:")
pathlib.Path(report).write_text(
    "<testsuites><testsuite><testcase name='a'/><testcase name='b'>"
    + "<failure/>" * fails + "</testcase></testsuite></testsuites>")
sys.exit(fails)
"""


@pytest.mark.parametrize(
    ("failing", "always", "expected"),
    [
        (0, False, Count(passed=8)),
        (2, False, Count(passed=8, again=2)),
        (2, True, Count(passed=6, failed=2)),
        (4, False, Count(passed=4, failed=4)),
    ],
)
def test_a_program_in_shards_counts_as_one_and_few_failures_run_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failing: int,
    always: bool,
    expected: Count,
) -> None:
    monkeypatch.setattr(native, "RESULTS", tmp_path)
    monkeypatch.setattr(native, "CTEST_JOBS_PER_CORE", 4)
    monkeypatch.setattr(native, "cores", lambda: "1")
    program = tmp_path / "program"
    text = IN_SHARDS.replace("FAILING", str(failing)).replace("ALWAYS", str(always))
    program.write_text(f"#!{sys.executable}\n{text}")
    program.chmod(0o755)
    assert native._in_shards(program, "lean") == expected


def test_what_passed_only_alone_is_said() -> None:
    total = add([Count(passed=2, again=1), Count(failed=1)])
    assert str(total) == "2 passed (1 only when run again alone), 1 failed"


def test_tests_that_did_not_get_to_their_end_are_a_failure_of_all_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.json"
    monkeypatch.setattr(checks, "SUMMARY", summary)
    assert checks.counted_before() == Count(failed=1)
    summary.write_text("")
    assert checks.counted_before() == Count(failed=1)
    summary.write_text('{"passed": 3, "failed": 0, "skipped": 1, "again": 0}')
    assert checks.counted_before() == Count(passed=3, skipped=1)
    script = (ROOT / ".ci/run").read_text()
    removed = f'rm -f "$root/{RESULTS.relative_to(ROOT)}/summary.json"'
    assert script.index(removed) < script.index('"$root/test" ||')


def test_what_is_not_installed_is_skipped_and_not_passed(tmp_path: Path) -> None:
    report = tmp_path / "verify.jsonl"
    assert count_verified(report) == Count(failed=1), "verify did not get to its first contestant"
    failures = (
        None,
        {"kind": "not_installed"},
        {"kind": "disabled"},
        {"kind": "build_failed"},
        {"kind": "nonconformant"},
    )
    records = [{"passed": failure is None, "failure": failure} for failure in failures]
    report.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert count_verified(report) == Count(passed=1, failed=2, skipped=2)


def test_probes_of_musts_are_counted(tmp_path: Path) -> None:
    report = tmp_path / "conformance.jsonl"
    assert count_probes(report) == Count(failed=1), "the command did not get so far"
    report.write_text('{"contestant": "cpp/wire", "passed": true}\n')
    assert count_probes(report) == Count(failed=1), "nothing was probed"
    outcomes = [
        ("MUST", "passed"),
        ("MUST", "closed"),
        ("MUST", "failed"),
        ("MUST", "not_applicable"),
        ("MAY", "failed"),
    ]
    probes = [{"level": level, "outcome": outcome} for level, outcome in outcomes]
    report.write_text(
        '{"contestant": "cpp/wire", "passed": true}\n'
        + json.dumps({"contestant": "cpp/wire", "probes": probes})
        + "\n"
    )
    assert count_probes(report) == Count(passed=1, failed=2, skipped=1)
    assert count_verified(report) == Count(passed=1)


def test_what_libfuzzer_says_is_put_into_a_line() -> None:
    said = """#16\tNEW    cov: 31 ft: 40 corp: 4/9b lim: 4 exec/s: 0 rss: 30Mb \
L: 3/4 MS: 1 ChangeBit-
#99\tDONE   cov: 742 ft: 2441 corp: 410/29Kb lim: 385 exec/s: 5497 rss: 480Mb
Done 170435 runs in 11 second(s)
"""
    assert (
        fuzzing_summary(said)
        == "Done 170435 runs in 11 second(s); cov: 742 ft: 2441 corp: 410/29Kb"
    )
