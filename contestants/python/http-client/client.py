"""http.client of the standard library as a client: http, https."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import contract

TARGET = urlsplit(contract.URL)


def connection() -> HTTPConnection:
    context = contract.tls_context()
    if context is None:
        return HTTPConnection(TARGET.hostname, TARGET.port, timeout=10)
    return HTTPSConnection(TARGET.hostname, TARGET.port, timeout=10, context=context)


@contextmanager
def session() -> Iterator[contract.Operation]:
    with closing(connection()) as client:

        def operate() -> bytes:
            client.request(contract.METHOD, TARGET.path, contract.BODY, contract.HEADERS)
            response = client.getresponse()
            body = response.read()
            if response.status != 200:
                raise ValueError(f"expected status 200, got {response.status}")
            if contract.POLICY == "new":
                client.close()  # the object connects again with the next request
            return body

        yield operate


contract.measure(session)
