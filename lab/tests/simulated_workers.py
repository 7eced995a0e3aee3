"""Many workers of a fleet in one process, and a block that they measure in no time::

python simulated_workers.py SCHEDULER CERTIFICATES FOLDER COUNT
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from hdrh.histogram import HdrHistogram

from wirebench.fleet.certificates import Identity
from wirebench.fleet.orders import TRIAL
from wirebench.fleet.place import HostPlace
from wirebench.fleet.quiet import make_quiet
from wirebench.trial.record import TrialRecord

make_quiet()
from wirebench.fleet.worker import HostSide, HostWorker  # noqa: E402  # after the settings

AT_ONCE = 20
SAMPLES = 50


def name_of(number: int) -> str:
    return f"h{number:04}"


def samples_of(trial: str) -> range:
    """Latencies in ns, other ones for each trial."""
    first = 1_000_000 + sum(trial.encode()) * 1000
    return range(first, first + SAMPLES * 10_000, 10_000)


def measure(host: str, planned: list[TrialRecord]) -> list[str]:
    """The lines of the trials, each with a histogram of its own."""
    lines = []
    for record in planned:
        histogram = HdrHistogram(1, 60_000_000_000, 3)
        for value in samples_of(record.trial):
            histogram.record_value(value)
        encoded = histogram.encode().decode()
        lines.append(TRIAL.dump_json(replace(record, host=host, histogram=encoded)).decode())
    return lines


async def serve(scheduler: str, certificates: Path, folder: Path, count: int) -> None:
    security = Identity(folder=certificates).security()
    workers = [
        HostWorker(
            scheduler,
            side=HostSide(name_of(number), HostPlace(folder=folder / name_of(number))),
            security=security,
        )
        for number in range(count)
    ]
    for first in range(0, count, AT_ONCE):
        await asyncio.gather(*(one.start() for one in workers[first : first + AT_ONCE]))
    print("all started", flush=True)
    await asyncio.gather(*(one.finished() for one in workers))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])))
