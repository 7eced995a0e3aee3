"""Percentile curves over an entry's merged trials. They are for pictures only; no figure or verdict
uses them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from hdrh.histogram import HdrHistogram

from wirebench.trial.histogram import counts_of

MIN_BEYOND = 10
"""A percentile is drawn only with at least this many samples beyond it."""
NINES_STEP = 0.1
MEDIAN = math.log10(2)
"""Where the nines axis begins."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Point:
    nines: float
    """-log10(1 - q): 1 is the 90th percentile, 2 the 99th."""
    value_ns: int


def merge(encoded: Iterable[str]) -> HdrHistogram | None:
    """Merge histograms without loss. None if there are none; one that cannot be decoded is left
    out.
    """
    merged: HdrHistogram | None = None
    for text in encoded:
        try:
            one = HdrHistogram.decode(text)
        except (
            Exception
        ) as error:  # the decoder raises whatever its zlib, base64 and struct calls raise
            _log.warning(
                "a histogram that cannot be decoded is left out of the percentile plot: %s", error
            )
            continue
        if merged is None:
            merged = one
        else:
            merged.add(one)
    return merged


def curve(histogram: HdrHistogram) -> list[Point]:
    """Evenly spaced on the nines axis, from the median to the last percentile with enough samples
    beyond it.
    """
    total = int(histogram.get_total_count())
    if total < 2 * MIN_BEYOND:
        return []
    cumulative = np.cumsum(counts_of(histogram))
    last = math.log10(total / MIN_BEYOND)
    points = []
    for nines in [MEDIAN, *np.arange(0.4, last + 1e-9, NINES_STEP).tolist()]:
        wanted = max(1, math.ceil(total * (1 - 10**-nines)))
        index = int(np.searchsorted(cumulative, wanted))
        points.append(Point(nines=nines, value_ns=int(histogram.get_value_from_index(index))))
    return points
