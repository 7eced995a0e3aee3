"""System calls that a client makes for one operation, counted by ``strace -c`` in own runs:
under strace a call takes many times as long, so nothing of these runs is timed.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from wirebench.catalog.model import Workload
from wirebench.catalog.studies import HOST, ClientLoad
from wirebench.process import certificates, names
from wirebench.process.client import run_client
from wirebench.process.cores import choose_cores
from wirebench.process.ports import NoPortError
from wirebench.process.start import StartError, start_server, tail_of
from wirebench.process.supervise import Scope, Supervisor
from wirebench.process.types import Program
from wirebench.trial.setup import settings_for_client

LIMIT_NS = 120_000_000_000
_WARMUP = 20
"""Before the counted operations, in both runs: what a library does only at first cancels out."""


class CountError(Exception):
    """There is no count. The message says why."""


@dataclass(frozen=True, kw_only=True)
class Calls:
    """Of one operation, on average."""

    by_name: Mapping[str, float]
    """The most frequent first; those that are not made for operations are left out."""

    @property
    def total(self) -> float:
        return sum(self.by_name.values())


def parse_counts(text: str) -> dict[str, int]:
    """Calls by name, from what ``strace -c`` prints."""
    rows = re.findall(r"(?m)^ *[\d.]+ +[\d.]+ +(?:\d+ +)?(\d+) +(?:\d+ +)?([a-z_]\w*)$", text)
    return {name: int(calls) for calls, name in rows if name != "total"}


def per_operation(few: Mapping[str, int], many: Mapping[str, int], operations: int) -> Calls:
    """From two runs that differ by this many operations: start and end of the client cancel out.

    A call that does not come at least once in ten operations is none of theirs: a timer's or a
    garbage collector's.
    """
    found = {name: (calls - few.get(name, 0)) / operations for name, calls in many.items()}
    ordered = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    return Calls(by_name={name: calls for name, calls in ordered if calls >= 0.1})


def count_calls(
    client: Program,
    server: Program,
    load: ClientLoad,
    workload: Workload,
    supervisor: Supervisor,
    *,
    operations: int,
) -> Calls:
    """Errors: ``CountError``."""
    if shutil.which("strace") is None:
        raise CountError("strace is not installed: apt-get install strace")
    with supervisor.scope() as scope:
        if load.host != HOST and (why := names.refusal(scope.folder)) is not None:
            raise CountError(f"no {load.host} of its own: {why}")
        files = certificates.issue(scope.folder) if load.tls else None
        settings = replace(
            settings_for_client(load, workload, scope.folder),
            tls_cert=str(files.certificate_file) if files is not None else "",
            tls_key=str(files.key_file) if files is not None else "",
        )
        cores = choose_cores()
        try:
            running = start_server(
                scope, server, settings, cores=cores.contestant, port_seed=time.time_ns()
            )
        except (StartError, NoPortError) as error:
            raise CountError(f"the server for it: {error}") from error
        few, many = (
            _counts(
                scope,
                client,
                replace(load, warmup=_WARMUP, operations=number),
                port=running.port,
                ca_file=files.ca_file if files is not None else None,
            )
            for number in (operations, 2 * operations)
        )
    return per_operation(few, many, operations)


def _counts(
    scope: Scope, client: Program, load: ClientLoad, *, port: int, ca_file: Path | None
) -> dict[str, int]:
    out = scope.folder / f"strace-{load.operations}"
    # Times are no use here; -f follows the threads and processes of the library.
    traced = replace(client, argv=("strace", "-f", "-c", "-o", str(out), *client.argv))
    run, process = run_client(
        scope,
        traced,
        load,
        port=port,
        cores=choose_cores().generator,
        limit_ns=LIMIT_NS,
        ca_file=ca_file,
    )
    if run.report is None or run.exit_code != 0 or run.report.errors:
        why = run.problem or "an operation failed"
        raise CountError(f"{why}; its last output: {tail_of(process)}")
    try:
        found = parse_counts(out.read_text(encoding="utf-8"))
    except OSError as error:
        raise CountError(f"strace wrote nothing: {error.strerror}") from error
    if not found:
        raise CountError("strace counted nothing: it may not trace here (kernel.yama.ptrace_scope)")
    return found
