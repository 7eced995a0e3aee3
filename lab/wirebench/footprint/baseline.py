"""What every program of a language has, whichever library it uses: shown once, nobody's cost."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirebench.footprint.model import Ask, FootprintError
from wirebench.footprint.sizes import size_of
from wirebench.host.commands import command_version, find_command


@dataclass(frozen=True, kw_only=True)
class Baseline:
    language: str
    text: str
    bytes: int | None


def baselines(languages: Sequence[str], ask: Ask) -> tuple[Baseline, ...]:
    found = []
    for language in dict.fromkeys(languages):
        look = _LOOKS.get(language)
        if look is None:
            continue
        try:
            text, size = look(ask)
        except (FootprintError, OSError) as error:
            text, size = f"not known: {error}", None
        found.append(Baseline(language=language, text=text, bytes=size))
    return tuple(found)


def _compiler(ask: Ask) -> tuple[str, int | None]:
    patterns = ["libc6", "libc6-dev", "libstdc++6", "libstdc++-*-dev", "libgcc-s1", "libgcc-*-dev"]
    format_ = "${db:Status-Status}\t${Package}\t${Installed-Size}\n"
    lines = ask(["dpkg-query", "-W", f"-f={format_}", *patterns]).splitlines()
    fields = [line.split("\t") for line in lines if line.startswith("installed\t")]
    sizes = {name: int(size) * 1024 for _, name, size in fields}
    version = command_version("g++") or "g++"
    return f"libc and libstdc++ with their headers ({version})", sum(sizes.values())


def _node(_ask: Ask) -> tuple[str, int | None]:
    return f"Node.js {command_version('node')}", _program("node")


def _python(_ask: Ask) -> tuple[str, int | None]:
    # That of the system, which makes the environments, and not the lab's own.
    program = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    left_out = ("dist-packages", "site-packages", "__pycache__")
    library = size_of(Path(sysconfig.get_path("stdlib")), without=left_out)
    own = size_of(program.resolve())
    total = library + own if library is not None and own is not None else None
    return f"{command_version('python3')} with its standard library", total


def _go(ask: Ask) -> tuple[str, int | None]:
    version, root = ask(["go", "env", "GOVERSION", "GOROOT"]).split()
    return f"{version} with its standard library", size_of(Path(root))


def _rust(ask: Ask) -> tuple[str, int | None]:
    root = Path(ask(["rustc", "--print", "sysroot"]).strip())
    return f"{command_version('rustc')} with its standard library", size_of(root)


def _java(_ask: Ask) -> tuple[str, int | None]:
    program = Path(find_command("java") or "java").resolve()
    return f"JDK ({command_version('java')})", size_of(program.parent.parent)


def _mono(_ask: Ask) -> tuple[str, int | None]:
    program = Path(find_command("mono") or "mono").resolve()
    own, library = size_of(program), size_of(program.parent.parent / "lib/mono")
    total = own + library if own is not None and library is not None else None
    return f"Mono with its class library ({command_version('mono')})", total


def _php(ask: Ask) -> tuple[str, int | None]:
    program = _program("php")
    extensions = size_of(Path(ask(["php", "-r", "echo PHP_EXTENSION_DIR;"]).strip()))
    # What is built into the program may be all that there is.
    total = program + (extensions or 0) if program is not None else None
    return f"{command_version('php')} with its extensions", total


def _bun(_ask: Ask) -> tuple[str, int | None]:
    return "Bun, which npm installs as a package", None


def _program(name: str) -> int | None:
    path = find_command(name)
    return size_of(Path(path).resolve()) if path is not None else None


_LOOKS: Mapping[str, Callable[[Ask], tuple[str, int | None]]] = {
    "bun": _bun,
    "c": _compiler,
    "cpp": _compiler,
    "csharp": _mono,
    "go": _go,
    "java": _java,
    "node": _node,
    "php": _php,
    "python": _python,
    "rust": _rust,
}
