"""The documentation site, built by docs/build.py: Sphinx reads the Markdown where it is.

The pages contain no directives of Sphinx, so that they read well in the repository. The table of
contents is here.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent

project = "wirebench"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "version"
]
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/decisions/*.md",
    "wire/*.md",
    "wire/docs/decisions/*.md",
    "wirelink/*.md",
    "wireload/*.md",
    "wireload/truth/*.md",
]
exclude_patterns = [".*", "build", "results", "dist", "**/node_modules", "**/target"]

myst_heading_anchors = 3
nitpicky = True
suppress_warnings = ["myst.header", "toc.not_included"]

html_theme = "furo"
html_title = "wirebench"
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"top_of_page_buttons": []}

CONTENTS = (
    (
        "Guides",
        (
            "wireload/README",
            "wirelink/README",
            "docs/gate",
            "docs/scale",
            "wire/README",
            "wire/MIGRATING",
            "wireload/truth/README",
        ),
    ),
    ("The project", ("ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    (
        "Reference",
        (
            "docs/reference",
            "docs/conformance",
            "docs/decisions/README",
            "wire/docs/decisions/README",
        ),
    ),
)
DECISIONS = ("docs/decisions/README", "wire/docs/decisions/README")
# HTML, since Doxygen's pages come after Sphinx has checked its links.
REFERENCE = '\n<p><a href="../wire-reference/index.html">The reference of wire’s headers</a></p>\n'


def _toctree(caption: str, pages: tuple[str, ...]) -> str:
    lines = "\n".join(f"/{page}" for page in pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n{lines}\n```\n"


def _add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Adds to a page what only the site has."""
    if page == root_doc:
        source[0] += "".join(_toctree(caption, pages) for caption, pages in CONTENTS)
    if page in DECISIONS:
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n[0-9]*\n```\n"
    if page == "docs/reference" and os.environ.get("WIRE_REFERENCE"):
        title, _, rest = source[0].partition("\n")
        source[0] = f"{title}\n{REFERENCE}{rest}"


def setup(app: Sphinx) -> None:
    app.connect("source-read", _add_contents)
