"""``wirebench new``: a working contestant to start from."""

from __future__ import annotations

import difflib
import re
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from wirebench.catalog import CatalogError, find_root
from wirebench.cli.console import console

_TEMPLATE = "_template"
_NAME_MARK = "@NAME@"
_EDIT_MARK = re.compile(r"(#|//|<!--)\s*EDIT\b")
"""The comment that templates have on the lines that a new contestant changes."""


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
    """Make a contestant: a copy of its language's working template, and what to edit in it."""
    root = find_root()
    folder = create(root, identity)
    shown = folder.relative_to(root)
    out = console()
    out.print(f"made [bold]{shown}[/], a working contestant. Edit:")
    for path, number, text in edit_lines(folder):
        out.print(f"  {path.relative_to(root)}:{number}: {text}", markup=False, soft_wrap=True)
    out.print(f"then: wirebench verify {identity}", markup=False)


def create(root: Path, identity: str) -> Path:
    """The new folder, whole or not at all."""
    match = re.fullmatch(r"([a-z0-9][a-z0-9_-]*)/([a-z0-9][a-z0-9_-]*)", identity)
    if match is None:
        raise CatalogError(
            f"{identity}: expected LANG/NAME of a-z, 0-9, '-' and '_', such as python/mine"
        )
    language, name = match[1], match[2]
    template = root / "contestants" / language / _TEMPLATE
    if not template.is_dir():
        raise CatalogError(_no_template(root, language))
    folder = root / "contestants" / language / name
    if folder.exists():
        raise CatalogError(
            f"{identity}: expected a new name, got one that is there: {folder.relative_to(root)}"
        )
    # Made under a name the catalog does not read, then renamed: an interruption leaves no half
    # contestant.
    with tempfile.TemporaryDirectory(prefix="_new-", dir=folder.parent) as scratch:
        made = Path(scratch) / name
        shutil.copytree(
            template, made, ignore=shutil.ignore_patterns("__pycache__", "node_modules", "target")
        )
        for path in sorted(made.rglob("*")):
            if path.is_file() and not path.is_symlink():
                _fill(path, name)
        made.rename(folder)
    return folder


def edit_lines(folder: Path) -> list[tuple[Path, int, str]]:
    """The lines that say what to edit, the manifest's first."""
    found = []
    for path in sorted(folder.rglob("*"), key=lambda path: (path.name != "manifest.toml", path)):
        if path.is_file():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            found += [
                (path, number, line.strip())
                for number, line in enumerate(lines, 1)
                if _EDIT_MARK.search(line)
            ]
    return found


def _fill(path: Path, name: str) -> None:
    content = path.read_bytes()
    filled = content.replace(_NAME_MARK.encode(), name.encode())
    if filled != content:
        path.write_bytes(filled)


def _no_template(root: Path, language: str) -> str:
    known = sorted(path.parent.name for path in (root / "contestants").glob(f"*/{_TEMPLATE}"))
    close = difflib.get_close_matches(language, known, n=1)
    hint = (
        f"did you mean {close[0]}?"
        if close
        else f"there are templates for {', '.join(known) or 'no language'}"
    )
    return f"{language}: expected a language with a template (contestants/{language}/{_TEMPLATE}), got none; {hint}"
