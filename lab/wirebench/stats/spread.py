"""What each comparison of a table may be off by, from its blocks and from its repeats.

Each comparison's mean square between repeats is drawn towards that of the table as its variance
within them is (``moderated``). What it has over the mean square within repeats is the component
that no block of one repeat shows (``run_effect``); it joins the error of the mean and of the
median. Where noise that lasts from block to block (``serial``), whatever their repeats, explains a
larger error, that one counts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from wirebench.stats.moderated import (
    Trimmed,
    moderate,
    shared_variance,
    trimmed_within,
)
from wirebench.stats.ratio import Floats
from wirebench.stats.run_effect import Nested, nested
from wirebench.stats.sample import Group, Sample, groups
from wirebench.stats.serial import inflation_across, serial_inflation
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import RUN_EFFECT_OF_BLOCKS, UNKNOWN_RUN_EFFECT, RunEffect


@dataclass(frozen=True, eq=False, kw_only=True)
class Spread:
    """The mean of one comparison and what it may be off by."""

    mean: float
    variance: float
    """Squared standard error from blocks, moderated, inflated for correlated blocks."""
    degrees: float
    run_variance: float
    """What differs between repeats adds this to the squared standard error; 0 if unknown."""
    run_variance_of_median: float
    """The same for the median of the blocks, which clustered blocks move more than the mean."""
    run_degrees: float
    within: Floats
    """The values less what is attributed to repeats, widened around their median for correlated
    blocks and for what was taken out: what the interval of the median is of.
    """

    def mirrored(self) -> Spread:
        """Of B over A instead of A over B."""
        return replace(self, mean=-self.mean, within=-self.within)

    def run_quantile(self, level: float) -> float:
        """The quantile of the part of the median's error that comes from repeats, by Student's
        t.
        """
        if self.run_variance <= 0:
            return 0.0
        return t_quantile(self.run_degrees, level) * math.sqrt(self.run_variance_of_median)

    def p_beyond(self, centre: float, edges: tuple[float, float]) -> float:
        """Two-sided p that the comparison lies within the edges, by Student's t with
        Satterthwaite's degrees of freedom (Biometrics Bulletin 1946). 1 where ``centre``, the
        median, is within.
        """
        low, high = edges
        cleared = self.mean - high if centre > 0 else low - self.mean
        if low <= centre <= high or cleared <= 0:
            return 1.0
        total = self.variance + self.run_variance
        if total <= 0:
            return 0.0
        degrees = satterthwaite(
            (self.variance, self.degrees), (self.run_variance, self.run_degrees)
        )
        return min(1.0, 2 * float(special.stdtr(degrees, -cleared / math.sqrt(total))))


def t_quantile(degrees: float, level: float) -> float:
    return float(special.ndtri(level) if math.isinf(degrees) else special.stdtrit(degrees, level))


def satterthwaite(*parts: tuple[float, float]) -> float:
    """Degrees of freedom of a sum of variances, each given with its own."""
    total = sum(variance for variance, _ in parts)
    weight = sum(variance**2 / degrees for variance, degrees in parts if variance > 0)
    return total**2 / weight if weight > 0 else math.inf


@dataclass(frozen=True, eq=False, kw_only=True)
class TableSpread:
    spreads: list[Spread | None]
    """Of each comparison; None with fewer than ``min_blocks`` blocks."""
    run_effect: RunEffect
    """What the table itself shows of it; unknown with one repeat."""


def table_spread(
    samples: Sequence[Sample],
    *,
    entries: int,
    series: int | None = None,
    same: Collection[int] = (),
    host: RunEffect | None = None,
    shown_by: Sequence[tuple[str, str] | None] | None = None,
    inflation: float | None = None,
    settings: Settings = DEFAULT,
) -> TableSpread:
    """The errors of a table's comparisons.

    ``entries``: how many different entries the comparisons are among, which bounds the degrees of
    freedom that they have together. ``series``: how many series of measurements, by default as
    many; a twin's second entry is one of its own. ``same``: the places of comparisons of a build
    with itself, which no repeat makes differ. ``host``: what the host has shown of the run effect,
    for comparisons whose blocks are all of one repeat. ``shown_by``: the two contestants of each
    comparison that the table's own run effect is the mean of, None for the rest. Without it, or
    where it leaves none, the effect is the mean of all. ``inflation``: of the variances, for blocks
    that correlate; None: ``serial_inflation``.
    """
    least = max(4, settings.min_blocks)
    judged = [place for place, one in enumerate(samples) if len(one) >= least]
    spreads: list[Spread | None] = [None] * len(samples)
    if not judged:
        return TableSpread(spreads=spreads, run_effect=host or UNKNOWN_RUN_EFFECT)
    used = [samples[place] for place in judged]
    if inflation is None:
        inflation = serial_inflation(used, series=series or entries, settings=settings)
    parts = [(group, nested(group, settings=settings)) for group in groups(used)]
    chosen = {
        place: pair
        for place, own in enumerate(judged)
        if shown_by is not None and (pair := shown_by[own]) is not None
    }
    builds = {place for place, own in enumerate(judged) if own in same}
    effect, components = _components(parts, inflation, entries, chosen, builds)
    shown = effect or host or UNKNOWN_RUN_EFFECT
    elsewhere = _Component(variance=max(0.0, shown.variance), degrees=shown.degrees)
    none = _Component(variance=0.0, degrees=0.0)
    of_one: dict[int, Trimmed] = {}
    within: dict[int, Floats] = {}
    component: dict[int, _Component] = {}
    for group, one_way in parts:
        for place in group.where:
            unshown = none if used[place].repeated else elsewhere
            component[place] = none if judged[place] in same else components.get(place, unshown)
        taken = np.array([component[place].share_of_between for place in group.where])
        inner = group.values if one_way is None else group.without_repeats(one_way.means, taken)
        lost = taken * (len(group.counts) - 1)
        rows = _widened(group.values, inner, lost, inflation)
        trims = trimmed_within(group.values, inner, lost, settings=settings)
        for place, row, one in zip(group.where, rows, trims, strict=True):
            within[place] = row
            # Squared errors of one block, which comparisons of more and of fewer blocks can share.
            of_one[place] = replace(one, variance=one.variance * group.blocks)
    prior = shared_variance(list(of_one.values()))
    usable = sum(one.degrees for one in of_one.values() if one.variance > 0)
    for place, one in of_one.items():
        variance, degrees = moderate(one, prior, min(usable, one.degrees * max(1, entries - 1)))
        spreads[judged[place]] = Spread(
            mean=one.mean,
            variance=variance * inflation / len(used[place]),
            degrees=degrees,
            run_variance=component[place].variance,
            run_variance_of_median=component[place].variance * component[place].of_median,
            run_degrees=component[place].degrees,
            within=within[place],
        )
    if effect is None and any(one.of_own_repeats for one in used):
        shown = RUN_EFFECT_OF_BLOCKS
    across = inflation_across(used, series=series or entries, settings=settings)
    if across > 1:
        lasting = table_spread(
            [Sample.of(one.values) for one in samples],
            entries=entries,
            inflation=across,
            settings=settings,
        ).spreads
        spreads = [
            nested_one if place in same else _larger(nested_one, lasting_one)
            for place, (nested_one, lasting_one) in enumerate(zip(spreads, lasting, strict=True))
        ]
    return TableSpread(spreads=spreads, run_effect=shown)


def _larger(nested_one: Spread | None, lasting_one: Spread | None) -> Spread | None:
    """Of a comparison whose blocks are of several repeats. What its blocks share may have come with
    their repeat, or from the block before; repeats of a few blocks cannot tell which.
    """
    if nested_one is None or lasting_one is None:
        return nested_one
    error = nested_one.variance + nested_one.run_variance
    return lasting_one if lasting_one.variance > error else nested_one


def _widened(values: Floats, within: Floats, lost: Floats, inflation: float) -> Floats:
    """``Spread.within`` of each comparison."""
    n = values.shape[1]
    scale = np.sqrt(inflation * (n - 1) / (n - 1 - lost))[:, None]
    off = within - np.median(within, axis=1, keepdims=True)
    around: Floats = np.median(values, axis=1, keepdims=True) + scale * off
    return around


@dataclass(frozen=True, kw_only=True)
class _Component:
    """What repeats add to one comparison."""

    variance: float
    """Added to the squared error of the mean."""
    degrees: float
    share_of_between: float = 0.0
    """Of what repeats' means differ by, the share that is no sampling error within them."""
    of_median: float = 1.0
    """By what the median's variance grows faster than the mean's: asin(r) / r with the intraclass
    correlation r of the blocks, from the correlation of the signs of normal values (Sheppard 1899).
    """


def _components(
    parts: Sequence[tuple[Group, Nested | None]],
    inflation: float,
    entries: int,
    chosen: Mapping[int, tuple[str, str]],
    same: Collection[int],
) -> tuple[RunEffect | None, dict[int, _Component]]:
    """The component between repeats: the table's, and that of each comparison by its place.
    ``chosen``: the contestants of the comparisons that the table's is the mean of, if any.
    ``same``: the comparisons of a build with itself, which say nothing of the others.
    """
    squares: list[tuple[int, Nested, Trimmed, Trimmed]] = []
    for group, one in parts:
        if one is None:
            continue
        freedom = group.blocks - one.repeats
        for place, between, inside in zip(group.where, one.between, one.inside, strict=True):
            squares.append(
                (
                    place,
                    one,
                    Trimmed(mean=0.0, variance=float(between), degrees=one.repeats - 1),
                    Trimmed(mean=0.0, variance=float(inside), degrees=freedom),
                )
            )
    if not squares:
        return None, {}
    others = max(1, entries - 1)
    between_prior = shared_variance(
        [between for place, _, between, _ in squares if place not in same]
        or [between for _, _, between, _ in squares]
    )
    inside_prior = shared_variance([inside for _, _, _, inside in squares])
    added = {}
    for place, one, between, inside in squares:
        above, degrees = moderate(between, between_prior, between.degrees * others)
        within, _ = moderate(inside, inside_prior, math.inf)
        extra = max(0.0, above - inflation * within)
        component = extra / one.per_repeat
        alike = component / (component + within) if component > 0 else 0.0
        added[place] = _Component(
            variance=component * one.share,
            degrees=degrees,
            share_of_between=extra / above if above > 0 else 0.0,
            of_median=math.asin(alike) / alike if alike > 0 else 1.0,
        )
    shown = [one for one in squares if one[0] in chosen]
    if shown:
        names = {name for place, *_ in shown for name in chosen[place]}
        others = max(1, len(names) - 1)
    else:
        shown = squares
    effect = RunEffect(
        source="repeats",
        variance=float(
            np.mean(
                [
                    (between.variance - inflation * inside.variance) / one.per_repeat
                    for _, one, between, inside in shown
                ]
            )
        ),
        degrees=float(max(between.degrees for _, _, between, _ in shown) * others),
        repeats=max(one.repeats for _, one, _, _ in shown),
    )
    return effect, added
