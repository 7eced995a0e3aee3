"""wireload in a self-test: its command line for a load, and the figures taken from its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirebench.catalog.units import exact_duration
from wirebench.process.ports import HOST
from wirebench.process.start import describe_end, tail_of
from wirebench.process.supervise import Scope
from wirebench.selftest.cases import Load
from wirebench.selftest.judge import MAX
from wirebench.selftest.laws import S
from wirebench.trial.wireload import (
    EXIT_OK,
    EXIT_WITH_ERRORS,
    DocumentError,
    read_document,
)

BODY = "hello"
"""The truth server's reply."""
_TIMEOUT_S = 30
"""The timeout of a request. No case comes near."""


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


def command(
    program: Path, load: Load, *, port: int, cores: Sequence[int], seed: int, json_file: Path
) -> list[str]:
    words = [
        str(program),
        "--quiet",
        "--json",
        str(json_file),
        "--no-histogram",
        "--seed",
        str(seed),
    ]
    words += [
        "--threads",
        str(len(cores)),
        "--cpu",
        ",".join(map(str, cores)),
        "--timeout",
        f"{_TIMEOUT_S}s",
    ]
    words += ["--expect-body", BODY, "-c", str(load.connections), "--pipeline", str(load.in_flight)]
    if load.mode != "closed":
        words += ["--rate", str(load.rate), "--arrivals", load.mode]
    words += ["--warmup", exact_duration(load.warmup_ns)]
    words += (
        ["-n", str(load.requests)]
        if load.requests is not None
        else ["-d", exact_duration(load.window_ns)]
    )
    return [*words, f"http://{HOST}:{port}/"]


def run(
    program: Path, load: Load, scope: Scope, *, port: int, cores: Sequence[int], seed: int
) -> Measured:
    json_file = scope.folder / "wireload.json"
    words = command(program, load, port=port, cores=cores, seed=seed, json_file=json_file)
    process = scope.start(words, name="wireload", cwd=scope.folder, env={}, cores=cores)
    patience_s = (load.warmup_ns + load.window_ns) / S + 2 * _TIMEOUT_S
    code = process.wait(patience_s)
    if code is None:
        process.stop()
        raise GeneratorError(f"wireload: expected an end within {patience_s:.0f} s, got none")
    process.stop()  # read the rest of its output
    if code not in (EXIT_OK, EXIT_WITH_ERRORS):
        raise GeneratorError(f"wireload {describe_end(process)}: {tail_of(process)}")
    return read(json_file)


def read(json_file: Path) -> Measured:
    try:
        found = read_document(json_file)
    except DocumentError as error:
        raise GeneratorError(str(error)) from error
    document = found.document
    window, latency = document.window, document.latency
    if window.start_unix_ns is None or window.elapsed_ns is None:
        raise GeneratorError("wireload: window: expected a start and a length, got none")
    open_loop = found.raw.get("open_loop")
    void = open_loop.get("void") if isinstance(open_loop, dict) else None
    return Measured(
        start_unix_ns=window.start_unix_ns,
        elapsed_ns=window.elapsed_ns,
        count=latency.count,
        requests=document.requests.ok + document.requests.errors,
        percentiles={
            **{f"p{name}": value for name, value in latency.percentiles_ns.items()},
            MAX: latency.max_ns,
        },
        errors={kind: count for kind, count in document.errors.items() if count},
        evictions_per_s=(document.generator.involuntary_switches or 0)
        * S
        / max(window.elapsed_ns, 1),
        void=str(void) if void else None,
    )
