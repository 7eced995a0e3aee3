"""``wirebench new``: a copy of a contestant that works, to start from.

Which one is copied is a key of the language's ``language.toml``: ``example``. It is a contestant
like any other, so what is copied is built, verified and kept up to date with the rest.
"""

from __future__ import annotations

import difflib
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from wirebench.catalog import SCHEMES, WORKLOADS, CatalogError, find_root
from wirebench.catalog.contestants import CONTESTANTS
from wirebench.catalog.manifest import LANGUAGE, MANIFEST, read_contestant, read_language, read_toml
from wirebench.catalog.model import Contestant
from wirebench.cli.console import console
from wirebench.cli.show import toml_value

_EDIT = {
    "library": "EDIT: as its users call it",
    "version": "EDIT: the one that is pinned",
    "license": "EDIT: its SPDX name",
    "homepage": "EDIT",
    "tier": '"tuned" if a specialist wrote it',
    "serves": f"EDIT: any of {' '.join(WORKLOADS)}",
    "calls": f"EDIT: any of {' '.join(SCHEMES)}; without a client leave it out",
    "tls": "EDIT: whether the server speaks TLS when it is given a certificate",
    "processes": "EDIT: whether its threads above one are processes",
    "open_files": "EDIT: the most files that a process may open; with no such limit leave it out",
    "needs": "EDIT: what it is built with",
    "json": "EDIT: the JSON library of rest and ws.count",
}
"""The keys of a manifest that the copy keeps, in this order, and what to do about them."""
_TABLES = ("build", "run")
_LOCK_FILES = {
    "Cargo.lock": "cargo generate-lockfile",
    "go.sum": "go mod tidy",
    "package-lock.json": "npm install --package-lock-only",
}
"""The command that writes each lock file again. Builds refuse outdated ones."""


@dataclass(frozen=True, kw_only=True)
class Line:
    path: Path
    number: int
    text: str


def register(app: typer.Typer) -> None:
    app.command("new")(new)


def new(
    identity: Annotated[
        str,
        typer.Argument(
            metavar="LANG/NAME", help="Such as python/mine: the folder below contestants/."
        ),
    ],
) -> None:
    """Make a contestant: a copy of its language's example, and the lines to edit in it."""
    root = find_root()
    folder, example = create(root, identity)
    out = console()
    out.print(
        f"made [bold]{folder.relative_to(root)}[/], a copy of {example.identity} that works. "
        f"Edit its manifest, and the lines that name {example.library} or what it serves:",
        soft_wrap=True,
    )
    for line in edit_lines(folder, example):
        shown = f"  {line.path.relative_to(root)}:{line.number}: {line.text}"
        out.print(shown, markup=False, soft_wrap=True)
    for path in sorted(_files(folder)):
        if path.name in _LOCK_FILES:
            shown = f"  {path.relative_to(root)}: after a change of versions, run there:"
            out.print(f"{shown} {_LOCK_FILES[path.name]}", markup=False, soft_wrap=True)
    out.print(f"then: wirebench verify {identity}", markup=False)


def create(root: Path, identity: str) -> tuple[Path, Contestant]:
    """The new folder, whole or not at all, and the contestant it is a copy of."""
    match = re.fullmatch(r"([a-z0-9][a-z0-9_-]*)/([a-z0-9][a-z0-9_-]*)", identity)
    if match is None:
        raise CatalogError(
            f"{identity}: expected LANG/NAME of a-z, 0-9, '-' and '_', such as python/mine"
        )
    language, name = match[1], match[2]
    example = _example(root, language)
    folder = root / CONTESTANTS / language / name
    if folder.exists():
        raise CatalogError(
            f"{identity}: expected a new name, got one that is there: {folder.relative_to(root)}"
        )
    # Made under a name the catalog does not read, then renamed: an interruption leaves no half
    # contestant.
    with tempfile.TemporaryDirectory(prefix="_new-", dir=folder.parent) as scratch:
        made = Path(scratch) / name
        ignored = shutil.ignore_patterns("__pycache__", "node_modules", "target")
        shutil.copytree(example.folder, made, ignore=ignored)
        manifest = made / MANIFEST
        manifest.write_text(_manifest(read_toml(manifest), identity), encoding="utf-8")
        made.rename(folder)
    return folder, example


def edit_lines(folder: Path, example: Contestant) -> list[Line]:
    """The manifest's lines that say so, then those elsewhere that name the example's library, its
    version or a workload.
    """
    library = _naming(example)
    return [
        Line(path=path, number=number, text=re.sub(r"\s{2,}", "  ", line.strip()))
        for path in sorted(_files(folder), key=lambda path: (path.name != MANIFEST, path))
        if path.name not in _LOCK_FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if ("# EDIT" in line if path.name == MANIFEST else library.search(line))
    ]


def _files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _naming(example: Contestant) -> re.Pattern[str]:
    """``gorilla/websocket`` is also ``websocket.Upgrader``; that it is a library of Go says
    nothing.
    """
    words = set(re.findall(r"[a-z0-9]+", f"{example.library} {example.name}".lower()))
    words -= {example.language}
    exactly = "|".join(map(re.escape, (example.version, *WORKLOADS)))
    return re.compile(
        rf"(?<![a-z])({'|'.join(sorted(words))})(?![a-z])|{exactly}", flags=re.IGNORECASE
    )


def _manifest(example: dict[str, Any], identity: str) -> str:
    """The example's, without what is said of its library alone (``note`` and the like)."""
    kept = {**example, "library": identity.partition("/")[2], "tier": "idiomatic"}
    lines = [f"# `wirebench show {identity}` prints it with what it takes from ../{LANGUAGE}."]
    keys = [f"{key} = {toml_value(kept[key])}" for key in _EDIT if key in kept]
    width = min(max(map(len, keys)), 64)
    comments = [_EDIT[key] for key in _EDIT if key in kept]
    lines += [f"{key:<{width}}  # {said}" for key, said in zip(keys, comments, strict=True)]
    for table in _TABLES:
        if table in kept:
            lines += ["", f"[{table}]"]
            lines += [f"{key} = {toml_value(value)}" for key, value in kept[table].items()]
    return "\n".join(lines) + "\n"


def _example(root: Path, language: str) -> Contestant:
    folder = root / CONTESTANTS / language
    name = read_language(folder).get("example")
    if name is None:
        raise CatalogError(_no_example(root, language))
    if not (folder / name / MANIFEST).is_file():
        raise CatalogError(
            f"{folder / LANGUAGE}: example: expected a contestant of this language, got {name!r}"
        )
    return read_contestant(folder / name, root=root)


def _no_example(root: Path, language: str) -> str:
    known = [
        path.parent.name
        for path in sorted((root / CONTESTANTS).glob(f"*/{LANGUAGE}"))
        if "example" in read_language(path.parent)
    ]
    close = difflib.get_close_matches(language, known, n=1)
    hint = (
        f"did you mean {close[0]}?"
        if close
        else f"these have one: {', '.join(known) or 'no language'}"
    )
    return (
        f"{language}: expected a language with an example to copy "
        f"(`example` in {CONTESTANTS}/{language}/{LANGUAGE}), got none; {hint}"
    )
