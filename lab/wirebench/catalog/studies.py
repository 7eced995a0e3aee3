"""Studies: which cells a study has, what load each puts on a contestant, and how much of it a
preset measures.

A study is one TOML file in ``studies/``. A ``[[cells]]`` entry is one cell, or a matrix of them
(``wirebench.catalog.matrix``). A preset names the cells it measures and how long;
``[presets.NAME.change.CELL]`` gives a cell another amount of the same load.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from wirebench.catalog.errors import CatalogError, explain
from wirebench.catalog.link import Link, LinkTable
from wirebench.catalog.matrix import cells_of
from wirebench.catalog.model import CALLED, TLS_SCHEMES, Role, Scheme, Workload

HostName = Literal["127.0.0.1", "localhost"]
HOST: HostName = "127.0.0.1"
Kind = Literal["closed", "open", "each", "ramp", "idle", "storm", "broadcast", "client"]
Policy = Literal["reuse", "new"]
ClientPolicy = Literal["reuse", "new", "cold"]
"""CONTRIBUTING.md says what each means to a client."""
Method = Literal["GET", "POST"]
Pacing = Literal["serial", "burst"]
Arrivals = Literal["poisson", "constant"]
Cores = Literal["one", "all"]
"""What a server may use: one core, or all but the generator's."""

METRICS = (
    "throughput_per_s",
    "offered_per_s",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "p999_ns",
    "mean_ns",
    "max_ns",
    "last_p50_ns",
    "last_p99_ns",
    "service_p50_ns",
    "service_p99_ns",
    "lag_p99_ns",
    "cpu_per_request_ns",
    "server_rss_peak_bytes",
    "server_rss_bytes",
    "server_pss_bytes",
    "server_kernel_bytes",
    "host_kernel_growth_bytes",
    "connect_ns",
    "connect_cpu_ns",
    "makespan_ns",
    "success_ratio",
    "round_trip_ns",
    "round_trip_p99_ns",
    "cpu_per_operation_ns",
    "connections_opened",
    "connections_resumed",
    "ready_ns",
    "service_makespan_ns",
    "link_rtt_ns",
    "cpu_per_s_ns",
    "wake_ups_per_s",
)
"""The metrics a trial may give. The unit is in the name."""

HIGHER_IS_BETTER = frozenset({"throughput_per_s", "success_ratio"})
"""Every other metric is a cost: less is better."""


@dataclass(frozen=True, kw_only=True)
class ClosedLoad:
    """A fixed number of connections, each sending its next request after the reply to the last."""

    connections: int
    in_flight: int = 1
    payload_bytes: int | None = None
    """The size of each message that is echoed; None: the workload's own."""
    tls: bool = False
    warmup_ns: int
    window_ns: int
    cores: Cores = "one"


REPLY_TIMEOUT_NS = 5_000_000_000
"""How long the generator waits for one reply, beyond the wait that the load itself causes."""


@dataclass(frozen=True, kw_only=True)
class OpenLoad:
    """Requests due by a schedule, whatever the server does, over a fixed number of connections. A
    request that is due while all connections are busy waits for one, and its latency counts from
    the time at which it was due.

    The rate is the same for every contestant, or a share of the contestant's own capacity.
    """

    connections: int
    in_flight: int = 1
    tls: bool = False
    arrivals: Arrivals
    rate_per_s: float | None
    """None while it is a share of a capacity that a trial is yet to be given."""
    share: float | None
    of: str | None
    """The closed cell whose throughput is the capacity."""
    warmup_ns: int
    window_ns: int
    cores: Cores = "one"

    @property
    def overload(self) -> bool:
        """Whether it is meant to be more than the server can take."""
        return self.share is not None and self.share >= 1

    def at_capacity(self, per_s: float) -> OpenLoad:
        """With its share of this capacity as its rate."""
        return self if self.share is None else replace(self, rate_per_s=self.share * per_s)


@dataclass(frozen=True, kw_only=True)
class EachLoad:
    """A fixed number of producers, each sending a fixed number of requests one after another."""

    producers: int
    messages: int
    delay_ms: int
    policy: Policy
    threads: int | None
    """Handler threads of the server; None means as many as the host has hardware threads."""
    link: Link | None = None
    """Between the producers and the server; None: this host's loopback."""

    @property
    def round_trips(self) -> int:
        """The fewest that a request costs: a new connection takes one of its own."""
        return 2 if self.policy == "new" else 1

    @property
    def request_rtt_ns(self) -> int:
        """The time that a request takes at least on the link."""
        return self.round_trips * self.link.rtt_ns if self.link is not None else 0


@dataclass(frozen=True, kw_only=True)
class RampLoad:
    """Rounds: each opens ``add`` more connections, then every open one sends ``messages`` and waits
    for the replies.
    """

    rounds: int
    add: int
    messages: int
    pacing: Pacing

    @property
    def total_messages(self) -> int:
        return self.messages * self.add * self.rounds * (self.rounds + 1) // 2


@dataclass(frozen=True, kw_only=True)
class RampSize:
    """The size of a ramp as a command line asks for it. What it leaves out is as the article had
    it.
    """

    rounds: int = 100
    add: int = 100
    messages: int = 100

    def __str__(self) -> str:
        return f"r{self.rounds}-a{self.add}-q{self.messages}"


@dataclass(frozen=True, kw_only=True)
class IdleLoad:
    """Connections that are opened, held and not used."""

    connections: int
    window_ns: int


@dataclass(frozen=True, kw_only=True)
class StormLoad:
    """All connections at once, each with one request: until all are served."""

    connections: int
    restart: bool
    """Against a server that was killed with as many connections open, and started again."""


@dataclass(frozen=True, kw_only=True)
class BroadcastLoad:
    """A fixed number of connections, of which one sends messages that all are to get: the next one
    when all have it.
    """

    connections: int
    warmup_ns: int
    window_ns: int


@dataclass(frozen=True, kw_only=True)
class ClientLoad:
    """Operations of a client library, one after another."""

    scheme: Scheme
    policy: ClientPolicy
    payload_bytes: int
    warmup: int
    operations: int
    typical_ns: int
    """About how long one operation takes. Only the estimate of a run's length uses it."""
    method: Method = "GET"
    """``POST``: with as many bytes as its body, which the reply brings back."""
    host: HostName = HOST
    """What the URL names. ``localhost`` is ::1 and then 127.0.0.1, and nobody listens on ::1."""
    server: str | None = None
    """Who serves, in place of the study's servers."""
    closes_after: int = 0
    """Requests after which the server closes a connection; 0: never. Only c/nginx does."""
    resumption: bool = False
    """Whether the server issues TLS sessions, which a new connection may resume. Only c/nginx does.
    """

    @property
    def tls(self) -> bool:
        return self.scheme in TLS_SCHEMES


# A broadcast's fields are some of a closed loop's: whoever reads a stored plan takes the first type
# that all the fields belong to.
Load = (
    BroadcastLoad | ClosedLoad | OpenLoad | EachLoad | RampLoad | IdleLoad | StormLoad | ClientLoad
)


def over_tls(load: Load) -> bool:
    return isinstance(load, ClosedLoad | OpenLoad | ClientLoad) and load.tls


def link_of(load: Load) -> Link | None:
    """The emulated link between the generator and the server, if there is one."""
    return load.link if isinstance(load, EachLoad) else None


def most_connections(load: Load) -> int:
    """How many connections a server has at most at a time."""
    match load:
        case ClosedLoad() | OpenLoad() | IdleLoad() | StormLoad() | BroadcastLoad():
            return load.connections
        case EachLoad():
            return load.producers
        case RampLoad():
            return load.rounds * load.add
        case ClientLoad():
            return 1


def on_all_cores(load: Load) -> bool:
    return isinstance(load, ClosedLoad | OpenLoad) and load.cores == "all"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of a study: one load on every contestant, compared by one primary metric."""

    id: str
    title: str
    kind: Kind
    primary: str
    workload: Workload
    """What a server must serve to be in this cell; for a client study, what the server it calls
    serves.
    """
    load: Load


@dataclass(frozen=True, kw_only=True)
class Preset:
    """How much of a study to measure: the cells with their loads, and when to stop."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    contestants: tuple[str, ...]
    """Who is measured when the run names nobody; empty: everybody. Those that are not there are
    left out.
    """
    without: tuple[str, ...]
    """Who is not, then."""
    min_blocks: int
    max_blocks: int
    budget_ns: int | None
    """The time of a run of this preset, whether of one study or of several that share it."""
    precision: float
    """An entry whose interval is within 1 +/- this needs no more blocks."""
    longest_warmup_ns: int | None = None
    """Who is not measured either: those whose runtime needs more before each trial. None: nobody.
    """
    repeats: int = 1
    """Over how many repeats the mandatory blocks are spread (``wirebench.plan.repeats``)."""


@dataclass(frozen=True, kw_only=True)
class Study:
    name: str
    title: str
    question: str
    role: Role
    servers: tuple[str, ...]
    """For a client study: who serves. The first that is installed and serves the cell's workload is
    used.
    """
    presets: Mapping[str, Preset]

    def preset(self, name: str) -> Preset:
        try:
            return self.presets[name]
        except KeyError:
            known = ", ".join(sorted(self.presets))
            raise CatalogError(
                f"study {self.name} has no preset {name!r}; it has: {known}"
            ) from None


# --- the file's form ------------------------------------------------------------------------------

_UNITS = {
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}


def parse_duration(text: object) -> int:
    """``500ms``, ``10s``, ``5m`` as integer nanoseconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)", text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("expected a duration such as '500ms', '10s' or '5m'")
    return round(float(match[1]) * _UNITS[match[2]])


Duration = Annotated[int, BeforeValidator(parse_duration)]
Identifier = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Count = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _CellBase(_Table):
    id: Identifier
    title: Annotated[str, Field(min_length=1)]
    primary: Literal[METRICS]  # type: ignore[valid-type]  # one list of the names, used here and by readers
    workload: Workload | None = None


class _ClosedCell(_CellBase):
    kind: Literal["closed"]
    connections: Count
    in_flight: Count = 1
    payload_bytes: Count | None = None
    tls: bool = False
    warmup: Duration | None = None
    window: Duration | None = None
    cores: Cores = "one"


class _OpenCell(_CellBase):
    kind: Literal["open"]
    connections: Count
    in_flight: Count = 1
    tls: bool = False
    arrivals: Arrivals = "poisson"
    rate: Rate | None = None
    share: Rate | None = None
    of: str | None = None
    warmup: Duration | None = None
    window: Duration | None = None
    cores: Cores = "one"


class _EachCell(_CellBase):
    kind: Literal["each"]
    producers: Count
    messages: Count
    delay_ms: Annotated[int, Field(ge=0)]
    policy: Policy
    threads: Count | Literal["hardware"]
    link: LinkTable | None = None


class _RampCell(_CellBase):
    kind: Literal["ramp"]
    rounds: Count
    add: Count
    messages: Count
    pacing: Pacing


class _IdleCell(_CellBase):
    kind: Literal["idle"]
    connections: Count
    window: Duration


class _StormCell(_CellBase):
    kind: Literal["storm"]
    connections: Count
    restart: bool = False


class _BroadcastCell(_CellBase):
    kind: Literal["broadcast"]
    connections: Count
    warmup: Duration | None = None
    window: Duration | None = None


class _ClientCell(_CellBase):
    kind: Literal["client"]
    scheme: Scheme
    policy: ClientPolicy
    payload_bytes: Count
    warmup: Annotated[int, Field(ge=0)]
    operations: Count
    typical: Duration
    method: Method = "GET"
    host: HostName = HOST
    server: str | None = None
    closes_after: Annotated[int, Field(ge=0)] = 0
    resumption: bool = False


_AnyCell = (
    _ClosedCell
    | _OpenCell
    | _EachCell
    | _RampCell
    | _IdleCell
    | _StormCell
    | _BroadcastCell
    | _ClientCell
)
_CELL_MODELS: dict[str, type[_AnyCell]] = {
    "closed": _ClosedCell,
    "open": _OpenCell,
    "each": _EachCell,
    "ramp": _RampCell,
    "idle": _IdleCell,
    "storm": _StormCell,
    "broadcast": _BroadcastCell,
    "client": _ClientCell,
}


class _Preset(_Table):
    title: str = ""
    cells: list[str]
    contestants: list[str] = Field(default_factory=list)
    without: list[str] = Field(default_factory=list)
    min_blocks: Annotated[int, Field(ge=6)] = 6
    max_blocks: Annotated[int, Field(ge=6)] = 6
    budget: Duration | None = None
    precision: Annotated[float, Field(gt=0, lt=1)] = 0.02
    repeats: Count = 1
    warmup: Duration = 500_000_000
    longest_warmup: Duration | None = None
    window: Duration = 2_000_000_000
    change: dict[str, dict[str, Any]] = Field(default_factory=dict)


class _StudyFile(_Table):
    name: Identifier
    title: str
    question: str
    role: Role
    workload: Workload | None = None
    servers: list[str] = Field(default_factory=list)
    cells: list[dict[str, Any]]
    presets: dict[str, _Preset]


# --- from file to dataclasses ---------------------------------------------------------------------


def load_studies(folder: Path) -> dict[str, Study]:
    """Every study of the folder by name, in the order of their file names."""
    studies = [load_study(path) for path in sorted(folder.glob("*.toml"))]
    if not studies:
        raise CatalogError(f"{folder}: expected study files (*.toml), got none")
    return {study.name: study for study in studies}


def load_study(path: Path) -> Study:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(f"{path}: expected TOML, got {error}") from error
    return parse_study(data, path=path)


def parse_study(data: Mapping[str, Any], *, path: Path) -> Study:
    file = _validate(_StudyFile, data, path=path)
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


def _cell_model(raw: Mapping[str, Any], *, path: Path) -> _AnyCell:
    kind = raw.get("kind")
    model = _CELL_MODELS.get(kind) if isinstance(kind, str) else None
    where = f"cells.{raw.get('id', '?')}"
    if model is None:
        raise CatalogError(
            f"{path}: {where}.kind: expected one of {', '.join(_CELL_MODELS)}, got {kind!r}"
        )
    return _validate(model, raw, path=path, prefix=where)


def _preset(
    name: str,
    preset: _Preset,
    raw_cells: Mapping[str, dict[str, Any]],
    *,
    file: _StudyFile,
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


def _cell(model: _AnyCell, preset: _Preset, *, file: _StudyFile, path: Path) -> Cell:
    workload = model.workload or file.workload
    if workload is None and isinstance(model, _ClientCell):
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
    if isinstance(model, _ClientCell) and model.host != HOST and model.scheme in TLS_SCHEMES:
        raise CatalogError(
            f"{path}: cells.{model.id}.host: expected {HOST!r} over TLS, which the certificate"
            f" names, got {model.host!r}"
        )
    if isinstance(model, _ClientCell) and model.resumption and model.scheme not in TLS_SCHEMES:
        raise CatalogError(
            f"{path}: cells.{model.id}.resumption: expected the scheme https or wss, got"
            f" {model.scheme!r}"
        )
    if isinstance(model, _ClientCell) and model.method == "POST" and workload != "http.payload":
        raise CatalogError(
            f"{path}: cells.{model.id}.method: expected the scheme http or https, got"
            f" {model.scheme!r}"
        )
    if isinstance(model, _ClosedCell) and model.payload_bytes and workload != "ws.echo":
        raise CatalogError(
            f"{path}: cells.{model.id}.payload_bytes: expected the workload ws.echo, got"
            f" {workload!r}"
        )
    if (model.kind == "broadcast") != (workload == "ws.broadcast"):
        raise CatalogError(
            f"{path}: cells.{model.id}.workload: expected 'ws.broadcast' with the kind broadcast,"
            f" and with no other, got {workload!r} with {model.kind!r}"
        )
    if isinstance(model, _OpenCell):
        _check_rate(model, where=f"{path}: cells.{model.id}")
    return Cell(
        id=model.id,
        title=model.title,
        kind=model.kind,
        primary=model.primary,
        workload=workload,
        load=_load(model, preset),
    )


def _check_rate(model: _OpenCell, *, where: str) -> None:
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


def _load(model: _AnyCell, preset: _Preset) -> Load:
    match model:
        case _ClosedCell():
            return ClosedLoad(
                connections=model.connections,
                in_flight=model.in_flight,
                payload_bytes=model.payload_bytes,
                tls=model.tls,
                warmup_ns=model.warmup if model.warmup is not None else preset.warmup,
                window_ns=model.window if model.window is not None else preset.window,
                cores=model.cores,
            )
        case _OpenCell():
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
        case _EachCell():
            return EachLoad(
                producers=model.producers,
                messages=model.messages,
                delay_ms=model.delay_ms,
                policy=model.policy,
                threads=None if model.threads == "hardware" else model.threads,
                link=model.link.link() if model.link is not None else None,
            )
        case _RampCell():
            return RampLoad(
                rounds=model.rounds, add=model.add, messages=model.messages, pacing=model.pacing
            )
        case _IdleCell():
            return IdleLoad(connections=model.connections, window_ns=model.window)
        case _StormCell():
            return StormLoad(connections=model.connections, restart=model.restart)
        case _BroadcastCell():
            return BroadcastLoad(
                connections=model.connections,
                warmup_ns=model.warmup if model.warmup is not None else preset.warmup,
                window_ns=model.window if model.window is not None else preset.window,
            )
        case _ClientCell():
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


def with_ramps(
    presets: Sequence[tuple[Study, Preset]], size: RampSize
) -> list[tuple[Study, Preset]]:
    """The presets with their ramps at this size, one for each workload and pacing that they have,
    and without everything else. A ramp of that size that the study has keeps its name.
    """
    resized = []
    for study, preset in presets:
        known = {
            (cell.workload, cell.load): cell for one in study.presets.values() for cell in one.cells
        }
        ramps: dict[tuple[Workload, Pacing], Cell] = {}
        for cell in preset.cells:
            if isinstance(cell.load, RampLoad):
                asked = _resized(cell, cell.load, size)
                kind = (cell.workload, cell.load.pacing)
                ramps.setdefault(kind, known.get((cell.workload, asked.load), asked))
        if ramps:
            resized.append((study, replace(preset, cells=tuple(ramps.values()))))
    if not resized:
        names = ", ".join(f"{study.name} ({preset.name})" for study, preset in presets)
        raise CatalogError(
            f"--rounds, --add, --messages: expected a study with ramps (websocket), got {names}"
        )
    return resized


def _resized(cell: Cell, load: RampLoad, size: RampSize) -> Cell:
    sending = "one in flight each" if load.pacing == "serial" else "sent back to back"
    echoing = cell.workload == "ws.echo"
    return replace(
        cell,
        id=f"{'echo-' if echoing else ''}{load.pacing}-{size}",
        title=f"R = {size.rounds}, A = {size.add}, Q = {size.messages}, {sending}"
        + (", echoed" if echoing else ""),
        load=replace(load, rounds=size.rounds, add=size.add, messages=size.messages),
    )


def select_cells(
    presets: Sequence[tuple[Study, Preset]], wanted: Sequence[str]
) -> list[tuple[Study, Preset]]:
    """The presets with only the named cells and those whose throughput their rates are shares of,
    and without the studies that have none of them; all when none is named.

    A name that no cell has is an error that lists the ones there are.
    """
    if not wanted:
        return list(presets)
    known = [cell.id for _, preset in presets for cell in preset.cells]
    for name in wanted:
        if name not in known:
            raise CatalogError(f"--cells: expected one of {', '.join(known)}, got {name!r}")
    chosen = [
        (study, replace(preset, cells=tuple(_with_capacity(preset.cells, wanted))))
        for study, preset in presets
    ]
    return [(study, preset) for study, preset in chosen if preset.cells]


def _with_capacity(cells: Sequence[Cell], wanted: Sequence[str]) -> list[Cell]:
    named = [cell for cell in cells if cell.id in wanted]
    needed = {cell.load.of for cell in named if isinstance(cell.load, OpenLoad)}
    return [cell for cell in cells if cell in named or cell.id in needed]
