"""urllib3 as a client: http, https."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import urllib3

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import contract


@contextmanager
def session() -> Iterator[contract.Operation]:
    headers = dict(contract.HEADERS)
    if contract.POLICY == "new":
        headers["Connection"] = "close"  # its pool has no switch
    with urllib3.PoolManager(
        ca_certs=contract.CA_FILE, headers=headers, timeout=10, retries=False
    ) as client:

        def operate() -> bytes:
            response = client.request(contract.METHOD, contract.URL, body=contract.BODY)
            if response.status != 200:
                raise ValueError(f"expected status 200, got {response.status}")
            return response.data

        yield operate


contract.measure(session)
