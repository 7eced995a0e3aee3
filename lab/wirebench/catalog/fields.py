"""Types of fields that several files of the project have."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from wirebench.catalog.units import parse_duration

Duration = Annotated[int, BeforeValidator(parse_duration)]
Identifier = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Count = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0)]
