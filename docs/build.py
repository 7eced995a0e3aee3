"""Builds the documentation site and checks it: ``python docs/build.py``, without the network.

The site is ``build/docs/site/index.html``. A broken link, a picture that does not belong to its
source, a decision without its parts or a long line fails the build.

Exit codes: 0 built, 1 something is wrong, 69 a package is missing (printed with the line that
installs it; ``--install`` runs it).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent / "pictures"))
import draw

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "docs"
SITE = OUT / "site"
WIRE = ROOT / "wire"
MISSING = 69

MODULES = ("sphinx", "myst_parser", "furo")
DECISIONS = (ROOT / "docs" / "decisions", WIRE / "docs" / "decisions")
PARTS = ("Context", "Decision", "Cost", "When to look again")
COLUMNS = 100


# --- what needs no generator ----------------------------------------------------------------------


def pages() -> list[Path]:
    """Every Markdown page of the project."""
    return sorted(
        page
        for pattern in ("*.md", ".github/**/*.md", "docs/**/*.md", "wire*/**/*.md")
        for page in ROOT.glob(pattern)
    )


def long_lines() -> Iterator[str]:
    """Lines over 100 columns; rows of tables may be longer."""
    for page in pages():
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > COLUMNS and not line.startswith("|"):
                yield f"{page.relative_to(ROOT)}:{number}: {len(line)} columns, at most {COLUMNS}"


def incomplete_decisions() -> Iterator[str]:
    """Decisions that lack a part, a number of their own or a row in the index."""
    for folder in DECISIONS:
        index = (folder / "README.md").read_text(encoding="utf-8")
        for page in sorted(folder.glob("[0-9]*.md")):
            text, name = page.read_text(encoding="utf-8"), page.relative_to(ROOT)
            if not text.startswith(f"# {int(page.name[:3])}. "):
                yield f"{name}: expected the title to begin with the number of the file"
            if re.findall(r"^## (.+)$", text, re.MULTILINE) != list(PARTS):
                yield f"{name}: expected the parts {', '.join(PARTS)}"
            if f"]({page.name})" not in index:
                yield f"{name}: not in {folder.relative_to(ROOT)}/README.md"


# --- the reference --------------------------------------------------------------------------------


def wire_reference() -> Path | None:
    """Doxygen's pages of wire's headers, or None where Doxygen is not installed. Warnings fail."""
    doxygen = shutil.which("doxygen")
    if doxygen is None:
        print("doxygen is not installed: the site has no reference of wire's headers")
        return None
    work = OUT / "wire"
    work.mkdir(parents=True, exist_ok=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # What wire/docs/docs.cmake would fill in.
    values = {
        "PROJECT_VERSION": project["version"],
        "CMAKE_CURRENT_BINARY_DIR": str(work),
        "CMAKE_CURRENT_SOURCE_DIR": str(WIRE),
        "Python3_EXECUTABLE": sys.executable,
    }
    template = (WIRE / "docs" / "Doxyfile.in").read_text(encoding="utf-8")
    (work / "Doxyfile").write_text(
        re.sub(r"@(\w+)@", lambda found: values[found[1]], template), encoding="utf-8"
    )
    subprocess.run([doxygen, str(work / "Doxyfile")], cwd=WIRE, check=True)
    return work / "docs" / "html"


# --- the site -------------------------------------------------------------------------------------


def build_site(reference: Path | None) -> None:
    """Sphinx, any warning an error, then Doxygen's pages beside it."""
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-E"]
    command += ["-c", str(ROOT / "docs"), "-d", str(OUT / "doctrees"), str(ROOT), str(SITE)]
    environment = {**os.environ, "WIRE_REFERENCE": "1" if reference else ""}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    if reference is not None:
        shutil.copytree(reference, SITE / "wire-reference")
    (SITE / "index.html").write_text(
        '<!doctype html><meta charset="utf-8"><title>wirebench</title>'
        '<meta http-equiv="refresh" content="0; url=README.html">'
        '<a href="README.html">wirebench</a>\n',
        encoding="utf-8",
    )


class _Page(HTMLParser):
    """What a page points to, and the names of its parts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.targets.append(given["href"])
        if tag in ("img", "script", "link"):
            self.loaded.append(given.get("src") or given.get("href", ""))


def broken_links() -> Iterator[str]:
    """Links inside the site that lead nowhere, and anything that would need the network."""
    # Doxygen checks its own pages.
    own = [page for page in SITE.rglob("*.html") if "wire-reference" not in page.parts]
    known = {page: _Page(page.read_text(encoding="utf-8")) for page in own}
    for page, content in known.items():
        for target in (*content.targets, *content.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in content.loaded:
                    yield f"{page.relative_to(SITE)}: loads {target}"
                continue
            to = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not to.exists():
                yield f"{page.relative_to(SITE)}: {target} is not there"
            elif parts.fragment and to in known and parts.fragment not in known[to].names:
                yield f"{page.relative_to(SITE)}: {target} has no such part"


def install_line() -> list[str]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["optional-dependencies"]["docs"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    return [*pip, "-c", str(ROOT / "lab" / "constraints.txt"), *wanted]


def main() -> int:
    if all(importlib.util.find_spec(module) for module in MODULES):
        pass
    elif "--install" in sys.argv[1:]:
        subprocess.run(install_line(), cwd=ROOT, check=True)
    else:
        print(f"docs/build.py needs {', '.join(MODULES)}; install them with:", file=sys.stderr)
        print(f"  {shlex.join(install_line())}", file=sys.stderr)
        return MISSING
    wrong = [*draw.stale(), *incomplete_decisions(), *long_lines()]
    try:
        build_site(wire_reference())
        wrong += broken_links()
    except subprocess.CalledProcessError as error:
        wrong.append(f"{Path(error.cmd[0]).name} exited with {error.returncode}")
    for message in wrong:
        print(message)
    print(f"{(SITE / 'index.html').relative_to(ROOT)}: {len(wrong) or 'no'} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
