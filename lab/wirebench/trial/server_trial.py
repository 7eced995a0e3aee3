"""A trial of a server: start it, put the load on it, read what the generator measured."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wirebench.catalog.loads import (
    PER_CONNECTION_NS,
    ClientLoad,
    ClosedLoad,
    EachLoad,
    IdleLoad,
    OpenLoad,
    RampLoad,
    StormLoad,
    link_of,
    most_connections,
)
from wirebench.catalog.units import count_of
from wirebench.catalog.warmup import lacking_ns
from wirebench.process import procfs
from wirebench.process.cores import choose_cores
from wirebench.process.link import OpenLink
from wirebench.process.network import LOOPBACK, Network
from wirebench.process.process import Process
from wirebench.process.stall import server_state
from wirebench.process.start import ServerSettings, describe_end, tail_of
from wirebench.process.supervise import Scope
from wirebench.process.types import Cores, Failure, FailureKind, Program
from wirebench.trial import server_metrics, watchdog, wireload
from wirebench.trial.apart import (
    GeneratorElsewhere,
    GeneratorHost,
    GeneratorProcess,
    ServerWatch,
    of_both_hosts,
    with_server,
)
from wirebench.trial.cold import cold_warnings
from wirebench.trial.covariates import watch_host
from wirebench.trial.outcome import Outcome, TrialError
from wirebench.trial.packets import RecordError, find_waits, read_record
from wirebench.trial.setup import Ready, ServerEnd, end_under_load, start_for_load
from wirebench.trial.stall import StallWatch
from wirebench.trial.types import TrialSpec

_HOLD_NS = 600_000_000_000
"""Longer than any server takes to accept the connections that are held when it is killed."""
_WARMING_CONNECTIONS = 50
_WARMING_ROUND_NS = 1_000_000_000
"""After each, the connections end and new ones begin. A compiler that has seen only connections
that last throws away what it compiled when the first one ends: Undertow fell from 60,000 to 25,000
requests/s.
"""
_SETTLE_S = 0.1
"""From the end of the warm-up to the load: for the replies that nobody waits for any more, and for
connections that end.
"""
_LOOK_S = 0.1
_STOP_GENERATOR_S = 5.0
"""How long the generator has after SIGTERM to write what it has measured."""


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A generator that has ended, and what became of the server under its load."""

    generator: GeneratorProcess
    exit_code: int | None
    limit_ns: int
    hung: bool
    """It still ran at the limit, and was told to stop."""
    server_end: ServerEnd | None = None
    state: str | None = None
    """Of the server, as last seen while it was not busy."""
    stood_still_ns: int = 0
    """It did nothing for so long that it was not waited for until the limit; 0: no."""

    @property
    def told_to_stop(self) -> str:
        """Why the generator was."""
        if self.stood_still_ns:
            return f"the server did nothing for {self.stood_still_ns / 1e9:.3g} s"
        return f"the load was not done after {self.limit_ns / 1e9:.0f} s"


@dataclass(frozen=True, kw_only=True)
class Running:
    """A server that runs already, and is not the lab's."""

    origin: str
    cores: Cores
    server: None = None
    ca_file: None = None
    link: None = None
    caller: Network = LOOPBACK


class ServerTrial:
    """A trial of a server in steps: ``start()``, ``launch()``, ``finish()``. Each raises
    ``StartError`` or ``TrialError`` if there is no valid figure, and ``GeneratorLostError`` if the
    generator's host is lost; the trial is over then.
    """

    def __init__(
        self,
        spec: TrialSpec,
        outcome: Outcome,
        *,
        program: Program,
        scope: Scope,
        generator: Path,
        wirelink: Path | None = None,
        apart: GeneratorHost | None = None,
    ) -> None:
        """``outcome`` is filled, and ``scope`` owns every process. ``apart``: another host, whose
        generator puts the load on; the one here then only warms the server up.
        """
        if isinstance(spec.load, ClientLoad):
            raise TypeError(f"{spec.trial}: expected a load for a server, got one for a client")
        self._spec, self._outcome, self._scope = spec, outcome, scope
        self._load: wireload.ServerLoad = spec.load
        self._program, self._generator, self._wirelink = program, generator, wirelink
        self._apart = apart
        self._network = apart.network if apart is not None else LOOPBACK
        self._document_file = scope.folder / "wireload.json"
        self._process: GeneratorProcess
        self._watched: ExitStack
        self._elsewhere: GeneratorElsewhere | None = None

    def start(self) -> None:
        """Start the server, unless it runs already."""
        spec, load = self._spec, self._load
        settings = ServerSettings(
            workload=spec.workload,
            threads=max(spec.threads, spec.processes),
            delay_ms=load.delay_ms if isinstance(load, EachLoad) else 0,
            environment_bytes=spec.environment_bytes,
        )
        self._target: Ready | Running
        if spec.own is not None and spec.own.url is not None:
            self._target = Running(origin=spec.own.url, cores=choose_cores(spec.threads))
        else:
            self._target = start_for_load(
                spec,
                self._outcome,
                settings,
                program=self._program,
                scope=self._scope,
                wirelink=self._wirelink,
                network=self._network,
            )
        if isinstance(load, StormLoad) and load.restart and isinstance(self._target, Ready):
            self._restart(settings, self._target)
        server = self._target.server
        self._outcome.metrics["ready_ns"] = server.ready_ns if server is not None else None
        if isinstance(self._target, Ready):
            self._warn_if_cold(self._target)
            self._warm_up(self._target)

    def _warn_if_cold(self, target: Ready) -> None:
        """Say of a user's server whether its runtime needs more than the load's own warm-up."""
        own, load = self._spec.own, self._load
        if own is None or not isinstance(load, ClosedLoad | OpenLoad):
            return
        programs = [procfs.program_name(pid) for pid in target.server.process.pids()]
        self._outcome.warnings += cold_warnings(programs, own.runtimes, warmup_ns=load.warmup_ns)

    def _warm_up(self, target: Ready) -> None:
        """Put the requests of the load on the server for as long as its runtime needs, from beside
        it. Whether the replies are right is seen when they are measured.
        """
        lacking = lacking_ns(self._spec.contestant, self._load)
        if lacking == 0:
            return
        delay_ms = self._load.delay_ms if isinstance(self._load, EachLoad) else 0
        # Of requests that wait for a handler, a round would leave a queue when it ends.
        connections = self._spec.threads if delay_ms else _WARMING_CONNECTIONS
        while lacking > 0:
            time_ns = min(lacking, _WARMING_ROUND_NS)
            self._put_on(
                ClosedLoad(connections=connections, warmup_ns=0, window_ns=time_ns), target
            )
            lacking -= time_ns
        time.sleep(_SETTLE_S + delay_ms / 1000)

    def _put_on(self, load: ClosedLoad, target: Ready) -> None:
        """Put a load that is not measured on the server."""
        spec = self._spec
        aim = _aim(
            spec,
            target,
            timeout_ns=watchdog.reply_timeout_ns(
                load, patience_ns=spec.timeout_ns, threads=spec.threads
            ),
            json_file=self._scope.folder / "warmup.json",
            turn=None,
        )
        process = self._start(load, aim, name="warm-up", at=target.served_at)
        limit_ns = watchdog.limit_ns(load, timeout_ns=aim.timeout_ns, threads=spec.threads)
        process.wait(limit_ns / 1e9)
        process.stop()

    def _restart(self, settings: ServerSettings, first: Ready) -> None:
        """Kill the server with all connections open, and start it again on its port."""
        spec, scope, connections = self._spec, self._scope, most_connections(self._load)
        load = IdleLoad(connections=connections, window_ns=_HOLD_NS)
        aim = _aim(
            spec,
            first,
            timeout_ns=watchdog.reply_timeout_ns(
                self._load, patience_ns=spec.timeout_ns, threads=spec.threads
            ),
            json_file=scope.folder / "holder.json",
            turn=None,
        )
        server = first.server.process
        wanted = procfs.open_files(server.pids()) + connections
        holder = self._start(load, aim, name="holder", at=first.served_at)
        deadline = time.monotonic_ns() + connections * PER_CONNECTION_NS + watchdog.MARGIN_NS
        while (held := procfs.open_files(server.pids())) < wanted:
            if holder.wait(_LOOK_S) is not None or time.monotonic_ns() > deadline:
                kind: FailureKind = "hung" if server.exit_code() is None else "crashed"
                missing = count_of(connections, "connection")
                if holder.exit_code() == wireload.EXIT_USAGE:
                    kind = "generator_failed"  # of a load that this host does not hold
                holder.stop()  # what it said is complete then
                raise TrialError(
                    Failure(
                        kind=kind,
                        phase="load",
                        message=f"no {missing} stood before it was to be killed",
                        expected=count_of(wanted, "open file"),
                        received=f"{held:,}; the generator said: {tail_of(holder)}",
                    )
                )
        server.kill()
        holder.stop()
        self._target = start_for_load(
            spec,
            self._outcome,
            settings,
            program=self._program,
            scope=scope,
            port=first.server.port,
            network=self._network,
        )

    def launch(self, turn: wireload.Turn | None = None) -> None:
        """Start the generator. ``turn``: among the others that are launched now."""
        spec, load, target = self._spec, self._load, self._target
        timeout_ns = watchdog.reply_timeout_ns(
            load, patience_ns=spec.timeout_ns, threads=spec.threads
        )
        aim = _aim(spec, target, timeout_ns=timeout_ns, json_file=self._document_file, turn=turn)
        self._limit_ns = watchdog.limit_ns(load, timeout_ns=timeout_ns, threads=spec.threads)
        if turn is not None:
            self._limit_ns += watchdog.waiting_ns(load, turn)
        with ExitStack() as watched:
            namespaces = target.link.holders if target.link is not None else (None,)
            server = target.server
            self._host = watched.enter_context(
                watch_host(
                    server.process if server is not None else None,
                    namespaces,
                    server_is_ours=server is not None,
                )
            )
            self._stall = _stall_watch(load, target, timeout_ns)
            if self._apart is not None and server is not None:
                self._watch = watched.enter_context(
                    ServerWatch(server.process, load, cores=target.cores.generator)
                )
                self._elsewhere = self._apart.launch(load, aim, limit_ns=self._limit_ns)
            self._process = self._elsewhere or self._start(
                load, aim, name="generator", at=target.caller
            )
            self._watched = watched.pop_all()

    def _start(
        self, load: wireload.ServerLoad, aim: wireload.Aim, *, name: str, at: Network
    ) -> Process:
        """A wireload on this host."""
        return self._scope.start(
            wireload.command(self._generator, load, aim),
            name=name,
            cwd=self._scope.folder,
            env={},
            cores=aim.cores,
            alone=True,
            enter=at.enter,
        )

    def finish(self) -> None:
        """Wait for the generator, and judge what it measured."""
        spec, load, outcome, target = self._spec, self._load, self._outcome, self._target
        with self._watched:
            run = _await_generator(self._process, limit_ns=self._limit_ns, watch=self._stall)
        run.generator.stop()
        if (gone := _without_link(target.link)) is not None:
            raise TrialError(gone)
        succeeded = run.exit_code == wireload.EXIT_OK
        server = target.server
        if server is not None:
            run = replace(run, server_end=end_under_load(server, load_succeeded=succeeded))
        outcome.packets = _packets(load, target.link)

        try:
            measured = wireload.read_document(self._document_file)
        except wireload.DocumentError as error:
            raise TrialError(_without_document(run, error)) from error
        document = measured.document
        switches = document.generator.involuntary_switches
        outcome.covariates = self._host.covariates(generator_switches=switches)
        if self._elsewhere is not None:
            told = self._elsewhere.told
            outcome.covariates = of_both_hosts(outcome.covariates, told.covariates)
            measured = with_server(measured, self._watch.readings, told)
            document = measured.document
        ready_ns = server.ready_ns if server is not None else None
        outcome.metrics = server_metrics.metrics(document, load, ready_ns=ready_ns)
        outcome.load, outcome.series = measured.load, measured.series
        outcome.rounds = measured.rounds
        outcome.histogram = document.latency.histogram
        _judge(
            spec,
            load,
            outcome,
            document,
            run,
            server_cores=len(target.cores.contestant),
            output=tail_of(server.process) if server is not None else "",
        )


def _without_link(link: OpenLink | None) -> Failure | None:
    """Why the load says nothing of the server: its link ended before it did."""
    if link is None or link.process.exit_code() is None:
        return None
    return Failure(
        kind="no_link",
        phase="load",
        message=f"the emulated link {describe_end(link.process)} under load",
        received=tail_of(link.process),
    )


def _packets(load: wireload.ServerLoad, link: OpenLink | None) -> Mapping[str, Any] | None:
    """What the packets of the load show. The link ends with it, and writes them then."""
    wanted = link_of(load)
    if wanted is None or link is None or link.record is None:
        return None
    link.process.stop()
    try:
        return find_waits(read_record(link.record), rtt_ns=wanted.rtt_ns)
    except RecordError:
        return None


def _aim(
    spec: TrialSpec,
    target: Ready | Running,
    *,
    timeout_ns: int,
    json_file: Path,
    turn: wireload.Turn | None,
) -> wireload.Aim:
    return wireload.Aim(
        origin=target.origin,
        request=spec.request,
        cores=target.cores.generator,
        watch=target.server.process.watch if target.server is not None else None,
        timeout_ns=timeout_ns,
        seed=spec.load_seed,
        json_file=json_file,
        ca_file=target.ca_file,
        turn=turn,
    )


def _await_generator(process: GeneratorProcess, *, limit_ns: int, watch: StallWatch | None) -> _Run:
    """Wait for the generator's end. One that still runs at the limit, or whose server stands still
    for good, is told to stop.
    """
    code = _wait(process, limit_ns=limit_ns, watch=watch)
    hung = code is None
    # The generator's connections may be gone; the server's threads are not.
    if code != wireload.EXIT_OK and watch is not None:
        watch.look_at_last()
    if hung:
        process.signal(signal.SIGTERM)
        code = process.wait(_STOP_GENERATOR_S)
    return _Run(
        generator=process,
        exit_code=code,
        limit_ns=limit_ns,
        hung=hung,
        state=watch.state if watch is not None else None,
        stood_still_ns=watch.quiet_ns if hung and watch is not None and watch.stands_still else 0,
    )


def _wait(process: GeneratorProcess, *, limit_ns: int, watch: StallWatch | None) -> int | None:
    """Its exit code; None at the limit, or when its server stands still for good."""
    if watch is None:
        return process.wait(limit_ns / 1e9)
    deadline = time.monotonic_ns() + limit_ns
    while (left := deadline - time.monotonic_ns()) > 0 and not watch.stands_still:
        code = process.wait((min(left, watch.pause_ns) if watch.looks else left) / 1e9)
        if code is not None:
            return code
        if watch.looks:
            watch.look()
    return None


def _stall_watch(
    load: wireload.ServerLoad, target: Ready | Running, timeout_ns: int
) -> StallWatch | None:
    """None for a server whose threads cannot be seen."""
    if isinstance(target, Running):
        return None
    server, holder = target.server, target.served_at.holder
    return StallWatch(
        server=server.process,
        timeout_ns=timeout_ns,
        looks=isinstance(load, EachLoad),
        describe=lambda: server_state(server.process.pids(), server.port, network_of=holder),
    )


def _judge(
    spec: TrialSpec,
    load: wireload.ServerLoad,
    outcome: Outcome,
    document: wireload.Document,
    run: _Run,
    *,
    server_cores: int,
    output: str,
) -> None:
    """Say how far the figures count. ``TrialError`` if they do not."""
    judgement = server_metrics.judge(document, load)
    if (run.hung or run.server_end is not None) and judgement != "failed":
        # A ramp goes on until the server breaks; the server must withstand any other load.
        judgement = "partly" if isinstance(load, RampLoad) else "failed"
    outcome.validity = {
        "little_ratio": document.little.ratio if document.little is not None else None,
        "generator_cpu_share": document.generator.used_share,
        "server_cpu_share": server_metrics.server_cpu_share(document, cores=server_cores),
        "server_cores": server_cores,
        "completed": judgement == "right",
    }
    outcome.warnings += server_metrics.stopped_by_quota(document)
    if document.turns is not None:
        outcome.validity["late_turns"] = server_metrics.late_turns(document)
    if document.open_loop is not None:
        outcome.validity["kept_up"] = server_metrics.kept_up(document)
        outcome.validity["void"] = server_metrics.void_reason(document, load)
        slow = server_metrics.too_slow(document, load)
        outcome.warnings += [slow] if slow is not None else []
    if judgement == "right" and not spec.contestant.closes:
        ended = server_metrics.ended_connections(document, load)
        outcome.warnings += [ended] if ended is not None else []
    if judgement == "partly":
        outcome.warnings.append(server_metrics.partial_errors(document, load))
        if run.hung:
            outcome.warnings.append(f"partial_errors: the ramp was stopped: {run.told_to_stop}")
        if run.server_end is not None:
            outcome.warnings.append(
                f"partial_errors: the server {run.server_end.how}; "
                f"its last output: {run.server_end.output}"
            )
    elif judgement == "failed":
        failure = server_metrics.failure_of(
            document,
            asked=spec.request,
            server_end=run.server_end.how if run.server_end is not None else None,
            output=output,
        )
        if run.hung and failure.kind != "crashed":
            message = f"{run.told_to_stop}; {failure.message}"
            failure = replace(failure, kind="hung", message=message)
        if failure.kind == "hung":
            failure = replace(failure, state=run.state)
        raise TrialError(failure)


def _without_document(run: _Run, error: wireload.DocumentError) -> Failure:
    if run.server_end is not None:
        return Failure(
            kind="crashed",
            phase="load",
            message=f"the server {run.server_end.how} under load, and nothing could be measured",
            expected="a reply to each request",
            received=f"its last output: {run.server_end.output}",
        )
    stopped = f"was told to stop, since {run.told_to_stop}"
    how = stopped if run.hung else describe_end(run.generator)
    said = tail_of(run.generator)
    # It says which limit of this host a load exceeds, and which name has no address.
    explained = run.exit_code in (wireload.EXIT_USAGE, wireload.EXIT_NOTHING_MEASURED)
    why = said.splitlines()[-1] if explained else str(error)
    return Failure(
        kind="generator_failed",
        phase="load",
        message=f"the generator {how}: {why}",
        sent=" ".join(run.generator.argv),
        expected="a document",
        received=said,
    )
