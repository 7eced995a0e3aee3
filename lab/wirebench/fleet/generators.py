"""Many generators against one server: each host of the fleet has one part of the load.

All connect first; then they are told one moment at which to begin, each by its own clock; then each
sends its share of one schedule (wireload's ``--part``). What they tell is put together here.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from wirebench.catalog.errors import CatalogError, explain
from wirebench.catalog.units import count_of
from wirebench.fleet import worker
from wirebench.fleet.bundles import Packed
from wirebench.fleet.clocks import Clock, compare_clocks
from wirebench.fleet.cluster import Event, HostError
from wirebench.fleet.link import FLOOR, Floor
from wirebench.fleet.orders import LOAD_ORDER, LoadOrder
from wirebench.fleet.session import Hosts, ask_each
from wirebench.fleet.together import Told, Whole, floor_text, whole
from wirebench.trial.wireload import DocumentError, parse_document

LEAD_NS = 1_000_000_000
LEAD_OF_EACH_NS = 20_000_000
"""From the order to the start: so much, and so much for each host, which are told one after
another. Our own choice; docs/scale.md has what telling one costs.
"""
OWN = (
    *("--part", "--start", "--turns", "--turn"),
    *("--json", "--hdr-log", "--csv", "--no-histogram", "--quiet", "-q", "--live"),
    *("--idle", "--ramp-rounds", "--broadcast", "--fail-if", "--watch"),
    *("--print", "--help", "-h", "--manual", "--completion", "--version"),
)
"""Options that a fleet gives itself, or that have no meaning in parts."""


@dataclass(frozen=True, kw_only=True)
class _Ready:
    """The line of a generator whose connections are open."""

    opened: int


Read = TypeVar("Read")
_READY = TypeAdapter(_Ready)
_TOLD = TypeAdapter(tuple[str, str])
"""Document and log."""
_WHOLE_NUMBER = TypeAdapter(int)


class LoadHosts(Hosts, Protocol):
    """``Cluster``, or fakes of the tests."""

    def ask(self, host: str, question: Callable[[], Any]) -> Any: ...


def check_words(words: Sequence[str]) -> None:
    """``CatalogError`` where an option is not for a fleet. All else wireload itself refuses."""
    for word in words:
        if word.split("=", 1)[0] in OWN:
            raise CatalogError(
                f"{word}: expected no such option: the fleet sets it, or a load in parts has no use"
                " for it"
            )


def address_of(words: Sequence[str]) -> str:
    """The host of the first URL among wireload's words. ``CatalogError`` without one."""
    for word in words:
        host = urlsplit(word).hostname if "://" in word else None
        if host:
            return host
    raise CatalogError("URL: expected the server's URL among the words, got none")


@dataclass(kw_only=True)
class Generators:
    """The generators of one load, and what comes of it."""

    hosts: LoadHosts
    programs: Packed
    words: Sequence[str]
    """wireload's options and URLs."""
    name: str
    say: Callable[[str], None]
    server: str | None = None
    """The host of the fleet that the URL leads to: it has no generator, and the link to it is
    measured first. None: it is none of the fleet's.
    """
    clock_ns: Callable[[], int] = time.monotonic_ns
    _names: Sequence[str] = field(default_factory=tuple)

    def run(self) -> Whole:
        """With all hosts that are here. ``HostError`` where one cannot take part: the load is of
        all or none.
        """
        self._names = [host for host in self.hosts.idle if host != self.server]
        if not self._names:
            raise HostError("expected a host for a generator beside that of the server, got none")
        self._send_programs()
        links = self._links()
        # Before connecting: connections that wait for long are closed by many servers.
        before = self._clocks()
        try:
            ready = self._each(worker.connect_load, self._orders())
            for host, line in ready.items():
                opened = _read(_READY.validate_json, line, host=host).opened
                self.say(f"{host}: {count_of(opened, 'connection')}")
            start = self.clock_ns() + LEAD_NS + LEAD_OF_EACH_NS * len(self._names)
            self._each(
                worker.begin_load, {host: (clock.there(start),) for host, clock in before.items()}
            )
            documents = self._each(worker.finish_load, dict.fromkeys(self._names, (self.name,)))
            return self._together(documents, before, self._clocks(), links)
        except BaseException:
            self._abandon()
            raise

    def _send_programs(self) -> None:
        digest = self.programs.digest
        there = self._each(worker.has, dict.fromkeys(self._names, ([digest],)))
        packed = (digest, dict(self.programs.files), self.programs.content)
        lacking = [host for host in self._names if digest not in there[host]]
        self._each(worker.receive, dict.fromkeys(lacking, packed))

    def _links(self) -> dict[str, Floor]:
        """From each generator's host to the server's, one after another: they may share a part."""
        if self.server is None:
            return {}
        address, token = address_of(self.words), secrets.token_hex(16)
        answers = self._each(worker.reflect, {self.server: (address, token)})
        port = _read(_WHOLE_NUMBER.validate_python, answers[self.server], host=self.server)
        try:
            found = {}
            for host in self._names:
                answer = self._each(worker.measure_link, {host: (address, port, token)})[host]
                found[host] = _read(FLOOR.validate_json, answer, host=host)
                self.say(f"{host}: {floor_text(found[host])}")
            return found
        finally:
            ask_each(self.hosts, worker.stop_reflecting, {self.server: ()})

    def _orders(self) -> dict[str, tuple[str]]:
        count = len(self._names)
        return {
            host: (
                LOAD_ORDER.dump_json(
                    LoadOrder(
                        load=self.name,
                        host=host,
                        part=number,
                        of=count,
                        words=tuple(self.words),
                        programs=self.programs.digest,
                    )
                ).decode(),
            )
            for number, host in enumerate(self._names, start=1)
        }

    def _clocks(self) -> dict[str, Clock]:
        return {host: self._clock(host) for host in self._names}

    def _clock(self, host: str) -> Clock:
        def ask() -> int:
            answer = self.hosts.ask(host, worker.steady_clock)
            return _read(_WHOLE_NUMBER.validate_python, answer, host=host)

        return compare_clocks(ask, clock_ns=self.clock_ns)

    def _each(
        self, task: Callable[..., Any], arguments: Mapping[str, tuple[Any, ...]]
    ) -> dict[str, Any]:
        """The answers of these hosts, which are asked side by side. ``HostError`` if one has none,
        after all have answered.
        """
        events = ask_each(self.hosts, task, arguments)
        for event in events:
            if event.error is not None:
                raise HostError(_error(event))
        return {event.host: event.result for event in events}

    def _together(
        self,
        documents: Mapping[str, Any],
        before: Mapping[str, Clock],
        after: Mapping[str, Clock],
        links: Mapping[str, Floor],
    ) -> Whole:
        told = []
        for number, host in enumerate(self._names, start=1):
            text, log = _read(_TOLD.validate_python, documents[host], host=host)
            try:
                measured = parse_document(text)
                told.append(
                    Told(
                        host=host,
                        number=number,
                        before=before[host],
                        after=after[host],
                        document=measured.document,
                        raw=measured.raw,
                        log=log,
                        link=links.get(host),
                    )
                )
            except DocumentError as error:
                raise HostError(f"host {host}: {error}") from error
        try:
            return whole(told)
        except DocumentError as error:
            raise HostError(str(error)) from error

    def _abandon(self) -> None:
        """Those that wait or send end now."""
        here = self.hosts.present()
        free = [host for host in self._names if host in here and host in set(self.hosts.idle)]
        ask_each(self.hosts, worker.abandon_load, dict.fromkeys(free, (self.name,)))


def _read(validate: Callable[[Any], Read], answer: Any, *, host: str) -> Read:
    """What a host answered. ``HostError`` if it is something else."""
    try:
        return validate(answer)
    except ValidationError as error:
        raise HostError(str(explain(error, path=f"host {host}"))) from error


def _error(event: Event) -> str:
    text = str(event.error)
    return text if text.startswith("host ") else f"host {event.host}: {text}"
