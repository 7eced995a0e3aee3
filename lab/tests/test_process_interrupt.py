"""Signals raise where nothing can be lost, and only once."""
# ruff: noqa: PT012  # where in the block a signal raises is what is tested

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest
import typer

from wirebench.cli.main import main
from wirebench.process.interrupt import (
    Interrupted,
    check,
    end_as_by,
    hold,
    impatient,
    interruptible,
    waiting,
)


def send(number: signal.Signals = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_raises_at_once(number: signal.Signals) -> None:
    reached = []
    with pytest.raises(Interrupted) as caught, interruptible():
        send(number)
        reached.append("after")
    assert caught.value.signum == number
    assert caught.value.exit_code == 128 + number
    assert reached == []


def test_what_ends_without_a_signal_is_kept_back_as_one() -> None:
    reached = []
    with pytest.raises(Interrupted) as caught, interruptible():
        with hold():
            end_as_by(signal.SIGPIPE)
            end_as_by(signal.SIGPIPE)
            reached.append("held")
        reached.append("after")
    assert caught.value.exit_code == 141
    assert reached == ["held"]
    assert not impatient()


def test_another_thread_is_not_interrupted_for_the_main_one() -> None:
    reached = []

    def write() -> None:
        end_as_by(signal.SIGPIPE)
        reached.append("thread")

    with pytest.raises(Interrupted), interruptible():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        check()
        reached.append("after")
    assert reached == ["thread"]


def test_under_hold_it_waits_to_the_end_of_the_block() -> None:
    reached = []
    with pytest.raises(Interrupted), interruptible():
        with hold():
            with hold():
                send()
                reached.append("inner")
            reached.append("outer")
        reached.append("after")
    assert reached == ["inner", "outer"]


def test_an_error_in_the_block_does_not_swallow_the_signal() -> None:
    with pytest.raises(Interrupted) as caught, interruptible(), hold():
        send()
        raise ValueError
    assert isinstance(caught.value.__context__, ValueError)


def test_waiting_lets_it_through_and_what_is_held_is_released() -> None:
    reached = []
    with pytest.raises(Interrupted), interruptible(), hold():
        try:
            threading.Timer(0.05, send).start()
            with waiting():
                time.sleep(30)
            reached.append("slept")
        finally:
            reached.append("released")
    assert reached == ["released"]


def test_a_signal_before_the_wait_does_not_wait() -> None:
    with pytest.raises(Interrupted), interruptible(), hold():
        send()
        with waiting():
            pytest.fail("waited")


def test_check_is_one_point() -> None:
    reached = []
    with pytest.raises(Interrupted), interruptible(), hold():
        check()
        send()
        reached.append("held")
        check()
        reached.append("after")
    assert reached == ["held"]


def test_only_the_first_raises_and_the_second_makes_impatient() -> None:
    released = []
    with pytest.raises(Interrupted), interruptible():
        try:
            send()
        finally:
            assert not impatient()
            send()
            send(signal.SIGINT)
            released.append(impatient())
    assert released == [True]


def test_handlers_are_restored_and_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        handler = signal.getsignal(signal.SIGTERM)
        with interruptible():
            assert signal.getsignal(signal.SIGTERM) != handler
            send(signal.SIGHUP)
        assert signal.getsignal(signal.SIGTERM) == handler
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_block_inside_a_block_is_the_same_block() -> None:
    with pytest.raises(Interrupted), interruptible():
        with interruptible():
            pass
        send()
        pytest.fail("the handlers are gone")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_a_signal_ends_exits_with_its_code(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app = typer.Typer()

    @app.command()
    def waits() -> None:
        send(number)
        time.sleep(30)

    monkeypatch.setattr("wirebench.cli.main.make_app", lambda: app)
    monkeypatch.setattr(sys, "argv", ["wirebench"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 128 + number
    assert "error: interrupted" in capsys.readouterr().err
