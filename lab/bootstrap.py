"""Makes ``.venv`` with the lab and the native programs, if what they are made from changed; then
runs ``.venv/bin/wirebench``.

Standard library only, and quick when there is nothing to do: it runs before every command. With
WIREBENCH_LAB_ONLY=1 in its environment it leaves the native programs out: ``./test`` makes those it
needs itself. Exit codes of its own: 69 (EX_UNAVAILABLE) when system packages are missing and we may
not install them, 70 when an installation failed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "wirebench.stamp"
LOG = ROOT / "build" / "bootstrap.log"
CONSTRAINTS = ROOT / "lab" / "constraints.txt"
NATIVE = ("CMakeLists.txt", "cmake", "wire", "wireload", "wirelink")
PROGRAMS: tuple[str, ...] = ("wirebench", "wireload", "wirelink", "truth_server")
LAB_ONLY = os.environ.get("WIREBENCH_LAB_ONLY") == "1"

MISSING = 69
BROKEN = 70
INTERRUPTED = 130

SYSTEM = (
    # What must be there (a command, or a header), and the Debian package that brings it.
    ("g++", "g++"),
    ("cmake", "cmake"),
    ("ninja", "ninja-build"),
    ("pkg-config", "pkg-config"),
    ("setpriv", "util-linux"),
    ("openssl", "openssl"),
    ("openssl/ssl.h", "libssl-dev"),
    ("zlib.h", "zlib1g-dev"),
    ("brotli/decode.h", "libbrotli-dev"),
    ("zstd.h", "libzstd-dev"),
    ("CLI/CLI.hpp", "libcli11-dev"),
    ("fmt/core.h", "libfmt-dev"),
    ("nlohmann/json.hpp", "nlohmann-json3-dev"),
    ("rapidjson/document.h", "rapidjson-dev"),  # for the floor, which is in every run
    ("re2/re2.h", "libre2-dev"),
)


def main() -> NoReturn:
    if not up_to_date():
        make()
    os.environ.setdefault("WIREBENCH_ROOT", str(ROOT))
    program = str(VENV / "bin" / "wirebench")
    os.execv(program, [program, *sys.argv[1:]])


# --- what it is made from -------------------------------------------------------------------------


def wanted_stamp() -> dict[str, str]:
    """What the environment is made from. Parts of it are made again when their part of this
    changes.
    """
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    # Not the settings of linters and the like.
    recipe = [project["build-system"], project["project"], project["tool"]["scikit-build"]]
    return {
        # Programs in the environment hold its absolute path.
        "root": str(ROOT),
        "python": _digest([json.dumps(recipe, sort_keys=True).encode(), CONSTRAINTS.read_bytes()]),
        "native": _digest(_native_contents()),
    }


def up_to_date() -> bool:
    stamp, wanted = _read_stamp(), wanted_stamp()
    names = PROGRAMS
    if LAB_ONLY:
        stamp.pop("native", None)
        del wanted["native"]
        names = PROGRAMS[:1]
    return stamp == wanted and all((VENV / "bin" / name).exists() for name in names)


def _read_stamp() -> dict[str, str]:
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def _native_contents() -> Iterator[bytes]:
    for name in NATIVE:
        top = ROOT / name
        if not top.is_dir():
            yield from _content(top)
            continue
        for folder, folders, files in os.walk(top):
            folders[:] = sorted(part for part in folders if part not in ("tests", "fuzz"))
            for file in sorted(files):
                if not file.endswith(("_test.cpp", ".md")):
                    yield from _content(Path(folder, file))


def _content(path: Path) -> Iterator[bytes]:
    if path.is_file():
        yield os.fsencode(path.relative_to(ROOT))
        yield path.read_bytes()


def _digest(parts: Iterator[bytes] | list[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d\n" % len(part) + part)
    return digest.hexdigest()


# --- making it ------------------------------------------------------------------------------------


def make() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    LOG.parent.mkdir(exist_ok=True)
    try:
        with (LOG.parent / ".bootstrap.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                say("waiting for another wirebench that is making the environment")
                fcntl.flock(lock, fcntl.LOCK_EX)
            if not up_to_date():
                LOG.write_text("", encoding="utf-8")
                install_system_packages(missing_system_packages())
                make_environment()
    except KeyboardInterrupt:
        say("interrupted; the next start goes on")
        sys.exit(INTERRUPTED)


def missing_system_packages() -> list[str]:
    missing = [package for probe, package in SYSTEM if not _is_here(probe)]
    # Debian keeps this part of Python in a package of its own; in a virtual environment it was
    # there already.
    if (
        subprocess.run(
            [sys.executable, "-I", "-c", "import venv, ensurepip"], capture_output=True, check=False
        ).returncode
        != 0
    ):
        missing.insert(0, _venv_package())
    return missing


def _venv_package() -> str:
    if Path(sys.executable).resolve() == Path("/usr/bin/python3").resolve():
        return "python3-venv"
    return f"python{sys.version_info.major}.{sys.version_info.minor}-venv"


def _is_here(probe: str) -> bool:
    if probe.endswith((".h", ".hpp")):
        # Debian keeps headers that differ by architecture one folder deeper.
        folders = [
            Path("/usr/include"),
            Path("/usr/local/include"),
            *Path("/usr/include").glob("*-linux-gnu*"),
        ]
        return any((folder / probe).exists() for folder in folders)
    return shutil.which(probe) is not None


def install_system_packages(packages: list[str]) -> None:
    if not packages:
        return
    names = " ".join(packages)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        line = f"sudo apt-get update && sudo apt-get install -y --no-install-recommends {names}"
        say(f"needs these Debian packages: {names}\nInstall them with:\n  {line}\nand start again.")
        sys.exit(MISSING)
    say(f"installing Debian packages: {names}")
    # dpkg wants the system's folders in PATH, which root has not always.
    path = os.environ["PATH"] + ":/usr/local/sbin:/usr/sbin:/sbin"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "PATH": path}
    apt = ["apt-get", "-o", "DPkg::Lock::Timeout=300"]
    run([*apt, "update"], env=environment, may_fail=True)
    run([*apt, "install", "-y", "--no-install-recommends", *packages], env=environment)


def make_environment() -> None:
    before, wanted = _read_stamp(), wanted_stamp()
    if before and before.get("root") != wanted["root"]:
        # We run on the Python of an environment that was made elsewhere: start again without it.
        STAMP.unlink()
        os.execv("/bin/sh", ["sh", str(ROOT / "wirebench"), *sys.argv[1:]])
    python = VENV / "bin" / "python"
    pip = [
        str(python),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "-q",
        "-c",
        str(CONSTRAINTS),
    ]
    if before.get("python") != wanted["python"]:
        # Without a stamp until they are all there: an interruption here leaves what only starting
        # again mends.
        STAMP.unlink(missing_ok=True)
        if not before:
            say("making .venv")
            shutil.rmtree(VENV, ignore_errors=True)
            run([sys.executable, "-m", "venv", str(VENV)])
        say("installing Python packages")
        # Python compiles what it imports; the rest, three quarters of it, would take as long again.
        run([*pip, "--no-compile", *requirements()])
        _write_stamp({"root": wanted["root"], "python": wanted["python"]})
    if LAB_ONLY:
        install_project([*pip, "-C", "wheel.cmake=false"], PROGRAMS[:1])
        del wanted["native"]
    else:
        say("building wireload and wirelink")
        install_project(pip, PROGRAMS)
    _write_stamp(wanted)


def install_project(pip: list[str], programs: tuple[str, ...]) -> None:
    run([*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)])
    for name in programs:
        if not (VENV / "bin" / name).exists():
            say(
                f"expected the installation to make .venv/bin/{name}, got none; "
                f"log: {LOG.relative_to(ROOT)}"
            )
            sys.exit(BROKEN)


def _write_stamp(stamp: dict[str, str]) -> None:
    partial = STAMP.with_suffix(".new")
    partial.write_text(json.dumps(stamp), encoding="utf-8")
    partial.rename(STAMP)


def requirements() -> list[str]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    return [*project["build-system"]["requires"], *project["project"]["dependencies"]]


def run(command: list[str], *, env: dict[str, str] | None = None, may_fail: bool = False) -> None:
    """Runs a command, its words to the log; the end of the log is shown if it fails. It does not
    outlive us.
    """
    with LOG.open("ab") as log:
        log.write(f"$ {' '.join(command)}\n".encode())
        log.flush()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=env,
            cwd=ROOT,
            start_new_session=True,
        )
        try:
            status = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
    if status != 0 and not may_fail:
        tail = LOG.read_text(encoding="utf-8", errors="replace").splitlines()[-30:]
        print("\n".join(f"  | {line}" for line in tail), file=sys.stderr)
        say(f"'{' '.join(command)}' exited with {status}; log: {LOG.relative_to(ROOT)}")
        sys.exit(BROKEN)


def say(message: str) -> None:
    print(f"wirebench: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
