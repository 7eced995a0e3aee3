"""How checks are run: when one is tried again, and when the rest are not run at all."""

from __future__ import annotations

from collections.abc import Callable

from wirebench.verify.checks import Check, Mismatch, Unchecked, run_checks
from wirebench.verify.http import PeerError, SilenceError
from wirebench.verify.types import CheckResult, verdict


def script(*outcomes: str | Exception) -> Callable[[], str]:
    left = iter(outcomes)

    def run() -> str:
        outcome = next(left)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return run


def check(name: str, *outcomes: str | Exception, required: bool = True) -> Check:
    return Check(
        id=name, sent="a question", expected="an answer", run=script(*outcomes), required=required
    )


def run(*checks: Check, alive: bool = True) -> list[tuple[str, bool]]:
    return [(result.id, result.passed) for result in run_checks(checks, alive=lambda: alive)]


def test_a_mismatch_says_what_was_expected_just_there() -> None:
    (result,) = run_checks(
        [check("a", Mismatch(expected="reply 3: x", received="reply 3: y"))], alive=lambda: True
    )
    assert result == CheckResult(
        id="a",
        passed=False,
        required=True,
        sent="a question",
        expected="reply 3: x",
        received="reply 3: y",
    )


def test_silence_among_answers_is_tried_again_and_said() -> None:
    quiet = SilenceError("nothing")
    results = run_checks(
        [check("a", "yes"), check("b", quiet, quiet, "yes"), check("c", "yes")], alive=lambda: True
    )
    assert [(one.id, one.passed, one.required) for one in results] == [
        ("a", True, True),
        ("b", True, True),
        ("b.steady", False, False),
        ("c", True, True),
    ]
    assert results[2].received == "no answer at 2 of 3 attempts, then the right one"
    assert verdict("x", "server", "rest", tuple(results), elapsed_ns=1).passed


def test_silence_three_times_is_a_failure() -> None:
    quiet = SilenceError("nothing")
    assert run(check("a", "yes"), check("b", quiet, quiet, quiet)) == [("a", True), ("b", False)]


def test_what_is_wrong_is_not_tried_again() -> None:
    wrong = Mismatch(expected="x", received="y")
    assert run(
        check("a", "yes"), check("b", wrong, "yes"), check("c", PeerError("closed"), "yes")
    ) == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]


def test_advice_is_not_waited_for_twice() -> None:
    assert run(check("a", "yes"), check("b", SilenceError("nothing"), required=False)) == [
        ("a", True),
        ("b", False),
    ]


def test_one_that_never_answers_is_asked_three_times_in_all() -> None:
    quiet = SilenceError("nothing")
    checks = [check(str(number), quiet) for number in range(10)]
    assert run(*checks) == [("0", False), ("1", False), ("2", False)]


def test_one_that_is_gone_is_asked_no_more() -> None:
    assert run(check("a", PeerError("closed")), check("b", "yes"), alive=False) == [("a", False)]
    assert run(check("a", "yes"), check("b", "yes"), alive=False) == [("a", True), ("b", True)]


def test_what_this_host_does_not_show_is_neither_passed_nor_advice() -> None:
    results = run_checks(
        [check("a", Unchecked("no permission"), required=False), check("b", "yes")],
        alive=lambda: True,
    )
    assert [(one.passed, one.checked, one.received) for one in results] == [
        (False, False, "not checked: no permission"),
        (True, True, "yes"),
    ]
    found = verdict("x", "server", "rest", tuple(results), elapsed_ns=1)
    assert found.passed
    assert found.advice == ()


def test_a_verdict_names_all_that_failed_and_shows_the_first() -> None:
    results = run_checks(
        [
            check("a", "yes"),
            check("b", PeerError("x")),
            check("c", PeerError("y")),
            check("d", PeerError("z"), required=False),
        ],
        alive=lambda: True,
    )
    found = verdict("x", "server", "rest", tuple(results), elapsed_ns=1)
    assert found.failure is not None
    assert found.failure.message == "2 of 4 checks failed: b, c"
    assert (found.failure.sent, found.failure.expected, found.failure.received) == (
        "a question",
        "an answer",
        "x",
    )
    assert [one.id for one in found.advice] == ["d"]
    assert found.record()["passed"] is False
