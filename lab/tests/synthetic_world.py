"""What made-up runs are made from: who takes part, and what each costs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from wirebench.catalog.loads import (
    ClientLoad,
)
from wirebench.catalog.studies import Cell, Study
from wirebench.catalog.study_files import load_studies

ROOT = Path(__file__).resolve().parents[2]
FLOOR = "cpp/floor"
HOSTILE = (
    "HTTP/1.1 200 OK\r\n\r\n</script><script>document.title='owned'</script><img src=x"
    " onerror=alert(1)>"
)

# Seconds of server time per request over the floor's.
COSTS: Mapping[str, Mapping[str, float]] = {
    "concurrency": {
        FLOOR: 1.0,
        "go/net-http": 2.1,
        "rust/axum": 1.22,
        "rust/hyper": 1.22,
        "c/libevent": 1.9,
        "node/http": 6.0,
        "python/aiohttp": 12.0,
        "python/flask": 70.0,
        "java/broken": 3.0,
    },
    "rest": {
        FLOOR: 1.0,
        "cpp/cpp-httplib": 3.4,
        "go/net-http": 2.2,
        "rust/axum": 1.9,
        "node/http": 4.1,
        "python/aiohttp": 9.0,
        "python/flask": 30.0,
    },
    "websocket": {
        FLOOR: 1.0,
        "c/libwebsockets": 1.9,
        "go/gorilla-websocket": 2.3,
        "rust/tokio-tungstenite": 2.0,
        "node/ws": 5.0,
        "python/websockets": 14.0,
        "java/java-websocket": 3.5,
    },
    "roundtrip": {
        FLOOR: 1.0,
        "cpp/libcurl": 1.15,
        "go/net-http": 1.4,
        "python/aiohttp": 4.0,
        "node/http": 2.5,
    },
}
WS_CLIENTS = {
    FLOOR: 1.0,
    "cpp/websocketpp": 1.3,
    "go/gorilla-websocket": 1.3,
    "python/websockets": 3.2,
    "node/ws": 1.8,
}


@dataclass(frozen=True, kw_only=True)
class World:
    seed: int = 7
    blocks: int = 6
    noise: float = 0.01
    """Standard deviation of a trial's own luck, in log terms."""
    block_noise: float = 0.10
    repeats: int = 1
    """The blocks are spread over so many repeats, in order."""
    run_noise: float = 0.0
    """Standard deviation of what an entry's cost differs by from repeat to repeat, in log terms."""
    intervals: int = 20
    host_id: str = "0123456789ab"
    started_unix_ns: int = 1_769_862_605_000_000_000
    studies: tuple[str, ...] = ("roundtrip", "concurrency", "rest", "websocket")
    samples: int = 400
    preset: str = "quick"
    generator_per_s: float = 100_000
    """Requests/s at which the generator is at its limit. It does not show in the figures."""
    scale: Mapping[str, float] | None = None
    """Cost of an entry times this, in every study."""
    cells: Mapping[str, tuple[Cell, ...]] | None = None
    """By study, in place of those of the preset."""
    costs: Mapping[str, Mapping[str, float]] | None = None
    """By study, in place of ``COSTS`` and ``WS_CLIENTS``."""
    failing: Collection[str] = ()
    """Contestants whose trial fails in the second block of every cell."""


def studies() -> dict[str, Study]:
    return load_studies(ROOT / "studies")


def costs_of(world: World, study: str, cell: Cell) -> Mapping[str, float]:
    if world.costs is not None:
        return world.costs[study]
    if isinstance(cell.load, ClientLoad) and cell.load.scheme in ("ws", "wss"):
        return WS_CLIENTS
    return COSTS[study]
