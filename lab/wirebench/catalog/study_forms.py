"""The form of a study's file: what stands in it, and of what type."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from wirebench.catalog.fields import Count, Duration, Identifier, Rate
from wirebench.catalog.link import LinkTable
from wirebench.catalog.loads import (
    HOST,
    Arrivals,
    ClientPolicy,
    Cores,
    HostName,
    Method,
    Pacing,
    Policy,
)
from wirebench.catalog.model import Role, Scheme, Workload
from wirebench.catalog.studies import METRICS


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class CellForm(Table):
    id: Identifier
    title: Annotated[str, Field(min_length=1)]
    primary: Literal[METRICS]  # type: ignore[valid-type]  # one list of the names, used here and by readers
    workload: Workload | None = None


class ClosedForm(CellForm):
    kind: Literal["closed"]
    connections: Count
    in_flight: Count = 1
    payload_bytes: Count | None = None
    tls: bool = False
    warmup: Duration | None = None
    window: Duration | None = None
    cores: Cores = "one"


class OpenForm(CellForm):
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


class EachForm(CellForm):
    kind: Literal["each"]
    producers: Count
    messages: Count
    delay_ms: Annotated[int, Field(ge=0)]
    policy: Policy
    threads: Count | Literal["hardware"]
    link: LinkTable | None = None


class RampForm(CellForm):
    kind: Literal["ramp"]
    rounds: Count
    add: Count
    messages: Count
    pacing: Pacing


class IdleForm(CellForm):
    kind: Literal["idle"]
    connections: Count
    window: Duration


class StormForm(CellForm):
    kind: Literal["storm"]
    connections: Count
    restart: bool = False


class BroadcastForm(CellForm):
    kind: Literal["broadcast"]
    connections: Count
    warmup: Duration | None = None
    window: Duration | None = None


class ClientForm(CellForm):
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


AnyCellForm = (
    ClosedForm | OpenForm | EachForm | RampForm | IdleForm | StormForm | BroadcastForm | ClientForm
)
CELL_FORMS: dict[str, type[AnyCellForm]] = {
    "closed": ClosedForm,
    "open": OpenForm,
    "each": EachForm,
    "ramp": RampForm,
    "idle": IdleForm,
    "storm": StormForm,
    "broadcast": BroadcastForm,
    "client": ClientForm,
}


class PresetForm(Table):
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


class StudyForm(Table):
    name: Identifier
    title: str
    question: str
    role: Role
    workload: Workload | None = None
    servers: list[str] = Field(default_factory=list)
    cells: list[dict[str, Any]]
    presets: dict[str, PresetForm]
