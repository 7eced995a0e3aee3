"""The fingerprint of a host. It is stored with every run; figures of different hosts are not
compared.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wirebench.host.awake import can_keep_awake
from wirebench.host.commands import command_versions
from wirebench.host.limits import Limits, read_limits, read_text

SCHEMA = 1
_CPU = Path("/sys/devices/system/cpu")


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    schema: int = SCHEMA
    host_id: str
    """Identical for the same machine with the same processors, kernel, core-sleep setting and CPU
    quota.
    Reveals nothing else about it.
    """
    cpu_model: str
    cores: int
    """Hardware threads this process may run on."""
    smt: bool | None
    governor: str | None
    frequency_mhz: float | None
    turbo: bool | None
    cores_awake: bool
    """Whether idle cores are kept awake while something is measured."""
    memory_bytes: int
    kernel: str
    distribution: str
    architecture: str
    virtualisation: str | None
    clocksource: str | None
    limits: Limits
    tools: Mapping[str, str] = field(default_factory=dict)
    """The versions of the installed commands that contestants need."""

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        data["limits"]["cgroup"] = None if self.limits.cgroup is None else str(self.limits.cgroup)
        return data


def capture(commands: Iterable[str] = ()) -> Fingerprint:
    """The fingerprint of this host, with the versions of the given commands."""
    cpu = _cpu_fields()
    model = cpu.get("model name") or cpu.get("Model") or platform.processor() or "unknown"
    cores = len(os.sched_getaffinity(0))
    kernel = platform.release()
    awake = can_keep_awake()
    limits = read_limits()
    seed = "\n".join(
        [
            read_text(Path("/etc/machine-id")) or "",
            model,
            str(cores),
            kernel,
            *(["awake"] if awake else []),
            *([f"CPU quota {limits.cpu_quota:g}"] if limits.cpu_quota is not None else []),
        ]
    )
    return Fingerprint(
        host_id=hashlib.sha256(seed.encode()).hexdigest()[:12],
        cpu_model=model,
        cores=cores,
        smt=_flag(_CPU / "smt/active"),
        governor=read_text(_CPU / "cpu0/cpufreq/scaling_governor"),
        frequency_mhz=float(cpu["cpu MHz"]) if "cpu MHz" in cpu else None,
        turbo=_turbo(),
        cores_awake=awake,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=kernel,
        distribution=_distribution(),
        architecture=platform.machine(),
        virtualisation=_virtualisation(cpu),
        clocksource=read_text(
            Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        ),
        limits=limits,
        tools={
            name: version
            for name, version in command_versions(commands).items()
            if version is not None
        },
    )


def _cpu_fields() -> dict[str, str]:
    """The first processor of /proc/cpuinfo."""
    fields: dict[str, str] = {}
    for line in (read_text(Path("/proc/cpuinfo")) or "").splitlines():
        key, separator, value = line.partition(":")
        if separator:
            fields.setdefault(key.strip(), value.strip())
    return fields


def _flag(path: Path) -> bool | None:
    text = read_text(path)
    return None if text not in ("0", "1") else text == "1"


def _turbo() -> bool | None:
    forbidden = _flag(_CPU / "intel_pstate/no_turbo")
    return _flag(_CPU / "cpufreq/boost") if forbidden is None else not forbidden


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    except OSError:
        return "unknown"


def _virtualisation(cpu: Mapping[str, str]) -> str | None:
    """The hypervisor or container that the lab runs in, if the host reports one."""
    layers = []
    if "hypervisor" in cpu.get("flags", "").split():
        vendor = read_text(Path("/sys/class/dmi/id/sys_vendor"))
        product = read_text(Path("/sys/class/dmi/id/product_name"))
        layers.append(" ".join(text for text in (vendor, product) if text) or "virtual machine")
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        layers.append("container")
    return ", ".join(layers) or None
