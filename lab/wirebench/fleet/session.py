"""A run whose blocks go to the hosts of a fleet, or to pairs of them: hand out, collect, keep.

What is called a place here is a host that measures by itself, or a pair.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import ValidationError

from wirebench.catalog.errors import explain
from wirebench.catalog.loads import OpenLoad
from wirebench.fleet import worker
from wirebench.fleet.bench import FleetBench
from wirebench.fleet.cluster import Event, HostError
from wirebench.fleet.hosts import Pair
from wirebench.fleet.link import FLOOR
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
from wirebench.fleet.together import floor_text
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
_AGAIN_S, _LONGEST_S = 10.0, 160.0
"""After so long a pair whose hosts lost each other is tried again; each time without a trial it is
twice as long, up to the longest. Our own choice.
"""
_OTHER_S = 60.0
"""How long a pair's host may take to answer once the other one has failed: longer than it takes to
notice that a connection is dead. Our own choice.
"""

Asked = Mapping[str, tuple[Callable[..., Any], tuple[Any, ...]]]
"""By host: a task, with its arguments."""
Steps = Generator[Asked, Any, Any]
"""Yields what hosts are asked side by side, and is sent their answers, by host, when all are there.
"""


class _InVainError(HostError):
    """What hosts were asked side by side, and not all have done."""

    def __init__(self, events: Mapping[str, Event]) -> None:
        """``events``: of those that have answered, or were lost."""
        super().__init__("; ".join(str(one.error) for one in events.values() if one.error))
        self.events = events
        self.wrong = [one for one in events.values() if one.lost or one.error is not None]


@dataclass(kw_only=True)
class _Visit:
    """What is under way with a host or a pair."""

    steps: Steps
    workers: tuple[str, ...] | None
    """Of the place's hosts, when it began."""
    asked: frozenset[str] = frozenset()
    events: dict[str, Event] = field(default_factory=dict)
    """Of the hosts that have answered."""
    wrong_since_ns: int | None = None
    """Since one of them has failed, and the others have not answered."""


@dataclass(frozen=True, kw_only=True)
class _Away:
    """A pair whose hosts are here and have lost each other."""

    workers: tuple[str, ...]
    tries: int
    """Without a trial."""
    until_ns: int
    """When it is tried again."""
    why: str


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
    _refused: dict[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    """Hosts and pairs that get no more blocks of these workers of theirs, and why."""
    _known: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By host or pair, the workers that have what the run needs, and whose trials were collected.
    """
    _away: dict[str, _Away] = field(default_factory=dict)
    """By pair, until it brings a trial."""
    _alone_since_ns: int | None = None
    """Since then no host or pair is left, or those that are tried again brought no trial."""
    _visits: dict[str, _Visit] = field(default_factory=dict)
    """By host or pair."""
    _doing: dict[str, Handed] = field(default_factory=dict)
    _trials: dict[tuple[str, str], list[TrialRecord]] = field(default_factory=dict)
    """Those of each cell and contestant: a large fleet has too many to look through for a block."""
    _written: Mapping[str, Any] = field(default_factory=dict)
    """What the run's file says of its hosts."""

    def __post_init__(self) -> None:
        self._place_of = {
            host: name for name, pair in self.bench.pairs.items() for host in pair.hosts
        }

    def measure(self) -> Measured:
        """Until every cell has its blocks. ``RunStopped`` when no host is left."""
        if self.session.before is not None:
            self.bench.remember(self.session.before.host)
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
        while True:
            check()
            here = self.hosts.present()
            self._end_those_without_answer()
            for place in self._idle(here):
                workers = self._workers(place, here)
                self._visits[place] = _Visit(steps=self._visit(place), workers=workers)
                self._go_on(place)
            if any(map(self._is_sound, self._visits)):
                self._alone_since_ns = None
            elif not self._visits.keys() & self._doing.keys():
                if not self._rounds.wanting:
                    return
                if self._lost_patience(here):
                    raise RunStopped(self._nobody())
            event = self.hosts.wait(timeout_s=_LOOK_S)
            if event is not None:
                self._hear(event)

    def _lost_patience(self, here: Mapping[str, str]) -> bool:
        """Whether there has been nobody to measure for too long."""
        places = self.bench.pairs or here
        if any(self._is_sound(place) and self._is_usable(place, here) for place in places):
            self._alone_since_ns = None
            return False
        if self._alone_since_ns is None:
            self._alone_since_ns = self.clock_ns()
        return self.clock_ns() - self._alone_since_ns > self.patience_s * 1e9

    def _is_sound(self, place: str) -> bool:
        """Its hosts have not lost each other, as far as is known."""
        return place not in self._away

    def _end_those_without_answer(self) -> None:
        """Visits of pairs of which one host has failed, and the other does not answer."""
        for place, visit in list(self._visits.items()):
            since = visit.wrong_since_ns
            if since is not None and self.clock_ns() - since > _OTHER_S * 1e9:
                self._go_on(place, failed=_InVainError(visit.events))

    def _hosts_of(self, place: str) -> tuple[str, ...]:
        """First the one with the contestants, which has the trials on its disk."""
        pair = self.bench.pairs.get(place)
        return (place,) if pair is None else pair.hosts

    def _idle(self, here: Mapping[str, str]) -> list[str]:
        """The hosts or pairs that can be asked something: none waits for what another is asked."""
        idle = self.hosts.idle
        free = set(idle)
        return [
            place
            for place in self.bench.pairs or idle
            if place not in self._visits
            and free.issuperset(self._hosts_of(place))
            and self._is_usable(place, here)
        ]

    def _visit(self, place: str) -> Steps:
        """Of a place that is idle: the next block for it, if there is one."""
        yield from self._welcome(place)
        handed = self._rounds.next(place)
        if handed is None:
            return
        self._doing[place] = handed
        order = self._order(handed)
        self._keep(place, (yield from self._measure(order)))
        self.say(f"{place}: {handed.cell.study} {handed.cell.cell.id}, block {handed.block}")

    def _measure(self, order: BlockOrder) -> Steps:
        """The lines of the block's trials."""
        text = ORDER.dump_json(order).decode()
        server = order.hosts[0]
        if order.pair is None:
            return (yield {server: (worker.measure, (text,))})[server]
        port = (yield {server: (worker.serve_block, (text,))})[server]
        try:
            answers = yield {
                server: (worker.finish_block, (order.run, order.trials)),
                order.pair.generator: (worker.attend_block, (text, port)),
            }
        except _InVainError as error:
            # What is finished is on its disk.
            if server in error.events and server in self.hosts.present():
                with suppress(_InVainError):
                    answers = yield {server: (worker.collect, (order.run,))}
                    self._keep(order.host, answers[server])
            raise
        return answers[server]

    def _go_on(
        self,
        place: str,
        answers: Mapping[str, Any] | None = None,
        failed: _InVainError | None = None,
    ) -> None:
        """Ask the hosts of the place the next thing of its visit. ``failed``: what became of the
        one before instead of answers.
        """
        visit = self._visits[place]
        try:
            asked = visit.steps.send(answers) if failed is None else visit.steps.throw(failed)
        except StopIteration:
            self._end(place)
            return
        except _InVainError as error:
            self._fail(place, error.wrong)
            return
        except HostError as error:
            lost = self._workers(place, self.hosts.present()) is None
            self._fail(place, [Event(host=place, error=str(error), lost=lost)])
            return
        visit.asked, visit.events, visit.wrong_since_ns = frozenset(asked), {}, None
        for host, (task, arguments) in asked.items():
            try:
                self.hosts.begin(host, task, *arguments)
            except HostError as error:
                self._note_event(place, Event(host=host, error=str(error), lost=True))

    def _hear(self, event: Event) -> None:
        self._note_event(self._place_of.get(event.host, event.host), event)

    def _note_event(self, place: str, event: Event) -> None:
        """When all hosts of the place have answered what they were asked, its visit goes on."""
        visit = self._visits.get(place)
        if visit is None or event.host not in visit.asked:
            return
        visit.events[event.host] = event
        failed = _InVainError(visit.events)
        if visit.events.keys() < visit.asked:
            if failed.wrong and visit.wrong_since_ns is None:
                visit.wrong_since_ns = self.clock_ns()
        elif failed.wrong:
            self._go_on(place, failed=failed)
        else:
            self._go_on(place, {host: one.result for host, one in visit.events.items()})

    def _workers(self, place: str, here: Mapping[str, str]) -> tuple[str, ...] | None:
        """What names the workers of the place's hosts; None if not all are here."""
        found = tuple(here.get(host, "") for host in self._hosts_of(place))
        return found if all(found) else None

    def _is_usable(self, place: str, here: Mapping[str, str]) -> bool:
        """Workers that are started again get another chance."""
        workers, away = self._workers(place, here), self._away.get(place)
        if workers is None or self._refused.get(place, ((), ""))[0] == workers:
            return False
        return away is None or away.workers != workers or self.clock_ns() >= away.until_ns

    def _welcome(self, place: str) -> Steps:
        """Give workers that are new to the run what it needs, and collect what the place has."""
        workers = self._workers(place, self.hosts.present())
        if workers is None or self._known.get(place) == workers:
            return
        hosts, programs = self._hosts_of(place), self.bench.packed(PROGRAMS)
        builds = [
            self.bench.packed(name, self.session.scope.needed[name]) for name in self._everybody()
        ]
        for number, host in enumerate(hosts):
            yield from self._check(host)
            packed = [programs, *(builds if number == 0 else ())]
            answer = yield {host: (worker.has, ([one.digest for one in packed],))}
            there = _texts(answer[host], of=f"the bundles of host {host}")
            for one in packed:
                if one.digest not in there:
                    arguments = (one.digest, dict(one.files), one.content)
                    yield {host: (worker.receive, arguments)}
        answer = yield {hosts[0]: (worker.collect, (self._run,))}
        self._keep(place, answer[hosts[0]])
        if (pair := self.bench.pairs.get(place)) is not None:
            yield from self._measure_link(pair)
        self._known[place] = workers

    def _measure_link(self, pair: Pair) -> Steps:
        """Its floor is said and stored, each time that the pair comes together."""
        token = secrets.token_hex(16)
        answer = yield {pair.server: (worker.reflect, (pair.address, token))}
        port = answer[pair.server]
        try:
            answer = yield {pair.generator: (worker.measure_link, (pair.address, port, token))}
        except _InVainError:
            with suppress(_InVainError):
                yield {pair.server: (worker.stop_reflecting, ())}
            raise
        yield {pair.server: (worker.stop_reflecting, ())}
        try:
            floor = FLOOR.validate_json(answer[pair.generator])
        except ValidationError as error:
            raise HostError(explain(error, path=f"host {pair.generator}")) from error
        self.say(f"{pair.name}: {pair}; {floor_text(floor)}")
        self.bench.add_floor(pair, floor)
        self._write_hosts()

    def _check(self, host: str) -> Steps:
        """``HostError`` if the host cannot be in this run: it differs too much from the others, or
        from what it was when the run began.
        """
        if host not in self.bench.hosts:
            answer = yield {host: (worker.describe, ([],))}
            self.bench.add(host, described(answer[host], host=host))
        now = self.bench.hosts[host]
        before = self.session.before
        stored = dict(before.host.get("hosts", {})) if before is not None else {}
        then = stored.get(host, now)
        if then.get("host_id") != now.get("host_id"):
            raise HostError(
                f"host {host}: expected the machine that it was when the run began"
                f" ({then.get('host_id')}), got {now.get('host_id')}"
            )
        self._write_hosts()

    def _write_hosts(self) -> None:
        """With those of the interrupted run that are not here."""
        before = self.session.before.host if self.session.before is not None else {}
        said = self.bench.host()
        whole = {**said, "hosts": {**before.get("hosts", {}), **said["hosts"]}}
        if whole != self._written:
            self.session.directory.write_host(whole)
            self._written = whole

    def _fail(self, place: str, events: Sequence[Event]) -> None:
        """``events``: what went wrong on its hosts. What one refuses says more than that the other
        one of a pair has lost it.
        """
        refused = [one for one in events if not one.lost]
        why = "; ".join(self._reason(place, one) for one in refused or events)
        what = f"host {place}" if place not in self.bench.pairs else f"pair {place}"
        workers = self._workers(place, self.hosts.present())
        if refused:
            self._refused[place] = (workers or (), why)
            self.say(f"{what} gets no more blocks: {why}")
        else:
            self._known.pop(place, None)
            handed = self._doing.get(place)
            lacks = handed is not None and self._rounds.lacks(handed)
            then = "; its block goes elsewhere" if lacks else ""
            if workers is not None and workers == self._visits[place].workers:
                then += f"; it is tried again in {self._send_away(place, workers, why):g} s"
            self.say(f"{what} is lost: {why}{then}")
        self._end(place)

    def _send_away(self, place: str, workers: tuple[str, ...], why: str) -> float:
        """After how many seconds the pair, whose hosts are here, is tried again."""
        away = self._away.get(place)
        tries = away.tries + 1 if away is not None else 1
        pause_s = min(_LONGEST_S, _AGAIN_S * float(2 ** (tries - 1)))
        until_ns = self.clock_ns() + round(pause_s * 1e9)
        self._away[place] = _Away(workers=workers, tries=tries, until_ns=until_ns, why=why)
        return pause_s

    def _reason(self, place: str, event: Event) -> str:
        text = str(event.error)
        return (
            text
            if event.host == place or text.startswith("host ")
            else (f"host {event.host}: {text}")
        )

    def _end(self, place: str) -> None:
        """Of its visit."""
        del self._visits[place]
        handed = self._doing.pop(place, None)
        if handed is not None:
            with hold():
                self._rounds.ended(handed)

    def _keep(self, place: str, lines: Iterable[str]) -> None:
        """Keep what is new. A line that is no trial of the place ends its part in the run."""
        try:
            texts = _texts(lines, of=f"the trials of {place}")
            records = [read_trial(line, host=place) for line in texts]
        except OrderError as error:
            raise HostError(str(error)) from error
        with hold():  # a finished trial is always stored
            self._rounds.take(records)

    def _store(self, *records: TrialRecord) -> None:
        for place in {one.host for one in records}:
            self._away.pop(place, None)
        self._alone_since_ns = None
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
            pair=self.bench.pairs.get(handed.host),
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
        """What it does on this host or pair; on any, where it has not been measured there."""
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
        known = {place: why for place, (_, why) in self._refused.items()}
        known |= {place: away.why for place, away in self._away.items()}
        reasons = "; ".join(f"{place}: {why}" for place, why in known.items())
        what = "pair" if self.bench.pairs else "host"
        return (
            f"no {what} of the fleet is left after {self.patience_s:g} s of waiting"
            + (f" ({reasons})" if reasons else "")
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
        found[event.host] = described(event.result, host=event.host)
    return found


_TOLD: Mapping[str, tuple[type, ...]] = {
    "cores": (int,),
    "open_files": (int,),
    "cores_awake": (bool,),
    "link_refusal": (str, type(None)),
}
"""What a run cannot do without, of what a host says of itself."""


def described(answer: Any, *, host: str) -> dict[str, Any]:
    """What a host says of itself. ``HostError`` where it does not say what a run must know."""
    try:
        found = json.loads(answer)
    except (TypeError, ValueError, RecursionError) as error:
        raise HostError(f"host {host}: expected what it is, got {error}") from error
    known: dict[str, Any] = found if isinstance(found, dict) else {}
    for key, kinds in _TOLD.items():
        if key not in known or not isinstance(known[key], kinds):
            raise HostError(f"host {host}: {key}: expected it to be told, got {known.get(key)!r}")
    return known


def _texts(answer: Any, *, of: str) -> list[str]:
    """``HostError`` where a host answered something else."""
    if not isinstance(answer, list) or not all(isinstance(one, str) for one in answer):
        raise HostError(f"{of}: expected a list of texts, got something else")
    return answer
