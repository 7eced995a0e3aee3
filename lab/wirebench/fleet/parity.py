"""What hosts differ by, in words, before anything is measured on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SAME = {
    "wirebench": "wirebench",
    "cpu_model": "processor",
    "cores": "cores in use",
    "smt": "hyper-threading",
    "governor": "frequency governor",
    "turbo": "turbo",
    "cores_awake": "idle cores kept awake",
    "memory_bytes": "memory in bytes",
    "kernel": "kernel",
    "distribution": "distribution",
    "architecture": "architecture",
    "virtualisation": "virtualisation",
    "clocksource": "clock source",
    "open_files": "open files a process may have",
    "link_refusal": "emulated link",
}
_NEVER = ("architecture", "wirebench")
"""A fleet whose hosts differ in these cannot run the same builds in the same way."""


def differences(hosts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line for each thing in which not all hosts are alike: ``kernel: 6.1 on a, b; 6.8 on c``."""
    lines = []
    for key, name in _SAME.items():
        lines += _line(name, {host: one.get(key) for host, one in hosts.items()})
    for part in ("limits", "tools"):
        keys = sorted({key for one in hosts.values() for key in one.get(part) or {}} - {"cgroup"})
        for key in keys:
            found = {host: (one.get(part) or {}).get(key) for host, one in hosts.items()}
            lines += _line(key.replace("_", " "), found)
    return lines


def refusals(hosts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The differences that no run of one fleet may have."""
    return [
        line
        for key in _NEVER
        for line in _line(_SAME[key], {host: one.get(key) for host, one in hosts.items()})
    ]


def _line(name: str, found: Mapping[str, Any]) -> list[str]:
    by_value: dict[str, list[str]] = {}
    for host, value in sorted(found.items()):
        by_value.setdefault(_text(value), []).append(host)
    if len(by_value) < 2:
        return []
    return [
        f"{name}: " + "; ".join(f"{value} on {', '.join(on)}" for value, on in by_value.items())
    ]


def _text(value: Any) -> str:
    if value is None:
        return "unknown"
    return {"True": "yes", "False": "no"}.get(str(value), str(value))
