"""Hosts as network namespaces of this machine, joined by a bridge in a namespace of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

COMMAND = "command"
"""The namespace with the bridge, where the command runs."""
HUB, PAIR = "eth0", "pair0"
"""The devices of a host: to the bridge, and to the host that it was joined with."""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=30)


def refusal() -> str | None:
    """Why there are no namespaces here; None if there are."""
    name = f"wb{os.getpid()}-probe"
    try:
        ip("netns", "add", name)
        ip("netns", "del", name)
    except FileNotFoundError:
        return "needs the command ip (Debian package iproute2)"
    except subprocess.CalledProcessError as error:
        return f"this host allows no network namespaces: {error.stderr.strip()}"
    return None


@dataclass(frozen=True, kw_only=True)
class Namespaces:
    names: Sequence[str]

    def enter(self, name: str) -> tuple[str, ...]:
        """The words that start a command there."""
        return ("nsenter", f"--net=/run/netns/{namespace(name)}")

    def join(self, one: str, other: str) -> str:
        """Give two hosts a link of their own, beside the way to the command. Returns the address of
        the first on it.
        """
        number = 2 + list(self.names).index(one)
        ends = {one: f"10.212.{number}.1", other: f"10.212.{number}.2"}
        peer = ("peer", "name", PAIR, "netns", namespace(other))
        ip("-n", namespace(one), "link", "add", PAIR, "type", "veth", *peer)
        for name, address in ends.items():
            ip("-n", namespace(name), "address", "add", f"{address}/24", "dev", PAIR)
            self.mend(name, PAIR)
        return ends[one]

    def cut(self, name: str, device: str = HUB) -> None:
        ip("-n", namespace(name), "link", "set", device, "down")

    def mend(self, name: str, device: str = HUB) -> None:
        ip("-n", namespace(name), "link", "set", device, "up")

    def address(self, name: str) -> str:
        return f"10.211.0.{2 + list(self.names).index(name)}"

    command_address = "10.211.0.1"


def namespace(name: str) -> str:
    return f"wb{os.getpid()}-{name}"


@contextmanager
def joined(names: Sequence[str]) -> Iterator[Namespaces]:
    """Namespaces of these hosts, and that of the command. They are gone afterwards."""
    made = Namespaces(names=names)
    try:
        for name in (COMMAND, *names):
            ip("netns", "add", namespace(name))
            ip("-n", namespace(name), "link", "set", "lo", "up")
        hub = namespace(COMMAND)
        ip("-n", hub, "link", "add", "br0", "type", "bridge")
        ip("-n", hub, "address", "add", f"{made.command_address}/24", "dev", "br0")
        ip("-n", hub, "link", "set", "br0", "up")
        for number, name in enumerate(names):
            port, own = f"port{number}", namespace(name)
            ip("-n", hub, "link", "add", port, "type", "veth", "peer", "name", HUB, "netns", own)
            ip("-n", hub, "link", "set", port, "master", "br0", "up")
            ip("-n", own, "address", "add", f"{made.address(name)}/24", "dev", HUB)
            made.mend(name)
        yield made
    finally:
        for name in (COMMAND, *names):
            if Path("/run/netns", namespace(name)).exists():
                with suppress(subprocess.CalledProcessError):
                    ip("netns", "del", namespace(name))
