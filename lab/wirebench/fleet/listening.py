"""Where a host listens for another one of the fleet."""

from __future__ import annotations

import socket

from wirebench.fleet.orders import OrderError, UnreachedError
from wirebench.process.interfaces import interface_of


def listen_at(address: str, *, whose: str) -> socket.socket:
    """Listen at a free port of the address. ``OrderError`` if it is none of this host,
    ``UnreachedError`` if its interface is down. ``whose``: this host, in words.
    """
    try:
        family = socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((address, 0), family=family)
    except OSError as error:
        if _is_of_this_host(address):
            raise UnreachedError(
                f"{address}: expected its interface to be up, got it down"
            ) from error
        raise OrderError(
            f"{address}: expected an address of {whose}, got {error.strerror}"
        ) from error


def _is_of_this_host(address: str) -> bool:
    try:
        return interface_of(address) is not None
    except OSError:  # a name, or of IPv6
        return False
