"""``wirebench decide``: what no cell shows just so: other loads, TLS, memory in total."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from decided import HTTP, STUDIES, WORLD, answer, known_of, of, states
from synthetic_footprint import footprint
from synthetic_run import write_run
from synthetic_world import World
from wirebench.catalog import find_root, load_catalog
from wirebench.catalog.model import Disabled, Workload
from wirebench.decide.judge import decide
from wirebench.decide.places import looked_up
from wirebench.decide.question import Decision, Finding, Question
from wirebench.footprint.model import Spoken
from wirebench.store.rundir import PLAN_FILE, TRIALS_FILE


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    write_run(folder, WORLD)
    return folder


LOAD = World(studies=("concurrency",), samples=60, preset="load")


def test_times_at_fewer_connections_than_wanted_are_borderline_and_say_so(tmp_path: Path) -> None:
    """The rate cells of http.hello have 50 connections."""
    write_run(tmp_path, LOAD)

    def p99(limit_ns: int, connections: int) -> Mapping[str, Finding]:
        question = replace(HTTP, connections=connections, p99_ns=limit_ns)
        decision = answer(tmp_path, question)
        everybody = (*decision.shortlist, *decision.excluded, *decision.unknown)
        return {
            one.contestant: it
            for one in everybody
            for it in one.findings
            if it.limit.startswith("p99 ")
        }

    enough = p99(10**10, 50)["rust/axum"]
    assert enough.state == "holds"
    assert "connections" not in enough.text
    fewer = p99(10**10, 1000)["rust/axum"]
    assert (fewer.state, fewer.text) == ("borderline", f"{enough.text}, on 50 connections")
    assert fewer.where.startswith("concurrency rate-1000, run ")
    assert p99(1, 1000)["rust/axum"].state == "fails", "more connections do not make it faster"


def test_broadcasts_answer_for_all_that_is_asked_of_them(tmp_path: Path) -> None:
    world = World(studies=("websocket",), preset="broadcast", blocks=9, samples=60)
    write_run(tmp_path, world)
    question = Question(serves="ws.broadcast", connections=1000, p99_ns=10**12, cpu_ns=10**9)
    decision = answer(tmp_path, replace(question, throughput_per_s=1, total_memory_bytes=2**40))
    assert "websocket broadcast-1000, run " in decision.ordered_by
    assert "c/libwebsockets" in decision.first
    for found in of(decision.shortlist, "c/libwebsockets").findings:
        assert found.state == "holds"
        assert found.where.startswith("websocket broadcast-1000, run ")
    assert states(answer(tmp_path, replace(question, connections=10_001)), "node/ws") == {
        "ws.broadcast on 10,001 connections": "unknown",
        "p99 <= 1000 s": "unknown",
        "CPU per message <= 1.00 s": "unknown",
    }


@pytest.mark.parametrize("serves", ["rest", "ws.count", "ws.broadcast"])
def test_no_command_is_given_for_memory_that_no_cell_shows(
    tmp_path: Path, serves: Workload
) -> None:
    """Only closed and idle cells are rungs: a ramp, a broadcast or producers have no slope."""
    decision = answer(tmp_path, Question(serves=serves, memory_bytes=10_240, by="memory"))
    reasons = {one.limit: one for one in decision.unknown[0].findings}
    memory = reasons["memory per connection <= 10.0 KiB"]
    assert (memory.text, memory.command) == ("not measured; no study has a cell for it", None)
    assert reasons[serves].command is not None


def memory_of(decision: Decision, contestant: str) -> Finding:
    everybody = (*decision.shortlist, *decision.excluded, *decision.unknown)
    (found,) = (one for one in everybody if one.contestant == contestant)
    return next(one for one in found.findings if one.limit.startswith("memory per connection"))


def test_idle_connections_show_memory_where_no_others_do(tmp_path: Path) -> None:
    write_run(tmp_path, World(studies=("websocket",), preset="storms", samples=60))
    question = Question(serves="ws.echo", memory_bytes=2**30, by="memory")
    decision = answer(tmp_path, question)
    idle = memory_of(decision, "node/ws")
    assert idle.state == "holds"
    assert idle.text.endswith(" KiB")
    assert idle.where.startswith("websocket, over its rungs of idle connections, run ")
    assert " in websocket idle-1000, run " in decision.ordered_by
    (used,) = {
        one.command for one in decision.unknown[0].findings if one.limit.startswith("ws.echo")
    }
    assert used == "wirebench run websocket --preset hour --only {}", "idle ones are not answered"

    later = World(studies=("websocket",), preset="peers", samples=60)
    write_run(tmp_path, replace(later, started_unix_ns=later.started_unix_ns + 10**12))
    decision = answer(tmp_path, question)
    assert memory_of(decision, "node/ws").where.startswith("websocket, over its rungs, run ")
    assert " in websocket echo-100, run " in decision.ordered_by


def test_long_messages_answer_where_no_others_do(tmp_path: Path) -> None:
    world = World(studies=("websocket",), preset="sizes", samples=60)
    write_run(tmp_path, world)
    question = Question(serves="ws.echo", connections=50, throughput_per_s=1)
    assert " in websocket echo-100-size-" in answer(tmp_path, question).ordered_by
    few = replace(world, preset="peers", blocks=2, started_unix_ns=world.started_unix_ns - 10**12)
    write_run(tmp_path, few)
    decision = answer(tmp_path, question)
    found = {one.limit: one.where for one in of(decision.shortlist, "node/ws").findings}
    assert found["messages/s >= 1"].startswith("websocket echo-100, run ")


def test_a_newer_run_of_one_rung_does_not_take_the_memory_away(tmp_path: Path) -> None:
    old = write_run(tmp_path, WORLD)
    new = write_run(
        tmp_path, replace(WORLD, started_unix_ns=WORLD.started_unix_ns + 10**12, seed=8)
    )
    plan = json.loads((new / PLAN_FILE).read_text())
    plan["cells"] = [cell for cell in plan["cells"] if cell["cell"]["id"] == "c50"]
    (new / PLAN_FILE).write_text(json.dumps(plan))
    question = replace(HTTP, memory_bytes=2**30, throughput_per_s=1, by="memory")
    decision = answer(tmp_path, question)
    found = of(decision.shortlist, "rust/axum")
    where = {one.limit.split(" ")[0]: one.where for one in found.findings}
    assert where["memory"].endswith(old.name)
    assert where["requests/s"].endswith(new.name), "the newest that has it"
    assert found.rank is not None
    assert decision.ordered_by.endswith(old.name)


@pytest.mark.parametrize(
    ("question", "command"),
    [
        (HTTP, "run concurrency --preset hour"),
        (replace(HTTP, tls=True), "run concurrency --preset evening"),
        (
            Question(serves="ws.echo", connections=10_001),
            "run websocket --preset full --cells idle-1000,idle-10000,idle-100000",
        ),
    ],
)
def test_the_command_for_memory_has_two_rungs(
    tmp_path: Path, question: Question, command: str
) -> None:
    """The preset ``hour`` has one rung over TLS, which gives no slope."""
    decision = answer(tmp_path, replace(question, memory_bytes=10_240))
    found = {memory_of(decision, one.contestant).command for one in decision.unknown}
    assert found == {f"wirebench {command} --only {{}}"}


def test_over_tls_plain_cells_answer_where_no_cell_has_tls(tmp_path: Path) -> None:
    write_run(tmp_path, World(studies=("rest",), samples=60))
    question = Question(serves="rest", tls=True, throughput_per_s=1)
    known = known_of(tmp_path, question)
    assert known.cells, "the plain cells"
    catalog = load_catalog(find_root())
    spoken = {
        "rust/axum": Spoken(feature="TLS", has=True, probed=True),
        "go/net-http": Spoken(feature="TLS", has=False, probed=False),
    }
    known = replace(
        known,
        footprints={name: footprint(name, features=(one,)) for name, one in spoken.items()},
    )
    contestants = {
        name: replace(one, tls=name == "node/http", documented={})
        for name, one in catalog.contestants.items()
    }
    decision = decide(question, known, replace(catalog, contestants=contestants), STUDIES)
    assert {one.contestant for one in decision.shortlist} == {"rust/axum", "node/http"}
    axum = {one.limit: one for one in of(decision.shortlist, "rust/axum").findings}
    assert axum["TLS"].where == "footprint of 1.0"
    assert axum["requests/s >= 1"].where.endswith(", without TLS")
    assert decision.ordered_by.endswith(", without TLS")
    node = {one.limit: one for one in of(decision.shortlist, "node/http").findings}
    assert (node["TLS"].text, node["TLS"].where) == ("yes", "its manifest")
    go = {one.limit: one for one in of(decision.excluded, "go/net-http").findings}
    assert (go["TLS"].state, go["TLS"].text) == ("fails", "no, as documented")
    assert states(decision, "python/aiohttp")["TLS"] == "unknown"


def test_over_tls_the_cells_over_tls_answer_where_there_are_some(results: Path) -> None:
    question = replace(HTTP, tls=True)
    assert looked_up(question, STUDIES) == question
    assert not any("without TLS" in one.ordered_by for one in [answer(results, question)])


def test_those_that_cannot_be_the_answer_are_excluded_with_the_reason(results: Path) -> None:
    catalog = load_catalog(find_root())
    off = replace(
        catalog.contestants["node/http"],
        disabled=Disabled(reason="its registry is gone", since=date(2026, 1, 31)),
    )
    catalog = replace(catalog, contestants={**catalog.contestants, "node/http": off})
    decision = decide(HTTP, known_of(results, HTTP), catalog, STUDIES)
    (reason,) = of(decision.excluded, "node/http").findings
    assert reason.text == "disabled since 2026-01-31: its registry is gone"
    (reason,) = of(decision.excluded, "go/gorilla-websocket").findings
    assert (reason.limit, reason.text) == ("http.hello", "it does not serve that")
    over_tls = answer(results, replace(HTTP, tls=True))
    without = next(
        one.identity
        for one in catalog.contestants.values()
        if "http.hello" in one.serves and not one.tls and one.disabled is None
    )
    (reason,) = of(over_tls.excluded, without).findings
    assert (reason.limit, reason.text) == ("TLS", "its server does not speak it")
    clients = answer(results, Question(calls="wss"))
    (reason,) = of(clients.excluded, "rust/axum").findings
    assert (reason.limit, reason.text) == ("a client of wss", "it is none")


def test_memory_in_total_may_be_limited(results: Path) -> None:
    decision = answer(results, replace(HTTP, connections=1000, total_memory_bytes=10 * 2**20))
    limit = "peak memory <= 10.0 MiB"
    small = of(decision.shortlist, "rust/axum").findings
    (found,) = (one for one in small if one.limit == limit)
    assert found.where.startswith("concurrency c1000, run ")
    assert states(decision, "python/aiohttp")[limit] == "fails"


def test_the_sides_of_a_duel_are_no_contestants(tmp_path: Path) -> None:
    run = write_run(tmp_path, WORLD)
    for name in (PLAN_FILE, TRIALS_FILE):
        text = (run / name).read_text()
        (run / name).write_text(text.replace('"concurrency"', '"duel"'))
    assert known_of(tmp_path, HTTP).cells == ()
