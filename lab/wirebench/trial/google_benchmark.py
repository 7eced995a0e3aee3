"""Run a C++ client's google-benchmark program, and give its rows the names that the article behind
the study ``roundtrip`` printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wirebench.catalog.loads import ClientLoad
from wirebench.catalog.model import CALLED, Contestant, Scheme
from wirebench.process.client import client_environment
from wirebench.process.cores import choose_cores
from wirebench.process.start import describe_end, tail_of
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.trial.calling import CallError, serve

PROGRAM = "client_benchmark"
PAYLOAD_BYTES = 1024
"""The article's replies were nginx's start page, of some 600 bytes."""
POLICIES = ("reuse", "new", "cold")
_ARTICLE: Mapping[tuple[str, Scheme], str] = {
    ("cpp/floor", "http"): "stream_socket",
    ("cpp/floor", "ws"): "stream_socket_websocket",
    ("cpp/cpprestsdk", "http"): "http_cpprest",
    ("cpp/cpprestsdk", "https"): "https_cpprest",
    ("cpp/cpprestsdk", "ws"): "ws_cpprest",
    ("cpp/cpprestsdk", "wss"): "wss_cpprest",
    ("cpp/websocketpp", "ws"): "wspp",
    ("cpp/websocketpp", "wss"): "wspp_secure",
}
"""Names that do not follow from scheme and contestant, such as ``http_libcurl``."""
_MADE = {"reuse": "", "new": "_new", "cold": "_reinit"}
"""The article's ``reinit`` made the client anew."""
_LIMIT_S = 3600.0


class BenchmarkError(Exception):
    """A program that did not run to its end. The message says why."""


def row_name(contestant: str, scheme: Scheme, policy: str) -> str:
    """As the article names it, such as ``http_libcurl_reinit_get_and_read_response``."""
    own = f"{scheme}_{contestant.partition('/')[2].replace('-', '_')}"
    sends = "send_message" if contestant == "cpp/cpprestsdk" else "send"
    does = "get" if scheme.startswith("http") else sends
    base = _ARTICLE.get((contestant, scheme), own)
    return f"{base}{_MADE[policy]}_{does}_and_read_response"


def renamed(
    document: Mapping[str, Any], contestant: str, scheme: Scheme, *, repeats: int
) -> dict[str, Any]:
    """google-benchmark's document with the article's names: its own are ``http/reuse`` with
    suffixes.
    """
    rows = []
    for row in document["benchmarks"]:
        found = re.match(rf"{scheme}/(reuse|new|cold)\b", row["run_name"])
        if found is None:
            raise BenchmarkError(f"expected rows of {scheme}, got {row['run_name']!r}")
        name = f"{row_name(contestant, scheme, found[1])}/repeats:{repeats}"
        aggregate = row.get("aggregate_name")
        rows.append({**row, "run_name": name, "name": f"{name}_{aggregate}" if aggregate else name})
    return {**document, "benchmarks": rows}


def benchmark(
    contestant: Contestant,
    scheme: Scheme,
    folder: Path,
    server: Program,
    supervisor: Supervisor,
    *,
    policies: Sequence[str] = POLICIES,
    repeats: int,
    seconds: float,
) -> dict[str, Any]:
    """google-benchmark's document, its rows renamed. ``folder``: the client's build folder.

    ``seconds``: the least that a repeat lasts. Errors: ``BenchmarkError``.
    """
    if not (folder / PROGRAM).is_file():
        raise BenchmarkError(
            f"{PROGRAM} was not built: install libbenchmark-dev, delete {folder}, and try again"
        )
    load = ClientLoad(
        scheme=scheme,
        policy="reuse",
        payload_bytes=PAYLOAD_BYTES,
        warmup=0,
        operations=1,
        typical_ns=1_000_000,
    )
    with supervisor.scope() as scope:
        try:
            served = serve(scope, server, load, CALLED[scheme])
        except CallError as error:
            raise BenchmarkError(str(error)) from error
        out = scope.folder / "benchmark.json"
        process = scope.start(
            (
                str(folder / PROGRAM),
                f"--benchmark_repetitions={repeats}",
                f"--benchmark_min_time={seconds:g}",
                f"--benchmark_filter=/({'|'.join(policies)})",
                f"--benchmark_out={out}",
                "--benchmark_out_format=json",
            ),
            name="benchmark",
            cwd=folder,
            env=client_environment(
                load,
                port=served.port,
                samples=scope.folder / "samples",
                ca_file=served.ca_file,
            ),
            cores=choose_cores().generator,
            proxies=False,
        )
        code = process.wait(_LIMIT_S)
        process.stop()
        try:
            document = json.loads(out.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            document = None
        if code != 0 or not isinstance(document, dict):
            raise BenchmarkError(f"it {describe_end(process)}: {tail_of(process)}")
    failed = [row for row in document["benchmarks"] if row.get("error_occurred")]
    if failed:
        raise BenchmarkError(f"{failed[0]['run_name']}: {failed[0].get('error_message', 'failed')}")
    return renamed(document, contestant.identity, scheme, repeats=repeats)
