"""What one ships of a compiled program: the program itself, stripped, and the shared libraries that
the system does not have anyway.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from wirebench.footprint.model import FootprintError, Piece, Site

_RUNTIME = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s|atomic))\.so.*")
"""glibc's, and the compiler's."""


def pieces(
    site: Site, *, common: Callable[[Sequence[Path]], Collection[Path]] = lambda _paths: ()
) -> tuple[Piece, ...]:
    """``common``: which of these libraries every system has."""
    program = Path(site.command[0])
    if not program.is_file() or not program.is_relative_to(site.build):
        raise FootprintError(f"it is started by {site.command[0]}, not by a program that it builds")
    with tempfile.TemporaryDirectory(prefix="wirebench-strip-") as folder:
        stripped = Path(folder) / "program"
        site.ask(["strip", "-o", str(stripped), str(program)])
        size = stripped.stat().st_size
    found = list(shared_libraries(site.ask(["ldd", str(program)])))
    left_out = common(found)
    libraries = [
        Piece(name=path.name, bytes=path.resolve().stat().st_size)
        for path in found
        if path not in left_out
    ]
    return (Piece(name=f"{program.name}, stripped", bytes=size), *libraries)


def shared_libraries(text: str) -> Iterator[Path]:
    """By what ldd prints, without those of the C library and the compiler."""
    for line in text.splitlines():
        found = re.search(r"=> (/\S+) \(", line)
        if found is not None and _RUNTIME.fullmatch(Path(found[1]).name) is None:
            yield Path(found[1])
