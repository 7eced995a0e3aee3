"""What simulated tables of this host vouch for: one sentence beside the run's own checks."""

from __future__ import annotations

from collections.abc import Sequence

from wirebench.catalog.units import count_of
from wirebench.report.figures import moment
from wirebench.store.rundir import StoredRun
from wirebench.store.verdicts import CheckedVerdicts, read_verdicts, worst_false_share


def verdicts_sentence(run: StoredRun) -> str:
    """From the last ``selftest --verdicts`` on the run's host; empty when that never simulated the
    run's presets.
    """
    checked = read_verdicts(run.path.parent).get(str(run.host.get("host_id", "")))
    if checked is None or run.plan is None:
        return ""
    return _sentence(checked, [study.preset for study in run.plan.studies])


def _sentence(checked: CheckedVerdicts, presets: Sequence[str]) -> str:
    own = [one for one in checked.designs if set(one.presets) & set(presets)]
    worst = worst_false_share(own)
    if worst is None:
        return ""
    entries = count_of(checked.entries, "entry", "entries")
    noise = f"Tables simulated with {checked.source}, {entries} each"
    false = (
        f"a claim about two entries within the noise band of each other in"
        f" {worst.false_tables} of {worst.tables} at worst (world: {worst.world})"
    )
    wrong = sum(one.wrong_signs for one in own if one.counts)
    signs = "no wrong sign" if not wrong else count_of(wrong, "wrong sign")
    least = min(own, key=lambda one: (one.world != "calm", one.blocks))
    gaps = ""
    if least.gap_80 is not None:
        also = f", of {least.gap_95:.1%} in 95%" if least.gap_95 is not None else ""
        gaps = (
            f" With {count_of(least.blocks, 'block')} ({least.world}) a gap of"
            f" {least.gap_80:.1%} is found in 80% of the pairs{also}."
        )
    when = moment(checked.ended_unix_ns)
    return f"{noise} ('wirebench selftest --verdicts', {when}): {false}; {signs}.{gaps}"
