"""What a C or C++ program takes to use a library: its headers, what is linked, the standard.

All by the contestant's source and by Ninja's file of its build.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from wirebench.footprint.model import FootprintError, Site, Using

_STANDARDS = ("11", "14", "17", "20", "23")
_TOOLCHAIN = ("libc6-dev", "linux-libc-dev", "libstdc++-*-dev", "libgcc-*-dev")
"""Debian's packages whose headers every program has."""
_NOBODYS = re.compile(r"(lib)?(c|m|dl|rt|pthread|stdc\+\+|gcc_s|atomic)")


def using_of(site: Site) -> Using:
    """Errors: ``FootprintError``."""
    program = Path(site.command[0]).name
    sources = sorted(site.contestant.folder.glob(f"{program}.c*"))
    if len(sources) != 1:
        raise FootprintError(f"expected one source of {program}, got {len(sources)}")
    try:
        build = (site.build / "build.ninja").read_text(encoding="utf-8")
        text = sources[0].read_text(encoding="utf-8")
    except OSError as error:
        raise FootprintError(f"{error.filename}: {error.strerror}") from error
    includes = tuple(one for one in included(text) if one not in _of_toolchain(site))
    return Using(
        includes=includes,
        links=tuple(linked(build, program)),
        standard=_standard(site, includes, build, program) if sources[0].suffix != ".c" else "C",
    )


def included(text: str) -> Iterator[str]:
    """The headers that a source names in angle brackets."""
    yield from re.findall(r"(?m)^\s*#\s*include\s*<([^>]+)>", text)


def linked(build: str, program: str) -> Iterator[str]:
    """The names of the libraries on the program's link line, by Ninja's file."""
    words = _variable(build, rf"build {re.escape(program)}:", "LINK_LIBRARIES")
    for word in shlex.split(words):
        name = word.removeprefix("-l") if word.startswith("-l") else _library(word)
        # Not the parts that the build makes itself.
        own = not word.startswith(("-l", "/"))
        if name and not own and _NOBODYS.fullmatch(name) is None:
            yield name


def _library(word: str) -> str:
    found = re.fullmatch(r"lib(.+?)\.(so|a)(\.\d+)*", Path(word).name)
    return found[1] if found is not None else ""


def _variable(build: str, statement: str, name: str) -> str:
    """A variable of the first build statement that matches; empty: it has none."""
    block = re.search(rf"(?m)^{statement}.*\n((?: +.*\n)*)", build)
    found = re.search(rf"(?m)^ +{name} = (.*)$", block[1]) if block is not None else None
    return found[1].strip() if found is not None else ""


def _of_toolchain(site: Site) -> Collection[str]:
    """Headers of the C library, the kernel and the compiler, as sources name them."""
    shown = site.ask(["dpkg-query", "-W", "-f", "${Package}\n", *_TOOLCHAIN]).split()
    files = site.ask(["dpkg-query", "-L", *shown]).splitlines()
    folder = re.compile(r"/usr/(?:lib/gcc/[^/]+/\d+/)?include/(?:c\+\+/\d+/|[^/]+-linux-gnu/)?")
    return frozenset(folder.sub("", one, count=1) for one in files if folder.match(one))


def _standard(site: Site, includes: tuple[str, ...], build: str, program: str) -> str:
    """Empty: it compiles with none of them."""
    statement = rf"build CMakeFiles/{re.escape(program)}\.dir/"
    flags = [
        *shlex.split(_variable(build, statement, "DEFINES")),
        *shlex.split(_variable(build, statement, "INCLUDES")),
    ]
    with tempfile.TemporaryDirectory(prefix="wirebench-include-") as folder:
        source = Path(folder) / "only.cpp"
        source.write_text("".join(f"#include <{one}>\n" for one in includes), encoding="utf-8")
        for standard in _STANDARDS:
            argv = ["g++", f"-std=c++{standard}", "-w", "-fsyntax-only", *flags, str(source)]
            try:
                site.ask(argv)
            except FootprintError:
                continue
            return f"C++{standard}"
    return ""
