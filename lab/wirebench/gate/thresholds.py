"""The thresholds of a gate, read from a TOML file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wirebench.catalog.errors import CatalogError
from wirebench.catalog.units import parse_duration
from wirebench.stats.summary import higher_is_better

ERRORS = "errors"
METRICS: Mapping[str, str] = {
    "throughput": "throughput_per_s",
    "p50": "p50_ns",
    "p90": "p90_ns",
    "p99": "p99_ns",
    "p999": "p999_ns",
    "mean": "mean_ns",
    "cpu_per_request": "cpu_per_request_ns",
    "memory": "server_rss_bytes",
    "memory_peak": "server_rss_peak_bytes",
    "ready": "ready_ns",
}
"""The names in the file, and the metrics of a trial."""
OF_PROCESSES = frozenset({"cpu_per_request", "memory", "memory_peak", "ready"})
"""What is known only of a server that the lab starts."""
LEAST_NOISE = 0.001
"""Twins widen the noise from here on; the threshold itself says what else counts for nothing."""
_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


@dataclass(frozen=True, kw_only=True)
class Threshold:
    name: str
    """As in the file."""
    text: str
    """The limit as it is written."""
    kind: Literal["change", "figure", "errors"]
    limit: float
    """``change``: the ratio of head over base that is just allowed. ``figure``: in the metric's
    unit. ``errors``: a number.
    """

    @property
    def metric(self) -> str:
        return METRICS[self.name]

    @property
    def upper(self) -> bool:
        """Whether what is above the limit is worse."""
        return self.kind == "errors" or not higher_is_better(self.metric)

    @property
    def never_holds(self) -> bool:
        """Whether it asks for less than the noise that any server measured twice is taken to have,
        so that no interval can lie within it.
        """
        # A limit is 1 plus a share of decimals, which is off by less than this.
        return self.kind == "change" and abs(self.limit - 1) < LEAST_NOISE - 1e-12

    def __str__(self) -> str:
        return f"{self.name} {'≤' if self.upper else '≥'} {self.text}"


def read_thresholds(path: Path) -> tuple[Threshold, ...]:
    """The file's thresholds in its order. ``errors = 0`` is among them where the file does not say
    how many errors there may be. ``CatalogError`` where the file cannot be read or is wrong.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CatalogError(
            f"{path}: not read: no such file; expected thresholds, one a line, such as"
            ' p99 = "+5%"; --thresholds names another file'
        ) from error
    except OSError as error:
        raise CatalogError(f"{path}: not read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # also of too many digits, or levels
        raise CatalogError(f"{path}: expected TOML: {error}") from error
    found = []
    for name, value in table.items():
        values = value if isinstance(value, list) else [value]
        if not values:
            raise CatalogError(f"{path}: {name}: expected a threshold, or several, got none")
        for one in values:
            try:
                found.append(threshold(name, one))
            except ValueError as error:
                raise CatalogError(f"{path}: {name}: {error}, got {one!r}") from error
    if not found:
        raise CatalogError(f'{path}: expected a threshold such as p99 = "+5%", got none')
    if not any(one.kind == "errors" for one in found):
        found.append(Threshold(name=ERRORS, text="0", kind="errors", limit=0))
    return tuple(found)


def threshold(name: str, value: object) -> Threshold:
    """``ValueError`` with what was expected."""
    if name == ERRORS:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ValueError("expected a number of errors such as 0")
        return Threshold(name=name, text=str(value), kind="errors", limit=value)
    if name not in METRICS:
        raise ValueError(f"expected one of {', '.join((*METRICS, ERRORS))}")
    metric = METRICS[name]
    text = str(value)
    if text.endswith("%"):
        return Threshold(name=name, text=text, kind="change", limit=_change(metric, text))
    limit = _figure(metric, value)
    if not limit > 0:
        raise ValueError("expected more than 0")
    return Threshold(name=name, text=text, kind="figure", limit=limit)


def _change(metric: str, text: str) -> float:
    """The ratio of head over base. A sign the wrong way round would ask for a gain, and fail every
    change that brings none, so it is refused.
    """
    sign, what = ("-", "loss") if higher_is_better(metric) else ("+", "growth")
    match = re.fullmatch(r"([+-])(\d{1,9}(?:\.\d+)?)%", text)
    if match is None or match[1] != sign or (sign == "-" and float(match[2]) >= 100):
        raise ValueError(f'expected the {what} that is allowed, such as "{sign}5%"')
    return 1 + float(f"{sign}{match[2]}") / 100


def _figure(metric: str, value: object) -> float:
    text = str(value)
    if metric.endswith("_ns"):
        try:
            return parse_duration(value)
        except ValueError:
            raise ValueError('expected a change such as "+5%" or a time such as "20ms"') from None
    if metric.endswith("_bytes"):
        match = re.fullmatch(rf"(\d{{1,15}}(?:\.\d+)?) ?({'|'.join(_SIZES)})", text)
        if match is None:
            raise ValueError('expected a change such as "+5%" or a size such as "64MiB"')
        return float(match[1]) * _SIZES[match[2]]
    match = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)(/s)?", text)
    if match is None or isinstance(value, bool):
        raise ValueError('expected a change such as "-3%" or a rate such as "20000/s"')
    return float(match[1])
