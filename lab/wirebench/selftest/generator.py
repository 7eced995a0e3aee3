"""wireload in a self-test: its command line for a load, and the figures taken from its document."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirebench.catalog.units import exact_duration
from wirebench.process.ports import HOST
from wirebench.process.process import Process
from wirebench.process.start import describe_end, tail_of
from wirebench.process.supervise import Scope
from wirebench.selftest.cases import Load
from wirebench.selftest.judge import MAX
from wirebench.selftest.laws import S
from wirebench.trial.histogram import together
from wirebench.trial.wireload import (
    EXIT_OK,
    EXIT_WITH_ERRORS,
    Document,
    DocumentError,
    read_document,
)

BODY = "hello"
"""The truth server's reply."""
_TIMEOUT_S = 30
"""The timeout of a request. No case comes near."""
_UNTIL_START_NS = 1_500_000_000
"""Several generators on one core have started and opened 2,000 connections by then. Our own choice.
"""


class GeneratorError(Exception):
    """It measured nothing."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The figures of a generator run, in nanoseconds."""

    start_unix_ns: int
    elapsed_ns: int
    count: int
    requests: int
    """Right and wrong together."""
    percentiles: Mapping[str, float | None]
    errors: Mapping[str, int]
    evictions_per_s: float
    """How often another program preempted it."""
    void: str | None
    """The generator's own reason why the window is void."""
    engine: str | None = None
    """The interface of the kernel that carried the load."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One of several generators that put a load on a server together."""

    number: int
    """From 1 to ``of``."""
    of: int
    start_ns: int
    """Of the steady clock. All begin then."""

    @property
    def words(self) -> list[str]:
        return ["--part", f"{self.number}/{self.of}", "--start", str(self.start_ns)]

    def share_of(self, total: int) -> int:
        return total // self.of + (self.number <= total % self.of)


def command(
    program: Path,
    load: Load,
    *,
    port: int,
    cores: Sequence[int],
    seed: int,
    json_file: Path,
    part: Part | None = None,
    engine: str | None = None,
) -> list[str]:
    words = [str(program), "--quiet", "--json", str(json_file), "--seed", str(seed)]
    words += ["--no-histogram"] if part is None else part.words
    words += [] if engine is None else ["--engine", engine]
    words += [
        "--threads",
        str(len(cores)),
        "--cpu",
        ",".join(map(str, cores)),
        "--timeout",
        f"{_TIMEOUT_S}s",
    ]
    connections = load.connections if part is None else part.share_of(load.connections)
    words += ["--expect-body", BODY, "-c", str(connections), "--pipeline", str(load.in_flight)]
    if load.mode != "closed":
        words += ["--rate", str(load.rate), "--arrivals", load.mode]
        if part is not None:
            # They share their cores, and one that spins takes them from the others.
            words += ["--spin", "never"]
    words += ["--warmup", exact_duration(load.warmup_ns)]
    words += (
        ["-n", str(load.requests)]
        if load.requests is not None
        else ["-d", exact_duration(load.window_ns)]
    )
    return [*words, f"http://{HOST}:{port}/"]


def run(
    program: Path,
    load: Load,
    scope: Scope,
    *,
    port: int,
    cores: Sequence[int],
    seed: int,
    parts: int = 1,
    engine: str | None = None,
) -> Measured:
    """One run, by that many generators at once; by fewer where there are not as many connections.
    ``GeneratorError`` where one measured nothing.
    """
    parts = min(parts, load.connections)
    start_ns = time.monotonic_ns() + _UNTIL_START_NS
    files = [scope.folder / f"wireload-{number}.json" for number in range(1, parts + 1)]
    running = []
    for number, file in enumerate(files, start=1):
        part = Part(number=number, of=parts, start_ns=start_ns) if parts > 1 else None
        words = command(
            program,
            load,
            port=port,
            cores=cores,
            seed=seed,
            json_file=file,
            part=part,
            engine=engine,
        )
        running.append(
            scope.start(words, name=f"wireload-{number}", cwd=scope.folder, env={}, cores=cores)
        )
    ends_ns = start_ns + load.warmup_ns + load.window_ns + 2 * _TIMEOUT_S * S
    for process in running:
        _await_end(process, ends_ns)
    return figures([_document(file) for file in files])


def _await_end(process: Process, ends_ns: int) -> None:
    patience_s = max(0.0, (ends_ns - time.monotonic_ns()) / S)
    code = process.wait(patience_s)
    if code is None:
        process.stop()
        raise GeneratorError("wireload: expected an end by now, got none")
    process.stop()  # read the rest of its output
    if code not in (EXIT_OK, EXIT_WITH_ERRORS):
        raise GeneratorError(f"wireload {describe_end(process)}: {tail_of(process)}")


def _document(json_file: Path) -> Document:
    try:
        return read_document(json_file).document
    except DocumentError as error:
        raise GeneratorError(str(error)) from error


def figures(parts: Sequence[Document]) -> Measured:
    """Of all parts of the load together."""
    spans = []
    for part in parts:
        window = part.window
        if window.start_unix_ns is None or window.elapsed_ns is None:
            raise GeneratorError("wireload: window: expected a start and a length, got none")
        spans.append((window.start_unix_ns, window.start_unix_ns + window.elapsed_ns))
    start = min(start for start, _ in spans)
    elapsed_ns = max(end for _, end in spans) - start
    try:
        latency = parts[0].latency if len(parts) == 1 else together([one.latency for one in parts])
    except DocumentError as error:
        raise GeneratorError(str(error)) from error
    errors = Counter[str]()
    for part in parts:
        errors.update({kind: count for kind, count in part.errors.items() if count})
    voids = [part.open_loop.void for part in parts if part.open_loop is not None]
    return Measured(
        start_unix_ns=start,
        elapsed_ns=elapsed_ns,
        count=latency.count,
        requests=sum(part.requests.ok + part.requests.errors for part in parts),
        percentiles={
            **{f"p{name}": value for name, value in latency.percentiles_ns.items()},
            MAX: latency.max_ns,
        },
        errors=dict(errors),
        evictions_per_s=sum(part.generator.involuntary_switches or 0 for part in parts)
        * S
        / max(elapsed_ns, 1),
        void=next((void for void in voids if void), None),
        engine=parts[0].plan.engine,
    )
