"""The charts as files for slides and papers: PNG and SVG of a fixed width, each with its own title
and legend.
"""

from __future__ import annotations

from pathlib import Path

import vl_convert

from wirebench.report.charts import heat_map
from wirebench.report.drawing import AnyChart
from wirebench.report.figures import noun
from wirebench.report.matrix import comparable
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
        style = style_of(plan, "file")
        loads = {cell.cell.id: cell.cell for cell in plan.cells if cell.study == study.name}
        cells = [(cell, loads[cell.cell]) for cell in analysis.of_study(study.name)]
        for number, group in enumerate(comparable(cells), start=1):
            chart = heat_map(
                group, style, study_title=f"{study.title}: {noun(group[0].metric, group[0].unit)}"
            )
            if chart is not None:
                charts[f"{study.name}.all-cells{'' if number == 1 else f'-{number}'}"] = chart
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chart in charts.items():
        spec = {**spec_of(chart), "config": _CONFIG}
        svg, png = folder / f"{name}.svg", folder / f"{name}.png"
        svg.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
        png.write_bytes(vl_convert.vegalite_to_png(spec, scale=SCALE))
        written += [svg, png]
    return written
