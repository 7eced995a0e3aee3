"""The suite ``fuzz``: each libFuzzer program from its corpus."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bootstrap import ROOT
from suites.commands import build, cores
from suites.counts import ONE_FAILED, ONE_PASSED, Count, add
from suites.native import found_clang

FUZZ_SECONDS = 10


def fuzz(seconds: int = FUZZ_SECONDS) -> Count:
    """Every libFuzzer program, from its corpus, with ASan and UBSan, for --seconds. Skipped where
    there is no Clang.
    """
    compiler = found_clang()
    if compiler is None:
        return Count(skipped=1)
    if not build("fuzz", "fuzzers", options=[f"-DCMAKE_CXX_COMPILER={compiler}"]):
        return ONE_FAILED
    corpora = sorted(
        path
        for part in ("wire", "wireload")
        for path in (ROOT / part / "tests/fuzz/corpus").iterdir()
    )
    with ThreadPoolExecutor(int(cores())) as pool:
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
