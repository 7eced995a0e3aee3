"""Facts about each contestant besides its figures: library, version, licence and check results."""

from __future__ import annotations

import datetime
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter

from wirebench.catalog import CatalogError, find_root, load_catalog
from wirebench.host.released import age, json_library
from wirebench.report.remembered import remembered
from wirebench.store.records import VerifyRecord
from wirebench.store.rundir import StoredRun

FACTS_FILE = "contestants.json"


@dataclass(frozen=True, kw_only=True)
class Facts:
    library: str
    version: str
    license: str
    homepage: str
    tier: str
    note: str | None = None
    age: str | None = None
    """When the version was released and how old it was in the run."""
    json: str | None = None
    """The JSON library, with its version where that is known."""
    closes: bool = False
    """It ends each connection after its reply."""
    kept_connections: int = 1
    """How many connections it opens at most as a client under ``reuse``."""
    warmed: bool = False
    """Each trial warms its runtime up first."""


_FACTS = TypeAdapter(dict[str, Facts])


def facts_of(run: StoredRun) -> Mapping[str, Facts]:
    """Facts by contestant. A contestant whose folder is gone and that no earlier report knew is
    missing.
    """
    wanted = {trial.contestant for trial in run.trials}
    if run.plan is not None:
        wanted |= {entry.contestant for cell in run.plan.cells for entry in cell.entries}
        wanted |= {cell.server for cell in run.plan.cells if cell.server is not None}

    def find(known: Container[str]) -> Mapping[str, Facts]:
        missing = {name for name in wanted if name not in known}
        return _from_catalog(missing) if missing else {}

    return remembered(run.path / FACTS_FILE, _FACTS, find, asdict)


def _from_catalog(wanted: Iterable[str]) -> dict[str, Facts]:
    try:
        catalog = load_catalog(find_root())
    except CatalogError:
        return {}
    today = datetime.datetime.now(datetime.UTC).date()
    return {
        name: Facts(
            library=one.library,
            version=one.version,
            license=one.license,
            homepage=one.homepage,
            tier=one.tier,
            note=one.note,
            closes=one.closes,
            kept_connections=one.kept_connections,
            warmed=one.warmup_ns > 0 or one.client_warmup_ns > 0,
            age=age(one, today),
            json=json_library(one),
        )
        for name in wanted
        if (one := catalog.contestants.get(name)) is not None
    }


@dataclass(frozen=True, kw_only=True)
class Conformance:
    """Check results of one contestant over the workloads of one study."""

    passed: int
    total: int
    advice: tuple[str, ...]
    """Recommendations that it does not follow."""
    failed: bool

    @property
    def text(self) -> str:
        if self.failed:
            return "failed"
        return f"{self.passed}/{self.total}" if self.total else "passed"


def conformance(
    records: Iterable[VerifyRecord], workloads: frozenset[str]
) -> dict[str, Conformance]:
    """Checks passed and made, by contestant. A contestant that was not checked is missing."""
    found: dict[str, Conformance] = {}
    for record in records:
        if record.workload not in workloads:
            continue
        before = found.get(
            record.contestant, Conformance(passed=0, total=0, advice=(), failed=False)
        )
        made = [check for check in record.checks if check.get("checked", True)]
        missed = tuple(str(check.get("id", "?")) for check in made if check.get("passed") is False)
        found[record.contestant] = Conformance(
            passed=before.passed + len(made) - len(missed),
            total=before.total + len(made),
            advice=(*before.advice, *missed),
            failed=before.failed or record.status == "failed",
        )
    return found
