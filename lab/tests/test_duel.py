"""``wirebench duel``: the sides, the verdicts, and real servers that behave and misbehave."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from duel_world import LOAD, SERVER, SIDES, cell_of, server, trials_of
from run_project import Project, alive
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import ClosedLoad
from wirebench.catalog.model import SCHEMES
from wirebench.cli.duel_options import check_effects
from wirebench.cli.duel_run import Given, given_by
from wirebench.cli.main import run_app
from wirebench.duel.revisions import split_range
from wirebench.duel.sides import Side, address_of, check_schemes, environment_of, sides_of
from wirebench.duel.text import Duelled, document, markdown, page, rows, sentences
from wirebench.duel.verdicts import LEVEL, Judged, judged, spent
from wirebench.plan.stop import looks
from wirebench.process.certificates import issue
from wirebench.store.rundir import StoredRun, read_run
from wirebench.trial.record import TrialRecord

pytestmark = pytest.mark.long  # each starts whole runs


def test_sides_are_commands_or_addresses() -> None:
    one, other, third = sides_of(
        ["./a --x", "http://127.0.0.1:80/", "ws://[::1]:9"], folders=[Path("/")]
    )
    assert (one.name, one.url) == ("A", None)
    assert one.program().argv == ("/bin/sh", "-c", "./a --x")
    assert (other.name, other.url) == ("B", "http://127.0.0.1:80")
    assert (third.name, third.url) == ("C", "ws://[::1]:9")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["./one"], "2 to 8"),
        (["./one", " "], "got nothing"),
        (["./one", "http://host/path"], "--path"),
        (["./one", "http://host:port"], "http://host:port"),
        (["x"] * 9, "2 to 8"),
    ],
)
def test_what_is_no_side_is_refused(given: Sequence[str], says: str) -> None:
    with pytest.raises(CatalogError, match=says):
        sides_of(given, folders=[Path("/")])


ADDRESSES = ["http://host:80", "https://host:443", "ws://host:80", "wss://host:443"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_are_of_the_scheme_of_the_load(address: str) -> None:
    (scheme,) = (one for one in SCHEMES if address.startswith(f"{one}:"))
    check_schemes(["./server {port}", address, address], scheme)
    for other in set(ADDRESSES) - {address}:
        with pytest.raises(CatalogError, match=f"{other}: expected {scheme}://"):
            check_schemes(["./server {port}", address, other], scheme)


def test_a_command_with_an_address_in_it_is_a_command() -> None:
    assert address_of("./proxy --to http://127.0.0.1:80") is None
    assert address_of("env BACKEND=http://x ./a") is None


def test_variables_are_name_and_value() -> None:
    assert environment_of(["A=1", "B=x=y"]) == {"A": "1", "B": "x=y"}
    for wrong in ("A", "=1"):
        with pytest.raises(CatalogError, match="--env"):
            environment_of([wrong])


def test_files_of_the_generator_are_found_from_elsewhere(tmp_path: Path) -> None:
    found = given_by(["-m POST --body-file b.json", "--requests-file=r.json -H 'A: b c'"])
    here = Path.cwd()
    assert found.options == (
        *("-m", "POST", "--body-file", f"{here}/b.json"),
        *(f"--requests-file={here}/r.json", "-H", "A: b c"),
    )


@pytest.mark.parametrize(
    "given", ["-H 'X: -c1'", "-H -c1", "-mPOST", "--expect-body --rate", "-b -d --check -c"]
)
def test_values_of_options_are_no_options(given: str) -> None:
    assert given_by([given]) == Given(options=tuple(shlex.split(given)))


def test_requests_in_flight_and_the_patience_are_of_the_load() -> None:
    """They are no words for the request: what a trial waits for depends on them."""
    found = given_by(["-m POST --pipeline 4", "--timeout=20s -H 'A: --pipeline'"])
    assert found == Given(
        options=("-m", "POST", "-H", "A: --pipeline"), in_flight=4, timeout_ns=20 * 10**9
    )
    load = replace(LOAD, in_flight=4).cell()
    assert isinstance(load.load, ClosedLoad)
    assert (load.load.in_flight, load.title) == (4, "50 connections, 4 in flight on each")


@pytest.mark.parametrize(
    "wrong", ["--pipeline 0", "--pipeline x", "--pipeline", "--timeout 5", "--timeout=0s"]
)
def test_what_is_no_load_is_refused(wrong: str) -> None:
    with pytest.raises(CatalogError, match=f"--wireload: {wrong.split('=')[0].split()[0]}: "):
        given_by([wrong])


@pytest.mark.parametrize(
    "wrong",
    [
        *("-c 5", "-c10", "-c=10", "-d5s", "-n100", "-t4", "-qc10", "-m POST -c10"),
        *("--duration=3s", "--rate 5"),
        *("--turns 1/2", "--turn=5ms", "--insecure -c10", "--json x", "'"),
    ],
)
def test_options_that_the_duel_sets_itself_are_refused(wrong: str) -> None:
    with pytest.raises(CatalogError, match="--wireload"):
        given_by([wrong])


def test_a_range_of_revisions() -> None:
    assert split_range("main..topic") == ("main", "topic")
    assert split_range("main..") == ("main", "HEAD")
    for wrong in ("main", "..topic", "a...b"):
        with pytest.raises(CatalogError, match="--git"):
            split_range(wrong)


def duelled(result: Judged, sides: Sequence[Side] = SIDES) -> Duelled:
    return Duelled(
        sides=sides,
        load="50 connections",
        unit="request",
        kind="closed",
        result=result,
        seconds=60,
        run="duel",
    )


def test_all_looks_together_spend_the_level_and_no_more() -> None:
    shares = [0.0, 0.1, 0.3, 0.6, 1.0, 2.0]
    found = [spent(one) for one in shares]
    assert found == sorted(found)
    assert found[0] == 0
    assert found[1] < 1e-6
    assert found[-1] == pytest.approx(LEVEL)


def test_a_clear_difference_is_found_and_said_in_one_sentence() -> None:
    cell = cell_of()
    result = judged(
        cell, trials_of(cell, 20, factor=1.08, noise=0.01, seed=2), level=0.04, band=0.01
    )
    kinds = {line.metric: line.verdict.kind for line in result.lines}
    assert kinds["cpu_per_request_ns"] == "slower"
    assert kinds["throughput_per_s"] == "slower"
    assert kinds["server_rss_bytes"] == "equivalent"
    assert result.decided("closed")
    (text,) = sentences(duelled(result))
    assert "more CPU per request (worse)" in text
    assert "fewer requests a second (worse)" in text
    assert "no difference beyond 1.0% in memory" in text


def test_equal_servers_are_rarely_called_different_however_often_one_looks() -> None:
    cell = cell_of()
    different = 0
    for seed in range(30):
        trials = trials_of(cell, 28, factor=1.0, noise=0.02, seed=seed)
        gone = 0.0
        for number in (9, 19, 28):
            level = LEVEL - gone if number == 28 else spent(number / 28) - gone
            gone += level
            so_far = [one for one in trials if one.block <= number]
            found = judged(cell, so_far, level=max(level, 1e-9), band=0.001)
            if any(line.verdict.kind in ("faster", "slower") for line in found.lines):
                different += 1
                break
    assert different <= 4  # 1.5 are expected at most; 5 and more have a chance of 2%


def test_a_difference_of_five_percent_is_usually_found() -> None:
    cell = cell_of()
    found = 0
    for seed in range(20):
        result = judged(
            cell, trials_of(cell, 25, factor=1.05, noise=0.02, seed=seed), level=0.035, band=0.01
        )
        kinds = {line.metric: line.verdict.kind for line in result.lines}
        found += "slower" in (kinds["cpu_per_request_ns"], kinds["throughput_per_s"])
    assert found >= 15


def test_few_blocks_decide_nothing_and_say_what_is_missing() -> None:
    cell = cell_of()
    result = judged(cell, trials_of(cell, 3, factor=2, noise=0.01, seed=1), level=0.05, band=0.01)
    assert {line.verdict.kind for line in result.lines} == {"undecided"}
    duel = duelled(result)
    assert "3 more blocks" in next(iter(rows(duel, "B")))[-1]
    almost = judged(cell, trials_of(cell, 5, factor=2, noise=0.01, seed=1), level=0.05, band=0.01)
    assert next(iter(rows(duelled(almost), "B")))[-1] == "open: 1 more block to judge it"
    assert "try --budget" in markdown(duel)
    assert "try --blocks 6." in markdown(replace(duel, blocks=3))


def test_the_floor_of_a_duel_over_tls_is_said_to_be_without() -> None:
    cell = cell_of()
    result = judged(cell, trials_of(cell, 6, factor=1, noise=0.01, seed=1), level=0.05, band=0.01)
    result = replace(result, figures={**result.figures, "cpp/floor": result.figures["A"]})
    duel = duelled(result)
    assert "the floor (cpp/floor, raw sockets, its own short reply)" in markdown(duel)
    over_tls = markdown(replace(duel, tls=True))
    assert "the floor (cpp/floor, raw sockets, without TLS, its own short reply)" in over_tls


def test_a_generator_at_its_limit_supports_no_claim_that_a_side_is_slower() -> None:
    cell = cell_of()
    trials = [
        replace(one, validity={"server_cpu_share": 0.6, "generator_cpu_share": 0.99})
        for one in trials_of(cell, 20, factor=1.1, noise=0.01, seed=3)
    ]
    result = judged(cell, trials, level=0.05, band=0.01)
    kinds = {line.metric: line.verdict.kind for line in result.lines}
    assert kinds["throughput_per_s"] == "undecided"
    assert kinds["cpu_per_request_ns"] == "slower"
    shown = {row[0]: row for row in rows(duelled(result), "B")}
    rate = shown["requests/s"]
    assert "?" in rate[3]
    assert rate[1].startswith("≥ ")
    assert rate[2].startswith("≥ ")
    assert shown["p50*"][1].startswith("≤ ")
    assert shown["CPU/request"][1][0].isdigit(), "the server's own"


def unseen(trials: Sequence[TrialRecord], *names: str) -> list[TrialRecord]:
    """As of servers that ran already: nothing is known of their processes."""
    known = ("throughput_per_s", "p50_ns", "p99_ns")
    return [
        replace(
            one,
            metrics={name: one.metrics[name] for name in known},
            validity={**one.validity, "server_cpu_share": None},
        )
        if one.contestant in names
        else one
        for one in trials
    ]


def test_a_generator_at_its_limit_supports_no_claim_on_servers_that_ran_already() -> None:
    """Nobody knows how busy they were, but both got no more load than the generator had."""
    cell = cell_of()
    trials = unseen(trials_of(cell, 20, factor=1.0, noise=0.001, seed=3), "A", "B")
    busy = [replace(one, validity={**one.validity, "generator_cpu_share": 0.99}) for one in trials]
    for given, kind in ((trials, "equivalent"), (busy, "undecided")):
        (rate,) = (
            line
            for line in judged(cell, given, level=0.05, band=0.01).lines
            if line.metric == "throughput_per_s"
        )
        assert rate.verdict.kind == kind
    assert next(iter(rows(duelled(judged(cell, busy, level=0.05, band=0.01)), "B")))[1][0] == "≥"


def test_what_no_block_would_show_is_not_waited_for() -> None:
    """A duel of a command and an address ends by its throughput alone."""
    cell = cell_of()
    trials = unseen(trials_of(cell, 20, factor=1.1, noise=0.005, seed=3), "B")
    result = judged(cell, trials, level=0.05, band=0.01)
    assert result.decided("closed")
    shown = {row[0]: row for row in rows(duelled(result), "B")}
    assert shown["CPU/request"][1] != ""
    assert shown["CPU/request"][2:] == ("", "", "open: not known of B")


def test_blocks_with_a_figure_of_zero_are_not_left_out_of_a_claim() -> None:
    """Half of A's windows are too short for its clock to see any CPU time. The others are those in
    which it used most.
    """
    cell = cell_of()
    trials = [
        replace(one, metrics={**one.metrics, "cpu_per_request_ns": 0})
        if one.contestant == "A" and one.block % 2
        else one
        for one in trials_of(cell, 20, factor=1.0, noise=0.001, seed=3)
    ]
    result = judged(cell, trials, level=0.05, band=0.01)
    (cpu,) = (line for line in result.lines if line.metric == "cpu_per_request_ns")
    assert cpu.verdict.kind == "undecided"
    assert cpu.verdict.reason == "0 in 10 of 20 blocks of A"


def test_a_claim_by_a_bound_says_at_least() -> None:
    cell = cell_of()
    trials = [
        replace(one, validity={"server_cpu_share": 0.6, "generator_cpu_share": 0.99})
        if one.contestant == "B"
        else one
        for one in trials_of(cell, 20, factor=0.8, noise=0.01, seed=3)
    ]
    (text,) = sentences(duelled(judged(cell, trials, level=0.05, band=0.01)))
    assert re.search(r"at least \d+\.\d% more requests a second \(better\)", text)
    assert re.search(r"; \d+\.\d% less CPU per request \(better\)", text)


def test_an_open_loop_is_judged_by_latency_and_cpu() -> None:
    load = replace(LOAD, rate_per_s=1000.0)
    cell = cell_of(load=load)
    result = judged(
        cell, trials_of(cell, 20, factor=1.1, noise=0.005, seed=3), level=0.05, band=0.01
    )
    assert {line.metric for line in result.lines} == {
        "p50_ns",
        "p99_ns",
        "cpu_per_request_ns",
        "server_rss_bytes",
    }
    duel = replace(duelled(result), kind="open")
    (rate,) = (row for row in rows(duel, "B") if row[0] == "requests/s")
    assert rate[3:] == ("", "set by --rate")
    assert rate[1] != rate[2] != ""
    assert "requests/s" not in [line["metric"] for line in document(duel)["lines"]]


def test_void_trials_are_told_with_the_reason_of_each() -> None:
    """At a rate most are of a load that was not put on; their figures contradict nothing."""
    cell = cell_of(load=replace(LOAD, rate_per_s=1000.0))
    late = "the rate was missed: 980/s of 1,000/s"
    marks: dict[int, dict[str, object]] = {
        1: {"void": late},
        2: {"void": late},
        3: {"little_ratio": 0.5},
    }
    given = [
        replace(one, validity={**one.validity, **marks.get(one.block, {})})
        if one.entry == "B"
        else one
        for one in trials_of(cell, 8, factor=1, noise=0.01, seed=1)
    ]
    duel = replace(duelled(judged(cell, given, level=0.05, band=0.01)), kind="open")
    text = markdown(duel)
    assert "2 trials of B are void: not the load asked for (the rate was missed)." in text
    assert "1 trial of B is void: its figures contradict Little's law." in text
    assert document(duel)["void"]["B"] == 3
    assert document(duel)["void"]["A"] == 0


def test_what_users_wrote_stays_text_in_pages_and_tables() -> None:
    hostile = "<script>alert(1)</script> | `x`"
    sides = sides_of([hostile, "./b"], folders=[Path("/")])
    cell = cell_of(sides)
    result = judged(cell, trials_of(cell, 8, factor=1, noise=0.01, seed=1), level=0.05, band=0.01)
    duel = duelled(result, sides)
    assert "<script" not in page(duel)
    assert f"- A: `` {hostile} ``\n" in markdown(duel)
    assert json.loads(json.dumps(document(duel)))["sides"][0]["given"] == hostile


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("./a", "`./a`"),
        ("a `b` c", "``a `b` c``"),
        ("a ``b``", "``` a ``b`` ```"),
        ("a\n\nb", "`a  b`"),
    ],
)
def test_any_command_is_code_in_markdown(given: str, shown: str) -> None:
    sides = sides_of([given, "./b"], folders=[Path("/")])
    result = judged(cell_of(sides), [], level=0.05, band=0.01)
    assert f"- A: {shown}\n- B: `./b`\n" in markdown(duelled(result, sides))


def test_a_path_is_text_in_markdown() -> None:
    duel = replace(duelled(judged(cell_of(), [], level=0.05, band=0.01)), load="http /<img src=x>")
    assert "Load: http /&lt;img src=x>." in markdown(duel)


def test_the_page_says_what_each_revision_ran() -> None:
    sides = sides_of(["./s {port}"] * 2, folders=[Path("/")], labels=["main (0123)", "HEAD (4567)"])
    text = page(duelled(judged(cell_of(sides), [], level=0.05, band=0.01), sides))
    assert "<code>main (0123): ./s {port}</code>" in text


def test_looks_are_those_of_every_run() -> None:
    found = looks()
    assert [next(found) for _ in range(4)] == [6, 9, 13, 19]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def test_two_servers_from_commands_to_a_verdict(project: Project, tmp_path: Path) -> None:
    one = server(project, "one.py") + " {port}"
    other = server(project, "other.py", port="os.environ['PORT']")
    code, output = project.run(
        *("duel", one, other, "--blocks", "2", "--path", "/route_01", "--ready", "/ready"),
        *("--json", str(tmp_path / "d.json"), "--markdown", str(tmp_path / "d.md")),
        *("--html", str(tmp_path / "d.html"), "--window", "100ms"),
    )
    assert code == 0, output
    assert "requests/s" in output
    assert "open: 4 more blocks to judge it" in output
    assert "the floor (python/floor" in output
    found = json.loads((tmp_path / "d.json").read_text())
    assert found["schema"] == "wirebench-duel/1"
    assert found["blocks"] == 2
    assert {line["side"] for line in found["lines"]} == {"B"}
    assert "| requests/s |" in (tmp_path / "d.md").read_text()
    assert "<table>" in (tmp_path / "d.html").read_text()
    run = read_run(project.only_run())
    assert run.info.status == "complete"
    assert {one.entry for one in run.trials} == {"A", "B", "python/floor", f"{_twin(run)}~twin"}
    assert run.info.command[:4] == ("wirebench", "duel", one, other)
    options = ("--path", "/route_01", "--window", "100ms", "--ready", "/ready", "--blocks", "2")
    assert run.info.command[4:-1] == (*options, "--seed"), "what repeats it, without the results"
    assert project.survivors() == []
    assert project.leftovers() == []


def test_a_runtime_that_had_no_time_to_warm_up_is_named(project: Project, tmp_path: Path) -> None:
    """Recognised by the program that runs, wherever in the tree of the server's processes."""
    program = Path(sys.executable).resolve().name
    manifest = f"""
        library = "slow"
        version = "1"
        license = "MIT"
        homepage = "https://example.org"
        tier = "idiomatic"
        serves = ["http.hello"]
        run = {{ server = ["{program}"] }}
        warmup = {{ server = "3s" }}
    """
    folder = project.root / "contestants" / "slow" / "one"
    folder.mkdir(parents=True)
    (folder / "manifest.toml").write_text(manifest)
    one = "env " + server(project, "one.py") + " {port}"
    code, output = project.run(
        *("duel", one, one, "--blocks", "1", "--path", "/route_01", "--ready", "/ready"),
        *("--json", str(tmp_path / "d.json"), "--window", "100ms", "--no-turns", "--no-floor"),
    )
    assert code == 0, output
    said = f"{program} needs 3s of load to run at its pace, and had 500ms"
    assert f"A was measured cold: {said}" in " ".join(output.split())
    assert json.loads((tmp_path / "d.json").read_text())["cold"] == {"A": said, "B": said}


def _twin(run: StoredRun) -> str:
    return next(one.twin_of for one in run.trials if one.twin_of)


def test_a_server_that_dies_under_load_is_told_with_its_last_words(project: Project) -> None:
    one = server(project, "one.py") + " {port}"
    bad = server(project, "bad.py", dies=5) + " {port}"
    code, output = project.run(
        "duel", one, bad, "--blocks", "1", "--path", "/route_01", "--no-floor"
    )
    assert code == 1, output
    assert "out of paper" in output
    assert "exited with 7" in output
    assert project.survivors() == []


@pytest.mark.parametrize("floor", ["--floor", "--no-floor"])
def test_servers_that_never_start_leave_nothing_valid(project: Project, floor: str) -> None:
    code, output = project.run(
        *("duel", "echo no such luck; exit 3", "sleep 60", "--blocks", "1", floor),
        *("--start-timeout", "300ms"),
    )
    assert code == 3, output
    assert "nothing valid was measured" in output
    assert "no such luck" in output
    assert "was not ready" in output
    assert project.survivors() == []


def test_a_server_that_speaks_tls_is_asked_over_tls_whether_it_is_ready(
    project: Project, tmp_path: Path
) -> None:
    files = issue(tmp_path)
    wrapped = SERVER.replace("import os,", "import ssl, os,").replace(
        "Handler).serve_forever()",
        "Handler)\n"
        "context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n"
        f"context.load_cert_chain({str(files.certificate_file)!r}, {str(files.key_file)!r})\n"
        "listener.socket = context.wrap_socket(listener.socket, server_side=True)\n"
        "listener.serve_forever()",
    )
    file = project.root / "secure.py"
    file.write_text(
        wrapped.replace("ThreadingHTTPServer((", "listener = ThreadingHTTPServer((").format(
            pids=str(project.pids), dies=10**9, port="sys.argv[1]"
        )
    )
    command = f"{sys.executable} -B {file} {{port}}"
    code, output = project.run(
        *("duel", command, command, "--tls", "--ready", "/ready", "--blocks", "1"),
        *("--no-turns", "--no-floor", "--window", "100ms", "--wireload=--insecure"),
    )
    # The small generator of this project has no TLS; wireload, where it is there, has.
    assert code in (0, 3), output
    assert "was not ready" not in output


def test_a_server_that_runs_already_is_measured_where_it_is(project: Project) -> None:
    one = server(project, "one.py")
    with subprocess.Popen([*one.split(), "18099"]) as running:
        try:
            code, output = project.run(
                *("duel", one + " {port}", "http://127.0.0.1:18099", "--blocks", "2"),
                *("--path", "/route_01", "--no-floor"),
            )
        finally:
            still = alive(running.pid)
            running.kill()
    assert code == 0, output
    assert still
    assert "its CPU and memory are not known" in output


RUNNING = ("http://127.0.0.1:1", "http://127.0.0.1:2")


def test_options_that_have_an_effect_stand_beside_each_other() -> None:
    """One command among addresses is started; a rate needs no turns."""
    of_commands = {name: f"--{name}" for name in ("cwd", "env", "ready", "start_timeout")}
    check_effects(of_commands, ["./one", RUNNING[0]], turns=True, rate=None, blocks=None)
    check_effects({"turns": "--no-turns"}, RUNNING, turns=False, rate=5.0, blocks=None)
    check_effects({}, RUNNING, turns=True, rate=5.0, blocks=2)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["./one"], "2 to 8"),
        (["a", "b", "--path", "x"], "--path"),
        (["ws://a", "ws://b"], "ws:// takes --ws without --tls"),
        (["http://a", "http://b", "--ws"], "http:// takes neither --ws nor --tls"),
        (["a", "https://b"], "https:// takes --tls without --ws"),
        (["https://a", "https://b", "--tls", "--window", "1ms"], "at least 50ms"),
        (["a", "b", "--rate", "inf"], "--rate"),
        (["a", "b", "--rate", "1e300"], "--rate"),
        (["a", "b", "--connections", "1000001"], "--connections"),
        (["a", "b", "--window", "9999999999h"], "--window: expected ten years at most"),
        (["a", "b", "--warmup", "9999999999h"], "--warmup: expected ten years at most"),
        (["a", "b", "--band", "nan"], "Invalid value for '--band'"),
        (["a", "b", "--ready", "x"], "--ready"),
        (["a", "b", "--ready", "/a b"], "--ready"),
        (["a", "b", "--ready", "/ü"], "--ready"),
        (["a", "b", "--window", "1"], "--window"),
        (["a", "b", "--window", "1ms"], "--window"),
        (["a", "b", "--budget", "0s"], "--budget: expected more than 0, got '0s'"),
        (["a", "b", "--rate", "5", "--budget", "0.0ms"], "--budget: expected more than 0"),
        (["a", "b", "--start-timeout", "0s"], "--start-timeout: expected more than 0"),
        (["a", "b", "--build", "make"], "--build"),
        ([*RUNNING, "--cwd", "/", "--env", "A=1"], "--cwd, --env: expected a command that starts"),
        ([*RUNNING, "--ready", "/"], "--ready: expected a command that starts a server"),
        ([*RUNNING, "--start-timeout", "5s"], "--start-timeout: expected a command that starts"),
        (["a", "b", "--rate", "5", "--turns"], "--turns: expected no --rate with it"),
        (["a", "b", "--blocks", "2", "--budget", "2m"], "--budget: expected no --blocks with it"),
        (["http://127.0.0.1:8080", "--git", "main.."], "--git: expected a command"),
        (["a", "b", "--cwd", "/nowhere/at/all"], "--cwd"),
        (["a", "b", "--json", "/nowhere/at/all/x.json"], "/nowhere"),
        (["a", "b", "--out", "/bin/sh"], "--out: expected a folder"),
        (["a", "b", "--out", "/bin/sh/below"], "--out: expected a folder"),
        (["a", "./b\udcff"], "COMMAND: expected UTF-8"),
        (["a", "b", "--path", "/\udcff"], "--path: expected UTF-8"),
    ],
)
def test_wrong_usage_is_told_before_anything_starts(
    project: Project,
    words: Sequence[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WIREBENCH_ROOT", str(project.root))
    assert run_app(["duel", *words]) == 64
    assert says in capsys.readouterr().err
    assert not (project.root / "results").exists()
