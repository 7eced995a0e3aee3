"""``wirebench history`` shows as what they are: figures that the load generator limited, which are
only bounds, and runs that were killed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from synthetic_run import write_run
from synthetic_world import World
from wirebench.cli.console import EXIT_OK
from wirebench.cli.main import run_app
from wirebench.history.index import Index, Series
from wirebench.history.text import BOUNDS, lines, page, table
from wirebench.store.rundir import RUN_FILE, RunDirectory

WORLD = World(studies=("concurrency",), samples=60, generator_per_s=1e9)


def series_of(results: Path, contestant: str, metric: str = "throughput_per_s") -> Series:
    with Index(results) as index:
        host = index.runs()[0].host_id
        (found,) = index.series(metric, host_id=host, cell="c50", contestant=contestant)
    return found


def test_bounds_have_their_signs(tmp_path: Path) -> None:
    free, limited = tmp_path / "free", tmp_path / "limited"
    write_run(free, WORLD)
    (fastest,) = series_of(free, "cpp/floor").points
    write_run(limited, replace(WORLD, generator_per_s=0.9 * fastest.value))

    slow = series_of(limited, "node/http")
    (point,) = slow.points
    assert (point.bound, point.ratio_bound) == (None, "at most"), "the floor could do more"
    line, legend = lines(slow, width=100)
    assert "≤ 0." in line
    assert BOUNDS in legend
    assert "≤ 0." in table(slow)
    assert BOUNDS in page([slow])

    floor = series_of(limited, "cpp/floor")
    assert [one.bound for one in floor.points] == ["at least"]
    assert "≥ " in lines(floor, width=100)[0]
    assert "≥ " in table(floor)

    for one in (
        series_of(free, "node/http"),
        series_of(free, "cpp/floor"),
        series_of(limited, "node/http", "cpu_per_request_ns"),
    ):
        assert len(lines(one, width=100)) == 1
        assert BOUNDS not in page([one])


def test_a_run_that_was_killed_is_not_running(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_run(tmp_path, WORLD)
    info = json.loads((path / RUN_FILE).read_text())
    (path / RUN_FILE).write_text(json.dumps(info | {"status": "running", "exit_code": None}))
    command = ["history", "--results", str(tmp_path)]

    def listed() -> set[str]:
        assert run_app(command) == EXIT_OK
        (line,) = (one for one in capsys.readouterr().out.splitlines() if path.name in one)
        return set(line.split())

    assert listed() >= {"killed"}
    writer = RunDirectory(path)
    assert listed() >= {"running"}
    writer.close()
    assert listed() >= {"killed"}
