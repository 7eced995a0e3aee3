"""The host's network interfaces, as the kernel tells of them over rtnetlink(7): which has an
address, and how often one has lost its link. Of the network namespace that the caller is in, which
/sys need not show.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping

_MESSAGE = struct.Struct("=IHHII")
"""nlmsghdr: length, type, flags, sequence, port."""
_LINK = struct.Struct("=BxHiII")
"""ifinfomsg: family, type, index, flags, change."""
_ADDRESS = struct.Struct("=BBBBI")
"""ifaddrmsg: family, prefix, flags, scope, index."""
_ATTRIBUTE = struct.Struct("=HH")
"""rtattr: length, type."""
_COUNT = struct.Struct("=I")
_DONE = 3
_NEW_LINK, _GET_LINK, _NEW_ADDRESS, _GET_ADDRESS = 16, 18, 20, 22
_REQUEST, _DUMP = 0x1, 0x300
_LOCAL, _CARRIER_DOWN_COUNT = 2, 48
_PATIENCE_S = 1.0
_MOST_BYTES = 1 << 16


def interface_of(address: str) -> int | None:
    """The index of the interface with this IPv4 address, whether it is up or not; None: there is
    none, or the kernel does not say.
    """
    wanted = socket.inet_aton(address)
    request = _ADDRESS.pack(socket.AF_INET, 0, 0, 0, 0)
    for kind, body in _ask(_GET_ADDRESS, request, flags=_REQUEST | _DUMP):
        if kind == _NEW_ADDRESS and _attributes(body[_ADDRESS.size :]).get(_LOCAL) == wanted:
            return int(_ADDRESS.unpack_from(body)[-1])
    return None


def losses_of_link(interface: int) -> int | None:
    """How often it has lost its link (its carrier) since it was made. None: not known."""
    for kind, body in _ask(_GET_LINK, _LINK.pack(0, 0, interface, 0, 0), flags=_REQUEST):
        count = _attributes(body[_LINK.size :]).get(_CARRIER_DOWN_COUNT)
        if kind == _NEW_LINK and count is not None:
            return int(_COUNT.unpack(count)[0])
    return None


def _ask(kind: int, body: bytes, *, flags: int) -> Iterator[tuple[int, bytes]]:
    """Type and content of each message of the answer; none where the kernel has no rtnetlink."""
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
            kernel.settimeout(_PATIENCE_S)
            kernel.send(_MESSAGE.pack(_MESSAGE.size + len(body), kind, flags, 1, 0) + body)
            while True:
                answer = kernel.recv(_MOST_BYTES)
                for got, content in _messages(answer):
                    if got == _DONE:
                        return
                    yield got, content
                if not flags & _DUMP or not answer:
                    return
    except OSError:
        return


def _messages(answer: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _MESSAGE.size <= len(answer):
        length, kind, *_ = _MESSAGE.unpack_from(answer, at)
        if length < _MESSAGE.size:
            return
        yield kind, answer[at + _MESSAGE.size : at + length]
        at += _aligned(length)


def _attributes(content: bytes) -> Mapping[int, bytes]:
    found, at = {}, 0
    while at + _ATTRIBUTE.size <= len(content):
        length, kind = _ATTRIBUTE.unpack_from(content, at)
        if length < _ATTRIBUTE.size:
            break
        found[kind] = content[at + _ATTRIBUTE.size : at + length]
        at += _aligned(length)
    return found


def _aligned(length: int) -> int:
    return (length + 3) & ~3
