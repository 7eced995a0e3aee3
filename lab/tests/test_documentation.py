"""What the Markdown files say: lines for the shell work in zsh too, and the manual of manifests is
complete.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wirebench.catalog.manifest import _Needs

ROOT = Path(__file__).resolve().parents[2]
SHELL = re.compile(r"^ *```sh\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|#.*")
PAGES = [
    path
    for pattern in ("*.md", "docs/*.md", "wire*/**/*.md")
    for path in sorted(ROOT.glob(pattern))
    if SHELL.search(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_for_the_shell_quote_their_globs(page: Path) -> None:
    """zsh refuses a command with a glob that matches no file."""
    lines = "".join(SHELL.findall(page.read_text(encoding="utf-8"))).splitlines()
    assert [line for line in lines if "*" in QUOTED.sub("", line)] == []


def test_every_kind_of_need_is_in_the_manual() -> None:
    manual = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^needs +=.*$", manual, re.MULTILINE)
    assert [name for name in _Needs.model_fields if f"{name} = [" not in example] == []
