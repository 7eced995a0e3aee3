"""Processes, sockets and the host as /proc shows them. An entry that vanishes while it is read
counts as gone.
"""

from __future__ import annotations

import ipaddress
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_TCP_LISTEN = b"0A"
_KTHREADD = 2
"""The parent of the kernel's threads."""
_EXEC_S = 1.0
"""How long a process may be within execve(2) on a busy host."""


@dataclass(frozen=True, kw_only=True)
class Stat:
    """Fields of /proc/PID/stat (proc(5))."""

    pid: int
    state: str
    parent: int
    session: int
    started_ticks: int
    """Since boot. Distinguishes a process from a later one with the same id."""


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def stat(pid: int) -> Stat | None:
    data = _read(PROC / str(pid) / "stat")
    if data is None:
        return None
    fields = _fields(data)
    return Stat(
        pid=pid,
        state=fields[0].decode(),
        parent=int(fields[1]),
        session=int(fields[3]),
        started_ticks=int(fields[19]),
    )


def _fields(data: bytes) -> list[bytes]:
    """The fields of /proc/PID/stat from the third on. The second is the name in parentheses, which
    may hold spaces and parentheses itself.
    """
    return data[data.rindex(b")") + 2 :].split()


def pids() -> Iterator[int]:
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def own_children() -> Iterator[int]:
    """The children of this process, living or not (proc(5), ``/proc/PID/task/TID/children``).
    Kernels without that file tell it process by process, which takes milliseconds.
    """
    own = os.getpid()
    lists = [_read(task / "children") for task in _entries(PROC / str(own) / "task")]
    if any(found is not None for found in lists):
        yield from (int(word) for found in lists for word in (found or b"").split())
        return
    yield from (found.pid for found in map(stat, pids()) if found and found.parent == own)


def has_environment(pid: int, setting: str) -> bool:
    """Whether the process was started with ``NAME=value`` in its environment. Only the same user
    may read it.
    """
    return setting.encode() in _environment(pid).split(b"\0")


def environment_value(pid: int, name: str) -> str | None:
    prefix = name.encode() + b"="
    for part in _environment(pid).split(b"\0"):
        if part.startswith(prefix):
            return part[len(prefix) :].decode(errors="replace")
    return None


def _environment(pid: int) -> bytes:
    """Empty if the process is gone or of another user. Within execve(2) it reads empty or cut off,
    and is read again then.
    """
    deadline = time.monotonic() + _EXEC_S
    while True:
        data = _read(PROC / str(pid) / "environ") or b""
        if len(data) == _environment_length(pid) or time.monotonic() > deadline:
            return data
        # Zombies, kernel threads and processes of other users name no program.
        if program_name(pid) is None:
            return data
        time.sleep(0.0005)


def _environment_length(pid: int) -> int | None:
    """In bytes. None while it is not known: within execve(2), which sets the start of the code
    last.
    """
    data = _read(PROC / str(pid) / "stat")
    if data is None:
        return None
    fields = _fields(data)
    start_code, start, end = (int(fields[index]) for index in (23, 47, 48))
    return end - start if start_code else None


def command_line(pid: int) -> str:
    """The arguments, truncated for messages."""
    data = _read(PROC / str(pid) / "cmdline") or b""
    return data.replace(b"\0", b" ").decode(errors="replace").strip()[:200]


def program_name(pid: int) -> str | None:
    """The file name of the program that the process runs, whatever it calls itself; None if that
    may not be seen.
    """
    try:
        return (PROC / str(pid) / "exe").readlink().name
    except OSError:
        return None


def living_tree(
    roots: Iterable[int], *, marker: str | None = None, known: Iterable[Stat] = ()
) -> tuple[Stat, ...]:
    """Living processes that descend from ``roots``, belong to their sessions, or carry the
    environment ``marker``; and those of ``known``, an earlier answer, with their descendants.

    The marker finds processes whose parents are gone, ``known`` those that have cleared their
    environment, too. Zombies do not count as living. The caller is never in the result.
    """
    stats = {found.pid: found for found in map(stat, pids()) if found is not None}
    roots = set(roots)
    members = set(roots)
    members |= {
        one.pid
        for one in known
        if one.pid in stats and stats[one.pid].started_ticks == one.started_ticks
    }
    grew = True
    while grew:
        new = {s.pid for s in stats.values() if s.pid not in members and s.parent in members}
        grew = bool(new)
        members |= new
    members |= {s.pid for s in stats.values() if s.session in roots}
    if marker is not None:
        members |= {pid for pid in stats if pid not in members and has_environment(pid, marker)}
    return tuple(
        stats[pid]
        for pid in members - {os.getpid()}
        if pid in stats and stats[pid].state not in "ZX"
    )


def open_files(pids: Iterable[int]) -> int:
    """Of processes that run now, together."""
    return sum(len(_entries(PROC / str(pid) / "fd")) for pid in pids)


def involuntary_switches(pids: Iterable[int]) -> int:
    """How often the kernel preempted a thread of these processes."""
    total = 0
    for pid in pids:
        for task in _entries(PROC / str(pid) / "task"):
            for line in (_read(task / "status") or b"").splitlines():
                if line.startswith(b"nonvoluntary_ctxt_switches:"):
                    total += int(line.split()[1])
    return total


def sees_listeners() -> bool:
    """Whether ``listener_inodes`` works on this host, which may hide these tables."""
    return _read(PROC / "net" / "tcp") is not None


def listener_inodes(port: int, *, pid: int | None = None, address: str | None = None) -> set[int]:
    """The inodes of the sockets that listen on the TCP port, in the network namespace of the
    process or in our own; with ``address``, those that take what is sent to this IPv4 address.
    """
    # Local port, remote address and port, state, five fields, inode. A table has a line for each
    # connection that lingers, tens of thousands: a pattern that began with the local address would
    # be slow.
    listener = re.compile(
        rb":%04X [0-9A-F]+:[0-9A-F]{4} %s(?: +\S+){5} +(\d+)" % (port, _TCP_LISTEN)
    )
    found = set()
    for table in ("tcp", "tcp6"):
        lines = _read(_net(pid) / table) or b""
        for match in listener.finditer(lines):
            host = lines[lines.rfind(b" ", 0, match.start()) + 1 : match.start()].decode()
            if address is None or _takes(_address(host), ipaddress.IPv4Address(address)):
                found.add(int(match[1]))
    return found


Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _address(words: str) -> Address:
    """Words of four bytes, each in the byte order of the host."""
    return ipaddress.ip_address(
        b"".join(
            int(words[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(words), 8)
        )
    )


def _takes(listens_at: Address, address: ipaddress.IPv4Address) -> bool:
    """An IPv6 socket may take IPv4 as well, by the unspecified address or a mapped one."""
    if listens_at.is_unspecified:
        return True
    mapped = listens_at.ipv4_mapped if isinstance(listens_at, ipaddress.IPv6Address) else None
    return address in (listens_at, mapped)


def connection_inodes(port: int, client_port: int) -> set[int]:
    """The inodes of the sockets at the local TCP port that are connected to the other one, in our
    own network namespace. Empty before the connection is accepted.
    """
    connection = re.compile(
        rb":%04X [0-9A-F]+:%04X [0-9A-F]{2}(?: +\S+){5} +([1-9]\d*)" % (port, client_port)
    )
    return {
        int(inode)
        for table in ("tcp", "tcp6")
        for inode in connection.findall(_read(_net(None) / table) or b"")
    }


def listening_at(pids: Iterable[int]) -> tuple[str, ...]:
    """Where these processes listen for TCP, such as ``127.0.0.1:80`` or ``[::1]:80``, in our own
    network namespace.
    """
    own = _socket_inodes(pids)
    found = {}
    for table in ("tcp", "tcp6"):
        for line in (_read(_net(None) / table) or b"").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _TCP_LISTEN and int(fields[9]) in own:
                host, _, port = fields[1].decode().partition(":")
                address = _address(host)
                shown = f"[{address}]" if address.version == 6 else str(address)
                found[f"{shown}:{int(port, 16)}"] = True
    return tuple(found)


def _socket_inodes(pids: Iterable[int]) -> set[int]:
    found = set()
    for pid in pids:
        for descriptor in _entries(PROC / str(pid) / "fd"):
            with suppress(OSError):
                match = re.fullmatch(r"socket:\[(\d+)\]", str(descriptor.readlink()))
                if match is not None:
                    found.add(int(match[1]))
    return found


def _net(pid: int | None) -> Path:
    """What the kernel says of the network namespace of the process, or of our own."""
    return PROC / ("self" if pid is None else str(pid)) / "net"


@dataclass(frozen=True, kw_only=True)
class TcpSocket:
    """A line of /proc/net/tcp or tcp6 (proc_net_tcp)."""

    state: int
    send_queue: int
    """Bytes that the peer has not acknowledged."""
    receive_queue: int
    """Bytes that the program has not read; of a listening socket, connections that it has not
    accepted.
    """


def tcp_sockets(port: int, *, pid: int | None = None) -> Iterator[TcpSocket]:
    """The sockets at the local TCP port, in the network namespace of the process or in our own."""
    local = re.compile(
        rb"^ *\d+: [0-9A-F]+:%04X [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]{2}) ([0-9A-F]+):([0-9A-F]+) "
        % port,
        re.MULTILINE,
    )
    for table in ("tcp", "tcp6"):
        for state, sending, receiving in local.findall(_read(_net(pid) / table) or b""):
            yield TcpSocket(
                state=int(state, 16),
                send_queue=int(sending, 16),
                receive_queue=int(receiving, 16),
            )


@dataclass(frozen=True, kw_only=True)
class ThreadWait:
    """What a thread waits for. None where this host does not tell us."""

    state: str
    wchan: str | None
    syscall: str | None
    stack: str | None


def thread_waits(pid: int) -> Iterator[ThreadWait]:
    """Of each thread of the process (proc(5): ``wchan``, ``syscall``, ``stack``)."""
    for task in _entries(PROC / str(pid) / "task"):
        line = _read(task / "stat")
        if line is None:
            continue
        texts = [_read(task / name) for name in ("wchan", "syscall", "stack")]
        wchan, syscall, stack = (
            text.decode(errors="replace").strip() if text is not None else None for text in texts
        )
        state = line[line.rindex(b")") + 2 :].split()[0].decode()
        yield ThreadWait(state=state, wchan=wchan, syscall=syscall, stack=stack)


def run_time_ns(pids: Iterable[int]) -> int | None:
    """How long the living threads of these processes have run. None where the kernel does not count
    it (``/proc/PID/task/TID/schedstat``).
    """
    total = None
    for pid in pids:
        for task in _entries(PROC / str(pid) / "task"):
            if (line := _read(task / "schedstat")) is not None:
                total = (total or 0) + int(line.split()[0])
    return total


def cpu_ns(pid: int) -> tuple[int, int] | None:
    """The user and the system time of the process, its ended threads included. None when it is
    gone. The sum is exact, by the process's own clock; how it divides is known by ticks of 10 ms.
    """
    data = _read(PROC / str(pid) / "stat")
    if data is None:
        return None
    user, system = (int(one) for one in _fields(data)[11:13])
    try:
        total = time.clock_gettime_ns(_clock_of(pid))
    except OSError:
        return None
    own = total * user // (user + system) if user + system else total // 2
    return own, total - own


def _clock_of(pid: int) -> int:
    """Its CPU clock, as clock_getcpuclockid(3) makes it: the kernel's ``MAKE_PROCESS_CPUCLOCK``
    with ``CPUCLOCK_SCHED``.
    """
    return (~pid << 3) | 2


def resident_bytes(pids: Iterable[int]) -> int:
    """Of the living ones, together."""
    total = 0
    for pid in pids:
        words = (_read(PROC / str(pid) / "statm") or b"").split()
        total += int(words[1]) if len(words) > 1 else 0
    return total * os.sysconf("SC_PAGE_SIZE")


def owns_socket(pids: Iterable[int], inodes: set[int]) -> bool:
    return find_socket(pids, inodes) is not None


def find_socket(pids: Iterable[int], inodes: set[int]) -> tuple[int, int] | None:
    """One of these processes, and its descriptor, that has one of these sockets."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for pid in pids:
        for descriptor in _entries(PROC / str(pid) / "fd"):
            with suppress(OSError):
                if str(descriptor.readlink()) in wanted:
                    return pid, int(descriptor.name)
    return None


# --- the host -------------------------------------------------------------------------------------


def steal_ns() -> int | None:
    """Time that the hypervisor gave to other guests (steal), summed over all cores, since boot."""
    for line in (_read(PROC / "stat") or b"").splitlines():
        if line.startswith(b"cpu "):
            fields = line.split()
            return (
                int(fields[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
                if len(fields) > 8
                else None
            )
    return None


def other_programs_ns() -> dict[int, int]:
    """CPU time since its start, by process id, of each program that neither is this process nor
    descends from it, with that of its ended children. Without the kernel's threads, and without
    programs that this user may not see (``hidepid`` of proc(5), other containers).
    """
    found: dict[int, tuple[int, int]] = {}
    for pid in pids():
        if (data := _read(PROC / str(pid) / "stat")) is not None:
            fields = _fields(data)
            found[pid] = int(fields[1]), sum(int(one) for one in fields[11:15])
    left_out = {os.getpid(), _KTHREADD}
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return {
        pid: ticks * tick_ns
        for pid, (_, ticks) in found.items()
        if left_out.isdisjoint(_line_of(pid, found))
    }


def _line_of(pid: int, found: Mapping[int, tuple[int, int]]) -> Iterator[int]:
    """The process, its parent, the parent's parent and so on, each once."""
    seen: set[int] = set()
    while pid in found and pid not in seen:
        seen.add(pid)
        yield pid
        pid = found[pid][0]


def cpu_pressure_us() -> int | None:
    """Time in which some task waited for a core, since boot (pressure stall information). None
    where the kernel does not report it.
    """
    for line in (_read(PROC / "pressure" / "cpu") or b"").splitlines():
        if line.startswith(b"some "):
            return int(line.rsplit(b"total=", 1)[1])
    return None


def tcp_counters(pid: int | None = None) -> dict[str, int]:
    """The Tcp line of /proc/net/snmp by name (RFC 1213: ``RetransSegs``, ``PassiveOpens`` ...), of
    the network namespace of the process, or of our own.
    """
    lines = [
        line.split()
        for line in (_read(_net(pid) / "snmp") or b"").decode().splitlines()
        if line[:4] == "Tcp:"
    ]
    if len(lines) != 2:
        return {}
    return {name: int(value) for name, value in zip(lines[0][1:], lines[1][1:], strict=True)}
