"""What several generators measured of one server, as one load: figures, histograms, and whether it
was one load at all. Pure functions of their documents, logs and clocks.

Counts and rates add up. Histograms are merged without loss, since all have the same buckets. The
window is void when the generators did not begin as one, or when one of them was the limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from hdrh.histogram import HdrHistogram

from wirebench.fleet.clocks import Clock
from wirebench.fleet.link import Floor
from wirebench.report.provenance import link_text
from wirebench.trial.histogram import ENOUGH_BEYOND, together
from wirebench.trial.server_metrics import BUSY_SHARE
from wirebench.trial.wireload import Document, DocumentError, Latency, Start

MOST_SKEW = 0.01
"""Of the window: a larger difference between the starts voids it. Our own choice."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What one generator has told, and how its clock is related to ours."""

    host: str
    number: int
    """Of the part, from 1."""
    before: Clock
    """Its host's clock beside ours, before the load."""
    after: Clock
    document: Document
    raw: Mapping[str, Any]
    log: str
    """HdrHistogram's log: a histogram for each interval."""
    link: Floor | None = None
    """Of the link to the server's host, before the load; None: not measured."""

    @property
    def uncertainty_ns(self) -> int:
        """By how much its start, by our clock, may be wrong: each comparison of the clocks, and
        what they drifted apart in between.
        """
        drift = abs(self.after.offset_ns - self.before.offset_ns)
        return max(self.before.uncertainty_ns, self.after.uncertainty_ns) + drift

    @property
    def begun_ns(self) -> int:
        """When its load began, by our clock."""
        return self.start.asked_steady_ns + self.start.late_ns - self.before.offset_ns

    @property
    def start(self) -> Start:
        """``DocumentError`` without one."""
        if self.document.start is None:
            raise DocumentError(f"host {self.host}: wireload: start: expected one, got none")
        return self.document.start

    @property
    def lag(self) -> Latency | None:
        """How late it was with its requests: of an open loop."""
        open_loop = self.document.open_loop
        return open_loop.lag if open_loop is not None else None

    @property
    def was_the_limit(self) -> str | None:
        """Why the load was limited by it and not by the server; None if it was not."""
        open_loop, generator = self.document.open_loop, self.document.generator
        if open_loop is not None and open_loop.void is not None:
            return open_loop.void
        if generator.stopped_by_quota:
            return generator.stopped("generator")
        if generator.cpu_share is not None and generator.cpu_share >= BUSY_SHARE:
            return f"it used {generator.cpu_share:.0%} of its CPUs"
        if self.document.window.stopped_by not in ("duration", "requests"):
            return f"its window was ended by {self.document.window.stopped_by}"
        return None


@dataclass(frozen=True, kw_only=True)
class Whole:
    """The load of all generators."""

    parts: tuple[Told, ...]
    sent: int
    ok: int
    errors: Mapping[str, int]
    rate_per_s: float | None
    """Right replies a second: the sum."""
    latency: Latency
    series: str
    """A log with the merged histogram of each interval."""
    window_ns: int
    """The shortest of their windows."""
    skew_ns: int
    """Between the first start and the last, at most."""
    void: tuple[str, ...]
    """Why the window says nothing, each reason in words. Empty: it stands."""

    def to_json(self) -> dict[str, Any]:
        """``wirebench-load/1``"""
        return {
            "schema": "wirebench-load/1",
            "generators": len(self.parts),
            "requests": {"sent": self.sent, "ok": self.ok, "rate_per_s": self.rate_per_s},
            "errors": dict(self.errors),
            "latency": self.latency.model_dump(),
            "validity": {
                "void": list(self.void),
                "window_ns": self.window_ns,
                "skew_ns": self.skew_ns,
                "of": [_validity(one, self.parts) for one in self.parts],
            },
        }


def _validity(one: Told, parts: Sequence[Told]) -> dict[str, Any]:
    lag = one.lag
    return {
        "host": one.host,
        "part": one.number,
        "skew_ns": one.begun_ns - min(each.begun_ns for each in parts),
        "uncertainty_ns": one.uncertainty_ns,
        "round_trip_ns": one.before.round_trip_ns,
        "drift_ns": one.after.offset_ns - one.before.offset_ns,
        "late_ns": one.start.late_ns,
        "lag_ns": lag.percentiles_ns if lag is not None else None,
        "cpu_share": one.document.generator.cpu_share,
        "was_the_limit": one.was_the_limit,
        "link": asdict(one.link) if one.link is not None else None,
    }


def floor_text(link: Floor) -> str:
    """What a link allows at most."""
    return link_text(asdict(link))


def skew_ns(parts: Sequence[Told]) -> int:
    """The most that lies between the first start and the last, with what is not known of each."""
    known = [(one.begun_ns, one.uncertainty_ns) for one in parts]
    apart = (
        abs(begun - other) + unknown + of_other
        for (begun, unknown), (other, of_other) in combinations(known, 2)
    )
    return max(apart, default=0)


def whole(parts: Sequence[Told]) -> Whole:
    """``DocumentError`` where a generator tells less than it must."""
    lengths = [one.document.window.elapsed_ns for one in parts]
    if not parts or None in lengths:
        raise DocumentError("wireload: window: expected a length of each, got none")
    window = min(length for length in lengths if length is not None)
    skew = skew_ns(parts)
    errors: Counter[str] = Counter()
    for one in parts:
        errors.update({kind: count for kind, count in one.document.errors.items() if count})
    rates = [one.document.requests.rate_per_s for one in parts]
    return Whole(
        parts=tuple(parts),
        sent=sum(one.document.requests.sent for one in parts),
        ok=sum(one.document.requests.ok for one in parts),
        errors=errors,
        rate_per_s=sum(rate for rate in rates if rate is not None) if None not in rates else None,
        latency=together([one.document.latency for one in parts]),
        series=merged_log([one.log for one in parts]),
        window_ns=window,
        skew_ns=skew,
        void=tuple(_void(parts, skew=skew, window=window)),
    )


def _void(parts: Sequence[Told], *, skew: int, window: int) -> list[str]:
    reasons = []
    if skew > MOST_SKEW * window:
        reasons.append(
            f"the generators began up to {skew / 1e6:.2f} ms apart, which is more than"
            f" {MOST_SKEW:.0%} of the window of {window / 1e6:.0f} ms; give a longer one"
        )
    for one in parts:
        if (why := one.was_the_limit) is not None:
            reasons.append(f"the generator on {one.host} was the limit: {why}; take more of them")
    return reasons


# --- logs -----------------------------------------------------------------------------------------


def merged_log(logs: Sequence[str]) -> str:
    """One log with the intervals of all: those with the same number become one. Comments are those
    of the first. ``DocumentError`` where one is no log.
    """
    heads = [line for line in logs[0].splitlines() if not _is_interval(line)] if logs else []
    rows = [[line for line in log.splitlines() if _is_interval(line)] for log in logs]
    lines = list(heads)
    for number in range(max(map(len, rows), default=0)):
        lines.append(_merged([own[number] for own in rows if number < len(own)]))
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True, kw_only=True)
class Interval:
    """One of a log."""

    begin_s: float
    """Since the start of the window."""
    length_s: float
    histogram: HdrHistogram

    @property
    def rate_per_s(self) -> float:
        """Right replies."""
        return float(self.histogram.get_total_count()) / self.length_s if self.length_s else 0.0

    def quantile_ns(self, share: float) -> int | None:
        """The latency that this share of the requests did not exceed; None with too few of them
        beyond it. A share of 1 is the greatest.
        """
        count = self.histogram.get_total_count()
        if count == 0 or (share < 1 and (1 - share) * count < ENOUGH_BEYOND):
            return None
        return int(self.histogram.get_value_at_percentile(share * 100))


def intervals(log: str) -> list[Interval]:
    """``DocumentError`` where it is no log."""
    return [_interval(line) for line in log.splitlines() if _is_interval(line)]


def _is_interval(line: str) -> bool:
    return bool(line) and line[0].isdigit()


def _interval(line: str) -> Interval:
    try:
        begin, took, _, encoded = line.split(",")
        return Interval(
            begin_s=float(begin), length_s=float(took), histogram=HdrHistogram.decode(encoded)
        )
    except Exception as error:  # whatever its zlib, base64 and struct calls raise
        raise DocumentError(f"wireload: log: not read: {error}") from error


def _merged(lines: Sequence[str]) -> str:
    """Of one interval. The longest counts: the last may be cut short."""
    first, *more = [_interval(line) for line in lines]
    total, length = first.histogram, max(one.length_s for one in (first, *more))
    for one in more:
        total.add(one.histogram)
    greatest = total.get_max_value() if total.get_total_count() else 0
    return f"{first.begin_s:.3f},{length:.3f},{greatest / 1e6:.3f},{total.encode().decode()}"
