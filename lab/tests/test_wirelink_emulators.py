"""Which of the two emulators carries the packets of a link, with a ``tc`` that knows netem or not.

The kernel of the host may have no netem; then the ``tc`` that knows it delays nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wirebench.run.local import find_link

NETEM = """#!/bin/sh
echo "$*" >>"{log}"
case "$*" in
*show*) echo '[{{"kind":"netem","bytes":84,"packets":1,"drops":2}}]' ;;
esac
exit {code}
"""

KNOCK = "import socket; socket.create_connection(('198.18.0.1', 9), timeout=5)"


@pytest.fixture
def wirelink() -> Path:
    """The installed program, where it can join two namespaces by devices of the kernel."""
    found = find_link()
    if found is None:
        pytest.skip("needs wirelink")
    pair = ["ip", "link", "add", "wan0", "type", "veth", "peer", "name", "wan1"]
    if subprocess.run(["unshare", "-rn", *pair], capture_output=True).returncode:
        pytest.skip("no user namespaces with veth devices here")
    return found


class World:
    """A folder with a ``tc`` of our own before the others in PATH."""

    def __init__(self, folder: Path, *, code: int) -> None:
        self.log = folder / "log"
        tc = folder / "tc"
        tc.write_text(NETEM.format(log=self.log, code=code))
        tc.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}

    def start(self, wirelink: Path, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(wirelink), "--rtt-ms=54", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def open_and_close(self, wirelink: Path, *options: str) -> tuple[dict[str, Any], Any]:
        """The first line, and the last one. Between them a client knocks at the server."""
        with self.start(wirelink, *options) as link:
            assert link.stdout is not None
            opened = json.loads(link.stdout.readline())
            user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
            target = str(opened["client"]["pid"])
            done = subprocess.run(
                ["nsenter", *user, "--net", "--target", target, sys.executable, "-c", KNOCK],
                capture_output=True,
                text=True,
            )
            link.send_signal(signal.SIGTERM)
            closed = json.loads(link.stdout.readline())
        assert link.returncode == 0
        assert "ConnectionRefusedError" in done.stderr
        return opened, closed

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()


def test_netem_is_taken_where_the_kernel_has_it(wirelink: Path, tmp_path: Path) -> None:
    world = World(tmp_path, code=0)
    opened, closed = world.open_and_close(wirelink, "--loss-percent=1")
    assert opened["emulator"] == "netem"
    assert not opened["recorded"]
    probe, *ends, _, _ = world.calls()
    assert probe == "qdisc add dev lo root netem delay 1ms"
    end = "qdisc add dev wan0 root handle 1: netem limit 65536 delay 27000us loss 1%"
    assert ends == [end, end]
    carried = {"forwarded": 1, "bytes": 84, "dropped": 2}
    assert closed == {"upstream": carried, "downstream": carried}


def test_with_netem_both_ends_know_each_other(wirelink: Path, tmp_path: Path) -> None:
    """To ask for the address (ARP) would cost the first packet a round trip."""
    tables = []
    with World(tmp_path, code=0).start(wirelink) as link:
        assert link.stdout is not None
        opened = json.loads(link.stdout.readline())
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        for end in ("server", "client"):
            enter = ["nsenter", *user, "--net", "--target", str(opened[end]["pid"])]
            done = subprocess.run([*enter, "cat", "/proc/net/arp"], capture_output=True, text=True)
            tables.append([line.split()[:3] for line in done.stdout.splitlines()[1:]])
        link.send_signal(signal.SIGTERM)
    permanent = "0x6"
    assert tables == [
        [["198.18.0.2", "0x1", permanent]],
        [["198.18.0.1", "0x1", permanent]],
    ]


def test_without_netem_the_packets_pass_through_wirelink(wirelink: Path, tmp_path: Path) -> None:
    world = World(tmp_path, code=2)
    opened, closed = world.open_and_close(wirelink)
    assert opened["emulator"] == "tun"
    assert len(world.calls()) == 1
    assert min(closed[way]["forwarded"] for way in ("upstream", "downstream")) >= 1
    assert [closed[way]["missed"] for way in ("upstream", "downstream")] == [0, 0]
    assert 0 <= closed["late_ns"]["p50"] <= closed["late_ns"]["p99"] <= closed["late_ns"]["max"]


def test_a_record_is_kept_by_wirelink_itself(wirelink: Path, tmp_path: Path) -> None:
    world = World(tmp_path, code=0)
    record = tmp_path / "packets"
    opened, _ = world.open_and_close(wirelink, f"--record={record}")
    assert (opened["emulator"], opened["recorded"]) == ("tun", True)
    assert not world.log.exists(), "nobody asks for netem"
    assert record.read_text().startswith("wirelink-packets/1 ")


def test_who_asks_for_netem_is_told_why_there_is_none(wirelink: Path, tmp_path: Path) -> None:
    with World(tmp_path, code=2).start(wirelink, "--emulator=netem") as link:
        output, error = link.communicate()
    assert link.returncode == 2
    assert output == ""
    assert error.startswith("wirelink: tc qdisc add dev wan0 root")


def test_a_record_that_does_not_fit_is_named_after_what_was_carried(
    wirelink: Path, tmp_path: Path
) -> None:
    with World(tmp_path, code=2).start(wirelink, "--record=/dev/full") as link:
        assert link.stdout is not None
        assert link.stderr is not None
        link.stdout.readline()
        link.send_signal(signal.SIGTERM)
        assert "late_ns" in json.loads(link.stdout.readline())
        assert link.stderr.read() == "wirelink: /dev/full: No space left on device\n"
    assert link.returncode == 2


def test_a_link_whose_first_line_nobody_gets_is_not_opened(wirelink: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [str(wirelink), "--rtt-ms=54"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=20,
        )
    assert done.returncode == 2
    assert done.stderr == "wirelink: standard output: No space left on device\n"


def test_an_output_that_is_closed_is_no_place_for_a_record(wirelink: Path, tmp_path: Path) -> None:
    record = tmp_path / "packets"
    shell = 'exec "$0" --rtt-ms=54 --record="$1" >&-'
    done = subprocess.run(
        ["sh", "-c", shell, str(wirelink), str(record)], capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 2
    assert done.stderr == "wirelink: standard output: Bad file descriptor\n"
    assert record.read_text() == ""


def test_a_root_that_may_not_make_namespaces_is_told_what_it_lacks(wirelink: Path) -> None:
    """As in a container."""
    less = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    if os.geteuid() != 0 or subprocess.run([*less, "true"], capture_output=True).returncode:
        pytest.skip("needs root and setpriv")
    done = subprocess.run(
        [*less, str(wirelink), "--rtt-ms=54"], capture_output=True, text=True, timeout=20
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "wirelink: creating a network namespace: Operation not permitted; run as root with"
        " CAP_SYS_ADMIN"
    )


@pytest.mark.parametrize("end", ["server", "client"])
def test_a_device_that_is_deleted_ends_the_link(wirelink: Path, tmp_path: Path, end: str) -> None:
    with World(tmp_path, code=2).start(wirelink) as link:
        assert link.stdout is not None
        assert link.stderr is not None
        opened = json.loads(link.stdout.readline())
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        enter = ["nsenter", *user, "--net", "--target", str(opened[end]["pid"])]
        try:
            subprocess.run([*enter, "ip", "link", "del", "wan0"], check=True)
            assert link.wait(20) == 2
        finally:
            link.kill()
        assert f"the device of the {end}'s end is gone" in link.stderr.read()


def refusal(wirelink: Path, *options: str) -> str:
    """What it says on standard error, and nothing else."""
    done = subprocess.run([str(wirelink), *options], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (64, "")
    return done.stderr


def test_netem_is_not_asked_for_a_record(wirelink: Path, tmp_path: Path) -> None:
    record = tmp_path / "packets"
    said = refusal(wirelink, "--rtt-ms=54", "--emulator=netem", f"--record={record}")
    assert said.startswith("wirelink: --record: ")
    assert not record.exists()


def test_a_record_has_a_name(wirelink: Path) -> None:
    said = refusal(wirelink, "--rtt-ms=54", "--record", "")
    assert said == "wirelink: --record '': give a file, or leave it out\n"


@pytest.mark.parametrize("rate", ["1e-7", "7e-6", "1e-300"])
def test_a_rate_that_rounds_to_none_is_not_taken_for_no_limit(wirelink: Path, rate: str) -> None:
    said = refusal(wirelink, "--rtt-ms=54", f"--rate-mbit={rate}")
    assert said.startswith("wirelink: --rate-mbit: expected 0, for no limit, or at least 8e-6 ")


def test_without_a_delay_nothing_is_reordered(wirelink: Path) -> None:
    said = refusal(wirelink, "--rtt-ms=0", "--reorder-percent=5")
    assert said.startswith("wirelink: --reorder-percent: ")


def test_a_seed_is_not_negative(wirelink: Path) -> None:
    said = refusal(wirelink, "--rtt-ms=54", "--seed=-1")
    assert said.startswith("--seed: expected 0 or more, got -1")


@pytest.mark.parametrize("rtt", ["2.01", "8.03"])
def test_a_round_trip_is_what_was_asked_for(wirelink: Path, rtt: str) -> None:
    """Also where half of it, in nanoseconds, is a little less than a whole number."""
    command = [str(wirelink), f"--rtt-ms={rtt}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as link:
        assert link.stdout is not None
        opened = json.loads(link.stdout.readline())
        link.send_signal(signal.SIGTERM)
    assert opened["rtt_ns"] == round(float(rtt) * 1e6)


@pytest.mark.parametrize(
    ("option", "other"), [("--queue-packets", "--rate-mbit"), ("--record-packets", "--record")]
)
def test_what_means_nothing_alone_is_refused(wirelink: Path, option: str, other: str) -> None:
    said = refusal(wirelink, "--rtt-ms=54", f"{option}=5")
    assert f"{option} requires {other}" in said


@pytest.mark.parametrize("option", ["jitter-ms", "rate-mbit", "loss-percent"])
def test_what_is_not_a_number_is_refused(wirelink: Path, option: str) -> None:
    done = subprocess.run(
        [str(wirelink), "--rtt-ms=54", f"--{option}=nan"],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("wirelink: ")
