"""Signals become one exception, and never in the middle of what must be whole."""

from __future__ import annotations

import os
import signal

import pytest

from wirebench.run.interrupt import Interrupted, Interrupts


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_is_an_exception_with_the_exit_code_of_a_shell(number: int, code: int) -> None:
    with Interrupts(), pytest.raises(Interrupted) as error:
        send(number)
    assert error.value.exit_code == code


def test_what_is_shielded_is_finished_first() -> None:
    steps = []

    def work(interrupts: Interrupts) -> None:
        with interrupts.shielded():
            steps.append("begun")
            with interrupts.shielded():
                send(signal.SIGTERM)
            steps.append("finished")
        steps.append("never")

    with Interrupts() as interrupts, pytest.raises(Interrupted):
        work(interrupts)
    assert steps == ["begun", "finished"]


def test_signals_after_the_first_do_not_break_what_cleans_up() -> None:
    cleaned = []

    def work() -> None:
        try:
            send(signal.SIGINT)
        finally:
            send(signal.SIGINT)
            send(signal.SIGTERM)
            cleaned.append(True)

    with Interrupts(), pytest.raises(Interrupted):
        work()
    assert cleaned


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with Interrupts():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts():
            send(signal.SIGHUP)  # as under nohup
    finally:
        signal.signal(signal.SIGHUP, before)
