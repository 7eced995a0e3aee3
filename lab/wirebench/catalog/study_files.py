"""Reads studies.

A study is one TOML file in ``studies/``. A ``[[cells]]`` entry is one cell, or a matrix of them
(``wirebench.catalog.matrix``). A preset names the cells it measures and how long;
``[presets.NAME.change.CELL]`` gives a cell another amount of the same load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from wirebench.catalog.errors import CatalogError, explain
from wirebench.catalog.loads import (
    HOST,
    BroadcastLoad,
    ClientLoad,
    ClosedLoad,
    EachLoad,
    IdleLoad,
    Load,
    OpenLoad,
    RampLoad,
    StormLoad,
    on_all_cores,
    over_tls,
)
from wirebench.catalog.manifest import read_toml
from wirebench.catalog.matrix import cells_of
from wirebench.catalog.model import CALLED, TLS_SCHEMES
from wirebench.catalog.studies import Cell, Preset, Study
from wirebench.catalog.study_forms import (
    CELL_FORMS,
    AnyCellForm,
    BroadcastForm,
    ClientForm,
    ClosedForm,
    EachForm,
    IdleForm,
    OpenForm,
    PresetForm,
    RampForm,
    StormForm,
    StudyForm,
)


def load_studies(folder: Path) -> dict[str, Study]:
    """Every study of the folder by name, in the order of their file names."""
    studies = [load_study(path) for path in sorted(folder.glob("*.toml"))]
    if not studies:
        raise CatalogError(f"{folder}: expected study files (*.toml), got none")
    return {study.name: study for study in studies}


def load_study(path: Path) -> Study:
    return parse_study(read_toml(path), path=path)


def parse_study(data: Mapping[str, Any], *, path: Path) -> Study:
    file = _validate(StudyForm, data, path=path)
    if file.name != path.stem:
        raise CatalogError(
            f"{path}: name: expected {path.stem!r} as the file is called, got {file.name!r}"
        )
    expanded = [
        raw
        for index, entry in enumerate(file.cells)
        for raw in cells_of(entry, f"{path}: cells.{index}")
    ]
    raw_cells: dict[str, dict[str, Any]] = {}
    for raw in expanded:
        identity = str(raw.get("id"))
        if identity in raw_cells:
            raise CatalogError(f"{path}: cells: expected ids that differ, got {identity!r} twice")
        _cell_model(raw, path=path)
        raw_cells[identity] = raw
    presets = {
        name: _preset(name, preset, raw_cells, file=file, path=path)
        for name, preset in file.presets.items()
    }
    return Study(
        name=file.name,
        title=file.title,
        question=file.question,
        role=file.role,
        servers=tuple(file.servers),
        presets=presets,
    )


Model = TypeVar("Model", bound=BaseModel)


def _validate(
    model: type[Model], data: Mapping[str, Any], *, path: Path, prefix: str = ""
) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise CatalogError(explain(error, path=f"{path}: {prefix}" if prefix else path)) from error


def _cell_model(raw: Mapping[str, Any], *, path: Path) -> AnyCellForm:
    kind = raw.get("kind")
    model = CELL_FORMS.get(kind) if isinstance(kind, str) else None
    where = f"cells.{raw.get('id', '?')}"
    if model is None:
        raise CatalogError(
            f"{path}: {where}.kind: expected one of {', '.join(CELL_FORMS)}, got {kind!r}"
        )
    return _validate(model, raw, path=path, prefix=where)


def _preset(
    name: str,
    preset: PresetForm,
    raw_cells: Mapping[str, dict[str, Any]],
    *,
    file: StudyForm,
    path: Path,
) -> Preset:
    where = f"presets.{name}"
    names = list(raw_cells) if preset.cells == ["*"] else preset.cells
    for wanted in [*names, *preset.change]:
        if wanted not in raw_cells:
            known = ", ".join(raw_cells)
            raise CatalogError(
                f"{path}: {where}: expected a cell of this study ({known}), got {wanted!r}"
            )
    repeated = next((one for one in names if names.count(one) > 1), None)
    if repeated is not None:
        raise CatalogError(
            f"{path}: {where}.cells: expected cells that differ, got {repeated!r} twice"
        )
    if preset.max_blocks < preset.min_blocks:
        raise CatalogError(
            f"{path}: {where}.max_blocks: expected at least min_blocks ({preset.min_blocks}), "
            f"got {preset.max_blocks}"
        )
    cells = []
    for wanted in names:
        raw = {**raw_cells[wanted], **preset.change.get(wanted, {})}
        cells.append(_cell(_cell_model(raw, path=path), preset, file=file, path=path))
    _check_shares(cells, where=f"{path}: {where}")
    return Preset(
        name=name,
        title=preset.title,
        cells=tuple(cells),
        contestants=tuple(preset.contestants),
        without=tuple(preset.without),
        min_blocks=preset.min_blocks,
        max_blocks=preset.max_blocks,
        budget_ns=preset.budget,
        longest_warmup_ns=preset.longest_warmup,
        precision=preset.precision,
        repeats=preset.repeats,
    )


def _cell(model: AnyCellForm, preset: PresetForm, *, file: StudyForm, path: Path) -> Cell:
    workload = model.workload or file.workload
    if workload is None and isinstance(model, ClientForm):
        workload = CALLED[model.scheme]
    if workload is None:
        raise CatalogError(
            f"{path}: cells.{model.id}.workload: expected a workload here or for the study, "
            "got none"
        )
    if (model.kind == "client") != (file.role == "client"):
        raise CatalogError(
            f"{path}: cells.{model.id}.kind: expected a kind for role {file.role}, "
            f"got {model.kind!r}"
        )
    if isinstance(model, ClientForm) and model.host != HOST and model.scheme in TLS_SCHEMES:
        raise CatalogError(
            f"{path}: cells.{model.id}.host: expected {HOST!r} over TLS, which the certificate"
            f" names, got {model.host!r}"
        )
    if isinstance(model, ClientForm) and model.resumption and model.scheme not in TLS_SCHEMES:
        raise CatalogError(
            f"{path}: cells.{model.id}.resumption: expected the scheme https or wss, got"
            f" {model.scheme!r}"
        )
    if isinstance(model, ClientForm) and model.method == "POST" and workload != "http.payload":
        raise CatalogError(
            f"{path}: cells.{model.id}.method: expected the scheme http or https, got"
            f" {model.scheme!r}"
        )
    if isinstance(model, ClosedForm) and model.payload_bytes and workload != "ws.echo":
        raise CatalogError(
            f"{path}: cells.{model.id}.payload_bytes: expected the workload ws.echo, got"
            f" {workload!r}"
        )
    if (model.kind == "broadcast") != (workload == "ws.broadcast"):
        raise CatalogError(
            f"{path}: cells.{model.id}.workload: expected 'ws.broadcast' with the kind broadcast,"
            f" and with no other, got {workload!r} with {model.kind!r}"
        )
    if isinstance(model, OpenForm):
        _check_rate(model, where=f"{path}: cells.{model.id}")
    return Cell(
        id=model.id,
        title=model.title,
        kind=model.kind,
        primary=model.primary,
        workload=workload,
        load=_load(model, preset),
    )


def _check_rate(model: OpenForm, *, where: str) -> None:
    if (model.rate is None) == (model.share is None):
        got = "neither" if model.rate is None else "both"
        raise CatalogError(f"{where}: expected rate or share, got {got}")
    if (model.share is None) != (model.of is None):
        expected = "a closed cell that share is of" if model.of is None else "no such key"
        got = "nothing" if model.of is None else f"{model.of!r} without share"
        raise CatalogError(f"{where}.of: expected {expected}, got {got}")


def _check_shares(cells: Sequence[Cell], *, where: str) -> None:
    """The capacity that a cell needs a share of is measured before it, under the same load
    otherwise.
    """
    for place, cell in enumerate(cells):
        if not isinstance(cell.load, OpenLoad) or cell.load.of is None:
            continue
        base = next((one for one in cells[:place] if one.id == cell.load.of), None)
        if base is None:
            raise CatalogError(
                f"{where}.cells: expected {cell.load.of!r} before {cell.id!r}, whose rate is a"
                " share of its throughput, got none"
            )
        for key, wanted, got in (
            ("kind", "closed", base.kind),
            ("workload", cell.workload, base.workload),
            ("tls", cell.load.tls, over_tls(base.load)),
            ("cores", cell.load.cores, "all" if on_all_cores(base.load) else "one"),
        ):
            if wanted != got:
                raise CatalogError(
                    f"{where}.cells: {cell.id}.of: expected a cell with {key} {wanted!r}, got"
                    f" {base.id!r} with {got!r}"
                )


def _load(model: AnyCellForm, preset: PresetForm) -> Load:
    match model:
        case ClosedForm():
            return ClosedLoad(
                connections=model.connections,
                in_flight=model.in_flight,
                payload_bytes=model.payload_bytes,
                tls=model.tls,
                warmup_ns=model.warmup if model.warmup is not None else preset.warmup,
                window_ns=model.window if model.window is not None else preset.window,
                cores=model.cores,
            )
        case OpenForm():
            return OpenLoad(
                connections=model.connections,
                in_flight=model.in_flight,
                tls=model.tls,
                arrivals=model.arrivals,
                rate_per_s=model.rate,
                share=model.share,
                of=model.of,
                warmup_ns=model.warmup if model.warmup is not None else preset.warmup,
                window_ns=model.window if model.window is not None else preset.window,
                cores=model.cores,
            )
        case EachForm():
            return EachLoad(
                producers=model.producers,
                messages=model.messages,
                delay_ms=model.delay_ms,
                policy=model.policy,
                threads=None if model.threads == "hardware" else model.threads,
                link=model.link.link() if model.link is not None else None,
            )
        case RampForm():
            return RampLoad(
                rounds=model.rounds, add=model.add, messages=model.messages, pacing=model.pacing
            )
        case IdleForm():
            return IdleLoad(connections=model.connections, window_ns=model.window)
        case StormForm():
            return StormLoad(connections=model.connections, restart=model.restart)
        case BroadcastForm():
            return BroadcastLoad(
                connections=model.connections,
                warmup_ns=model.warmup if model.warmup is not None else preset.warmup,
                window_ns=model.window if model.window is not None else preset.window,
            )
        case ClientForm():
            return ClientLoad(
                scheme=model.scheme,
                policy=model.policy,
                payload_bytes=model.payload_bytes,
                warmup=model.warmup,
                operations=model.operations,
                typical_ns=model.typical,
                method=model.method,
                host=model.host,
                server=model.server,
                closes_after=model.closes_after,
                resumption=model.resumption,
            )
