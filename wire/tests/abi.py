"""Compares what a shared wire exports with the list beside this file, abi.txt.

python abi.py LIBRARY            fails when a function or variable is missing or new
python abi.py LIBRARY --accept   writes the list anew

Demangled, so a changed parameter shows as one removed and one added. Inline functions and what
compilers make of templates belong to the program that uses them, and are not compared.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LIST = Path(__file__).with_name("abi.txt")
# Code, read-only data, data, zeroed data: the letters of nm for what is defined once.
KINDS = frozenset("TRDB")


def exported(library: Path) -> list[str]:
    """wire's own symbols in the library, sorted, each once."""
    command = ["nm", "-D", "-C", "--defined-only", str(library)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = set()
    for line in said.splitlines():
        _, kind, name = line.split(" ", 2)
        if kind in KINDS and "wire::" in name and not name.startswith("__"):
            found.add(name)
    return sorted(found)


def main(arguments: list[str]) -> int:
    if not arguments or arguments[1:] not in ([], ["--accept"]):
        print(__doc__, file=sys.stderr)
        return 64
    library = Path(arguments[0])
    now = exported(library)
    if arguments[1:]:
        LIST.write_text("".join(f"{name}\n" for name in now), encoding="utf-8")
        return 0
    before = LIST.read_text(encoding="utf-8").splitlines()
    removed = [name for name in before if name not in set(now)]
    added = [name for name in now if name not in set(before)]
    for change, names in (("removed", removed), ("added", added)):
        for name in names:
            print(f"{change}: {name}")
    if removed or added:
        print(
            f"libwire.so exports {len(removed)} symbols fewer and {len(added)} more than abi.txt"
            f" says. To accept that: python {sys.argv[0]} {library} --accept"
        )
        return 1
    print(f"{len(now)} exported symbols, as listed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
