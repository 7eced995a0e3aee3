"""Made-up footprints."""

from __future__ import annotations

import datetime
from typing import Any

from wirebench.footprint.model import Footprint, Package, Piece


def package(name: str, **more: Any) -> Package:
    values = {"licence": "MIT", "download_bytes": 1000, "installed_bytes": 2000, "version": "1.0"}
    return Package(**{"key": name, "name": name, **values, **more})


def footprint(name: str = "cpp/mine", **more: Any) -> Footprint:
    values: dict[str, Any] = {
        "library": "mine",
        "version": "1.0",
        "licence": "MIT",
        "key": "k",
        "role": "server",
        "measured_unix_ns": 1,
        "host_id": "h",
        "jobs": 2,
        "released": datetime.date(2025, 11, 24),
        "manager": "Debian",
        "packages": (package("a", direct=True), package("b"), package("c", part="json")),
        "header_only": True,
        "build_wall_ns": 2_000_000_000,
        "build_cpu_ns": 3_000_000_000,
        "rebuild_wall_ns": 1_000_000_000,
        "rebuild_cpu_ns": 1_000_000_000,
        "touched": "server.cpp",
        "pieces": (Piece(name="server, stripped", bytes=1024), Piece(name="liba.so", bytes=1024)),
        "first_reply_ns": 3_000_000,
        "idle_bytes": 2**20,
        "features": (),
        "using": None,
    }
    return Footprint(contestant=name, **{**values, **more})
