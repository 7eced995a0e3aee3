"""Every parameter of the statistics that is our own choice, or a convention that others might
choose differently.
"""

from __future__ import annotations

from dataclasses import dataclass

from wirebench.trial.server_metrics import BUSY_SHARE


@dataclass(frozen=True, kw_only=True)
class Settings:
    confidence: float = 0.95
    look_confidence: float = 0.99
    """Of a look that may let entries leave before a cell's last block. Each look is an occasion for
    chance: at 95%, 7 to 8% of simulated tables of two or three entries whose blocks correlate had a
    false claim (``selftest --verdicts``).
    """
    min_blocks: int = 6
    """Fewer blocks give no interval and no verdict (Hoefler & Belli, SC 2015, rule on
    non-parametric intervals).
    """
    trim: float = 0.2
    """Share of the blocks that the trimmed mean leaves out on each side (Wilcox 2012 recommends a
    fifth).
    """
    serial_doubt: float = 0.7
    """A correlation of successive blocks counts from so many standard errors on."""
    serial_margin: float = 0.25
    """Standard errors by which the correlation that counts is larger than the estimate."""
    min_noise: float = 0.03
    """The noise band is never narrower than from 1 / (1 + this) to 1 + this."""
    noise_percentile: float = 95.0
    """The band holds this percentage of what twins differ by beyond their own sampling error."""
    noise_level: float = 0.05
    """Twins widen the band only if chance gives such differences less often than this."""
    presets: tuple[str, ...] = ("quick", "hour", "evening", "published", "full")
    """From short to long. Twins of a shorter preset never widen the band of a longer one. A preset
    that is not among these has twins of its own only.
    """
    outlier: float = 3.5
    """Robust standard deviations beyond which a block is a spike and no sign of what differs
    between repeats (Iglewicz & Hoaglin 1993).
    """
    assumed_run_effect: float = 0.03
    """By how much an entry differs from run to run (one standard deviation) where a host has shown
    nothing of it; only for comparisons of two runs.
    """
    least_changes: int = 5
    """Fewer entries' changes between two runs say nothing of what differs between runs."""
    max_more_blocks: int = 200
    """The most additional blocks that a report suggests. A pair that needs more is too close to the
    band's edge, or too noisy to be told from its equal.
    """
    promised_share: float = 0.8
    """In how many of the cases the number of blocks that is suggested decides (our own choice)."""
    busy_share: float = BUSY_SHARE
    """A server or generator that used at least this share of the CPU time of its cores was at its
    limit.
    """
    rung_factor: float = 2.0
    """Memory per connection is a slope over rungs of which the largest has at least this many times
    the connections of the smallest.
    """
    little_tolerance: float = 0.05
    steal_share: float = 0.05
    """A trial is run again, twice at most, when the hypervisor took more than this share of a core
    from it, and more than ``ticks``; where that does not help, its block is dropped.

    No contestant can cause steal. Pressure, involuntary switches and retransmits depend on the
    contestant, so dropping by them would be dropping by outcome; they are published instead.
    """
    other_programs_share: float = 0.05
    """Other programs disturbed a trial when they took more than this share of one core, and more
    than ``ticks``. It is said, and nothing is dropped: what runs beside a measurement mostly stays
    until its end, and would leave nothing.
    """
    ticks: int = 3
    """Clock ticks that steal or other programs may take from a trial whatever its length. A trial
    of 100 ms has only ten ticks, and a single one is no evidence.
    """
    tick_ns: int = 10_000_000
    """The kernel counts both in units of 1 / USER_HZ (proc(5))."""
    pelt_penalty: float = 15.0
    """The penalty, as a multiple of ln n (Barrett et al., OOPSLA 2017)."""
    least_segment: float = 0.125
    """The share of a window that a level must hold for to be one, and not a disturbance."""
    spike: float = 3.0
    """An interval farther from its neighbours than this many standard deviations is cut to it."""
    min_intervals: int = 12
    """A series with fewer intervals has no warm-up class."""
    steady_share: float = 0.25
    """The last part of the window that must be free of change points."""
    min_knee_points: int = 3
    """A latency-against-load curve with fewer points has no knee."""
    same_level: float = 0.03
    """Segments whose levels differ by less are the same level."""


DEFAULT = Settings()
