"""Makes ``.venv`` with the lab and the native programs, if what they are made from changed; then
runs ``.venv/bin/wirebench``.

Standard library only, and quick when there is nothing to do: it runs before every command. With
WIREBENCH_TESTS=1 in its environment it makes what ``./test`` needs, and runs that: the native
programs of the preset dev, beside those of ``.venv``. Exit codes of its own: 69 (EX_UNAVAILABLE)
when system packages are missing and we may not install them, 70 when an installation failed or
files cannot be written.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "wirebench.stamp"
LOG = ROOT / "build" / "bootstrap.log"
CONSTRAINTS = ROOT / "lab" / "constraints.txt"
NATIVE = ("CMakeLists.txt", "CMakePresets.json", "cmake", "wire", "wireload", "wirelink")
RELEASE = "build/native/release"
PROGRAMS = ("wireload", "wirelink", "truth_server")
"""Targets of the build, and the components of what CMake installs, by the same names."""
TESTS = os.environ.get("WIREBENCH_TESTS") == "1"
FOREIGN = ("PYTHONHOME", "PYTHONPATH")
"""What is installed does not see these: pip would take a package that is found there for installed.
"""

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
    try:
        if not up_to_date():
            make()
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(INTERRUPTED)
    # What Python compiles stays in our own folders. Without it each start compiles again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if TESTS:
        del os.environ["WIREBENCH_TESTS"]
        python = str(VENV / "bin" / "python")
        os.execv(python, [python, str(ROOT / "lab" / "checks.py"), *sys.argv[1:]])
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
    programs = ["wirebench", *PROGRAMS]
    if TESTS:  # they bring their native programs up to date themselves
        stamp.pop("native", None)
        del wanted["native"]
        programs = programs[:1]
    return stamp == wanted and _has_our_python() and _all_there(programs)


def _has_our_python() -> bool:
    """Whether the environment has the Python that runs this. It has not where the system was
    upgraded to another version since, or the Python that it was made with was removed.
    """
    try:
        settings = (VENV / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    version = f"version = {sys.version_info.major}.{sys.version_info.minor}."
    of_this_version = any(line.startswith(version) for line in settings.splitlines())
    return of_this_version and _all_there(["python"])


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
    # Our children have sessions of their own: where a terminal is lost, only we are told.
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        LOG.parent.mkdir(exist_ok=True)
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
    except OSError as error:  # a full disk, a folder of another user's
        say(f"cannot make the environment: {error}")
        sys.exit(BROKEN)


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
    if before and (before.get("root") != wanted["root"] or not _has_our_python()):
        # An environment that was made elsewhere, or with another Python, and we may run on its
        # Python: start again without it.
        STAMP.unlink()
        os.execv("/bin/sh", ["sh", str(ROOT / "wirebench"), *sys.argv[1:]])
    python = before.get("python") != wanted["python"] or not _all_there(["wirebench"])
    native = before.get("native") != wanted["native"] or not _all_there(PROGRAMS)
    # pip waits for the network, and has one core to do.
    compiling = start_to_compile() if python or native else None
    try:
        if python:
            make_python(new=not before)
            _write_stamp({"root": wanted["root"], "python": wanted["python"]})
        if compiling is not None:
            wait_for(compiling)
    except BaseException:
        if compiling is not None:
            end(compiling)
        raise
    if not TESTS:
        install_programs()
        _write_stamp(wanted)


def _all_there(programs: Iterable[str]) -> bool:
    return all((VENV / "bin" / name).exists() for name in programs)


def make_python(*, new: bool) -> None:
    """The environment with the packages that the lab needs, and the lab itself."""
    # Without a stamp until they are all there: an interruption here leaves what only starting
    # again mends.
    STAMP.unlink(missing_ok=True)
    if new:
        say("making .venv")
        shutil.rmtree(VENV, ignore_errors=True)
        run([sys.executable, "-m", "venv", str(VENV)])
    say("installing Python packages")
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install"]
    # In an environment pip refuses `user = true`, which some have in their pip.conf.
    pip += ["-q", "--no-user", "-c", str(CONSTRAINTS)]
    # Python compiles what it imports; the rest, three quarters of it, would take as long again.
    run([*pip, "--no-compile", *requirements()])
    # The native programs are built by CMake, beside this.
    run([*pip, "--no-deps", "--no-build-isolation", "-C", "wheel.cmake=false", "-e", str(ROOT)])
    check_programs(["wirebench"])


# --- the native programs --------------------------------------------------------------------------


def start_to_compile() -> subprocess.Popen[bytes]:
    """The native programs, optimised; or of the preset dev, as the tests want them."""
    preset, folder = ("dev", "build/dev") if TESTS else ("release", RELEASE)
    remove_if_moved(ROOT / folder)
    say(f"building {', '.join(PROGRAMS)}")
    # What pip left there, when it made a wheel of the project, is about its own folders.
    clean = ["-U", "SKBUILD*", "-D", "CMAKE_INSTALL_BINDIR=bin"]
    run(["cmake", "--preset", preset, "-G", "Ninja", "-B", folder, *clean])
    return start(["cmake", "--build", folder, "--target", *PROGRAMS])


def remove_if_moved(folder: Path) -> None:
    """Removes a build folder of CMake's that was made when the checkout was elsewhere, or that came
    with a copy of it: CMake refuses those.
    """
    entry = "CMAKE_HOME_DIRECTORY:INTERNAL="
    try:
        cache = (folder / "CMakeCache.txt").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    for line in cache.splitlines():
        if not line.startswith(entry):
            continue
        with contextlib.suppress(OSError):
            if Path(line.removeprefix(entry)).samefile(ROOT):
                return
        shutil.rmtree(folder, ignore_errors=True)


def install_programs() -> None:
    for name in PROGRAMS:
        run(["cmake", "--install", RELEASE, "--prefix", str(VENV), "--component", name])
    check_programs(PROGRAMS)


def check_programs(programs: Iterable[str]) -> None:
    for name in programs:
        if not (VENV / "bin" / name).exists():
            say(
                f"expected the installation to make .venv/bin/{name}, got none; "
                f"log: {LOG.relative_to(ROOT)}"
            )
            sys.exit(BROKEN)


# --- how it is made -------------------------------------------------------------------------------


def _write_stamp(stamp: dict[str, str]) -> None:
    partial = STAMP.with_suffix(".new")
    partial.write_text(json.dumps(stamp), encoding="utf-8")
    partial.rename(STAMP)


def requirements() -> list[str]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    return [*wanted, *project["project"]["optional-dependencies"]["dev"]] if TESTS else wanted


def run(command: list[str], *, env: dict[str, str] | None = None, may_fail: bool = False) -> None:
    """Runs a command, its words to the log; the end of the log is shown if it fails. It does not
    outlive us.
    """
    wait_for(start(command, env=env), may_fail=may_fail)


def start(command: list[str], *, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """The command in a process group of its own, its words to the log."""
    given: Mapping[str, str] = os.environ if env is None else env
    with LOG.open("ab") as log:
        log.write(f"$ {' '.join(command)}\n".encode())
        log.flush()
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={name: value for name, value in given.items() if name not in FOREIGN},
            cwd=ROOT,
            start_new_session=True,
        )


def wait_for(process: subprocess.Popen[bytes], *, may_fail: bool = False) -> None:
    try:
        status = process.wait()
    except BaseException:
        end(process)
        raise
    if status != 0 and not may_fail:
        tail = LOG.read_text(encoding="utf-8", errors="replace").splitlines()[-30:]
        print("\n".join(f"  | {line}" for line in tail), file=sys.stderr)
        said = process.args if isinstance(process.args, list) else [process.args]
        say(f"'{' '.join(map(str, said))}' exited with {status}; log: {LOG.relative_to(ROOT)}")
        sys.exit(BROKEN)


def end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    process.wait()


def say(message: str) -> None:
    print(f"wirebench: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
