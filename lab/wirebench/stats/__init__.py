"""From stored trials to verdicts: pure functions with explicit seeds."""

from __future__ import annotations

from wirebench.stats.analyse import analyse
from wirebench.stats.capacity import capacity
from wirebench.stats.disturbances import counted_trials, dropped_blocks, repeat_reason
from wirebench.stats.history import load_history
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.settled import standstill
from wirebench.stats.types import (
    CellAnalysis,
    EntryAnalysis,
    EntrySummary,
    Ratio,
    RepeatRecord,
    RunAnalysis,
    RunEffect,
    Standing,
    TrialView,
    TwinNoise,
    TwinRecord,
    Verdict,
)

__all__ = [
    "DEFAULT",
    "CellAnalysis",
    "EntryAnalysis",
    "EntrySummary",
    "Ratio",
    "RepeatRecord",
    "RunAnalysis",
    "RunEffect",
    "Settings",
    "Standing",
    "TrialView",
    "TwinNoise",
    "TwinRecord",
    "Verdict",
    "analyse",
    "capacity",
    "counted_trials",
    "dropped_blocks",
    "load_history",
    "repeat_reason",
    "standstill",
]
