"""The histograms in the generator's documents: HdrHistogram V2, compressed, base64."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from wirebench.catalog.units import count_of
from wirebench.trial.wireload import DocumentError, Latency

ENOUGH_BEYOND = 10
"""A percentile is told only with at least this many samples beyond it, as the generator does."""


def counts_of(histogram: HdrHistogram) -> NDArray[np.uint64]:
    """The counts of all its buckets, in ascending order of their values."""
    values = (ctypes.c_uint64 * histogram.counts_len).from_buffer_copy(histogram.counts)
    return np.ctypeslib.as_array(values)


def together(parts: Sequence[Latency]) -> Latency:
    """The latencies that several generators measured, as one that did it all would tell them:
    counts, the least, the greatest, the mean and the percentiles that any part tells of. Nothing is
    lost, since all have the same buckets. ``DocumentError`` where one that counts something has no
    histogram, or one that cannot be read.
    """
    measured = [part for part in parts if part.count]
    if not measured:
        return Latency(count=0, percentiles_ns=dict.fromkeys(_names(parts)))
    whole = _decoded(measured[0])
    for part in measured[1:]:
        whole.add(_decoded(part))
    total = sum(part.count for part in measured)
    greatest = max(part.max_ns or 0 for part in measured)
    cumulative = np.cumsum(counts_of(whole))

    def percentile(name: str) -> int | None:
        # A percentage is exact in its digits and not in binary, where 99.9 / 100 is a hair more.
        beyond = round((100 - float(name)) * total * 1e6) / 1e8
        if beyond < ENOUGH_BEYOND:
            return None
        rank = max(1, math.ceil(round(total - beyond, 6)))
        lowest = whole.get_value_from_index(int(np.searchsorted(cumulative, rank)))
        return min(int(whole.get_highest_equivalent_value(lowest)), greatest)

    means = [part.count * part.mean_ns for part in measured if part.mean_ns is not None]
    return Latency(
        count=total,
        min_ns=min(part.min_ns or 0 for part in measured),
        mean_ns=sum(means) / total if len(means) == len(measured) else None,
        max_ns=greatest,
        percentiles_ns={name: percentile(name) for name in _names(parts)},
        histogram=whole.encode().decode("ascii"),
    )


def _names(parts: Sequence[Latency]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part.percentiles_ns))


def _decoded(part: Latency) -> HdrHistogram:
    if part.histogram is None:
        raise DocumentError("wireload: latency: expected a histogram, got none")
    try:
        found = HdrHistogram.decode(part.histogram)
    except Exception as error:  # whatever its zlib, base64 and struct calls raise
        raise DocumentError(f"wireload: latency: histogram: not read: {error}") from error
    if found.get_total_count() != part.count:
        raise DocumentError(
            "wireload: latency: expected a histogram of"
            f" {count_of(part.count, 'sample')}, got one of"
            f" {found.get_total_count()}"
        )
    return found
