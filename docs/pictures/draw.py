"""Draws each .dot file here as an SVG: ``python docs/pictures/draw.py`` (needs Graphviz).

The SVG names the SHA-256 of its source. ``stale()`` compares these, so a check that SVG and source
belong together needs no Graphviz and does not depend on its version.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
STAMP = re.compile(r"<!-- drawn from \S+ with SHA-256 ([0-9a-f]{64}) -->")


def digest(source: Path) -> str:
    return hashlib.sha256(source.read_bytes()).hexdigest()


def stale() -> list[str]:
    """A message for each source whose SVG is missing or was drawn from something else."""
    found = []
    for source in sorted(HERE.glob("*.dot")):
        picture = source.with_suffix(".svg")
        stamp = STAMP.search(picture.read_text(encoding="utf-8")) if picture.exists() else None
        if stamp is None or stamp[1] != digest(source):
            found.append(
                f"docs/pictures/{picture.name}: not drawn from the present {source.name}; "
                "run: python docs/pictures/draw.py"
            )
    return found


def main() -> int:
    if shutil.which("dot") is None:
        print("draw.py: needs Graphviz: apt-get install -y graphviz", file=sys.stderr)
        return 69
    for source in sorted(HERE.glob("*.dot")):
        drawn = subprocess.run(
            ["dot", "-Tsvg", str(source)], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        stamp = f"<!-- drawn from {source.name} with SHA-256 {digest(source)} -->"
        source.with_suffix(".svg").write_text(
            drawn.replace("<svg ", f"{stamp}\n<svg ", 1), encoding="utf-8"
        )
        print(f"docs/pictures/{source.stem}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
