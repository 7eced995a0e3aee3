"""Run a client contestant to its end, and read the JSON line and the samples that it leaves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wirebench.catalog.errors import explain
from wirebench.catalog.loads import ClientLoad
from wirebench.process.names import LOCALHOST, with_names
from wirebench.process.process import Process
from wirebench.process.start import pad
from wirebench.process.supervise import Scope
from wirebench.process.types import Program

_MOST = 2**64 - 1
"""Samples are as large, and what is computed of larger ones may be no float."""
_Count = Annotated[int, Field(ge=0, le=_MOST)]


class Report(BaseModel):
    """The one JSON line of the client contract."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    operations: _Count
    errors: _Count
    connections: _Count
    wall_ns: _Count
    cpu_user_ns: _Count
    cpu_system_ns: _Count


@dataclass(frozen=True, kw_only=True)
class ClientRun:
    """A client that has ended, and what it left."""

    exit_code: int | None
    """None: it still ran at the limit."""
    report: Report | None
    problem: str | None
    """Why there is no report."""
    samples: np.ndarray[tuple[int], np.dtype[np.uint64]]


def client_environment(
    load: ClientLoad,
    *,
    port: int,
    samples: Path,
    ca_file: Path | None = None,
    environment_bytes: int = 0,
) -> dict[str, str]:
    path = f"/payload/{load.payload_bytes}" if load.scheme.startswith("http") else "/"
    return {
        "WIREBENCH_URL": f"{load.scheme}://{load.host}:{port}{path}",
        "WIREBENCH_METHOD": load.method,
        "WIREBENCH_POLICY": load.policy,
        "WIREBENCH_PAYLOAD_BYTES": str(load.payload_bytes),
        "WIREBENCH_WARMUP": str(load.warmup),
        "WIREBENCH_OPERATIONS": str(load.operations),
        "WIREBENCH_CA_FILE": str(ca_file or ""),
        "WIREBENCH_SAMPLES": str(samples),
        "WIREBENCH_PAD": pad(environment_bytes),
    }


def run_client(
    scope: Scope,
    program: Program,
    load: ClientLoad,
    *,
    port: int,
    cores: Sequence[int],
    limit_ns: int,
    ca_file: Path | None = None,
    environment_bytes: int = 0,
) -> tuple[ClientRun, Process]:
    """Run the client until it exits or reaches the limit. ``ca_file``: the authority it trusts over
    TLS.
    """
    samples = scope.folder / f"samples-{port}-{load.scheme}-{load.policy}.bin"
    samples.unlink(missing_ok=True)
    env = client_environment(
        load, port=port, samples=samples, ca_file=ca_file, environment_bytes=environment_bytes
    )
    process = scope.start(
        program.argv,
        name="client",
        cwd=program.folder,
        env=env,
        cores=cores,
        merge_output=False,
        enter=with_names(LOCALHOST, scope.folder) if load.host == "localhost" else (),
        # Some libraries would send what is for this host to a proxy, too.
        proxies=False,
    )
    code = process.wait(limit_ns / 1e9)
    process.stop()
    report, problem = _read_report(process.output.text())
    return ClientRun(
        exit_code=code, report=report, problem=problem, samples=_read_samples(samples)
    ), process


def _read_report(text: str) -> tuple[Report | None, str | None]:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return None, "the client printed no JSON line"
    try:
        return Report.model_validate(json.loads(lines[-1])), None
    except ValidationError as error:
        return None, explain(error, path="the client's JSON line")
    except (ValueError, RecursionError) as error:  # also of too many digits, or levels
        return None, f"the client's last line is not JSON ({error}): {lines[-1][:200]}"


def _read_samples(path: Path) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    try:
        data = path.read_bytes()
    except OSError:
        return np.array([], dtype=np.uint64)
    whole = len(data) - len(data) % 8
    return np.frombuffer(data[:whole], dtype="<u8").astype(np.uint64)
