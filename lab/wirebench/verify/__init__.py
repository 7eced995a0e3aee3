"""The check before timing: a contestant whose replies are not exactly right is not measured."""

from __future__ import annotations

from collections.abc import Sequence

from wirebench.catalog.model import SCHEMES, Role, Scheme, Workload
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.verify.client import verify_client
from wirebench.verify.server import verify_server
from wirebench.verify.types import PLAIN, CheckResult, Traits, Verdict

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
) -> Verdict:
    """Check a server for a workload, or a client by its schemes against what it calls
    (``http.payload`` or ``ws.echo``). ``timeouts``: wait for a server's limit of a request head
    too.
    """
    if role == "server":
        return verify_server(
            contestant, workload, program, supervisor, traits=traits, timeouts=timeouts
        )
    return verify_client(contestant, workload, program, supervisor, schemes=schemes, traits=traits)
