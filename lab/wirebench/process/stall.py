"""What a server that stands still is waiting for, as /proc shows it: its threads, its connections
and their queues.
"""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from wirebench.catalog.units import count_of
from wirebench.process import procfs

_SYSCALLS: Mapping[str, Mapping[int, str]] = {
    "x86_64": {
        0: "read", 1: "write", 7: "poll", 20: "writev", 23: "select", 34: "pause",
        35: "nanosleep", 43: "accept", 44: "sendto", 45: "recvfrom", 46: "sendmsg",
        47: "recvmsg", 61: "wait4", 128: "rt_sigtimedwait", 130: "rt_sigsuspend", 202: "futex",
        230: "clock_nanosleep", 232: "epoll_wait", 270: "pselect6", 271: "ppoll",
        281: "epoll_pwait", 288: "accept4", 426: "io_uring_enter", 441: "epoll_pwait2",
    },
    "aarch64": {
        22: "epoll_pwait", 63: "read", 64: "write", 66: "writev", 72: "pselect6", 73: "ppoll",
        98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 133: "rt_sigsuspend",
        137: "rt_sigtimedwait", 202: "accept", 206: "sendto", 207: "recvfrom", 211: "sendmsg",
        212: "recvmsg", 242: "accept4", 260: "wait4", 426: "io_uring_enter", 441: "epoll_pwait2",
    },
}  # fmt: skip
"""Those that a server may wait in; of others the number is told."""
_STATES = {
    1: "established", 2: "SYN sent", 3: "SYN received", 4: "FIN wait 1", 5: "FIN wait 2",
    6: "time wait", 8: "close wait", 9: "last ACK", 11: "closing", 12: "SYN received",
}  # fmt: skip
"""Of the kernel's tcp_states.h. 10 is the listening socket, 7 none at all."""
_LISTEN = 10
_STACK_DEPTH = 4


def server_state(pids: Iterable[int], port: int, *, network_of: int | None = None) -> str:
    """In words, in one line: where each thread waits, and the connections to the port.

    ``network_of``: a process in the server's network namespace; None: it is our own.
    """
    return f"{_threads(pids)}; {_connections(port, network_of)}"


def _threads(pids: Iterable[int]) -> str:
    waits = Counter(_wait(files) for pid in sorted(pids) for files in procfs.thread_waits(pid))
    if not waits:
        return "no thread is left"
    return ", ".join(f"{count_of(count, 'thread')} {wait}" for wait, count in waits.most_common())


def _wait(thread: procfs.ThreadWait) -> str:
    number = (thread.syscall or "").partition(" ")[0]
    if number == "running" or thread.state == "R":
        return "running"
    words = []
    if number.isdigit():
        names = _SYSCALLS.get(platform.machine(), {})
        words.append(f"in {names.get(int(number), f'system call {number}')}")
    if thread.wchan and thread.wchan != "0":
        words.append(f"at {thread.wchan}")
    # "[<0>] futex_wait_queue+0x60/0x90", the innermost first
    stack = re.findall(r"^\[<\w+>\] (\w+)", thread.stack or "", re.MULTILINE)[:_STACK_DEPTH]
    if stack:
        words.append(f"({' < '.join(stack)})")
    return " ".join(words) if words else f"in state {thread.state}"


def _connections(port: int, network_of: int | None) -> str:
    states: Counter[str] = Counter()
    unread = unread_bytes = unsent_bytes = 0
    waiting = None
    for one in procfs.tcp_sockets(port, pid=network_of):
        if one.state == _LISTEN:
            waiting = (waiting or 0) + one.receive_queue
            continue
        states[_STATES.get(one.state, f"state {one.state}")] += 1
        unread += one.receive_queue > 0
        unread_bytes += one.receive_queue
        unsent_bytes += one.send_queue
    counts = ", ".join(f"{count} {state}" for state, count in states.most_common())
    queues = f"{unread} with unread bytes ({unread_bytes:,} B), {unsent_bytes:,} B unsent"
    listening = "no listening socket" if waiting is None else f"{waiting} not yet accepted"
    return f"connections: {counts or 'none'}; {queues}; {listening}"
