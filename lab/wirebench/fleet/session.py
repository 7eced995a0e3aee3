"""A run whose blocks go to the hosts of a fleet: hand out, collect, keep."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from wirebench.catalog.studies import OpenLoad
from wirebench.fleet import worker
from wirebench.fleet.bench import FleetBench
from wirebench.fleet.cluster import Event, HostError
from wirebench.fleet.orders import (
    BLOCK,
    ORDER,
    PROGRAMS,
    BlockOrder,
    BlockRecord,
    OrderError,
    read_trial,
)
from wirebench.fleet.rounds import Handed, Rounds
from wirebench.plan.model import Plan
from wirebench.plan.stop import Look
from wirebench.process.interrupt import check, hold
from wirebench.run.measure import Measured
from wirebench.run.session import RunStopped, Session
from wirebench.stats import capacity, dropped_blocks
from wirebench.store.jsonl import LineFile, read_lines
from wirebench.trial.record import TrialRecord

BLOCKS_FILE = "blocks.jsonl"
_LOOK_S = 1.0

Visit = Generator[tuple[Callable[..., Any], tuple[Any, ...]], Any, None]
"""Yields tasks for a host, with their arguments, and is sent the answers."""


class Hosts(Protocol):
    """``Cluster``, or fakes of the tests."""

    @property
    def idle(self) -> Sequence[str]: ...

    def begin(self, host: str, task: Callable[..., Any], *arguments: Any) -> None: ...

    def wait(self, *, timeout_s: float) -> Event | None: ...

    def present(self) -> Mapping[str, str]: ...


@dataclass(kw_only=True)
class FleetRun:
    """The measuring of one run. ``patience_s``: how long it waits when no host is there."""

    session: Session
    plan: Plan
    bench: FleetBench
    hosts: Hosts
    look: Look
    say: Callable[[str], None]
    patience_s: float
    clock_ns: Callable[[], int] = time.monotonic_ns
    _refused: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Hosts that get no more blocks of this worker of theirs, and why."""
    _known: dict[str, str] = field(default_factory=dict)
    """By host, the worker that has what the run needs, and whose trials were collected."""
    _visits: dict[str, Visit] = field(default_factory=dict)
    """What is under way with each host. So no host waits for what another one is asked."""
    _doing: dict[str, Handed] = field(default_factory=dict)
    _trials: dict[tuple[str, str], list[TrialRecord]] = field(default_factory=dict)
    """Those of each cell and contestant: a large fleet has too many to look through for a block."""
    _written: Mapping[str, Any] = field(default_factory=dict)
    """The hosts that the run's file has."""

    def measure(self) -> Measured:
        """Until every cell has its blocks. ``RunStopped`` when no host is left."""
        path = self.session.directory.path / BLOCKS_FILE
        blocks = [BLOCK.validate_python(value) for _, value in read_lines(path)]
        self._blocks = LineFile(path)
        try:
            self._rounds = Rounds(
                plan=self.plan,
                look=self.look,
                dropped=lambda block: bool(dropped_blocks(block)),
                keep=self._store,
                leave=self.session.note_left,
                note=self._note,
                pace=self.session.pace(self.plan),
                clock_ns=self.clock_ns,
                spent_before_ns=_longest_ns(self.session.trials),
            )
            self._index(self.session.trials)
            self._rounds.resume(blocks, self.session.trials, self.session.left)
            self._loop()
            self._tidy()
            return self._rounds.measured
        finally:
            self._blocks.close()

    def _loop(self) -> None:
        alone_since: float | None = None
        while True:
            check()
            here = self.hosts.present()
            for host in self.hosts.idle:
                if self._is_usable(host, here):
                    self._visits[host] = self._visit(host)
                    self._go_on(host, None)
            if self._visits:
                alone_since = None
                event = self.hosts.wait(timeout_s=_LOOK_S)
                if event is not None:
                    self._hear(event)
                continue
            if not self._rounds.wanting:
                return
            if not any(self._is_usable(host, here) for host in here):
                alone_since = alone_since if alone_since is not None else self.clock_ns() / 1e9
                if self.clock_ns() / 1e9 - alone_since > self.patience_s:
                    raise RunStopped(self._nobody())
            self.hosts.wait(timeout_s=_LOOK_S)

    def _visit(self, host: str) -> Visit:
        """Of a host that is idle: the next block for it, if there is one."""
        yield from self._welcome(host)
        handed = self._rounds.next(host)
        if handed is None:
            return
        order = self._order(handed)
        self._doing[host] = handed
        self._keep(host, (yield worker.measure, (ORDER.dump_json(order).decode(),)))
        self.say(f"{host}: {handed.cell.study} {handed.cell.cell.id}, block {handed.block}")

    def _go_on(self, host: str, answer: Any) -> None:
        """Ask the host the next thing of its visit."""
        try:
            task, arguments = self._visits[host].send(answer)
            self.hosts.begin(host, task, *arguments)
        except StopIteration:
            self._end(host)
        except HostError as error:
            self._fail(Event(host=host, error=str(error), lost=not self._is_here(host)))

    def _is_here(self, host: str) -> bool:
        return host in self.hosts.present()

    def _is_usable(self, host: str, present: Mapping[str, str]) -> bool:
        """A worker that is started again gets another chance."""
        here = present.get(host)
        return here is not None and self._refused.get(host, ("", ""))[0] != here

    def _welcome(self, host: str) -> Visit:
        """Give a worker that is new to the run what it needs, and collect what the host has."""
        here = self.hosts.present().get(host)
        if here is None or self._known.get(host) == here:
            return
        packed = [self.bench.packed(PROGRAMS)]
        packed += [
            self.bench.packed(name, self.session.scope.needed[name]) for name in self._everybody()
        ]
        yield from self._check(host)
        there = set((yield worker.has, ([one.digest for one in packed],)))
        for one in packed:
            if one.digest not in there:
                yield worker.receive, (one.digest, dict(one.files), one.content)
        self._keep(host, (yield worker.collect, (self._run,)))
        self._known[host] = here

    def _check(self, host: str) -> Visit:
        """``HostError`` if the host cannot be in this run: it differs too much from the others, or
        from what it was when the run began.
        """
        if host not in self.bench.hosts:
            said = json.loads((yield worker.describe, ([],)))
            self.bench.add(host, said)
        now = self.bench.hosts[host]
        before = self.session.before
        stored = dict(before.host.get("hosts", {})) if before is not None else {}
        then = stored.get(host, now)
        if then.get("host_id") != now.get("host_id"):
            raise HostError(
                f"host {host}: expected the machine that it was when the run began"
                f" ({then.get('host_id')}), got {now.get('host_id')}"
            )
        stored.update(self.bench.hosts)
        if stored != self._written:
            self.session.directory.write_host({**self.bench.host(), "hosts": stored})
            self._written = stored

    def _hear(self, event: Event) -> None:
        if event.lost or event.error is not None:
            self._fail(event)
        else:
            self._go_on(event.host, event.result)

    def _fail(self, event: Event) -> None:
        host = event.host
        if event.lost:
            self._known.pop(host, None)
            self.say(f"host {host} is lost: {event.error}; its block goes elsewhere")
        else:
            self._refused[host] = (self.hosts.present().get(host, ""), str(event.error))
            self.say(f"host {host} gets no more blocks: {event.error}")
        self._end(host)

    def _end(self, host: str) -> None:
        """Of its visit."""
        del self._visits[host]
        handed = self._doing.pop(host, None)
        if handed is not None:
            with hold():
                self._rounds.ended(handed)

    def _keep(self, host: str, lines: Iterable[str]) -> None:
        """Keep what is new. A line that is no trial of the host ends its part in the run."""
        try:
            records = [read_trial(line, host=host) for line in lines]
        except OrderError as error:
            raise HostError(str(error)) from error
        with hold():  # a finished trial is always stored
            self._rounds.take(records)

    def _store(self, *records: TrialRecord) -> None:
        self.session.keep(*records)
        self._index(records)

    def _index(self, records: Iterable[TrialRecord]) -> None:
        for one in records:
            key = f"{one.study}.{one.cell}", one.contestant
            self._trials.setdefault(key, []).append(one)

    def _note(self, record: BlockRecord) -> None:
        self._blocks.append(BLOCK.dump_python(record, mode="json"))

    def _order(self, handed: Handed) -> BlockOrder:
        cell, needed = handed.cell, self.session.scope.needed
        names = {trial.entry.contestant for trial in handed.trials}
        names |= {cell.server} if cell.server is not None else set()
        known = sorted(name for name in names if name in needed)
        load = cell.cell.load
        capacities: dict[str, float] = {}
        if isinstance(load, OpenLoad) and load.of is not None:
            for name in known:
                most = self._capacity(f"{cell.study}.{load.of}", name, handed.host)
                capacities |= {name: most} if most is not None else {}
        return BlockOrder(
            run=self._run,
            attempt=f"{handed.host}-{secrets.token_hex(8)}",
            host=handed.host,
            seed=self.plan.seed,
            cell=cell,
            block=handed.block,
            trials=tuple(trial.id for trial in handed.trials),
            capacities=capacities,
            hardware_threads=self.bench.hardware_threads,
            bundles={
                PROGRAMS: self.bench.packed(PROGRAMS).digest,
                **{name: self.bench.packed(name, needed[name]).digest for name in known},
            },
            builds={name: self.bench.build_path(needed[name]) for name in known},
        )

    def _capacity(self, key: str, contestant: str, host: str) -> float | None:
        """What it does on this host; on any, where it has not been measured on this one."""
        (cell,) = (cell for cell in self.plan.cells if cell.key == key)
        trials = self._trials.get((key, contestant), [])
        here = capacity([one for one in trials if one.host == host], cell, contestant)
        return here if here is not None else capacity(trials, cell, contestant)

    def _everybody(self) -> list[str]:
        """The contestants of the plan that are built here."""
        names = {entry.contestant for cell in self.plan.cells for entry in cell.entries}
        names |= {cell.server for cell in self.plan.cells if cell.server is not None}
        return sorted(names & self.session.scope.needed.keys())

    def _tidy(self) -> None:
        keep = frozenset(
            self.bench.packed(name, self.session.scope.needed.get(name)).digest
            for name in (PROGRAMS, *self._everybody())
        )
        for event in ask_all(self.hosts, worker.tidy, self._run, keep):
            if event.error is not None:
                self.say(f"host {event.host} is not tidied: {event.error}")

    def _nobody(self) -> str:
        refused = "; ".join(f"{host}: {why}" for host, (_, why) in self._refused.items())
        return (
            f"no host of the fleet is left after {self.patience_s:g} s of waiting"
            + (f" ({refused})" if refused else "")
            + "; what is measured is kept"
        )

    @property
    def _run(self) -> str:
        return self.session.directory.path.name


def _longest_ns(trials: Iterable[TrialRecord]) -> int:
    """About the time that the run has had: that of the host with most."""
    by_host: dict[str, int] = {}
    for record in trials:
        by_host[record.host] = by_host.get(record.host, 0) + record.elapsed_ns
    return max(by_host.values(), default=0)


def ask_all(hosts: Hosts, task: Callable[..., Any], *arguments: Any) -> list[Event]:
    """Ask all hosts that are idle the same, and wait for the answers, in the order of the fleet."""
    return ask_each(hosts, task, dict.fromkeys(hosts.idle, arguments))


def ask_each(
    hosts: Hosts, task: Callable[..., Any], arguments: Mapping[str, tuple[Any, ...]]
) -> list[Event]:
    """Ask these hosts, each with arguments of its own, and wait for the answers."""
    found: dict[str, Event] = {}
    for host, own in arguments.items():
        try:
            hosts.begin(host, task, *own)
        except HostError as error:
            found[host] = Event(host=host, lost=True, error=str(error))
    while len(found) < len(arguments):
        event = hosts.wait(timeout_s=_LOOK_S)
        if event is not None and event.host in arguments:
            found[event.host] = event
    return [found[host] for host in arguments]


def describe_hosts(hosts: Hosts, commands: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What each host that is here says of itself. ``HostError`` if one refuses, or is lost."""
    found = {}
    for event in ask_all(hosts, worker.describe, list(commands)):
        if event.error is not None:
            raise HostError(f"host {event.host}: {event.error}")
        found[event.host] = json.loads(event.result)
    return found
