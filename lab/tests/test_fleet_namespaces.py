"""Three hosts as network namespaces of one machine, each with its own worker and link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_project import Fleet, check_trials, fleet_of
from namespaces import COMMAND, Namespaces, joined, refusal
from run_project import wait_for

REFUSAL = refusal()
pytestmark = [
    pytest.mark.long,  # each starts whole runs
    pytest.mark.fleet,
    pytest.mark.skipif(REFUSAL is not None, reason=REFUSAL or ""),
]
NAMES = ("alpha", "beta", "gamma")
RUN = ("concurrency", "--preset", "quick", "--seed", "5", "--blocks", "6")


@pytest.fixture
def hosts() -> Iterator[Namespaces]:
    with joined(NAMES) as made:
        yield made


@pytest.fixture
def fleet(tmp_path: Path, hosts: Namespaces) -> Iterator[Fleet]:
    with fleet_of(
        tmp_path / "project",
        NAMES,
        seconds=0.3,
        lost_after_s=12,
        listen=hosts.command_address,
        enter={name: hosts.enter(name) for name in (COMMAND, *NAMES)},
    ) as made:
        yield made


def test_three_hosts_share_a_run_and_the_report_tells(fleet: Fleet) -> None:
    code, output = fleet.run(*RUN)
    assert code == 0, output
    run = fleet.stored()
    check_trials(run, blocks=6)
    assert Counter(one.host for one in run.trials) == dict.fromkeys(NAMES, 6)
    assert "3 repeats: what differs between them" in output
    assert "3 hosts" in (run.path / "report.html").read_text()


def test_a_host_that_is_cut_off_in_a_block_comes_back(fleet: Fleet, hosts: Namespaces) -> None:
    with fleet.start_run(*RUN[:-1], "9") as process:
        wait_for(lambda: fleet.measured_on("beta") >= 1, process)
        hosts.cut("beta")
        before = fleet.measured_on("alpha") + fleet.measured_on("gamma")
        wait_for(
            lambda: fleet.measured_on("alpha") + fleet.measured_on("gamma") > before + 6, process
        )
        hosts.mend("beta")
        output, _ = process.communicate(timeout=240)
        assert process.returncode == 0, output
    run = fleet.stored()
    check_trials(run, blocks=9)
    assert fleet.project.survivors() == []
