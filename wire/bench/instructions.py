#!/usr/bin/env python3
"""Instructions that each benchmark of wire_bench takes, counted by Valgrind: the same on every run,
also on a busy machine.

    wire/bench/instructions.py build/release/wire/wire_bench [REGEX]

Prints one line for each kind of work: instructions a round with wire, and every peer's as a
multiple of it. Not the whole truth (caches, vectors' width), but a way to see where one is behind
before measuring time.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict

FEW, MANY = 200, 1200


def instructions(program: str, name: str, rounds: int) -> int:
    """Of the whole process with so many rounds of one benchmark."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program]
    command += [f"--rounds={rounds}", f"--benchmark_filter=^{name}/"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    if "ERROR OCCURRED" in answer.stdout:
        raise SystemExit(f"{name}: {answer.stdout}")
    found = re.search(r"Collected : (\d+)", answer.stderr)
    if found is None:
        raise SystemExit(f"no count in what valgrind said:\n{answer.stderr}")
    return int(found[1])


def main() -> None:
    program, pattern = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "."
    listed = subprocess.run(
        [program, "--benchmark_list_tests", f"--benchmark_filter={pattern}"],
        capture_output=True,
        text=True,
        check=True,
    )
    works: dict[str, dict[str, float]] = defaultdict(dict)
    for name in listed.stdout.split():
        work, _, whose = name.rpartition("/")
        works[work][whose] = (
            instructions(program, name, MANY) - instructions(program, name, FEW)
        ) / (MANY - FEW)
    for work, counts in works.items():
        ours = counts.pop("wire")
        print(
            f"{work:24} wire {ours:10.1f}   "
            + "   ".join(f"{whose} {n / ours:.2f}x" for whose, n in counts.items()),
            flush=True,
        )


if __name__ == "__main__":
    main()
