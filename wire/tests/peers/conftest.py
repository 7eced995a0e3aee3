"""wire against programs that other people wrote: browsers, clients, proxies and servers.

    cmake --build --preset dev --target wire_peer wireload
    export WIRE_PEER=build/dev/wire/wire_peer WIRELOAD=build/dev/wireload/wireload
    python -m pytest -c wire/tests/peers/pytest.ini wire/tests/peers

`./test peers` does both. A test whose program is not installed is skipped and says which package
has it. Everything listens on 127.0.0.1 and keeps its files in a temporary folder; no service of the
system is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Authority, Wire, make_authority


@pytest.fixture(scope="session")
def wire() -> Wire:
    program = os.environ.get("WIRE_PEER")
    if program is None:
        pytest.fail("WIRE_PEER: expected the path of the program wire_peer")
    return Wire(program=str(Path(program).resolve()))


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def server(wire: Wire, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of wire's server, without TLS."""
    with wire.server(tmp_path_factory.mktemp("plain")) as port:
        yield port


@pytest.fixture(scope="session")
def unix_server(wire: Wire, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The path of the Unix socket of wire's server."""
    with wire.unix_server(tmp_path_factory.mktemp("unix")) as path:
        yield path


@pytest.fixture(scope="session")
def tls_server(
    wire: Wire, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[int]:
    """The port of wire's server with TLS."""
    with wire.server(tmp_path_factory.mktemp("tls"), authority) as port:
        yield port
