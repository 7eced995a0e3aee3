"""Autobahn's WebSocket test suite against wire, as server and as client; every case has to pass
strictly.

The 216 cases of compression (12 and 13) send a thousand messages each, up to 128 KiB long, which
takes the suite's Python most of an hour. Here all of them are run, but with a tenth of the messages
unless ``--messages 1000`` asks for all.

    python3 wire/tests/autobahn/run.py build/dev/wire/wire_autobahn

The suite (PyPI: autobahntestsuite) needs Python 2.7, and is installed with that one's pip into a
folder of its own beside the reports. The last line is a JSON object: {"passed": N, "failed": N,
"skipped": N}. Exit codes: 0 all passed, 1 a case failed, 69 there is no Python 2.7 here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

Index = dict[str, dict[str, str]]
"""What the suite says of each case."""
VERSION = "25.10.1"
MISSING = 69
HOST = "127.0.0.1"
TIMEOUT_S = 900
START_TIMEOUT_S = 30
GOOD = ("OK", "INFORMATIONAL")
"""INFORMATIONAL: the case has no right or wrong. NON-STRICT, a late failure where an early one is
due, is not good enough.
"""
SKIPPED = "UNIMPLEMENTED"
"""Cases of compression with parameters that the peer does not agree to."""
MESSAGES = 100
# --target leaves packages in namespaces (zope) to .pth files, which only addsitedir() reads.
WSTEST = """import site, sys
site.addsitedir(sys.argv[1])
most = int(sys.argv[2])
sys.argv[0:3] = ["wstest"]
from autobahntestsuite.wstest import run
from autobahntestsuite.case import Cases
for case in Cases:
    if getattr(case, "COUNT", 0) > most:
        case.DESCRIPTION = case.DESCRIPTION.replace("Send %d" % case.COUNT, "Send %d" % most)
        case.COUNT = most
run()"""


def find_python() -> str | None:
    """A Python 2.7: on the PATH, or one of pyenv's."""
    found = shutil.which("python2.7")
    if (
        found is not None
        and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0
    ):
        return found
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return next(
        (str(one) for one in sorted(root.glob("versions/2.7*/bin/python2.7"), reverse=True)), None
    )


def install(python: str, folder: Path) -> None:
    done = folder / f"{VERSION}.done"
    if done.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [
        python,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "-q",
        "--target",
        str(folder),
    ]
    subprocess.run(
        [*command, f"autobahntestsuite=={VERSION}"], check=True, stderr=subprocess.DEVNULL
    )
    done.touch()


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def running(command: Sequence[str], port: int, *, cwd: Path) -> Iterator[None]:
    """A server, from when it takes connections until the end of the block."""
    log = cwd / "server.log"
    with (
        log.open("w") as output,
        subprocess.Popen(command, cwd=cwd, stdout=output, stderr=output) as process,
    ):
        try:
            give_up = time.monotonic() + START_TIMEOUT_S
            while True:
                try:
                    socket.create_connection((HOST, port), timeout=1).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > give_up:
                        raise SystemExit(
                            f"{command[0]} takes no connections: {log.read_text()[-2000:]}"
                        ) from None
                    time.sleep(0.05)
            yield
        finally:
            process.terminate()


@dataclass(frozen=True, kw_only=True)
class Suite:
    """The suite as installed, and the program that it tests."""

    python: str
    packages: Path
    messages: int
    peer: Path

    def command(self, mode: str, specification: Path) -> list[str]:
        return [
            self.python,
            "-c",
            WSTEST,
            str(self.packages),
            str(self.messages),
            "-m",
            mode,
            "-s",
            str(specification),
        ]


def test_server(suite: Suite, folder: Path) -> Index:
    port = free_port()
    specification = folder / "fuzzingclient.json"
    servers = [{"agent": "wire", "url": f"ws://{HOST}:{port}"}]
    specification.write_text(
        json.dumps({"outdir": "reports", "servers": servers, "cases": ["*"], "exclude-cases": []})
    )
    with running([str(suite.peer), "server", str(port)], port, cwd=folder):
        run(suite.command("fuzzingclient", specification), folder)
    return read_index(folder)


def test_client(suite: Suite, folder: Path) -> Index:
    return _test_client(suite, folder, "client", ["*"])


def test_takeover(suite: Suite, folder: Path) -> Index:
    """The client once more, offering context takeover, in the cases that leave the offer to it."""
    return _test_client(suite, folder, "takeover", ["12.*"])


def _test_client(suite: Suite, folder: Path, role: str, cases: Sequence[str]) -> Index:
    port = free_port()
    specification = folder / "fuzzingserver.json"
    url = f"ws://{HOST}:{port}"
    specification.write_text(
        json.dumps({"outdir": "reports", "url": url, "cases": cases, "exclude-cases": []})
    )
    with running(suite.command("fuzzingserver", specification), port, cwd=folder):
        run([str(suite.peer), role, url], folder)
    return read_index(folder)


def run(command: Sequence[str], folder: Path) -> None:
    with (folder / "run.log").open("w") as output:
        subprocess.run(
            command, cwd=folder, stdout=output, stderr=output, timeout=TIMEOUT_S, check=True
        )


def read_index(folder: Path) -> Index:
    index: dict[str, Index] = json.loads((folder / "reports" / "index.json").read_text())
    return index["wire"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Autobahn's WebSocket test suite against wire, both roles."
    )
    parser.add_argument("peer", type=Path, help="the program wire_autobahn")
    parser.add_argument(
        "--folder", type=Path, default=Path("build/autobahn"), help="for the suite and its reports"
    )
    parser.add_argument(
        "--messages",
        type=int,
        default=MESSAGES,
        help=f"at most so many in a case; {MESSAGES} if not given",
    )
    asked = parser.parse_args()
    python = find_python()
    if python is None:
        print(
            "no Python 2.7 here (python2.7 on the PATH, or pyenv install 2.7.18): "
            "Autobahn's suite is not run",
            file=sys.stderr,
        )
        return MISSING
    folder = asked.folder.resolve()
    install(python, folder / "packages")
    suite = Suite(
        python=python,
        packages=folder / "packages",
        messages=asked.messages,
        peer=asked.peer.resolve(),
    )
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for role, test in (
        ("server", test_server),
        ("client", test_client),
        ("takeover", test_takeover),
    ):
        shutil.rmtree(folder / role, ignore_errors=True)
        (folder / role).mkdir(parents=True)
        results = test(suite, folder / role)
        for case, result in sorted(
            results.items(), key=lambda item: [int(part) for part in item[0].split(".")]
        ):
            said = (result["behavior"], result["behaviorClose"])
            kind = (
                "skipped"
                if said[0] == SKIPPED
                else "passed"
                if all(one in GOOD for one in said)
                else "failed"
            )
            counts[kind] += 1
            if kind == "failed":
                report = folder / role / "reports" / result["reportfile"]
                print(f"{role} case {case}: {said[0]}, close {said[1]}; see {report}")
        print(f"{role}: {len(results)} cases")
    print(json.dumps(counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
