"""Runs the test suites and adds up what they say: the program behind ``./test`` and ``.ci/run``.

Each suite ends in a count of passed, failed and skipped tests, from JUnit files where the runner
writes them. Results are in
``build/test-results``. Exit codes: 0 all passed, 1 something failed, 69 a Debian package is missing
and we may not install it.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bootstrap import CONSTRAINTS, MISSING, PROGRAMS, ROOT, VENV
from wirebench.host.debian import has_dpkg, install, install_line, installed_versions, is_root

RESULTS = ROOT / "build" / "test-results"
SUMMARY = RESULTS / "summary.json"
COUNTS = RESULTS / "counts.json"
DEV_PROGRAMS = ROOT / "build" / "dev" / "programs" / "bin"
"""The native programs as the tests of the lab use them."""
PACKAGES = (
    "libgtest-dev",
    "libbenchmark-dev",
    "libhttp-parser-dev",
    "libwslay-dev",
    "gnutls-bin",
    "libnss3-tools",
    "microsocks",
    "doxygen",
    "nginx-light",
    "chromium",
    "groff-base",
    "zsh",
    "fish",
)
"""Debian packages that tests need beyond what the core does."""
PEER_PACKAGES = (
    "apache2",
    "chromium",
    "curl",
    "default-jdk-headless",
    "golang-go",
    "gunicorn",
    "haproxy",
    "libnginx-mod-stream",
    "nginx-light",
    "nodejs",
    "openssl",
    "python3-requests",
    "python3-websockets",
    "squid",
    "systemd",
)
"""Debian packages of the programs that ``peers`` puts wire to. A test of one that is not there is
skipped.
"""
PEER_COMMANDS = {
    "default-jdk-headless": "java",
    "golang-go": "go",
    "nodejs": "node",
    "nginx-light": "nginx",
    "systemd": "systemd-socket-activate",
}
"""The commands that may be there without the Debian package of that name."""


@dataclass(frozen=True, kw_only=True)
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    again: int = 0
    """Of those that passed, how many failed at first and passed when they ran again alone."""

    def __add__(self, other: Count) -> Count:
        return Count(
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            skipped=self.skipped + other.skipped,
            again=self.again + other.again,
        )

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        again = f" ({self.again} only when run again alone)" if self.again else ""
        return f"{self.passed} passed{again}, {self.failed} failed{skipped}"


FUZZ_SECONDS = 10
CTEST_JOBS_PER_CORE = 3
"""Most of the native tests' time goes into waiting: for timeouts, and for slow peers."""
PYTEST_WORKERS_MORE = 1
"""Workers beyond the number of cores, since the lab's tests wait too. With more, tests that look at
the clock would fail beside the build of the native tests.
"""
AGAIN_AT_MOST = 3
"""So many tests of a suite that failed beside others run again alone, and the second result counts.
On a machine that is shared with others, one in ten thousand loses a race that it does not lose
alone. It is named, and worth looking into: a race may be the product's.
"""
ONE_PASSED = Count(passed=1)
ONE_FAILED = Count(failed=1)


def count_junit(path: Path, *, without: Container[str] = ()) -> Count:
    """The tests of a JUnit file but those of these names. One that is not there or empty is a
    failure: the runner did not get to its end.
    """
    cases = _cases(path)
    total = Count()
    for case in cases:
        if case.get("name") in without:
            continue
        if _failed(case):
            total += ONE_FAILED
        elif case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
            total += Count(skipped=1)
        else:
            total += ONE_PASSED
    return total if cases else ONE_FAILED


def _cases(path: Path) -> list[ET.Element]:
    try:
        return list(ET.parse(path).iter("testcase"))  # noqa: S314  # written by our own runner
    except (OSError, ET.ParseError):
        return []


def _failed(case: ET.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


def failed_cases(path: Path) -> int:
    """How many test cases of a JUnit file failed."""
    return sum(map(_failed, _cases(path)))


def count_ctest(report: Path, shards: Path, *, second: Path | None = None) -> Count:
    """The tests of ctest's JUnit file, where a shard stands for the tests in the JUnit file of its
    own. One that did not get to its end has none, and counts as ctest says. ``second``: the file of
    another run, whose tests count as they ended there.
    """
    own = {file.stem: file for file in shards.glob("*.xml")}
    shown = add(map(count_junit, own.values()))
    if second is None:
        return shown + count_junit(report, without=own)
    again = {str(case.get("name")) for case in _cases(second)}
    return shown + count_junit(report, without={*own, *again}) + count_junit(second, without=own)


def run(command: Sequence[str], *, env: dict[str, str] | None = None) -> int:
    print(f"$ {' '.join(command)}", flush=True)
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, check=False
    ).returncode


def _cores() -> str:
    return str(len(os.sched_getaffinity(0)))


def _tool(*arguments: str) -> int:
    return run([str(VENV / "bin" / "python"), "-m", *arguments])


def _one(status: int) -> Count:
    return ONE_PASSED if status == 0 else ONE_FAILED


# --- the suites -----------------------------------------------------------------------------------


def lint() -> Count:
    """Style: ruff as linter and formatter for Python, clang-format for C and C++."""
    return (
        _one(_tool("ruff", "check"))
        + _one(_tool("ruff", "format", "--check", "-q"))
        + _one(_clang_format())
    )


def _clang_format() -> int:
    """Whether each tracked C and C++ file is as .clang-format says."""
    tracked = subprocess.run(
        ["git", "ls-files", "*.cpp", "*.hpp", "*.c", "*.h"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    files = tracked.stdout.split()
    print(f"$ clang-format --dry-run -Werror ({len(files)} files)", flush=True)
    command = [str(VENV / "bin" / "clang-format"), "--dry-run", "-Werror", *files]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def types() -> Count:
    """Python types: mypy, strict."""
    return _one(_tool("mypy"))


def python() -> Count:
    """The lab's tests, without those of runs. They use the native programs of the preset dev."""
    return _pytest("python", "not long", programs=DEV_PROGRAMS)


def runs() -> Count:
    """The lab's longer tests: whole runs and duels, killed and completed, simulated worlds, and the
    report in a browser.
    """
    return _pytest("runs", "long", programs=VENV / "bin")


def _pytest(name: str, marked: str, *, programs: Path) -> Count:
    report = RESULTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    workers = str(len(os.sched_getaffinity(0)) + PYTEST_WORKERS_MORE)
    several = ("-n", workers, "--dist", "worksteal", "-m", marked)
    options = ["-W", "error", *several, "--durations=10", f"--junitxml={report}", "--cache-clear"]
    python = [str(VENV / "bin" / "python"), "-m", "pytest"]
    env = {"WIREBENCH_PROGRAMS": str(programs)}
    status = run([*python, *options], env=env)
    count = _checked(count_junit(report), status)
    if not 0 < failed_cases(report) <= AGAIN_AT_MOST:
        return count
    second = RESULTS / f"{name}-again.xml"
    second.unlink(missing_ok=True)
    failed = ["--last-failed", "--last-failed-no-failures=none", "-m", marked]
    status = run([*python, "-W", "error", *failed, f"--junitxml={second}"], env=env)
    again = _checked(count_junit(second), status)
    recovered = min(count.failed, again.passed) if again.failed == 0 else 0
    return replace(
        count,
        passed=count.passed + recovered,
        failed=count.failed - recovered,
        again=recovered,
    )


def cpp() -> Count:
    """The native tests, warnings as errors."""
    return _ctest("dev")


def asan() -> Count:
    """The native tests under AddressSanitizer and UndefinedBehaviorSanitizer."""
    return _ctest("asan")


def _ctest(preset: str) -> Count:
    jobs = _cores()
    report = RESULTS / f"cpp-{preset}.xml"
    if run(["cmake", "--preset", preset], env={"CMAKE_GENERATOR": "Ninja"}) != 0:
        return ONE_FAILED
    # The lab's tests run beside this in ./test, and some of them look at the clock.
    if run(["nice", "cmake", "--build", "--preset", preset, "-j", jobs]) != 0:
        return ONE_FAILED
    report.unlink(missing_ok=True)
    shards = ROOT / "build" / preset / "shards"
    shutil.rmtree(shards, ignore_errors=True)
    ctest = ["ctest", "--preset", preset, "--timeout", "120"]
    together = [f"-j{CTEST_JOBS_PER_CORE * int(jobs)}", "--output-junit", str(report)]
    status = run([*ctest, *together])
    count = _checked(count_ctest(report, shards), status)
    if not 0 < failed_cases(report) <= AGAIN_AT_MOST:
        return count
    second = RESULTS / f"cpp-{preset}-again.xml"
    second.unlink(missing_ok=True)
    status = run([*ctest, "--rerun-failed", "-j1", "--output-junit", str(second)])
    after = _checked(count_ctest(report, shards, second=second), status)
    return replace(after, again=max(0, count.failed - after.failed))


def _clang() -> str | None:
    names = ("clang++", "clang++-14", "clang++-16", "clang++-19")
    return next((found for name in names if (found := shutil.which(name))), None)


def clang() -> Count:
    """Each C++ file but the tests alone as Clang sees it, warnings as errors, without precompiled
    headers: it has to include what it uses. Skipped where there is no Clang.
    """
    compiler = _clang()
    if compiler is None:
        return Count(skipped=1)
    folder = ROOT / "build" / "clang"
    configure = ["cmake", "--preset", "dev", "-B", str(folder), f"-DCMAKE_CXX_COMPILER={compiler}"]
    configure += ["-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", "-DCMAKE_UNITY_BUILD=OFF"]
    if run(configure, env={"CMAKE_GENERATOR": "Ninja"}) != 0:
        return ONE_FAILED
    found = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    # Some files are compiled for several targets.
    commands = {one["file"]: one for one in found if not _is_test(Path(one["file"]))}
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
    return _one(answer.returncode)


def fuzz(seconds: int = FUZZ_SECONDS) -> Count:
    """Every libFuzzer program, from its corpus, with ASan and UBSan, for --seconds. Skipped where
    there is no Clang.
    """
    compiler = _clang()
    if compiler is None:
        return Count(skipped=1)
    if (
        run(
            ["cmake", "--preset", "fuzz", f"-DCMAKE_CXX_COMPILER={compiler}"],
            env={"CMAKE_GENERATOR": "Ninja"},
        )
        != 0
    ):
        return ONE_FAILED
    cores = len(os.sched_getaffinity(0))
    if run(["cmake", "--build", "--preset", "fuzz", "--target", "fuzzers", "-j", str(cores)]) != 0:
        return ONE_FAILED
    corpora = sorted(
        path
        for part in ("wire", "wireload")
        for path in (ROOT / part / "tests/fuzz/corpus").iterdir()
    )
    with ThreadPoolExecutor(cores) as pool:
        return add(pool.map(lambda corpus: _fuzz_one(corpus, seconds), corpora))


def _fuzz_one(corpus: Path, seconds: int) -> Count:
    """Inputs that reach new code stay in build/fuzz/inputs for the next run; those that crash are
    in build/fuzz/crashes.
    """
    part = corpus.relative_to(ROOT).parts[0]
    name = f"{part}_fuzz_{corpus.name}"
    program = ROOT / "build" / "fuzz" / part / name
    inputs = ROOT / "build" / "fuzz" / "inputs" / name
    crashes = ROOT / "build" / "fuzz" / "crashes" / name
    for folder in (inputs, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=4096"]
    command = [str(program), *limits, f"-artifact_prefix={crashes}/", str(inputs), str(corpus)]
    answer = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    said = answer.stdout.decode(errors="replace")
    if answer.returncode == 0:
        print(f"{name}: {fuzzing_summary(said)}", flush=True)
        return ONE_PASSED
    print(
        f"$ {' '.join(command)}\n{said}\n{name}: failed with status {answer.returncode}", flush=True
    )
    for line in said.splitlines():
        if "Test unit written to " in line:
            print(f"run it again: {program} {line.split('written to ')[1]}", flush=True)
    return ONE_FAILED


def fuzzing_summary(said: str) -> str:
    """The last line of libFuzzer's that tells its coverage, and how much it did."""
    lines = said.splitlines()
    done = next((line for line in reversed(lines) if line.startswith("Done ")), "no end")
    reached = next((line for line in reversed(lines) if "cov:" in line), "cov: unknown")
    return f"{done}; {reached[reached.index('cov:') :].partition(' lim:')[0]}"


def size() -> Count:
    """A hello server with wire and all its defaults, stripped: under 300 KB. And with a wire
    without its optional parts.
    """
    source, scratch = ROOT / "wire", ROOT / "build" / "size"
    script = str(source / "tests" / "size.cmake")
    return _one(run(["cmake", "-D", f"source={source}", "-D", f"scratch={scratch}", "-P", script]))


def lean() -> Count:
    """wire's tests without TLS, zlib and every part that an option leaves out; wire without each
    part alone; a program that uses wire as a shared library; and what that library exports.
    """
    if run(["cmake", "--preset", "dev"], env={"CMAKE_GENERATOR": "Ninja"}) != 0:
        return ONE_FAILED
    jobs = _cores()
    if (
        run(
            [
                "cmake",
                "--build",
                "--preset",
                "dev",
                "-j",
                jobs,
                "--target",
                "wire_lean_test",
                "wire_without_parts",
                "wire_shared_consumer",
            ]
        )
        != 0
    ):
        return ONE_FAILED
    folder = ROOT / "build" / "dev" / "wire"
    report = RESULTS / "lean.xml"
    report.unlink(missing_ok=True)
    status = run(
        [str(folder / "wire_lean_test"), "--gtest_brief=1", f"--gtest_output=xml:{report}"]
    )
    abi = [sys.executable, "wire/tests/abi.py", str(folder / "libwire_shared.so")]
    return (
        _checked(count_junit(report), status)
        + _one(run([str(folder / "wire_shared_consumer")]))
        + _one(run(abi))
    )


def openssl() -> Count:
    """wire's tests of TLS with a current OpenSSL, which is built here, beside Debian's. Skipped
    where there is no Cargo to fetch it.
    """
    builder = [sys.executable, str(ROOT / "wire" / "tests" / "openssl" / "build.py")]
    folder = ROOT / "build" / "openssl"
    answer = subprocess.run(
        [*builder, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if answer.returncode == MISSING:
        return Count(skipped=1)
    if answer.returncode != 0:
        return ONE_FAILED
    where = [f"-DOPENSSL_ROOT_DIR={answer.stdout.strip()}", "-DOPENSSL_USE_STATIC_LIBS=ON"]
    tests = folder / "tests"
    if (
        run(
            ["cmake", "--preset", "dev", "-B", str(tests), *where],
            env={"CMAKE_GENERATOR": "Ninja"},
        )
        != 0
    ):
        return ONE_FAILED
    if run(["cmake", "--build", str(tests), "--target", "wire_tls_test"]) != 0:
        return ONE_FAILED
    report = RESULTS / "openssl.xml"
    report.unlink(missing_ok=True)
    program = str(tests / "wire" / "wire_tls_test")
    status = run([program, "--gtest_brief=1", f"--gtest_output=xml:{report}"])
    return _checked(count_junit(report), status)


def docs() -> Count:
    """The documentation site with wire's reference: links, pictures, decisions. Strict."""
    return _one(run([str(VENV / "bin" / "python"), "docs/build.py", "--install"]))


def packages() -> Count:
    """What a release publishes, each installed into an empty environment and used."""
    if _install_extra("release") != 0:
        return ONE_FAILED
    built = ROOT / "build" / "packages"
    python = str(VENV / "bin" / "python")
    if run([python, "packaging/release.py", "--out", str(built)]) != 0:
        return ONE_FAILED
    folder = ROOT / "packaging" / "tests"
    report = RESULTS / "packages.xml"
    report.unlink(missing_ok=True)
    options = ["-c", str(folder / "pytest.ini"), "-ra", f"--junitxml={report}", str(folder)]
    status = run([python, "-m", "pytest", *options], env={"WIREBENCH_DIST": str(built)})
    return _checked(count_junit(report), status)


def soak() -> Count:
    """An hour of mixed load on wire, every reply checked, memory steady. Only when asked for."""
    configure = ["cmake", "--preset", "release", "-DWIREBENCH_DEVELOPER=ON", "-B", "build/soak"]
    if run(configure, env={"CMAKE_GENERATOR": "Ninja"}) != 0:
        return ONE_FAILED
    if run(["cmake", "--build", "build/soak", "--target", "wire_soak"]) != 0:
        return ONE_FAILED
    return _one(run([str(ROOT / "build" / "soak" / "wire" / "wire_soak"), "--minutes", "60"]))


def autobahn() -> Count:
    """Autobahn's WebSocket cases, both roles, all strict. Skipped where there is no Python 2.7 to
    run them.
    """
    if run(["cmake", "--preset", "dev"], env={"CMAKE_GENERATOR": "Ninja"}) != 0:
        return ONE_FAILED
    if run(["cmake", "--build", "--preset", "dev", "--target", "wire_autobahn"]) != 0:
        return ONE_FAILED
    program = ROOT / "build" / "dev" / "wire" / "wire_autobahn"
    command = [sys.executable, str(ROOT / "wire" / "tests" / "autobahn" / "run.py"), str(program)]
    answer = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(answer.stdout, flush=True)
    if answer.returncode == MISSING:
        return Count(skipped=1)
    try:
        counts = Count(**json.loads(answer.stdout.splitlines()[-1]))
    except (IndexError, TypeError, ValueError):
        return ONE_FAILED
    return _checked(counts, answer.returncode)


def peers() -> Count:
    """wire against other people's programs: Chromium, curl, nginx, HAProxy, Apache, squid, Go,
    Node, Java and Python; a gibibyte each way. Those that are not installed are skipped.
    """
    if run(["cmake", "--preset", "dev"], env={"CMAKE_GENERATOR": "Ninja"}) != 0:
        return ONE_FAILED
    if run(["cmake", "--build", "--preset", "dev", "--target", "wire_peer", "wireload"]) != 0:
        return ONE_FAILED
    _install_peers()
    folder = ROOT / "wire" / "tests" / "peers"
    report = RESULTS / "peers.xml"
    report.unlink(missing_ok=True)
    options = ["-c", str(folder / "pytest.ini"), "-ra", f"--junitxml={report}", str(folder)]
    python = str(VENV / "bin" / "python")
    built = ROOT / "build" / "dev"
    programs = {
        "WIRE_PEER": str(built / "wire" / "wire_peer"),
        "WIRELOAD": str(built / "wireload" / "wireload"),
    }
    status = run([python, "-m", "pytest", *options], env=programs)
    return _checked(count_junit(report), status)


def _install_peers() -> None:
    """What is missing, where we may install it."""
    if not has_dpkg() or not is_root():
        return
    missing = [
        name
        for name, version in installed_versions(PEER_PACKAGES).items()
        if version is None and shutil.which(PEER_COMMANDS.get(name, name)) is None
    ]
    for name in install(missing) if missing else ():
        print(f"apt-get could not install {name}: its tests are skipped", file=sys.stderr)


def contestants() -> Count:
    """Every contestant: built, and its replies verified."""
    wirebench = str(VENV / "bin" / "wirebench")
    run([wirebench, "setup"])
    # What is built is verified while the others are being built, which takes two cores most of the
    # time: verifying is waiting for the most part.
    verified = _verify_all(wirebench)
    return verified + _built(wirebench) + _wire_keeps_to_the_standards(wirebench)


def _built(wirebench: str) -> Count:
    """Each contestant's build, of which only one that failed is begun again."""
    answer = subprocess.run(
        [wirebench, "build", "--json"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    results = [json.loads(line) for line in answer.stdout.splitlines()]
    kinds = {
        "ok": ONE_PASSED,
        "failed": ONE_FAILED,
        "not_installed": Count(skipped=1),
        "disabled": Count(skipped=1),
    }
    return _checked(add(kinds[result["status"]] for result in results), answer.returncode)


def _verify_all(wirebench: str) -> Count:
    report = RESULTS / "verify.jsonl"
    report.unlink(missing_ok=True)
    status = run([wirebench, "verify", "--json", str(report)])
    return _checked(count_verified(report), status)


def _wire_keeps_to_the_standards(wirebench: str) -> Count:
    """Our own library has to hold every MUST that the probes know; of other contestants they only
    report.
    """
    report = RESULTS / "conformance.jsonl"
    report.unlink(missing_ok=True)
    status = run([wirebench, "verify", "cpp/wire", "--conformance", "--json", str(report)])
    return _checked(count_probes(report), status)


def count_probes(report: Path) -> Count:
    """The MUSTs among the probes in what ``wirebench verify --conformance --json`` wrote."""
    if not report.exists():
        return ONE_FAILED
    records = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    musts = [
        probe
        for record in records
        for probe in record.get("probes", ())
        if probe["level"] == "MUST"
    ]
    kinds = {
        "passed": ONE_PASSED,
        "closed": ONE_FAILED,
        "failed": ONE_FAILED,
        "not_applicable": Count(skipped=1),
    }
    return add(kinds[probe["outcome"]] for probe in musts) if musts else ONE_FAILED


def count_verified(report: Path) -> Count:
    """The contestants' workloads in what ``wirebench verify --json`` wrote. Not installed is
    skipped, not passed.
    """
    if not report.exists():
        return ONE_FAILED
    total = Count()
    for line in report.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "probes" in record:
            continue
        if record["passed"]:
            total += ONE_PASSED
        elif (record["failure"] or {}).get("kind") in ("not_installed", "disabled"):
            total += Count(skipped=1)
        else:
            total += ONE_FAILED
    return total


def _checked(count: Count, status: int) -> Count:
    """A runner that failed although no test of it did has failed itself."""
    return count + ONE_FAILED if status != 0 and count.failed == 0 else count


def add(counts: Iterable[Count]) -> Count:
    return sum(counts, start=Count())


SUITES: dict[str, Callable[[], Count]] = {
    "lint": lint,
    "types": types,
    "python": python,
    "cpp": cpp,
    "runs": runs,
    "asan": asan,
    "clang": clang,
    "fuzz": fuzz,
    "size": size,
    "lean": lean,
    "openssl": openssl,
    "docs": docs,
    "packages": packages,
    "autobahn": autobahn,
    "peers": peers,
    "contestants": contestants,
    "soak": soak,
}
DEFAULT = ("lint", "types", "cpp", "python")
"""What ``./test`` runs: the tests of each part. ``.ci/run`` adds the others, but the soak,
and the fuzzing, which may find something in any change.
"""
NEED_ENVIRONMENT = ("runs", "contestants")
"""These use the native programs of ``.venv``, which ``./test`` does not make."""
BESIDE = {"cpp": ("python", "types", "lint"), "asan": ("autobahn", "docs")}
"""Run beside another suite, in this order, where both are asked for: they wait, or have one thread,
where it computes. The native tests wait at their end, when mypy computes.
"""


def run_suites(names: Sequence[str], *, seconds: int) -> dict[str, Count]:
    """Each suite's count. Those of ``BESIDE`` run in a second process, and their output comes when
    the suite that they run beside is done.
    """
    beside = {name: [one for one in BESIDE.get(name, ()) if one in names] for name in names}
    later = {one for others in beside.values() for one in others}
    counts: dict[str, Count] = {}
    for name in names:
        if name not in later:
            counts |= _run_beside(name, beside[name], seconds=seconds)
    return {name: counts[name] for name in names}


def _run_beside(name: str, beside: Sequence[str], *, seconds: int) -> dict[str, Count]:
    if not beside:
        return {name: _run_suite(name, seconds=seconds)}
    log = RESULTS / "beside.log"
    COUNTS.unlink(missing_ok=True)
    with log.open("wb") as output:
        command = [sys.executable, "-u", __file__, "--counts", *beside]
        second = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        counts = {name: _run_suite(name, seconds=seconds)}
        _follow(log, second)
    finally:
        # An interruption: they end as they do when they are interrupted alone.
        if second.poll() is None:
            second.send_signal(signal.SIGINT)
            second.wait()
    written = json.loads(COUNTS.read_text(encoding="utf-8")) if second.returncode == 0 else {}
    for one in beside:
        counts[one] = Count(**written[one]) if one in written else ONE_FAILED
    return counts


def _follow(log: Path, writer: subprocess.Popen[bytes]) -> None:
    """Prints a file that is being written, until its writer has ended."""
    with log.open("rb") as file:
        while True:
            ended = writer.poll() is not None
            sys.stdout.buffer.write(file.read())
            sys.stdout.flush()
            if ended:
                return
            time.sleep(0.2)


def _run_suite(name: str, *, seconds: int) -> Count:
    began = time.monotonic()
    print(f"\n=== {name}", flush=True)
    count = fuzz(seconds) if name == "fuzz" else SUITES[name]()
    print(f"=== {name}: {count} ({time.monotonic() - began:.0f} s)", flush=True)
    return count


# --- what they need -------------------------------------------------------------------------------


def install_needs() -> None:
    """Debian packages and the development packages of pyproject.toml."""
    if has_dpkg():
        missing = [
            name for name, version in installed_versions(PACKAGES).items() if version is None
        ]
        if missing and not is_root():
            print(
                f"tests need these Debian packages; install them with:\n  {install_line(missing)}",
                file=sys.stderr,
            )
            sys.exit(MISSING)
        if missing:
            print(f"installing Debian packages: {' '.join(missing)}", flush=True)
            for name in install(missing):
                print(
                    f"apt-get could not install {name}: tests that need it are skipped or fail",
                    file=sys.stderr,
                )
    if _install_extra("dev") != 0:
        sys.exit(MISSING)


def _install_extra(name: str) -> int:
    """The optional dependencies of this name in pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["optional-dependencies"][name]
    options = ["--disable-pip-version-check", "install", "-q", "-c", str(CONSTRAINTS)]
    return _tool("pip", *options, *wanted)


def build_dev_programs() -> bool:
    """The native programs that the tests of the lab use, before the rest of the preset dev, which
    is built while those tests run.
    """
    folder = DEV_PROGRAMS.parent
    targets = ["--target", *PROGRAMS]
    install = ["--install", "build/dev", "--prefix", str(folder), "--component"]
    return all(
        run(["cmake", *words], env={"CMAKE_GENERATOR": "Ninja"}) == 0
        for words in (
            ["--preset", "dev"],
            ["--build", "--preset", "dev", "-j", _cores(), *targets],
            *([*install, name] for name in PROGRAMS),
        )
    )


def complete_environment() -> None:
    """Make what is missing of ``.venv``."""
    if run([str(ROOT / "wirebench"), "--version"]) != 0:
        sys.exit(MISSING)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests.", prog="./test")
    described = "; ".join(f"{name}: {suite.__doc__}" for name, suite in SUITES.items())
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"{' '.join(DEFAULT)} if not given. {described}"
    )
    parser.add_argument(
        "--seconds",
        type=int,
        default=FUZZ_SECONDS,
        help="how long fuzz runs each program (%(default)s)",
    )
    parser.add_argument("--after-test", action="store_true", help="add what ./test counted before")
    # What run_suites() starts: write down the counts, for the process that adds them up.
    parser.add_argument("--counts", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    for name in given.suites:
        if name not in SUITES:
            parser.error(f"{name}: expected one of {', '.join(SUITES)}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    if given.counts:
        counts = {name: _run_suite(name, seconds=given.seconds) for name in given.suites}
        COUNTS.write_text(json.dumps({name: asdict(count) for name, count in counts.items()}))
        return 0
    before = (
        Count(**json.loads(SUMMARY.read_text(encoding="utf-8"))) if given.after_test else Count()
    )
    names = given.suites or DEFAULT
    if not given.after_test:
        install_needs()
    if set(names) & set(NEED_ENVIRONMENT):
        complete_environment()
    counts = {} if "python" not in names or build_dev_programs() else {"programs": ONE_FAILED}
    counts |= run_suites(names, seconds=given.seconds) if not counts else {}
    total = before + add(counts.values())
    SUMMARY.write_text(json.dumps(asdict(total)), encoding="utf-8")
    print()
    for name, count in counts.items():
        print(f"{name:12} {count}")
    if total.skipped:
        print(f"{total.skipped} skipped")
    if total.again:
        print(f"{total.again} passed only when run again alone: see the first run above")
    print(f"{total.passed} passed, {total.failed} failed", flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
