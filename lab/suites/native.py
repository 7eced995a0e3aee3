"""The suites of the native programs: tests in several builds, another compiler, size, the soak."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from bootstrap import MISSING, ROOT, remove_if_refused
from suites.commands import AGAIN_AT_MOST, RESULTS, build, configure, cores, run
from suites.counts import (
    ONE_FAILED,
    Count,
    add,
    checked,
    count_ctest,
    count_junit,
    failed_cases,
    one,
)

CTEST_JOBS_PER_CORE = 3
"""Most of the native tests' time goes into waiting: for timeouts, and for slow peers."""


def cpp() -> Count:
    """The native tests, warnings as errors."""
    return _ctest("dev", "all")


def asan() -> Count:
    """The native tests under AddressSanitizer and UndefinedBehaviorSanitizer."""
    return _ctest("asan", "tested_programs")


def _ctest(preset: str, target: str) -> Count:
    jobs = cores()
    report = RESULTS / f"cpp-{preset}.xml"
    remove_if_refused(ROOT / "build" / preset)
    if not configure("--preset", preset):
        return ONE_FAILED
    # The lab's tests run beside this in ./test, and some of them look at the clock.
    command = ["cmake", "--build", "--preset", preset, "-j", jobs, "--target", target]
    if run(["nice", *command]) != 0:
        return ONE_FAILED
    report.unlink(missing_ok=True)
    shards = ROOT / "build" / preset / "shards"
    shutil.rmtree(shards, ignore_errors=True)
    ctest = ["ctest", "--preset", preset, "--timeout", "120"]
    together = [f"-j{CTEST_JOBS_PER_CORE * int(jobs)}", "--output-junit", str(report)]
    status = run([*ctest, *together])
    count = checked(count_ctest(report, shards), status)
    if not 0 < failed_cases(report) <= AGAIN_AT_MOST:
        return count
    second = RESULTS / f"cpp-{preset}-again.xml"
    second.unlink(missing_ok=True)
    status = run([*ctest, "--rerun-failed", "-j1", "--output-junit", str(second)])
    after = checked(count_ctest(report, shards, second=second), status)
    return replace(after, again=max(0, count.failed - after.failed))


def found_clang() -> str | None:
    """The C++ compiler of Clang, where there is one."""
    names = ("clang++", "clang++-14", "clang++-16", "clang++-19")
    return next((found for name in names if (found := shutil.which(name))), None)


def clang() -> Count:
    """Each C++ file but the tests alone as Clang sees it, warnings as errors, without precompiled
    headers: it has to include what it uses. Skipped where there is no Clang.
    """
    compiler = found_clang()
    if compiler is None:
        return Count(skipped=1)
    folder = ROOT / "build" / "clang"
    options = [f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"]
    options += ["-DCMAKE_UNITY_BUILD=OFF"]
    if not configure("--preset", "dev", "-B", str(folder), *options):
        return ONE_FAILED
    found = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    # Some files are compiled for several targets.
    commands = {item["file"]: item for item in found if not _is_test(Path(item["file"]))}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return add(pool.map(_check_syntax, commands.values()))


def _is_test(path: Path) -> bool:
    return path.stem.endswith("_test") or "tests" in path.relative_to(ROOT).parts


def _check_syntax(entry: Mapping[str, str]) -> Count:
    words = shlex.split(entry["command"])
    words = [*words[: words.index("-o")], "-fsyntax-only", entry["file"]]
    answer = subprocess.run(
        words, cwd=entry["directory"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if answer.returncode != 0:
        print(f"$ {shlex.join(words)}\n{answer.stdout.decode(errors='replace')}", flush=True)
    return one(answer.returncode)


def size() -> Count:
    """A hello server with wire and all its defaults, stripped: under 300 KB. And with a wire
    without its optional parts.
    """
    source, scratch = ROOT / "wire", ROOT / "build" / "size"
    script = str(source / "tests" / "size.cmake")
    return one(run(["cmake", "-D", f"source={source}", "-D", f"scratch={scratch}", "-P", script]))


def lean() -> Count:
    """wire's tests without TLS, zlib and every part that an option leaves out; wire without each
    part alone; a program that uses wire as a shared library; and what that library exports.
    """
    if not build("dev", "wire_lean_test", "wire_without_parts", "wire_shared_consumer"):
        return ONE_FAILED
    folder = ROOT / "build" / "dev" / "wire"
    abi = [sys.executable, "wire/tests/abi.py", str(folder / "libwire_shared.so")]
    return (
        _in_shards(folder / "wire_lean_test", "lean")
        + one(run([str(folder / "wire_shared_consumer")]))
        + one(run(abi))
    )


def _in_shards(program: Path, name: str) -> Count:
    """A program of GoogleTest's, in several processes beside each other, as in ctest."""
    shards = CTEST_JOBS_PER_CORE * int(cores())

    def run_shard(number: int) -> Count:
        report = RESULTS / f"{name}.{number}.xml"
        report.unlink(missing_ok=True)
        command = [str(program), "--gtest_brief=1", f"--gtest_output=xml:{report}"]
        env = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(number)}
        status = run(command, env=env)
        return checked(count_junit(report), status)

    with ThreadPoolExecutor(shards) as pool:
        counts = list(pool.map(run_shard, range(shards)))
    total = add(counts)
    if not 0 < total.failed <= AGAIN_AT_MOST:
        return total
    after = add(run_shard(number) if one.failed else one for number, one in enumerate(counts))
    return replace(after, again=max(0, total.failed - after.failed))


def openssl() -> Count:
    """wire's tests of TLS with a current OpenSSL, which is built here, beside Debian's. Skipped
    where there is no Cargo to fetch it.
    """
    builder = [sys.executable, str(ROOT / "wire" / "tests" / "openssl" / "build.py")]
    folder = str(ROOT / "build" / "openssl")
    answer = subprocess.run(
        [*builder, folder], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if answer.returncode == MISSING:
        return Count(skipped=1)
    if answer.returncode != 0:
        return ONE_FAILED
    where = f"-DWIRE_OTHER_OPENSSL={answer.stdout.strip()}"
    if not build("dev", "wire_tls_test", options=[where]):
        return ONE_FAILED
    report = RESULTS / "openssl.xml"
    report.unlink(missing_ok=True)
    program = str(ROOT / "build" / "dev" / "wire" / "wire_tls_test")
    status = run([program, "--gtest_brief=1", f"--gtest_output=xml:{report}"])
    return checked(count_junit(report), status)


def soak() -> Count:
    """An hour of mixed load on wire, every reply checked, memory steady. Only when asked for."""
    if not configure("--preset", "release", "-DWIREBENCH_DEVELOPER=ON", "-B", "build/soak"):
        return ONE_FAILED
    if run(["cmake", "--build", "build/soak", "--target", "wire_soak"]) != 0:
        return ONE_FAILED
    return one(run([str(ROOT / "build" / "soak" / "wire" / "wire_soak"), "--minutes", "60"]))
