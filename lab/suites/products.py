"""The suites of what is given to others, with other people's programs: reference, packages, peers,
contestants.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

from bootstrap import MISSING, ROOT, VENV
from suites.commands import RESULTS, build, run
from suites.counts import (
    ONE_FAILED,
    ONE_PASSED,
    Count,
    add,
    checked,
    count_junit,
    count_probes,
    count_verified,
    one,
)
from suites.needs import install_extra
from wirebench.host.debian import has_dpkg, install, installed_versions, is_root

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


def docs() -> Count:
    """The documentation site with wire's reference: links, pictures, decisions. Strict."""
    return one(run([str(VENV / "bin" / "python"), "docs/build.py", "--install"]))


def packages() -> Count:
    """What a release publishes, each installed into an empty environment and used."""
    if install_extra("release") != 0:
        return ONE_FAILED
    built = ROOT / "build" / "packages"
    python = str(VENV / "bin" / "python")
    # Where the peers are tested beside this, some of those tests look at the clock.
    if run(["nice", python, "packaging/release.py", "--out", str(built)]) != 0:
        return ONE_FAILED
    folder = ROOT / "packaging" / "tests"
    report = RESULTS / "packages.xml"
    report.unlink(missing_ok=True)
    options = ["-c", str(folder / "pytest.ini"), "-ra", f"--junitxml={report}", str(folder)]
    status = run([python, "-m", "pytest", *options], env={"WIREBENCH_DIST": str(built)})
    return checked(count_junit(report), status)


def autobahn() -> Count:
    """Autobahn's WebSocket cases, both roles, all strict. Skipped where there is no Python 2.7 to
    run them.
    """
    if not build("dev", "wire_autobahn"):
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
    return checked(counts, answer.returncode)


def peers() -> Count:
    """wire against other people's programs: Chromium, curl, nginx, HAProxy, Apache, squid, Go,
    Node, Java and Python; a gibibyte each way. Those that are not installed are skipped.
    """
    if not build("dev", "wire_peer", "wireload"):
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
    return checked(count_junit(report), status)


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
    return checked(add(kinds[result["status"]] for result in results), answer.returncode)


def _verify_all(wirebench: str) -> Count:
    report = RESULTS / "verify.jsonl"
    report.unlink(missing_ok=True)
    status = run([wirebench, "verify", "--json", str(report)])
    return checked(count_verified(report), status)


def _wire_keeps_to_the_standards(wirebench: str) -> Count:
    """Our own library has to hold every MUST that the probes know; of other contestants they only
    report.
    """
    report = RESULTS / "conformance.jsonl"
    report.unlink(missing_ok=True)
    status = run([wirebench, "verify", "cpp/wire", "--conformance", "--json", str(report)])
    return checked(count_probes(report), status)
