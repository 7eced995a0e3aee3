"""Where a process has its sockets: an address of this host, or one end of an emulated link."""

from __future__ import annotations

import random
from dataclasses import dataclass

from wirebench.process import ports, procfs


@dataclass(frozen=True, kw_only=True)
class Network:
    address: str = ports.HOST
    """Where a server in it listens."""
    enter: tuple[str, ...] = ()
    """The command that starts a program in it."""
    holder: int | None = None
    """A process in it; None: the lab itself is in it."""

    def free_port(self, seed: int) -> int:
        """A port to listen on. In a network of the trial's own every port is free."""
        if self.holder is None:
            return ports.free_port(seed, host=self.address)
        return random.Random(seed).choice(ports.port_range())

    def accepts(self, port: int) -> bool:
        """Whether a connection to the port would be accepted. From outside the network this is
        seen by its listening socket.
        """
        if self.holder is None:
            return ports.accepts(port, host=self.address)
        return bool(procfs.listener_inodes(port, pid=self.holder))

    def is_free(self, port: int) -> bool:
        """Whether a server could listen there."""
        return self.holder is not None or ports.is_free(port, host=self.address)

    def listens_for(self, pids: set[int], port: int) -> bool:
        """Whether one of these processes owns the port's listening socket. A network of the
        trial's own has no other servers.
        """
        return self.holder is not None or ports.listens_for(pids, port)


LOOPBACK = Network()
