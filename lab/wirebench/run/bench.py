"""The interface of a run to the earlier stages. ``wirebench.run.local`` implements it; the tests
use fakes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from wirebench.catalog.loads import EachLoad, Load, on_all_cores
from wirebench.catalog.model import Contestant, Role, Workload
from wirebench.catalog.studies import Cell
from wirebench.store.records import VerifyRecord
from wirebench.trial.record import FailureRecord, TrialRecord
from wirebench.trial.types import TrialSpec


@dataclass(frozen=True, kw_only=True)
class Absence:
    """Why a contestant cannot run here, and the command that changes that."""

    kind: Literal["not_installed", "disabled"]
    reason: str
    install: str | None


@dataclass(frozen=True, kw_only=True)
class Built:
    """A build: its key, or why there is none."""

    key: str | None
    failure: FailureRecord | None
    cached: bool = False


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check: of a server for a workload, or of a client with the server it calls."""

    contestant: Contestant
    role: Role
    workload: Workload
    server: Contestant | None = None

    @property
    def key(self) -> tuple[str, str]:
        return (self.contestant.identity, check_name(self.role, self.workload))

    @property
    def needs(self) -> tuple[Contestant, ...]:
        """Who must be built for it."""
        return (self.contestant,) if self.server is None else (self.contestant, self.server)


def check_name(role: Role, workload: Workload) -> str:
    """The ``workload`` of a :class:`VerifyRecord`. A contestant may both serve a workload and call
    it.
    """
    return workload if role == "server" else f"client:{workload}"


class Bench(Protocol):
    """The machine with its contestants."""

    @property
    def hardware_threads(self) -> int: ...

    @property
    def open_files(self) -> int:
        """How many files a process may open here."""
        ...

    def host(self) -> Mapping[str, Any]:
        """The host's fingerprint. Figures are comparable while its ``host_id`` is the same."""
        ...

    def absent(self, contestants: Mapping[str, Contestant]) -> Mapping[str, Absence]:
        """The contestants that cannot run here."""
        ...

    def build_key(self, contestant: Contestant) -> str:
        """Changes when a rebuild is due."""
        ...

    def is_built(self, contestant: Contestant) -> bool:
        """Whether the build will probably take no time."""
        ...

    def building(self) -> tuple[str, ...]:
        """The contestants that are being built. Empty when all builds that were begun have
        ended.
        """
        ...

    def begin_builds(
        self,
        contestants: Iterable[Contestant],
        *,
        roles: Mapping[str, Collection[Role]] | None = None,
    ) -> None:
        """Begin to build them, several at once; ``first_built()`` and ``build()`` then wait.

        ``roles``: what each is needed for, by name; without it everything is built.
        """
        ...

    def first_built(self, contestants: Sequence[Contestant]) -> Contestant:
        """The first of these whose build has ended, when one has."""
        ...

    def build(self, contestant: Contestant) -> Built:
        """The result, when it is there."""
        ...

    def verify(self, check: Check) -> VerifyRecord: ...

    def run_trial(self, spec: TrialSpec) -> TrialRecord: ...

    def run_in_turns(self, specs: Sequence[TrialSpec], *, length_ns: int) -> Sequence[TrialRecord]:
        """Closed loops on several servers at the same time, in turns of ``length_ns``. The results
        are in the order of ``specs``.
        """
        ...

    def link_refusal(self) -> str | None:
        """Why there is no emulated link here, with what would allow it; None if there is one."""
        ...

    def load_refusal(self, load: Load) -> str | None:
        """Why such a load cannot be put on here; None if it can. Emulated links are
        ``link_refusal``'s.
        """
        ...

    def notes(self) -> tuple[str, ...]:
        """Notes that a reader of any figure of this host needs."""
        ...


def threads_of(cell: Cell, *, hardware_threads: int) -> int:
    """``WIREBENCH_THREADS`` of a server in this cell."""
    if isinstance(cell.load, EachLoad):
        return cell.load.threads or hardware_threads
    return max(1, hardware_threads - 1) if on_all_cores(cell.load) else 1
