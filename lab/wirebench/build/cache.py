"""When a build can be reused: as long as all its inputs are the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from wirebench.catalog import Contestant
from wirebench.catalog.manifest import LANGUAGE
from wirebench.host.installed import Presence

COMPILER_VARIABLES = (
    "CC",
    "CFLAGS",
    "CGO_CFLAGS",
    "CGO_CXXFLAGS",
    "CGO_LDFLAGS",
    "CMAKE_TOOLCHAIN_FILE",
    "CPATH",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "GOAMD64",
    "GOFLAGS",
    "LDFLAGS",
    "LIBRARY_PATH",
    "RUSTFLAGS",
)
"""From these compilers and build systems take which compiler it is, and options for it."""
_IGNORED = frozenset({"__pycache__", ".DS_Store"})


def content_digest(path: Path) -> str:
    """A digest of a file, or of every file below a folder: names, contents and whether it is
    executable. A link is followed; those below a folder count as links. Of sockets, pipes and
    devices the name counts alone: opening one may fail, or wait for ever. ``OSError`` where a file
    may not be read.
    """
    path = path.resolve()
    digest = hashlib.sha256()
    for file in files_below(path):
        name = os.fsencode(file.relative_to(path)) if file != path else b""
        if file.is_symlink():
            kind, content = b"link", os.fsencode(file.readlink())
        elif not file.is_file():
            kind, content = b"special", b""
        else:
            kind, content = (b"run" if os.access(file, os.X_OK) else b"file"), file.read_bytes()
        # Lengths first, so that different trees give different bytes.
        digest.update(b"%s %d %d\n" % (kind, len(name), len(content)) + name + content)
    return digest.hexdigest()


def files_below(path: Path) -> Iterator[Path]:
    """The file, or every file and link below the folder but those that are ignored."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _IGNORED)
        links = [name for name in folders if Path(folder, name).is_symlink()]
        yield from (Path(folder, name) for name in sorted([*files, *links]) if name not in _IGNORED)


def source_digest(contestant: Contestant, root: Path) -> str:
    """A digest of all the files that a contestant is built from."""
    parts = [content_digest(contestant.folder)]
    language = contestant.folder.parent / LANGUAGE
    parts.append(content_digest(language) if language.is_file() else "-")
    parts += [f"{given} {content_digest(root / given)}" for given in contestant.build_inputs]
    return _digest(parts)


def build_key(contestant: Contestant, root: Path, found: Presence) -> str:
    """Twelve hexadecimal digits that change when a rebuild is due: sources, tools, system packages,
    files that no package brings or variables that compilers read changed.
    """
    tools = [
        f"{name} {version}" for name, version in sorted((found.commands | found.packages).items())
    ]
    for name, path in sorted(found.files.items()):
        status = path.stat()
        tools.append(f"{name} {path} {status.st_size} {status.st_mtime_ns}")
    tools += [f"{name}={value}" for name in COMPILER_VARIABLES if (value := os.environ.get(name))]
    # The root is included: virtual environments, for one, contain absolute paths.
    return _digest([source_digest(contestant, root), str(root), *tools])[:12]


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
