"""What is said about a host: from the real one, and from ones made up."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import MANIFEST, RUN, Project
from wirebench.host import (
    Fingerprint,
    can_keep_awake,
    capture,
    command_version,
    commands,
    cores_awake,
    debian,
    diagnose,
    host_problems,
    installable,
    presence,
)
from wirebench.host.commands import find_command, forget_versions
from wirebench.host.installed import find_file
from wirebench.host.quota import cpu_quota

GOOD = capture()
GOOD = replace(
    GOOD,
    cores=8,
    governor="performance",
    cores_awake=True,
    clocksource="tsc",
    limits=replace(
        GOOD.limits,
        nofile_hard=1_000_000,
        somaxconn=4096,
        port_range=(15000, 65000),
        io_uring=True,
        cgroup=Path("/sys/fs/cgroup"),
        netem=True,
        cpu_quota=None,
    ),
)


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder first in PATH."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    forget_versions()
    return folder


def test_the_fingerprint_can_be_stored() -> None:
    host = capture(["sh-that-is-not-there"])
    data = json.loads(json.dumps(host.to_json()))
    assert data["schema"] == 1
    assert data["cores"] == len(os.sched_getaffinity(0))
    assert data["memory_bytes"] > 2**20
    assert data["kernel"] == os.uname().release
    assert data["limits"]["nofile_soft"] <= data["limits"]["nofile_hard"]
    assert data["tools"] == {}
    assert capture().host_id == host.host_id
    assert os.uname().nodename not in json.dumps(data).split('"'), (
        "the host's name is nobody's business"
    )


def test_figures_of_cores_that_sleep_and_of_cores_that_do_not_are_of_different_hosts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hosts = []
    for right in (True, False):
        monkeypatch.setattr("wirebench.host.fingerprint.can_keep_awake", lambda right=right: right)
        hosts.append(capture())
    assert [host.cores_awake for host in hosts] == [True, False]
    assert hosts[0].host_id != hosts[1].host_id


@pytest.mark.parametrize(
    ("groups", "mounts", "files", "quota"),
    [
        ("0::/", "{at}", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/", "{at}", {"cpu.max": "max 100000"}, None),
        ("0::/", "{at}", {}, None),
        # The least of a group and those around it.
        ("0::/a/b", "{at}", {"a/b/cpu.max": "max 1000", "a/cpu.max": "50000 100000"}, 0.5),
        ("0::/a", "{at}", {"a/cpu.max": "50000 100000", "cpu.max": "25000 100000"}, 0.25),
        # A mount that shows our own group alone.
        ("0::/docker/abc", "{at} root=/docker/abc", {"cpu.max": "200000 100000"}, 2.0),
        ("0::/docker/abc", "{at} root=/docker/x", {"cpu.max": "200000 100000"}, 2.0),
        (
            "4:cpu,cpuacct:/s",
            "{at} v1",
            {"s/cpu.cfs_quota_us": "75000", "s/cpu.cfs_period_us": "50000"},
            1.5,
        ),
        (
            "4:cpu,cpuacct:/s",
            "{at} v1",
            {"s/cpu.cfs_quota_us": "-1", "s/cpu.cfs_period_us": "50000"},
            None,
        ),
        ("4:memory:/", "{at} v1", {"cpu.cfs_quota_us": "1", "cpu.cfs_period_us": "2"}, None),
    ],
)
def test_the_cpu_time_that_control_groups_allow(
    tmp_path: Path, groups: str, mounts: str, files: dict[str, str], quota: float | None
) -> None:
    at = tmp_path / "with blank"
    for name, text in files.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_text(text + "\n")
    root = mounts.partition("root=")[2] or "/"
    where = str(at).replace(" ", "\\040")
    kind = "cgroup cgroup rw,cpu,cpuacct" if "v1" in mounts else "cgroup2 cgroup2 rw"
    (tmp_path / "cgroup").write_text(f"{groups}\n")
    (tmp_path / "mountinfo").write_text(
        f"1 2 0:3 / /proc rw - proc proc rw\n4 2 0:5 {root} {where} rw,relatime - {kind}\n"
    )
    assert cpu_quota(tmp_path) == quota


def test_a_quota_makes_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    free = capture()
    for quota, same in ((free.cores / 2, False), (free.cores, True)):
        limits = replace(free.limits, cpu_quota=quota)
        monkeypatch.setattr("wirebench.host.fingerprint.read_limits", lambda found=limits: found)
        assert (capture().host_id == free.host_id) is same


def test_the_wish_for_cores_awake_is_held_while_it_is_wanted(tmp_path: Path) -> None:
    device = tmp_path / "cpu_dma_latency"
    device.write_bytes(b"")

    def held() -> bool:
        return any(link.resolve() == device for link in Path("/proc/self/fd").iterdir())

    assert can_keep_awake(device)
    with cores_awake(device):
        assert device.read_bytes() == bytes(4)
        assert held()
    assert not held()


def test_where_cores_may_not_be_kept_awake_they_sleep(tmp_path: Path) -> None:
    device = tmp_path / "not_there"
    assert not can_keep_awake(device)
    with cores_awake(device):
        pass
    assert not device.exists()


def test_a_command_is_present_when_it_says_its_version(tools: Path) -> None:
    program(tools, "good", "printf '\\033[1mgood 1.2\\033[m\\nmore\\n'")
    program(tools, "on-stderr", "echo 'version 3' >&2")
    program(tools, "broken", "echo broken 1.0; exit 1")
    program(tools, "go", '[ "$1" = version ] && echo go version go9')
    assert command_version("good") == "good 1.2"
    assert command_version("on-stderr") == "version 3"
    assert command_version("broken") is None
    assert command_version("go") == "go version go9"
    assert command_version("not-there-at-all") is None


def test_files_are_found_by_path_and_in_include_folders(tmp_path: Path) -> None:
    header = tmp_path / "mine.hpp"
    assert find_file(str(header)) is None
    header.touch()
    assert find_file(str(header)) == header
    assert find_file("linux/limits.h") == Path("/usr/include/linux/limits.h")


def test_files_are_found_below_the_prefixes_that_cmake_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = tmp_path / "second" / "include" / "linux" / "limits.h"
    header.parent.mkdir(parents=True)
    header.touch()
    prefixes = (tmp_path / "first", tmp_path / "second")
    monkeypatch.setenv("CMAKE_PREFIX_PATH", os.pathsep.join(map(str, prefixes)))
    assert find_file("linux/limits.h") == header, "before the system's own"
    assert find_file("linux/socket.h") == Path("/usr/include/linux/socket.h")
    monkeypatch.setenv("CMAKE_PREFIX_PATH", "")
    assert find_file("linux/limits.h") == Path("/usr/include/linux/limits.h")


def test_a_toolchain_that_came_without_its_debian_package_counts(
    project: Project, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "wirebench.host.installed.installed_versions", lambda names: dict.fromkeys(names)
    )
    monkeypatch.setattr("wirebench.host.installed.has_dpkg", lambda: True)
    program(tools, "go", "echo go version go9")
    project.add(
        "go/mine",
        MANIFEST + 'needs = { commands = ["go"], debian = ["golang-go", "libevent-dev"] }\n' + RUN,
    )
    found = presence(project.contestant("go/mine"))
    assert found.missing_debian == ("libevent-dev",)
    assert found.packages == {"golang-go": "go version go9"}


def test_a_command_stands_for_the_package_that_brings_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "wirebench.host.installed.installed_versions", lambda names: dict.fromkeys(names)
    )
    monkeypatch.setattr(
        "wirebench.host.installed.command_versions", lambda names: dict.fromkeys(names)
    )
    monkeypatch.setattr("wirebench.host.installed.command_version", lambda _name: None)
    needs = (
        'needs = { commands = ["go", "strange"], debian = ["golang-go", "libx-dev"], files ='
        ' ["no/such.h"] }\n'
    )
    project.add("go/mine", MANIFEST + needs + RUN)
    found = presence(project.contestant("go/mine"))
    assert found.missing == ("go", "strange", "libx-dev", "no/such.h")
    assert found.installable == ("golang-go", "libx-dev")


def test_a_command_that_is_too_old(project: Project, tools: Path) -> None:
    project.add("go/mine", MANIFEST + 'needs = { commands = ["go>=1.22"] }\n' + RUN)
    one = project.contestant("go/mine")
    for version, complete in (
        ("1.22", True),
        ("1.100.3", True),
        ("2.0", True),
        ("1.21.9", False),
        ("1.9", False),
    ):
        program(tools, "go", f"echo go version go{version} linux/amd64")
        forget_versions()
        found = presence(one)
        assert found.complete is complete, version
        assert found.installable == (), (
            "what apt-get has would be too old as well, or it would be here"
        )
    assert found.missing == ("go>=1.22",)
    assert found.describe(one) == (
        f"needs go>=1.22 (found 1.9 at {tools / 'go'}); go>=1.22: see https://go.dev/dl"
    )


def test_a_package_that_is_too_old(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.add(
        "go/mine", MANIFEST + 'needs = { commands = [], debian = ["libx-dev >= 1.74"] }\n' + RUN
    )
    one = project.contestant("go/mine")
    monkeypatch.setattr("wirebench.host.installed.has_dpkg", lambda: True)
    for version, complete in (("1.74.0.3", True), ("2:1.83~1", True), ("2:1.67.0+dfsg-1", False)):
        monkeypatch.setattr(
            "wirebench.host.installed.installed_versions",
            lambda names, version=version: dict.fromkeys(names, version),
        )
        found = presence(one)
        assert found.complete is complete, version
    assert found.missing == ("libx-dev>=1.74",)
    assert found.describe(one).startswith("needs libx-dev>=1.74 (found libx-dev 1.67.0)")


@pytest.mark.parametrize(
    ("theirs", "ours", "preferred"),
    [("1.63.0", "1.95.0", True), ("1.63.0", "1.63.0", False), ("1.95.0", "1.9.0", False)],
)
def test_a_users_toolchain_is_preferred_to_an_older_one_of_the_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: str, ours: str, preferred: bool
) -> None:
    system, home = tmp_path / "usr-bin", tmp_path / "home"
    own = home / ".cargo/bin"
    for folder, version in ((system, theirs), (own, ours)):
        folder.mkdir(parents=True)
        program(folder, "cargo", f"echo 'cargo {version} (abc 2024-01-01)'")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CARGO_HOME", raising=False)
    monkeypatch.delenv("RUSTUP_HOME", raising=False)
    monkeypatch.setattr(commands, "_DISTRIBUTION", (system,))
    monkeypatch.setenv("PATH", f"{system}{os.pathsep}{os.environ['PATH']}")
    forget_versions()
    assert find_command("cargo") == str((own if preferred else system) / "cargo")
    # One that a user put into PATH from elsewhere is meant.
    monkeypatch.setattr(commands, "_DISTRIBUTION", ())
    assert find_command("cargo") == str(system / "cargo")


@pytest.mark.parametrize(
    ("candidate", "installable"), [("1.19", ()), ("1.22", ("golang-go",)), (None, ("golang-go",))]
)
def test_a_package_that_would_be_too_old_is_not_offered(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    candidate: str | None,
    installable: tuple[str, ...],
) -> None:
    monkeypatch.setattr(
        "wirebench.host.installed.installed_versions", lambda names: dict.fromkeys(names)
    )
    monkeypatch.setattr(
        "wirebench.host.installed.command_versions", lambda names: dict.fromkeys(names)
    )
    monkeypatch.setattr("wirebench.host.installed.command_version", lambda _name: None)
    monkeypatch.setattr("wirebench.host.installed.candidate_version", {"golang-go": candidate}.get)
    project.add(
        "go/mine", MANIFEST + 'needs = { commands = ["go>=1.22"], debian = ["golang-go"] }\n' + RUN
    )
    one = project.contestant("go/mine")
    found = presence(one)
    assert found.missing == ("go>=1.22",)
    assert found.installable == installable
    assert ("see https://go.dev/dl" in found.describe(one)) == (not installable)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("2:1.19~1", "1.19~1"),
        ("2:1.19~1-4", "1.19~1"),
        ("1.63.0+dfsg1-2", "1.63.0+dfsg1"),
        ("(none)", None),
    ],
)
def test_the_version_that_apt_would_install(tools: Path, policy: str, expected: str | None) -> None:
    program(
        tools, "apt-cache", f"printf '%s:\\n  Installed: (none)\\n  Candidate: {policy}\\n' \"$2\""
    )
    assert debian.candidate_version.__wrapped__("some-package") == expected


def test_packages_that_dpkg_knows(tools: Path) -> None:
    program(
        tools,
        "dpkg-query",
        "printf 'installed\\tlibfoo1\\t1.0\\t\\ninstalled\\tlibfoo-openssl-dev\\t1.0-2\\tlibfoo-dev"
        " (= 1.0), libfoo4-dev\\n'; printf 'config-files\\tgone\\t3\\t\\n'",
    )
    assert debian.installed_versions(["libfoo1", "libfoo-dev", "gone", "never"]) == {
        "gone": None,
        "libfoo-dev": "libfoo-openssl-dev 1.0-2",
        "libfoo1": "1.0",
        "never": None,
    }


def test_packages_are_installed_by_name_and_one_refused_does_not_stop_the_others(
    tools: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    policy = tmp_path / "policy-rc.d"
    monkeypatch.setattr(debian, "_POLICY", policy)
    calls = tmp_path / "calls"
    program(
        tools,
        "apt-get",
        f'echo "$@" >>{calls}; [ -x {policy} ] || echo no policy >>{calls}; {policy} && echo'
        f' services start >>{calls}; case "$*" in *bad*) echo "E: Unable to locate package bad";'
        " exit 100;; esac",
    )
    said: list[str] = []
    assert debian.install(["good", "bad", "fine"], on_line=said.append) == ["bad"]
    asked = [line.rpartition("=300 ")[2] for line in calls.read_text().splitlines()]
    install = "install -y --no-install-recommends"
    assert asked == [
        "update",
        f"{install} good bad fine",
        f"{install} good",
        f"{install} bad",
        f"{install} fine",
    ]
    assert "E: Unable to locate package bad" in said
    assert not policy.exists()


def test_the_line_to_run() -> None:
    line = "apt-get update && apt-get install -y --no-install-recommends a b"
    assert debian.install_line(["a", "b"], root=True) == line
    assert debian.install_line(["a"], root=False).count("sudo apt-get") == 2


def test_a_good_host_has_no_problems() -> None:
    assert list(host_problems(GOOD)) == []


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (replace(GOOD, cores=1), "one core"),
        (
            replace(GOOD, limits=replace(GOOD.limits, cpu_quota=1.5)),
            "control groups allow the CPU time of 1.5 of 8 cores",
        ),
        (replace(GOOD, governor="powersave"), "governor is powersave"),
        (replace(GOOD, cores_awake=False), "no permission to write to /dev/cpu_dma_latency"),
        (replace(GOOD, clocksource="hpet"), "the clock is hpet"),
        (replace(GOOD, limits=replace(GOOD.limits, nofile_hard=1024)), "may open 1024 files"),
        (replace(GOOD, limits=replace(GOOD.limits, somaxconn=128)), "somaxconn is 128"),
        (
            replace(GOOD, limits=replace(GOOD.limits, port_range=(60000, 61000))),
            "ip_local_port_range is 60000-61000",
        ),
        (replace(GOOD, limits=replace(GOOD.limits, cgroup=None)), "no cgroup v2 folder"),
        (replace(GOOD, limits=replace(GOOD.limits, io_uring=False)), "io_uring is not allowed"),
        (
            replace(GOOD, limits=replace(GOOD.limits, netem=False, tun=False)),
            "neither netem nor /dev/net/tun",
        ),
    ],
)
def test_each_problem_says_why_it_matters(host: Fingerprint, expected: str) -> None:
    (problem,) = host_problems(host)
    assert expected in problem.what
    assert problem.why


def test_what_contestants_miss_is_put_together_by_what_installs_it(
    project: Project, tools: Path
) -> None:
    program(tools, "gcc", "echo gcc 12")
    project.add(
        "c/one", MANIFEST + 'needs = { commands = ["gcc"], debian = ["libnone-dev"] }\n' + RUN
    )
    project.add("c/two", MANIFEST + 'needs = { debian = ["libnone-dev"] }\n' + RUN)
    project.add(
        "c/header",
        MANIFEST
        + 'published = "https://example.org/get"\nneeds = { files = ["no/such.h"] }\n'
        + RUN,
    )
    off = 'disabled = { reason = "x", since = 2026-01-31 }\n'
    project.add("c/off", MANIFEST + off + 'needs = { debian = ["liboff-dev"] }\n' + RUN)
    project.add("c/bad", "library = 1")
    project.add(
        "x/other",
        MANIFEST + 'needs = { commands = ["no-such-tool"], debian = ["libother-dev"] }\n' + RUN,
    )
    catalog = project.catalog()
    problems = diagnose(catalog, fingerprint=GOOD)
    assert [problem.severity for problem in problems] == ["missing"] * 3 + ["note"]
    assert "c/bad/manifest.toml: library: expected a valid string, got 1" in problems[0].what
    assert problems[1].what == "not installed: libnone-dev"
    assert problems[1].why == "not measured without: c/one, c/two"
    assert problems[1].fix is not None
    assert problems[1].fix.endswith("apt-get install -y --no-install-recommends libnone-dev")
    assert "https://example.org/get" in problems[3].what
    assert installable(catalog.contestants.values()) == ["libnone-dev", "libother-dev"]
    assert installable(catalog.contestants.values(), toolchain_present=True) == ["libnone-dev"]
