"""What a host, or a pair of them, is asked to do: one block, and what it needs for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from wirebench.catalog.errors import explain
from wirebench.fleet.hosts import Pair
from wirebench.plan.model import PlannedCell
from wirebench.trial.record import SCHEMA, TrialRecord

PROGRAMS = "programs"
"""The name of the bundle with the native programs."""


class OrderError(Exception):
    """An order or its result cannot be used. The text is for the user."""


class UnreachedError(OrderError):
    """The other host of a pair is not reached, or not any more. It may be again later."""


@dataclass(frozen=True, kw_only=True)
class BlockOrder:
    """Trials of one block, for one host or pair."""

    run: str
    """The name of the run's directory."""
    attempt: str
    """Differs between orders. A host takes each once."""
    host: str
    """The name of the host, or of the pair."""
    pair: Pair | None = None
    """None: the host measures by itself."""
    seed: int
    """The run's."""
    cell: PlannedCell
    block: int
    trials: tuple[str, ...]
    """The ids of the block's trials to run."""
    capacities: Mapping[str, float] = field(default_factory=dict)
    """What the contestants do a second in the cell that the load is a share of."""
    hardware_threads: int
    bundles: Mapping[str, str]
    """The digest of each contestant's bundle, and of ``PROGRAMS``."""
    builds: Mapping[str, str]
    """The build folder of each contestant, below the root."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Who has a part in it: first the one with the contestants."""
        return (self.host,) if self.pair is None else self.pair.hosts


@dataclass(frozen=True, kw_only=True)
class LoadOrder:
    """One of several generators that load a server together, for one host."""

    load: str
    """The name of the load. A host takes each once."""
    host: str
    part: int
    """Its number, from 1."""
    of: int
    words: tuple[str, ...]
    """wireload's options and URLs, without those that a fleet sets itself."""
    programs: str
    """The digest of the bundle with the native programs."""


@dataclass(frozen=True, kw_only=True)
class BlockRecord:
    """A line of ``blocks.jsonl``: which host or pair a block was given to. It is written before
    they hear of it, so that no two can have trials of one block.
    """

    schema: int = SCHEMA
    cell: str
    """``study.cell``"""
    block: int
    host: str
    trials: tuple[str, ...]
    """The ids of its trials: the entries that were in the cell then."""


ORDER = TypeAdapter(BlockOrder)
LOAD_ORDER = TypeAdapter(LoadOrder)
BLOCK = TypeAdapter(BlockRecord)
TRIAL = TypeAdapter(TrialRecord)


def read_trial(line: str, *, host: str) -> TrialRecord:
    """A line that a host wrote. ``OrderError`` if it is no trial of that host."""
    try:
        record = TRIAL.validate_json(line)
    except ValidationError as error:
        raise OrderError(explain(error, path=f"a trial of {host}")) from error
    if record.host != host:
        raise OrderError(f"a trial of {host}: host: expected {host!r}, got {record.host!r}")
    return record


def write_trial(record: TrialRecord) -> object:
    return TRIAL.dump_python(record, mode="json")
