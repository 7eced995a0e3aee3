"""Check that an interrupted run can be completed on this host with these builds."""

from __future__ import annotations

from wirebench.run.bench import Bench
from wirebench.run.scope import Scope
from wirebench.store.jsonl import StoreError
from wirebench.store.rundir import StoredRun


def check_resumable(run: StoredRun, *, scope: Scope, bench: Bench, force: bool) -> None:
    """Refuse to mix trials of different hosts or of different builds in one run."""
    if force:
        return
    again = "start a new run, or mix them with --force"
    before, now = run.host.get("host_id"), bench.host().get("host_id")
    if run.host and before != now:
        same = (
            f"the host it was measured on ({before}), with the same permission to keep its cores"
            " awake"
        )
        raise StoreError(f"{run.path}: expected {same}, got {now}; {again}")
    if run.plan is None:
        return
    for name, key in run.plan.builds.items():
        contestant = scope.needed.get(name)
        if contestant is None:
            raise StoreError(
                f"{run.path}: expected {name} as in the interrupted run, got none here; {again}"
            )
        if bench.build_key(contestant) != key:
            raise StoreError(
                f"{run.path}: expected {name} as it was built for the run ({key}), but it changed;"
                f" {again}"
            )
