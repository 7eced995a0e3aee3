"""Memory per connection as text: one small table for each set of rungs."""

from __future__ import annotations

from wirebench.catalog.units import BYTES, scaled
from wirebench.report.figures import names
from wirebench.stats.types import BlockMedian, MemoryTable


def slope_text(slope: BlockMedian | None) -> str:
    """``5.50 KiB [5.41 KiB, 5.62 KiB]``."""
    if slope is None:
        return ""
    text = scaled(slope.estimate, BYTES)
    if slope.low is None or slope.high is None:
        return text
    return f"{text} [{scaled(slope.low, BYTES)}, {scaled(slope.high, BYTES)}]"


def heading(table: MemoryTable) -> str:
    """Which cells a table of memory per connection comes from."""
    over = f"{names([f'{one:,}' for one in table.connections])} connections"
    over += " that are idle" if table.in_flight == 0 else ""
    over += " over TLS" if table.tls else ""
    over += f", {table.in_flight} in flight on each" if table.in_flight > 1 else ""
    over += ", all cores" if table.all_cores else ""
    over += f", {table.processes} processes for each server" if table.processes > 1 else ""
    return f"Memory per connection, the slope over {over}"


def basis(table: MemoryTable) -> str:
    own = (
        "PSS (private pages, and its part of shared ones)"
        if table.measure == "PSS"
        else "RSS (this kernel tells no PSS, so shared pages count in full)"
    )
    kernel = (
        "its cgroup's kernel memory"
        if table.kernel_of == "server"
        else "the growth of the whole host's unreclaimable slabs, both ends of each connection"
    )
    return f"Server: {own}. Kernel: {kernel}. Median over the blocks, with the 95% interval."


def rows(table: MemoryTable) -> list[tuple[str, str, str]]:
    """Entry, the server's part and the kernel's, least memory first; without those of no slope."""
    known = [(one.own.estimate, name, one) for name, one in table.entries.items() if one.own]
    return [
        (name, slope_text(one.own), slope_text(one.kernel))
        for _, name, one in sorted(known, key=lambda row: row[:2])
    ]
