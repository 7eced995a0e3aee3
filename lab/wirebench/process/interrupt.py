"""SIGINT, SIGTERM and SIGHUP as an exception, raised only where nothing can be lost.

Inside ``interruptible()`` the first such signal raises ``Interrupted`` in the main thread, once.
Code that owns a process, a folder or an unwritten record runs under ``hold()``, where signals wait.
A slow wait inside such code runs under ``waiting()``, which lets signals through. ``check()`` lets
them through at one point::

    with interruptible(), Supervisor() as supervisor:   # cleans up whatever happens inside
        for trial in trials:
            with hold():                                # a finished trial is always stored
                result = run_trial(trial, ...)          # waits under waiting()
                store(result)

``Interrupted`` is raised only once. Cleanup follows. A second signal makes cleanup skip its grace
periods (``impatient()``).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """The user or the system asked the lab to stop. Not an ``Exception``, so that no error handler
    swallows it.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(signum).name}")
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """The exit code that shells use for a program ended by a signal."""
        return 128 + self.signum


@dataclass
class _State:
    active: bool = False
    held: int = 0
    pending: int | None = None
    received: int = 0
    raised: bool = False
    ended_by: int | None = None

    def begin(self) -> None:
        self.active, self.pending, self.received, self.raised = True, None, 0, False
        self.ended_by = None

    def deliver(self) -> None:
        if self.active and self.held == 0 and self.pending is not None and not self.raised:
            signum, self.pending, self.raised = self.pending, None, True
            self.ended_by = signum
            raise Interrupted(signum)


_state = _State()


def _on_signal(signum: int, _frame: FrameType | None) -> None:
    _state.received += 1
    if _state.pending is None:
        _state.pending = signum
    _state.deliver()


def end_as_by(signum: int) -> None:
    """End as if the signal had come, once. In another thread than the main one, that is told."""
    if not _state.active:
        raise SystemExit(128 + signum)
    if _state.raised or _state.pending is not None:
        return
    _state.pending = signum
    _state.received += 1
    if threading.current_thread() is threading.main_thread():
        _state.deliver()


@contextmanager
def interruptible() -> Iterator[None]:
    """Handle the signals inside the block. A signal that was ignored before (``nohup``) stays
    ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            "interruptible() must be entered in the main thread: Python handles signals only there"
        )
    if _state.active:
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    _state.begin()
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, _on_signal)
        yield
        _state.deliver()
    finally:
        _state.active = False
        for number, handler in before.items():
            # None: the handler was not set from Python and cannot be restored from here.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


class hold:  # noqa: N801  # reads as the statement it is used as
    """Signals wait inside the block. They are delivered at its end, also after an exception."""

    def __enter__(self) -> None:
        _state.held += 1

    def __exit__(self, *_error: object) -> None:
        _state.held -= 1
        _state.deliver()


class waiting:  # noqa: N801
    """Signals raise here, even inside ``hold()``. For waits whose cleanup is a
    ``finally`` block.
    """

    def __enter__(self) -> None:
        self._held = _state.held
        try:
            _state.held = 0
            _state.deliver()
        except Interrupted:
            _state.held = self._held
            raise

    def __exit__(self, *_error: object) -> None:
        _state.held = self._held


def check() -> None:
    """Raise ``Interrupted`` if a signal is pending."""
    with waiting():
        pass


def ended_by() -> int | None:
    """The signal for which ``Interrupted`` was raised in this ``interruptible()`` or, after it, in
    the last one.
    """
    return _state.ended_by


def impatient() -> bool:
    """Whether a second signal came. Cleanup then kills at once, without grace periods."""
    return _state.received > 1
