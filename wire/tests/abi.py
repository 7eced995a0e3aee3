"""Compares what a shared wire exports with the list beside this file, abi.txt.

python abi.py LIBRARY            fails when a function or variable is missing or new, or when one
                                 that a public header declares is not exported
python abi.py LIBRARY --accept   writes the list anew

Beside the library must be libwire.a: what it defines and the library hides may lack WIRE_EXPORT.
Demangled, so a changed parameter shows as one removed and one added. Inline functions and what
compilers make of templates belong to the program that uses them, and are not compared.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LIST = Path(__file__).with_name("abi.txt")
# Code, read-only data, data, zeroed data: the letters of nm for what is defined once.
KINDS = frozenset("TRDB")


INCLUDE = Path(__file__).parents[1] / "include"
# Comments, strings, and what opens or closes a scope or may declare something.
TOKENS = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\])*" | (?<!\w)'(?:\\.|[^'\\])+' | \#(?:\\\n|[^\n])*
      | namespace\s+(?P<namespace>[\w:]+)\s*\{
      | \b(?:class|struct)\s+(?:\[\[\w+\]\]\s+)?(?:WIRE_EXPORT\s+)?(?P<class>\w+(?:::\w+)*)
        (?:\s+final)?\s*(?::[^;{]*)?\{
      | (?P<function>\w+)\s*\(
      | (?P<open>\{) | (?P<close>\})""",
    re.VERBOSE | re.DOTALL,
)


def exported(library: Path) -> list[str]:
    """wire's own symbols in the library, sorted, each once."""
    return sorted(_defined("-D", str(library)))


def _defined(*arguments: str) -> set[str]:
    """What nm says is defined once, demangled."""
    command = ["nm", "-C", "--defined-only", *arguments]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = set()
    for line in said.splitlines():
        words = line.split(" ", 2)
        if len(words) == 3 and words[1] in KINDS and "wire::" in words[2]:
            found.add(words[2])
    return {name for name in found if not name.startswith("__")}


def declared(header: str) -> Iterator[tuple[str, bool]]:
    """The qualified names of the classes (True) and functions (False) that a header declares."""
    scopes: list[str | None] = []  # None: of a function or an initialiser
    for token in TOKENS.finditer(header):
        inside = None not in scopes
        scope = "::".join(one for one in scopes if one)
        if token["namespace"]:
            scopes.append(token["namespace"])
        elif token["class"]:
            if inside:
                yield f"{scope}::{token['class']}", True
            scopes.append(token["class"])
        elif token["function"]:
            if inside:
                yield f"{scope}::{token['function']}", False
        elif token["open"]:
            scopes.append(None)
        elif token["close"] and scopes:
            scopes.pop()


def hidden(library: Path) -> list[str]:
    """What public headers declare and the archive defines, and the library does not export."""
    classes, functions = set(), set()
    for header in INCLUDE.rglob("*.hpp"):
        for name, is_class in declared(header.read_text(encoding="utf-8")):
            (classes if is_class else functions).add(name)
    missing = _defined(str(library.with_name("libwire.a"))) - set(exported(library))
    found = []
    for symbol in missing:
        name = re.match(r"[\w:~]+", symbol)
        if name is None or "::detail::" in name[0]:
            continue
        owner = name[0].rpartition("::")[0]
        if owner in classes or name[0] in functions:
            found.append(symbol)
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
    lacking = hidden(library)
    for name in lacking:
        print(f"declared by a public header, but without WIRE_EXPORT: {name}")
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
