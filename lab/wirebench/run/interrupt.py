"""SIGINT, SIGTERM and SIGHUP end a run in order: as an exception at a place where nothing is half done."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal asked the run to end. ``exit_code`` is what a shell expects of a program ended by it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def exit_code(self) -> int:
        return 128 + self.number


class Interrupts:
    """Handles the signals while it is entered. Only the first one raises: those after it must not break what cleans up."""

    def __init__(self) -> None:
        self._depth = 0
        self._pending: int | None = None
        self._raised = False

    def __enter__(self) -> Interrupts:
        taken = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # nohup ignores SIGHUP
        self._before = [(number, signal.signal(number, self._handle)) for number in taken]
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """A signal inside is raised when the block is done: for writing down what is finished."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
        if self._depth == 0 and self._pending is not None:
            self._raise(self._pending)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self._raised:
            return
        if self._depth:
            self._pending = number
        else:
            self._raise(number)

    def _raise(self, number: int) -> None:
        self._raised = True
        self._pending = None
        raise Interrupted(number)
