"""The check before timing: a contestant whose replies are not exactly right is not measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wirebench.catalog.model import SCHEMES, Role, Scheme, Workload
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.verify.client import verify_client
from wirebench.verify.own_folder import listing, unchanged
from wirebench.verify.server import verify_server
from wirebench.verify.types import PLAIN, CheckResult, Traits, Verdict, verdict

__all__ = ["CheckResult", "Traits", "Verdict", "verify", "verify_client", "verify_server"]


def verify(
    contestant: str,
    role: Role,
    workload: Workload,
    program: Program,
    supervisor: Supervisor,
    *,
    schemes: Sequence[Scheme] = SCHEMES,
    traits: Traits = PLAIN,
    timeouts: bool = False,
    source: Path,
) -> Verdict:
    """Check a server for a workload, or a client by its schemes against what it calls
    (``http.payload`` or ``ws.echo``). ``timeouts``: wait for a server's limit of a request head
    too. ``source``: the contestant's folder, which must be as before.
    """
    before = listing(source)
    if role == "server":
        found = verify_server(
            contestant, workload, program, supervisor, traits=traits, timeouts=timeouts
        )
    else:
        found = verify_client(
            contestant, workload, program, supervisor, schemes=schemes, traits=traits
        )
    nonconformant = found.failure is not None and found.failure.kind == "nonconformant"
    return verdict(
        contestant,
        role,
        workload,
        (*found.checks, unchanged(before, listing(source))),
        elapsed_ns=found.elapsed_ns,
        failure=None if nonconformant else found.failure,
    )
