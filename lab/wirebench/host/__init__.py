"""The host: what is installed, what it allows, and the fingerprint stored with every figure."""

from __future__ import annotations

from wirebench.host.awake import can_keep_awake, cores_awake
from wirebench.host.commands import command_version, command_versions, find_command
from wirebench.host.doctor import Problem, diagnose, ensure_libraries, host_problems, installable
from wirebench.host.fingerprint import Fingerprint, capture
from wirebench.host.installed import Presence, presence, presences
from wirebench.host.limits import Limits, read_limits

__all__ = [
    "Fingerprint",
    "Limits",
    "Presence",
    "Problem",
    "can_keep_awake",
    "capture",
    "command_version",
    "command_versions",
    "cores_awake",
    "diagnose",
    "ensure_libraries",
    "find_command",
    "host_problems",
    "installable",
    "presence",
    "presences",
    "read_limits",
]
