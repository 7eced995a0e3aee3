"""The pages, from what the results hold."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from wirebench.catalog import CatalogError, find_root, load_catalog
from wirebench.catalog.contestants import STUDIES
from wirebench.catalog.model import SCHEMES, WORKLOADS
from wirebench.catalog.study_files import load_studies
from wirebench.catalog.units import rough_duration
from wirebench.decide.ask import ORDERS, RFCS, Asked, QuestionError, question_of
from wirebench.decide.judge import decide
from wirebench.decide.known import Known, read_known
from wirebench.decide.places import is_wanted, looked_up
from wirebench.decide.question import Question
from wirebench.decide.text import alike, headline, rank_text, sources
from wirebench.duel.stored import said_of
from wirebench.footprint.records import read_all
from wirebench.history.changes import changes_of
from wirebench.history.index import Index, Series, stamps
from wirebench.history.text import heading, moved, picture, table
from wirebench.report.figures import figure, moment, times, title, visible
from wirebench.serve.under_way import UnderWay
from wirebench.store.rundir import DUEL_FILE, TABLE_FILE, read_info

MOST_SERIES = 12
"""Charts on one page."""
MOST_ANSWERS = 8
"""Sets of analysed runs that are kept for questions that look at the same cells."""
_TEMPLATES = "template"
_STYLE = (resources.files("wirebench.serve") / _TEMPLATES / "style.css").read_text("utf-8")
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src data:; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
"""What the pages may load: their one style sheet, and pictures that they hold themselves."""


class QueryError(Exception):
    """A part of the address is not what is there. The message says what was expected."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    heading: str
    picture: str
    """As a ``data:`` address."""
    changes: tuple[str, ...]
    table: Markup


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One list of the form over the charts."""

    name: str
    label: str
    values: tuple[str, ...]
    chosen: str


class Pages:
    """All of them; may be used by several threads."""

    def __init__(self, *, results: Path) -> None:
        self._results = results
        self._indexing = threading.Lock()
        self._deciding = threading.Lock()
        self._answers: dict[tuple[Any, ...], Known] = {}
        self._environment = Environment(
            loader=PackageLoader("wirebench.serve", _TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals["style"] = Markup(_STYLE)  # noqa: S704  # our own file

    def problem(self, heading: str, message: str) -> str:
        return self._render("problem", heading=heading, message=message)

    def runs(self) -> str:
        """All runs and duels, those under way first."""
        with self._indexing, Index(self._results) as index:
            lines = [(row, index.state(row)) for row in index.runs()]
        lines.sort(key=lambda line: line[1] != "running")
        return self._render("runs", lines=lines, moment=moment)

    def run(self, path: Path, files: Sequence[str]) -> str:
        """A run that is not being measured. Errors: ``StoreError``."""
        info = read_info(path)
        shown = path / TABLE_FILE
        text = shown.read_text("utf-8", errors="replace") if TABLE_FILE in files else ""
        return self._render(
            "run",
            info=info,
            files=files,
            status="killed" if info.status == "running" else info.status,
            table=text,
            started=_started(info),
            command=shlex.join(info.command),
            duel=said_of(path) if DUEL_FILE in files else None,
        )

    def under_way(self, path: Path, followed: UnderWay, files: Sequence[str]) -> str:
        """A run that is being measured. Errors: ``StoreError``."""
        info = read_info(path)
        left = followed.left_ns
        return self._render(
            "under_way",
            info=info,
            files=files,
            started=_started(info),
            command=shlex.join(info.command),
            trials=followed.trials,
            least=max(1, followed.least_trials),
            left=rough_duration(left) if left is not None else None,
            after=followed.read_to,
            cells=followed.cells(),
            figure=figure,
            times=times,
            heading=title,
        )

    def history(self, query: Mapping[str, str]) -> str:
        """A figure over all runs of a host. Errors: ``QueryError``."""
        with self._indexing, Index(self._results) as index:
            hosts = list(dict.fromkeys(row.host_id for row in index.runs() if row.host_id))
            known = {
                "metric": index.metrics(),
                "contestant": index.contestants(),
                "cell": index.cells(),
                "host": hosts,
            }
            chosen = {name: _chosen(name, query.get(name, ""), known[name]) for name in known}
            found: list[Series] = []
            if chosen["metric"]:
                found = index.series(
                    chosen["metric"],
                    host_id=chosen["host"] or next(iter(hosts), ""),
                    contestant=chosen["contestant"] or None,
                    cell=chosen["cell"] or None,
                )
        labels = {"metric": "figure", "contestant": "of", "cell": "in", "host": "on host"}
        choices = [
            Choice(name=name, label=labels[name], values=tuple(values), chosen=chosen[name])
            for name, values in known.items()
        ]
        return self._render(
            "history",
            choices=choices,
            asked=bool(chosen["metric"]),
            charts=[_chart(series) for series in found[:MOST_SERIES]],
            more=max(0, len(found) - MOST_SERIES),
        )

    def decide(self, fields: Sequence[tuple[str, str]]) -> str:
        """A form of limits, and who meets them. Errors: ``QueryError``."""
        try:
            root = find_root()
            catalog, studies = load_catalog(root), load_studies(root / STUDIES).values()
        except CatalogError as error:
            raise QueryError(f"contestants or studies cannot be read: {error}") from error
        asked = [(name, value.strip()) for name, value in fields if value.strip()]
        decision = None
        if asked:
            try:
                question = question_of(_asked(asked), languages=catalog.languages)
            except QuestionError as error:
                name = f"{error.field}: " if error.field else ""
                raise QueryError(f"{name}{error}") from error
            decision = decide(question, self._known(looked_up(question, studies)), catalog, studies)
        return self._render(
            "decide",
            form=_Form(languages=catalog.languages, asked=asked),
            decision=decision,
            groups=[
                ("Excluded", alike(decision.excluded, "fails")),
                ("Not known", alike(decision.unknown, "unknown")),
            ]
            if decision is not None
            else [],
            headline=headline(decision) if decision is not None else "",
            sources=sources(decision) if decision is not None else {},
            rank_text=rank_text,
            visible=visible,
        )

    def _known(self, question: Question) -> Known:
        """What the runs know, analysed once for as long as they are the same."""
        key = question.serves, question.calls, question.tls, tuple(stamps(self._results))
        with self._deciding:
            if key not in self._answers:
                while len(self._answers) >= MOST_ANSWERS:
                    del self._answers[next(iter(self._answers))]
                self._answers[key] = read_known(
                    self._results, wanted=lambda role, cell: is_wanted(question, role, cell)
                )
            # Measured at any time, and quick to read.
            return replace(self._answers[key], footprints=read_all(self._results, question.role))

    def _render(self, name: str, **values: Any) -> str:
        return self._environment.get_template(f"{name}.html.j2").render(values)


@dataclass(frozen=True, kw_only=True)
class _Form:
    """What the form over the decision offers and what was typed into it."""

    languages: tuple[str, ...]
    asked: Sequence[tuple[str, str]]
    rfcs: tuple[str, ...] = RFCS
    orders: tuple[str, ...] = ORDERS
    whats: tuple[str, ...] = (
        *(f"server of {one}" for one in WORKLOADS),
        *(f"client of {one}" for one in SCHEMES),
    )

    def value(self, name: str) -> str:
        return next((value for field, value in self.asked if field == name), "")

    def chosen(self, name: str, value: str) -> bool:
        return (name, value) in self.asked


def _asked(fields: Sequence[tuple[str, str]]) -> Asked:
    """Errors: ``QueryError``."""
    one = dict(fields)
    several = {name: [it for field, it in fields if field == name] for name in ("language", "must")}
    role, _, what = one.get("what", "").partition(" of ")
    return Asked(
        workload=what if role == "server" else None,
        client=what if role == "client" else None,
        connections=round(_number(one, "connections", 1)) if "connections" in one else None,
        rate=_number(one, "rate", 0) if "rate" in one else None,
        tls="tls" in one,
        by=one.get("by", "throughput"),
        languages=several["language"],
        licence=one.get("licence"),
        p99=one.get("p99"),
        cpu=one.get("cpu"),
        throughput=_number(one, "throughput", 0) or None,
        memory=one.get("memory"),
        total_memory=one.get("total-memory"),
        must=several["must"],
        max_installed=one.get("installed"),
        max_dependencies=round(_number(one, "packages", 0)) if "packages" in one else None,
    )


def _number(fields: Mapping[str, str], name: str, otherwise: float) -> float:
    text = fields.get(name)
    if text is None:
        return otherwise
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text) is None:
        raise QueryError(f"{name}: expected a number")
    return float(text)


def _started(info: Any) -> str:
    return moment(info.started_unix_ns)


def _chosen(name: str, given: str, known: Sequence[str]) -> str:
    if given and given not in known:
        expected = ", ".join(known) or "nothing: there are no complete runs yet"
        raise QueryError(f"{name}: expected one of {expected}")
    return given


def _chart(series: Series) -> Chart:
    changes = changes_of(series)
    svg = base64.b64encode(picture(series, changes).encode()).decode()
    return Chart(
        heading=heading(series),
        picture=f"data:image/svg+xml;base64,{svg}",
        changes=tuple(moved(one) for one in changes),
        table=Markup(table(series)),  # noqa: S704  # escapes what it shows
    )
