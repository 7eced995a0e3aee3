"""Build contestants: from source to a program that can be started."""

from __future__ import annotations

from wirebench.build.builder import (
    LOG,
    BuildResult,
    BuildStatus,
    build,
    builds_folder,
    resolve_command,
)
from wirebench.build.several import Builds

__all__ = [
    "LOG",
    "BuildResult",
    "BuildStatus",
    "Builds",
    "build",
    "builds_folder",
    "resolve_command",
]
