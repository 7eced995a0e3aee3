"""The noise band: what twins differ by beyond their own sampling error."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from scipy import special

from wirebench.catalog.loads import OpenLoad, on_all_cores, over_tls
from wirebench.catalog.studies import Cell
from wirebench.catalog.units import count_of
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import NoiseBand, TwinNoise, TwinRecord


def noise_kind(cell: Cell) -> str:
    """Which cells of a study share what twins and repeats show: those of one kind, on as many
    cores, with or without TLS. Open loops also differ by how their rate is set. The noise of a time
    grows with the share of the capacity, so that each share below it stands for itself; figures at
    and beyond it are throughput at the limit.
    """
    parts: list[str] = [cell.kind]
    if isinstance(cell.load, OpenLoad):
        share = cell.load.share
        if share is None:
            parts.append("rate")
        else:
            parts.append("over" if cell.load.overload else f"share-{share * 100:g}")
    if on_all_cores(cell.load):
        parts.append("all")
    if over_tls(cell.load):
        parts.append("tls")
    return "-".join(parts)


def noise_band(
    twins: Sequence[TwinNoise], *, of: str = "", settings: Settings = DEFAULT
) -> NoiseBand:
    """d = max(3%, the 95th percentile of what twins differ by beyond their own sampling error).

    A twin's log-ratio r varies by its standard error s and by an excess t that no block of its run
    shows: E[r^2] = s^2 + t^2. So t^2 is the mean of r^2 - s^2 (method of moments; DerSimonian &
    Laird, Controlled Clinical Trials 1986), without the twentieth of the twins that differ most,
    which a normal distribution would make smaller by a known factor. The band is the normal 95th
    percentile of |t|, and no wider than the widest of the twins used.

    The band stays at its minimum while chance could explain the twins: Fisher's F of their squares
    over what their errors and the minimum together expect. So a few twins of few blocks do not
    widen it, and one clear difference does. ``of`` names the twins in ``source``.
    """
    count = len(twins)
    named = f"{count_of(count, 'twin')}{of and ' of '}{of} on this host"
    if not count:
        return NoiseBand(
            d=settings.min_noise,
            source=f"the assumed minimum: no twins{of and ' of '}{of} yet",
            twins=0,
        )
    level = float(special.ndtri((1 + settings.noise_percentile / 100) / 2))
    least = (math.log1p(settings.min_noise) / level) ** 2
    dropped = int(count * (1 - settings.noise_percentile / 100) + 1e-9)
    ordered = sorted(twins, key=lambda one: one.log_ratio**2 / (one.standard_error**2 + least))
    kept = ordered[: count - dropped]
    squares = np.array([one.log_ratio**2 for one in kept]) / _kept_variance(len(kept) / count)
    errors = np.array([one.standard_error**2 for one in kept])
    expected = errors + least
    above = float(squares.sum() / expected.sum())
    independent = float(expected.sum() ** 2 / np.sum(expected**2))
    # The errors are estimates too; the minimum is not.
    weight = float(np.sum(errors**2 / [max(1.0, one.degrees) for one in kept]))
    freedom = float(expected.sum() ** 2) / weight if weight > 0 else math.inf
    chance = (
        float(special.chdtrc(independent, above * independent))
        if math.isinf(freedom)
        else float(special.fdtrc(independent, freedom, above))
    )
    excess = math.sqrt(max(0.0, float(np.mean(squares - errors))))
    widest = max(abs(one.log_ratio) for one in kept)
    d = math.expm1(min(level * excess, widest))
    if chance > settings.noise_level or d <= settings.min_noise:
        return NoiseBand(
            d=settings.min_noise,
            source=f"the assumed minimum; {named} {'shows' if count == 1 else 'show'} no more",
            twins=count,
        )
    return NoiseBand(
        d=d,
        source=f"what {named} {'differs' if count == 1 else 'differ'} by beyond sampling error",
        twins=count,
    )


def _kept_variance(share: float) -> float:
    """The variance of a standard normal without its most extreme values, ``share`` of them kept."""
    if share >= 1:
        return 1.0
    limit = float(special.ndtri((1 + share) / 2))
    density = math.exp(-(limit**2) / 2) / math.sqrt(2 * math.pi)
    return 1 - 2 * limit * density / share


def usable_presets(preset: str, *, settings: Settings = DEFAULT) -> frozenset[str]:
    """The presets whose twins may widen the band of this one: itself and the longer ones."""
    known = settings.presets
    return frozenset(known[known.index(preset) :]) if preset in known else frozenset([preset])


def earlier_twins(
    records: Iterable[TwinRecord],
    *,
    study: str,
    kind: str,
    metric: str,
    presets: Collection[str],
) -> list[TwinNoise]:
    """What earlier runs of a host recorded of this study, kind of noise and metric by one of these
    presets. Records of older versions do not say what they are of, so they are left out. Those that
    say a kind of cell alone stand for the plain cells of this kind.
    """
    return [
        record.noise[metric]
        for record in records
        if (record.study, record.kind) == (study, kind)
        and record.preset in presets
        and metric in record.noise
    ]
