"""Makes ``.venv`` with the lab and the native programs, if what they are made from changed; then
runs ``.venv/bin/wirebench``.

Standard library only, and quick when there is nothing to do: it runs before every command. With
WIREBENCH_TESTS=1 in its environment it makes what ``./test`` needs, and runs that: the native
programs of the preset dev, beside those of ``.venv``. Exit codes of its own: 69 (EX_UNAVAILABLE)
when system packages are missing and we may not install them, or the C++ compiler is too old, 70
when an installation failed or files cannot be written.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shlex
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
BEFORE = ROOT / ".venv.before"
"""The environment that another is made in place of. It comes back where that fails."""
STAMP = VENV / "wirebench.stamp"
LOG = ROOT / "build" / "bootstrap.log"
CONSTRAINTS = ROOT / "lab" / "constraints.txt"
NATIVE = ("CMakeLists.txt", "CMakePresets.json", "cmake", "wire", "wireload", "wirelink")
RELEASE = "build/native/release"
PROGRAMS = ("wireload", "wirelink", "truth_server")
"""Targets of the build, and the components of what CMake installs, by the same names."""
TESTS = os.environ.get("WIREBENCH_TESTS") == "1"
ANEW = os.environ.pop("WIREBENCH_ANEW", "") == "1"
"""Set by an earlier process of this start, which ran on the Python of an environment that will not
do.
"""
FOREIGN = ("PYTHONHOME", "PYTHONPATH")
"""What is installed does not see these: pip would take a package that is found there for installed.
"""

MISSING = 69
BROKEN = 70
INTERRUPTED = 130

LEAST_GCC, LEAST_CLANG = 12, 14
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
    except PermissionError as error:
        refuse(error)
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
                refuse_files_of_others()
                install_system_packages(missing_system_packages())
                check_compiler()
                make_environment()
    except KeyboardInterrupt:
        say("interrupted; the next start goes on")
        sys.exit(INTERRUPTED)
    except PermissionError as error:
        refuse(error)
    except OSError as error:  # a full disk
        say(f"cannot make the environment: {error}")
        sys.exit(BROKEN)


def refuse_files_of_others() -> None:
    """``PermissionError`` for a file that is about to be changed and is somebody else's."""
    for top in (VENV, BEFORE, ROOT / "build"):
        for folder, folders, files in os.walk(top):
            if Path(folder) == ROOT / "build":  # what else is there was built by others, for them
                folders[:] = [name for name in folders if name in ("dev", "native")]
            for path in (Path(folder, name) for name in ("", *folders, *files)):
                if path.is_symlink() or os.access(path, os.W_OK):
                    continue
                if path.stat().st_uid != os.geteuid():  # packages have files that none may write
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def refuse(error: PermissionError) -> NoReturn:
    """Ends because a file is not ours, and says what to do."""
    path = Path(error.filename or ROOT)
    there = next((one for one in (path, *path.parents) if os.access(one, os.F_OK)), ROOT)
    number = there.stat().st_uid
    if number == os.geteuid():
        say(f"cannot make the environment: {error}")
        sys.exit(BROKEN)
    owner = "root, as after a start with sudo" if number == 0 else f"user {number}"
    names = (".venv", ".venv.before", "build", "results")
    made = [str(ROOT / name) for name in names if (ROOT / name).exists()] or [str(ROOT)]
    say(
        f"cannot make the environment: {path}: expected a file of yours, got one of {owner}.\n"
        f"Take over what was made here with:\n"
        f"  sudo chown -R $(id -u):$(id -g) {shlex.join(made)}\n"
        "and start again, or always start as that user."
    )
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


def check_compiler() -> None:
    """Ends where the compiler that CMake will take is too old for C++20 as it is used here."""
    compiler = shlex.split(os.environ.get("CXX", "")) or ["c++"]
    try:
        answer = subprocess.run(
            [*compiler, "-dM", "-E", "-x", "c++", "/dev/null"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return  # CMake says more about it
    defined = dict(re.findall(r"^#define (__GNUC__|__clang_major__) (\d+)$", answer.stdout, re.M))
    name, least, macro = (
        ("Clang", LEAST_CLANG, "__clang_major__")
        if "__clang_major__" in defined
        else ("GCC", LEAST_GCC, "__GNUC__")
    )
    if macro not in defined or int(defined[macro]) >= least:
        return
    say(
        f"{shutil.which(compiler[0])}: expected GCC {LEAST_GCC} or newer, or Clang {LEAST_CLANG} or"
        f" newer, got {name} {defined[macro]}.\n"
        "Install one, and let g++ and c++ be it, which contestants are built with, too; as with:\n"
        f"  sudo apt-get install -y g++-{LEAST_GCC}\n"
        "  for name in g++ c++; do\n"
        f"    sudo ln -s /usr/bin/g++-{LEAST_GCC} /usr/local/bin/$name; done\n"
        "and start again."
    )
    sys.exit(MISSING)


def make_environment() -> None:
    before, wanted = {} if ANEW else _read_stamp(), wanted_stamp()
    if before and (before.get("root") != wanted["root"] or not _has_our_python()):
        # An environment that was made elsewhere, or with another Python, and we may run on its
        # Python: start again without it.
        os.environ["WIREBENCH_ANEW"] = "1"
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
        if python and not before:
            put_back()
        raise
    if not TESTS:
        install_programs()
        _write_stamp(wanted)
    # Only now: what is in place of it stands.
    shutil.rmtree(BEFORE, ignore_errors=True)


def put_aside() -> None:
    """Makes room for a new environment. One that may still be of use stays beside it."""
    if (VENV / "bin" / "wirebench").exists() and not BEFORE.exists():
        VENV.rename(BEFORE)
    else:  # the rest of an installation that did not get to its end
        shutil.rmtree(VENV, ignore_errors=True)


def put_back() -> None:
    """Where the new environment did not come to stand, the one before it is there again."""
    if BEFORE.exists() and not STAMP.exists():
        shutil.rmtree(VENV, ignore_errors=True)
        BEFORE.rename(VENV)
        say(".venv is again as it was")


def _all_there(programs: Iterable[str]) -> bool:
    return all((VENV / "bin" / name).exists() for name in programs)


def make_python(*, new: bool) -> None:
    """The environment with the packages that the lab needs, and the lab itself."""
    if new:
        say("making .venv")
        found = Path(sys.executable)
        # One that is in .venv itself, which somebody has activated, is about to be gone from there.
        python = found.resolve() if VENV in found.parents else found
        put_aside()
        run([str(python), "-m", "venv", str(VENV)])
        install_packages()
        return
    # Without a stamp until they are all there: an interruption may leave what only a new
    # environment mends. Where nothing has changed, as without a network, it is as good as before.
    stamp, installed = STAMP.read_bytes(), _installed()
    STAMP.unlink()
    try:
        install_packages()
    except BaseException:
        if _installed() == installed:
            STAMP.write_bytes(stamp)
            say(".venv is as it was; the next start tries again")
        raise


def _installed() -> list[str]:
    """The packages of the environment, each in a folder with its version. pip renames what it is
    about to remove.
    """
    return sorted(path.name for path in VENV.glob("lib/python*/site-packages/*"))


def install_packages() -> None:
    say("installing Python packages")
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install"]
    # In an environment pip refuses `user = true`, which some have in their pip.conf.
    pip += ["-q", "--no-user", "-c", str(CONSTRAINTS)]
    # Python compiles what it imports; the rest, three quarters of it, would take as long again.
    run([*pip, "--no-compile", *requirements()])
    # The native programs are built by CMake, beside this.
    run([*pip, "--no-deps", "--no-build-isolation", "-C", "wheel.cmake=false", "-e", str(ROOT)])
    spell_paths_in_ascii()
    check_programs(["wirebench"])


def spell_paths_in_ascii() -> None:
    """The environment names our folder in a .pth file, which Python before 3.13 decodes by the
    locale, and does not start where it cannot: with LC_ALL=C, where the folder's path is no ASCII.
    """
    for file in VENV.glob("lib/python*/site-packages/*.pth"):
        lines = file.read_bytes().splitlines()
        if all(line.isascii() for line in lines):
            continue
        spelt = [
            line if line.isascii() else b"import os, sys; sys.path.append(os.fsdecode(%a))" % line
            for line in lines
        ]
        file.write_bytes(b"\n".join(spelt) + b"\n")


# --- the native programs --------------------------------------------------------------------------


def start_to_compile() -> subprocess.Popen[bytes]:
    """The native programs, optimised; or of the preset dev, as the tests want them."""
    preset, folder = ("dev", "build/dev") if TESTS else ("release", RELEASE)
    remove_if_refused(ROOT / folder)
    say(f"building {', '.join(PROGRAMS)}")
    # What pip left there, when it made a wheel of the project, is about its own folders.
    clean = ["-U", "SKBUILD*", "-D", "CMAKE_INSTALL_BINDIR=bin"]
    run(["cmake", "--preset", preset, "-G", "Ninja", "-B", folder, *clean])
    return start(["cmake", "--build", folder, "--target", *PROGRAMS])


def remove_if_refused(folder: Path) -> None:
    """Removes a build folder of CMake's that was made when the checkout was elsewhere, that came
    with a copy of it, or that another generator made: CMake refuses those.
    """
    try:
        cache = (folder / "CMakeCache.txt").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    found = dict(re.findall(r"^CMAKE_(HOME_DIRECTORY|GENERATOR):INTERNAL=(.*)$", cache, re.M))
    with contextlib.suppress(OSError, KeyError):
        if Path(found["HOME_DIRECTORY"]).samefile(ROOT) and found["GENERATOR"] == "Ninja":
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
