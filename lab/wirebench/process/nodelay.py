"""Whether a server has TCP_NODELAY on for a connection, read from outside while that is open."""

from __future__ import annotations

import ctypes
import os
import socket
import time
from collections.abc import Callable, Iterable

from wirebench.process import interrupt, procfs

_PIDFD_GETFD = 438
"""The number of pidfd_getfd(2), since Linux 5.6: x86-64 and arm64 have the same. Neither Python nor
glibc before 2.36 has a function for it.
"""
_PAUSE_S = 0.005


class UnreadableError(Exception):
    """Why this host does not show the option."""


def has_nodelay(
    pids: Callable[[], Iterable[int]], *, port: int, client_port: int, within_s: float = 0.5
) -> bool:
    """Of the socket with which one of these processes serves the connection from ``client_port`` to
    its ``port`` (both of this host). Waits for it to be accepted.

    The socket is read on a duplicate of the descriptor, which needs the permission to trace the
    process (ptrace(2)). Errors: ``UnreadableError``.
    """
    pid, descriptor = _accepted(pids, port, client_port, within_s)
    try:
        with socket.socket(fileno=_duplicate(pid, descriptor)) as one:
            return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
    except OSError as error:
        raise UnreadableError(f"pidfd_getfd: {error.strerror}") from error


def _accepted(
    pids: Callable[[], Iterable[int]], port: int, client_port: int, within_s: float
) -> tuple[int, int]:
    """The process and the descriptor that it has the connection as."""
    deadline = time.monotonic() + within_s
    while True:
        inodes = procfs.connection_inodes(port, client_port)
        found = procfs.find_socket(pids(), inodes) if inodes else None
        if found is not None:
            return found
        if time.monotonic() > deadline:
            raise UnreadableError("no process of the server is seen to have the socket")
        with interrupt.waiting():
            time.sleep(_PAUSE_S)


def _duplicate(pid: int, descriptor: int) -> int:
    process = os.pidfd_open(pid)
    try:
        duplicate = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, process, descriptor, 0)
        if duplicate < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(process)
    return int(duplicate)
