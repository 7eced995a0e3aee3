"""The pages, from what the results hold."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from wirebench.catalog.units import rough_duration
from wirebench.history.changes import changes_of
from wirebench.history.index import Index, RunRow, Series
from wirebench.history.text import heading, moved, picture, table
from wirebench.report.figures import figure, moment, times, title
from wirebench.serve.under_way import UnderWay
from wirebench.store.jsonl import read_whole
from wirebench.store.rundir import DUEL_FILE, TABLE_FILE, is_being_written, read_info

MOST_SERIES = 12
"""Charts on one page."""
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
            rows = index.runs()
        lines = [(row, self._status(row)) for row in rows]
        lines.sort(key=lambda line: line[1] != "running")
        return self._render("runs", lines=lines, moment=moment)

    def _status(self, row: RunRow) -> str:
        if row.problem:
            return "unreadable"
        if row.status != "running":
            return row.status
        return "running" if is_being_written(self._results / row.name) else "killed"

    def run(self, path: Path, files: Sequence[str]) -> str:
        """A run that is not being measured. Errors: ``StoreError``."""
        info = read_info(path)
        shown = path / TABLE_FILE
        text = shown.read_text("utf-8", errors="replace") if TABLE_FILE in files else ""
        duel = read_whole(path / DUEL_FILE) if DUEL_FILE in files else None
        return self._render(
            "run",
            info=info,
            files=files,
            status="killed" if info.status == "running" else info.status,
            table=text,
            started=_started(info),
            duel=duel if isinstance(duel, dict) else None,
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
            trials=followed.trials,
            least=max(1, followed.least_trials),
            left=rough_duration(left) if left is not None else None,
            after=followed.read_to,
            cells=followed.cells(),
            figure=figure,
            times=times,
            heading=lambda metric: title(metric, "request"),
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
                    host_id=chosen["host"] or hosts[0],
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

    def _render(self, name: str, **values: Any) -> str:
        return self._environment.get_template(f"{name}.html.j2").render(values)


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
