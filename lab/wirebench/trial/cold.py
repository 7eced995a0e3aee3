"""A user's server whose runtime compiles as it runs, and had no time to: the lab warns, and leaves
the warm-up to its user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wirebench.catalog.units import exact_duration
from wirebench.trial.record import TrialRecord

_KIND = "cold_runtime"


def cold_warnings(
    programs: Iterable[str | None], runtimes: Mapping[str, int], *, warmup_ns: int
) -> Iterable[str]:
    """Of a server that runs these programs. ``runtimes``: the load (ns) that a runtime needs before
    it runs at its pace, by the name of its program.
    """
    for program in sorted({one for one in programs if one is not None} & runtimes.keys()):
        if runtimes[program] > warmup_ns:
            yield (
                f"{_KIND}: {program} needs {exact_duration(runtimes[program])} of load to run at"
                f" its pace, and had {exact_duration(warmup_ns)}"
            )


def cold_runtimes(trials: Sequence[TrialRecord]) -> dict[str, str]:
    """What was warned of each entry's runtime, twins apart."""
    return {
        trial.entry: warning.removeprefix(f"{_KIND}: ")
        for trial in trials
        for warning in trial.warnings
        if warning.startswith(_KIND) and trial.twin_of is None
    }


def cold_notes(cold: Mapping[str, str]) -> Iterable[str]:
    for name, warning in sorted(cold.items()):
        yield f"{name} was measured cold: {warning}; a longer --warmup (and --budget) mends that"
