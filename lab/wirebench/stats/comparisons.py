"""Every comparison between the entries of one cell by one metric."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from itertools import combinations

import numpy as np

from wirebench.stats.cell import CellData
from wirebench.stats.ratio import Interval, median, median_interval
from wirebench.stats.sample import Sample
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.spread import Spread, TableSpread, table_spread
from wirebench.stats.types import Ratio, RunEffect, Verdict
from wirebench.stats.verdict import judge


def widened_interval(sample: Sample, spread: Spread, *, settings: Settings = DEFAULT) -> Interval:
    """The interval of the median from the blocks within repeats, widened by what differs
    between repeats: the two half-widths add as independent errors do.
    """
    inner = median_interval(spread.within, settings=settings)
    centre = median(sample.values)
    run = spread.run_quantile((1 + settings.confidence) / 2)
    return replace(
        inner,
        low=centre - math.hypot(centre - inner.low, run),
        high=centre + math.hypot(inner.high - centre, run),
    )


class Comparisons:
    """The comparisons of a cell share their errors, so these are estimated together, once."""

    def __init__(
        self,
        data: CellData,
        metric: str,
        *,
        sound: Collection[str] | None = None,
        host: RunEffect | None = None,
        settings: Settings = DEFAULT,
    ) -> None:
        """``sound``: the entries that show what differs between repeats (``entry.sound_entries``);
        without it, all do. ``host``: what the host has shown of it, used where the cell has one
        repeat.
        """
        names = [name for name in data.trials if data.values(name, metric)]
        couples = list(combinations(names, 2))
        self._host, self._settings = host, settings
        self._without = {name: data.why_no_ratio(name, metric) for name in names}
        self._series = len(names)
        self._entries = len({data.contestant(name) for name in names})
        self._places = {couple: place for place, couple in enumerate(couples)}
        self._same = {
            place
            for place, (a, b) in enumerate(couples)
            if data.contestant(a) == data.contestant(b)
        }
        self._samples = data.samples(couples, metric)
        self._shown_by = [
            couple if sound is None or (couple[0] in sound and couple[1] in sound) else None
            for couple in couples
        ]
        self._intervals: dict[int, Interval] = {}

    @cached_property
    def _table(self) -> TableSpread:
        return table_spread(
            self._samples,
            entries=self._entries,
            series=self._series,
            same=self._same,
            host=self._host,
            shown_by=self._shown_by,
            settings=self._settings,
        )

    @property
    def run_effect(self) -> RunEffect:
        return self._table.run_effect

    def _place(self, a: str, b: str) -> tuple[int | None, int]:
        """Where the pair is, and -1 if it is there as B over A."""
        if (a, b) in self._places:
            return self._places[a, b], 1
        return self._places.get((b, a)), -1

    def sample(self, a: str, b: str) -> Sample:
        """ln(A/B) of every block that has both. Empty where either has no figures."""
        place, sign = self._place(a, b)
        if place is None:
            return Sample.of(np.array([], dtype=np.float64))
        return self._samples[place] if sign > 0 else -self._samples[place]

    def spread(self, a: str, b: str) -> Spread | None:
        """The error of ln(A/B); None with fewer than ``min_blocks`` blocks."""
        place, sign = self._place(a, b)
        one = None if place is None else self._table.spreads[place]
        return one if one is None or sign > 0 else one.mirrored()

    def interval(self, a: str, b: str) -> Interval | None:
        """Of ln(A/B), with the run effect; None with fewer than ``min_blocks`` blocks."""
        place, sign = self._place(a, b)
        spread = None if place is None else self._table.spreads[place]
        if place is None or spread is None:
            return None
        if place not in self._intervals:
            self._intervals[place] = widened_interval(
                self._samples[place], spread, settings=self._settings
            )
        one = self._intervals[place]
        return one if sign > 0 else replace(one, low=-one.high, high=-one.low)

    def ratio(self, a: str, b: str) -> Ratio | None:
        """exp(median) with its interval (Hoefler & Belli, SC 2015). None without blocks; no
        interval below ``min_blocks``.
        """
        sample, interval = self.sample(a, b), self.interval(a, b)
        if not len(sample):
            return None
        return Ratio(
            estimate=math.exp(median(sample.values)),
            low=None if interval is None else math.exp(interval.low),
            high=None if interval is None else math.exp(interval.high),
            blocks=len(sample),
            note=None if interval is None else interval.note,
        )

    def p_value(self, a: str, b: str, edges: tuple[float, float]) -> float:
        """Two-sided p that A over B lies within the edges (logarithms), before Holm's correction.
        1 without enough blocks.
        """
        spread = self.spread(a, b)
        if spread is None:
            return 1.0
        return spread.p_beyond(median(self.sample(a, b).values), edges)

    def verdict(
        self,
        a: str,
        b: str,
        *,
        d: float,
        higher_is_better: bool,
        adjusted_p: float | None = None,
        pairs: int = 1,
    ) -> Verdict:
        """``judge`` of A against B, with the run effect in its interval. Undecided for good where
        either has figures of 0.
        """
        if (why := self._without.get(a) or self._without.get(b)) is not None:
            return Verdict(kind="undecided", beyond_blocks=True, reason=why)
        sample, spread = self.sample(a, b), self.spread(a, b)
        return judge(
            sample.values,
            d=d,
            higher_is_better=higher_is_better,
            adjusted_p=adjusted_p,
            pairs=pairs,
            interval=self.interval(a, b),
            spread=spread,
            repeated=sample.repeated,
            settings=self._settings,
        )
