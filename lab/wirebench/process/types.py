"""What a process is started from, the cores it runs on, and why there is no result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

FailureKind = Literal[
    "not_installed",
    "build_failed",
    "start_crashed",
    "start_timeout",
    "nonconformant",
    "crashed",
    "not_listening",
    "hung",
    "wrong_reply",
    "closed_early",
    "bad_status",
    "generator_failed",
    "client_failed",
    "client_mismatch",
    "no_link",
    "no_names",
]

Phase = Literal["build", "verify", "start", "load", "stop"]


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why there is no figure. ``sent``, ``expected`` and ``received`` are truncated to a few
    hundred bytes.
    """

    kind: FailureKind
    phase: Phase
    message: str
    sent: str | None = None
    expected: str | None = None
    received: str | None = None
    state: str | None = None
    """What a server that stood still was waiting for."""
    whose: str | None = None
    """Who failed, if it was not the contestant that was measured: the server that a client called.
    """


@dataclass(frozen=True, kw_only=True)
class Program:
    """A command ready to run, as ``wirebench.build.resolve_command`` returns it, and its working
    directory.
    """

    argv: tuple[str, ...]
    folder: Path
    """Its working directory: the contestant's build folder."""


@dataclass(frozen=True, kw_only=True)
class Cores:
    """The cores that the contestant and the generator are pinned to."""

    contestant: tuple[int, ...]
    generator: tuple[int, ...]

    @property
    def shared(self) -> bool:
        return bool(set(self.contestant) & set(self.generator))
