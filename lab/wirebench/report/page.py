"""The page: template, styles, charts and their library in one self-contained file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from wirebench.report.drawing import AnyChart
from wirebench.report.figures import BOUNDS_LEGEND, visible
from wirebench.report.model import PageView
from wirebench.report.palette import ON_DARK
from wirebench.report.published import HOW
from wirebench.stats.settings import DEFAULT

_FILES = resources.files("wirebench.report") / "template"


def render(page: PageView, *, cache: Path | None = None) -> str:
    """The whole page, with all untrusted text escaped: by Jinja in the text, by ``_as_json`` in the
    data.

    In addition, the page's policy allows only its own two scripts, by their hashes, and no
    connection. Server text that was mistaken for markup could neither run nor send anything.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["visible"] = visible
    environment.filters["breakable"] = breakable
    environment.filters["with_interval"] = with_interval
    bundle, script = charting_library(cache), _text("page.js")
    hashes = " ".join(f"'sha256-{_sha256(text)}'" for text in (bundle, script))
    allowed = (
        f"script-src {hashes}",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    template = environment.from_string(_text("report.html.j2"))
    return template.render(
        page=page,
        policy="; ".join(("default-src 'none'", *allowed)),
        style=Markup(_text("style.css")),  # noqa: S704  # our own file
        on_dark=dict(ON_DARK),
        bounds_legend=BOUNDS_LEGEND,
        beside_how=HOW,
        busy_share=DEFAULT.busy_share,
        specs=Markup(_as_json(page.charts)),  # noqa: S704  # has no "<"
        bundle=Markup(bundle),  # noqa: S704  # has no "</script"
        script=Markup(script),  # noqa: S704  # our own file
    )


def breakable(name: str) -> Markup:
    """An identity or a path that may wrap after a slash."""
    return Markup("/<wbr>").join(name.split("/"))


def with_interval(text: str) -> Markup:
    """A figure that may wrap before its interval, and nowhere else."""
    figure, bracket, interval = text.partition(" [")
    if not bracket:
        return escape(text)
    whole = Markup('<span class="whole">{}</span>').format
    return Markup('<span class="parts">{} {}</span>').format(whole(figure), whole(f"[{interval}"))


def _text(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def spec_of(chart: AnyChart) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict(validate=False)
    # Altair's default theme sets a size for charts that have none; the page has its own.
    spec.pop("config", None)
    return spec


def _as_json(charts: Mapping[str, AnyChart]) -> str:
    """JSON without any ``<``, so that no name can end the script element (HTML, 4.12.1.3:
    restrictions for contents of scripts).
    """
    specs = {name: spec_of(chart) for name, chart in charts.items()}
    text = json.dumps(specs, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def charting_library(cache: Path | None) -> str:
    """Vega, Vega-Lite and Vega-Embed as one script for all charts of the page.

    vl-convert carries them. Bundling takes seconds, so the result is kept in the folder ``cache``.
    """
    if cache is None:
        return _bundle()
    path = cache / f"charts-{version('vl-convert-python')}.js"
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        text = _bundle()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        scratch = path.with_name(f"{path.name}.{os.getpid()}")
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
    except OSError:
        pass
    return text


def cache_folder() -> Path | None:
    """Where the user's programs keep what they can make again, by the XDG Base Directory
    Specification; None for a user without a home.
    """
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        home = Path(given) if given.startswith("/") else Path.home() / ".cache"
    except RuntimeError:
        return None
    return home / "wirebench"


@lru_cache(maxsize=1)
def _bundle() -> str:
    text: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub forgets the default
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
