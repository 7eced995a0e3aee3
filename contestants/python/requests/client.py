"""requests as a client: http, https."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import contract


@contextmanager
def session() -> Iterator[contract.Operation]:
    with requests.Session() as client:
        client.trust_env = False  # whatever the environment says of proxies
        client.verify = contract.CA_FILE or True
        if contract.POLICY == "new":
            client.headers["Connection"] = "close"  # its pool has no switch
        client.headers.update(contract.HEADERS)

        def operate() -> bytes:
            response = client.request(contract.METHOD, contract.URL, data=contract.BODY, timeout=10)
            response.raise_for_status()
            return response.content

        yield operate


contract.measure(session)
