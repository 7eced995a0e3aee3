"""httpx as a client: http, https."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import contract


@contextmanager
def session() -> Iterator[contract.Operation]:
    kept = 0 if contract.POLICY == "new" else 20  # 20 is the default
    with httpx.Client(
        verify=contract.tls_context() or True,
        limits=httpx.Limits(max_connections=100, max_keepalive_connections=kept),
        headers=contract.HEADERS,
        timeout=10,
        trust_env=False,  # whatever the environment says of proxies
    ) as client:

        def operate() -> bytes:
            response = client.request(contract.METHOD, contract.URL, content=contract.BODY)
            return response.raise_for_status().content

        yield operate


contract.measure(session)
