"""What the kernel tells of the host's interfaces."""

from __future__ import annotations

import socket

import pytest

from namespaces import ip, refusal
from wirebench.process.interfaces import interface_of, losses_of_link

REFUSAL = refusal()


def test_the_interface_with_an_address_is_found() -> None:
    assert interface_of("127.0.0.1") == socket.if_nametoindex("lo")
    assert interface_of("203.0.113.77") is None


def test_what_has_no_link_or_is_not_there_has_lost_none() -> None:
    assert losses_of_link(socket.if_nametoindex("lo")) == 0
    assert losses_of_link(2**31 - 1) is None


@pytest.mark.skipif(REFUSAL is not None, reason=REFUSAL or "")
def test_losses_of_a_link_are_counted_and_an_interface_that_is_down_keeps_its_address() -> None:
    one, other = "wbtest0", "wbtest1"
    ip("link", "add", one, "type", "veth", "peer", "name", other)
    try:
        ip("address", "add", "198.51.100.7/31", "dev", one)
        for name in (one, other):
            ip("link", "set", name, "up")
        index = interface_of("198.51.100.7")
        assert index == socket.if_nametoindex(one)
        before = losses_of_link(index)
        assert before is not None
        ip("link", "set", other, "down")
        assert losses_of_link(index) == before + 1
        ip("link", "set", other, "up")
        ip("link", "set", one, "down")
        assert losses_of_link(index) == before + 2
        assert interface_of("198.51.100.7") == index
    finally:
        ip("link", "del", one)
