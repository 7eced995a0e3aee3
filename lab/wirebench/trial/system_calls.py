"""System calls that a client makes for one operation, counted by ``strace -c`` in own runs:
under strace a call takes many times as long, so nothing of these runs is timed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace

from wirebench.catalog.loads import ClientLoad
from wirebench.catalog.model import Workload
from wirebench.process.supervise import Scope, Supervisor
from wirebench.process.types import Program
from wirebench.trial.calling import CallError, Served, call, serve

_WARMUP = 20
"""Before the counted operations, in both runs: what a library does only at first cancels out."""


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
    """Errors: ``CallError``."""
    if shutil.which("strace") is None:
        raise CallError("strace is not installed: apt-get install strace")
    with supervisor.scope() as scope:
        served = serve(scope, server, load, workload)
        few, many = (
            _counts(scope, client, replace(load, warmup=_WARMUP, operations=number), served)
            for number in (operations, 2 * operations)
        )
    return per_operation(few, many, operations)


def _counts(scope: Scope, client: Program, load: ClientLoad, served: Served) -> dict[str, int]:
    out = scope.folder / f"strace-{load.operations}"
    # Times are no use here; -f follows the threads and processes of the library.
    traced = replace(client, argv=("strace", "-f", "-c", "-o", str(out), *client.argv))
    call(scope, traced, load, served)
    try:
        found = parse_counts(out.read_text(encoding="utf-8"))
    except OSError as error:
        raise CallError(f"strace wrote nothing: {error.strerror}") from error
    if not found:
        raise CallError("strace counted nothing: it may not trace here (kernel.yama.ptrace_scope)")
    return found
