"""The truth server: start it, stop it, read its record."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from wirebench.catalog.errors import explain
from wirebench.process import interrupt
from wirebench.process.process import Process
from wirebench.process.start import describe_end, tail_of
from wirebench.process.supervise import Scope
from wirebench.selftest.cases import Case
from wirebench.selftest.judge import MAX, PERCENTILES

_START_S = 10.0


class TruthServerError(Exception):
    """It did not start, or left no valid record."""


class Counts(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    anchor_unix_ns: int | None
    connections: int
    requests: int
    right: int
    dropped: int
    wrong_status: int
    wrong_body: int
    wrong_length: int
    samples_left_out: int

    @property
    def errors(self) -> dict[str, int]:
        """Counts by the generator's kinds of errors."""
        kinds = {
            "closed_early": self.dropped,
            "bad_status": self.wrong_status,
            "bad_body": self.wrong_body + self.wrong_length,
        }
        return {kind: count for kind, count in kinds.items() if count}


@dataclass(frozen=True, kw_only=True)
class Record:
    """What it did, answer by answer. The arrays have one entry for each answer, in nanoseconds.

    A request is received when the kernel has it, however late the server comes to read it.
    """

    counts: Counts
    received_unix: NDArray[np.int64]
    law: NDArray[np.int64]
    really: NDArray[np.int64]

    def percentiles(self, start_unix_ns: int, end_unix_ns: int) -> dict[str, float | None]:
        """Of the delays it really gave to the requests that arrived in this time, by the names the
        generator's have.
        """
        inside = (self.received_unix >= start_unix_ns) & (self.received_unix < end_unix_ns)
        delays = self.really[inside]
        if delays.size == 0:
            return {}
        found: dict[str, float | None] = {
            # The definition the generator uses: the smallest value that a share q does not exceed.
            name: float(np.quantile(delays, share, method="inverted_cdf"))
            for name, share in PERCENTILES
        }
        return {**found, MAX: float(delays.max())}


class TruthServer:
    """A running truth server. It runs until ``end()``, at the latest until its scope ends."""

    def __init__(self, program: Path, case: Case, scope: Scope, *, cores: Sequence[int]) -> None:
        self._json = scope.folder / "truth.json"
        self._samples = scope.folder / "truth.samples"
        words = [str(program), "--json", str(self._json), "--samples", str(self._samples)]
        words += [*case.faults.words, *case.law.words]
        self._process = scope.start(words, name="truth", cwd=scope.folder, env={}, cores=cores)
        self.port = self._read_port(self._process)

    def _read_port(self, process: Process) -> int:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline and process.exit_code() is None:
            said = process.output.text().split()
            if said[:1] == ["port"] and len(said) > 1:
                return int(said[1])
            with interrupt.waiting():
                time.sleep(0.005)
        process.stop()
        raise TruthServerError(
            f"truth_server: expected 'port N', got nothing: it {describe_end(process)}:"
            f" {tail_of(process)}"
        )

    def end(self) -> Record:
        self._process.stop(grace_s=10)
        try:
            counts = Counts.model_validate(json.loads(self._json.read_bytes()))
            samples = np.fromfile(self._samples, dtype="<i8").reshape(-1, 3)
        except ValidationError as error:
            raise TruthServerError(explain(error, path="truth_server")) from error
        except (OSError, ValueError) as error:
            what = f"it {describe_end(self._process)}: {tail_of(self._process)}"
            raise TruthServerError(
                f"truth_server: expected a record of what it did, got {error}; {what}"
            ) from error
        return Record(
            counts=counts, received_unix=samples[:, 0], law=samples[:, 1], really=samples[:, 2]
        )
