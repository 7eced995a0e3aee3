"""The charts as files for slides and papers: PNG and SVG of a fixed width, each with its own title
and legend.
"""

from __future__ import annotations

from pathlib import Path

import vl_convert

from wirebench.report.charts import AnyChart, heat_map
from wirebench.report.page import spec_of
from wirebench.report.view import page_view, style_of
from wirebench.stats.types import RunAnalysis
from wirebench.store.rundir import StoredRun

SCALE = 2.0
"""Pixels of a PNG to one of the chart."""

_CONFIG = {
    "background": "white",
    "font": "DejaVu Sans, Arial, sans-serif",
    "view": {"stroke": None},
    "padding": 12,
}


def export(run: StoredRun, analysis: RunAnalysis, folder: Path) -> list[Path]:
    charts: dict[str, AnyChart] = dict(page_view(run, analysis, target="file").charts)
    plan = run.plan
    for study in plan.studies if plan is not None else ():
        assert plan is not None
        cells, style = analysis.of_study(study.name), style_of(plan, "file")
        chart = heat_map(cells, style, study_title=study.title) if len(cells) > 1 else None
        if chart is not None:
            charts[f"{study.name}.all-cells"] = chart
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chart in charts.items():
        spec = {**spec_of(chart), "config": _CONFIG}
        svg, png = folder / f"{name}.svg", folder / f"{name}.png"
        svg.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
        png.write_bytes(vl_convert.vegalite_to_png(spec, scale=SCALE))
        written += [svg, png]
    return written
