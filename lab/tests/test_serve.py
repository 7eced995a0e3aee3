"""``wirebench serve``: who gets an answer, what is in it, a run under way, and a real browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from asked_pages import HOST, WORLD, ask
from synthetic_run import write_run
from wirebench.cli.serve import hosts_of
from wirebench.report import write_report
from wirebench.serve.application import Application
from wirebench.serve.under_way import UnderWay
from wirebench.store.rundir import (
    HOST_FILE,
    REPORT_FILE,
    RUN_FILE,
    TRIALS_FILE,
    RunDirectory,
)


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("results")
    write_report(write_run(results, WORLD))
    return results


@pytest.fixture
def results(one_run: Path, tmp_path: Path) -> Path:
    shutil.copytree(one_run, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def application(results: Path) -> Application:
    return Application(results=results, hosts=frozenset({HOST}), longest_wait_s=0.3)


def run_of(results: Path) -> Path:
    (found,) = (one for one in results.iterdir() if one.is_dir())
    return found


def test_the_list_has_every_run_with_its_status(application: Application, results: Path) -> None:
    killed = write_run(results, WORLD, status="running")
    broken = results / "broken"
    broken.mkdir()
    (broken / RUN_FILE).write_text("{}")
    text = ask(application, "/").text
    for name in (run_of_status(text, "complete"), killed.name, "broken"):
        assert f'href="/runs/{name}/"' in text
    assert '<td class="killed">killed</td>' in text
    assert '<td class="unreadable">unreadable</td>' in text
    assert "schema" in text


def run_of_status(text: str, status: str) -> str:
    found = re.search(rf'href="/runs/([^"]+)/">[^\n]*\n<td class="{status}">', text)
    assert found is not None
    return found[1]


def test_without_runs_it_says_how_to_make_one(tmp_path: Path) -> None:
    empty = Application(results=tmp_path, hosts=frozenset({HOST}))
    assert "wirebench quick" in ask(empty, "/").text
    assert ask(empty, "/history").status == 200
    assert "no complete runs yet" in ask(empty, "/history?metric=p99_ns").text


def test_a_run_has_its_report_and_its_files(application: Application, results: Path) -> None:
    run = run_of(results)
    text = ask(application, f"/runs/{run.name}/").text
    assert 'href="report.html"' in text
    assert f'href="{TRIALS_FILE}"' in text
    assert "server and generator are pinned to different cores" in text
    report = ask(application, f"/runs/{run.name}/{REPORT_FILE}")
    assert report.body == (run / REPORT_FILE).read_bytes()
    # The page's scripts may run, and no others.
    policy = report.fields["Content-Security-Policy"]
    assert re.search(r"script-src 'sha256-[^']+' 'sha256-[^']+';", policy)
    assert policy.startswith("default-src 'none'; ")
    trials = ask(application, f"/runs/{run.name}/{TRIALS_FILE}")
    assert trials.body == (run / TRIALS_FILE).read_bytes()
    assert trials.fields["Content-Type"] == "application/jsonl"
    assert "sandbox" in trials.fields["Content-Security-Policy"]


def test_a_report_without_a_policy_of_its_own_runs_no_script(
    application: Application, results: Path
) -> None:
    run = run_of(results)
    for text in (
        "<script>alert(1)</script>",
        '<meta http-equiv="Content-Security-Policy" content="script-src *&#13;&#10;X: y">',
    ):
        (run / REPORT_FILE).write_text(text)
        policy = ask(application, f"/runs/{run.name}/{REPORT_FILE}").fields[
            "Content-Security-Policy"
        ]
        assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")


def test_a_report_that_allows_itself_more_gets_no_more(
    application: Application, results: Path
) -> None:
    """A run may be somebody else's, with a page that says it is its report."""
    run = run_of(results)
    (run / REPORT_FILE).write_text(
        '<meta http-equiv="Content-Security-Policy" content="default-src https: data:">'
    )
    fields = ask(application, f"/runs/{run.name}/{REPORT_FILE}").fields
    _, bound = fields["Content-Security-Policy"].split(", ")
    assert bound.startswith("default-src 'none'; ")
    assert "sandbox allow-scripts" in bound
    assert "connect-src" not in bound
    assert "allow-same-origin" not in bound


def test_a_duel_says_what_was_found(application: Application, results: Path) -> None:
    run = run_of(results)
    (run / REPORT_FILE).unlink()
    assert f"wirebench report {run.name}" in ask(application, f"/runs/{run.name}/").text
    sides = [{"name": "A", "given": "./old <b>"}, {"name": "B", "given": "./new"}]
    duel = {"load": "50 connections", "sides": sides, "sentences": ["B needs 5% more CPU."]}
    (run / "duel.json").write_text(json.dumps(duel))
    text = ask(application, f"/runs/{run.name}/").text
    assert "B needs 5% more CPU." in text
    assert "./old &lt;b&gt;" in text


@pytest.mark.parametrize(
    "damage", ["{}", "[]", '"x"', '{"load": 1, "sides": [], "sentences": []}', "{", "[" * 100_000]
)
def test_a_damaged_duel_says_what_is_wrong(
    application: Application, results: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(results)
    (run / REPORT_FILE).unlink()
    (run / "duel.json").write_text(damage)
    answer = ask(application, f"/runs/{run.name}/")
    assert answer.status == 500
    assert "duel.json: " in answer.text
    assert capsys.readouterr().err == "", "no bug of ours"


def test_a_duel_of_revisions_names_them(application: Application, results: Path) -> None:
    run = run_of(results)
    (run / REPORT_FILE).unlink()
    sides = [{"name": "A", "given": "./s", "label": "main (0123)", "url": None}]
    duel = {"load": "50 connections", "sides": sides, "sentences": [], "seconds": 1.5}
    (run / "duel.json").write_text(json.dumps(duel))
    assert "main (0123): <code>./s</code>" in ask(application, f"/runs/{run.name}/").text


def test_a_command_can_be_pasted_into_a_shell(application: Application, results: Path) -> None:
    run = run_of(results)
    stored = json.loads((run / RUN_FILE).read_text())
    stored["command"] = ["wirebench", "duel", "./old --port {port}", "./new", "--seed", "1"]
    (run / RUN_FILE).write_text(json.dumps(stored))
    text = ask(application, f"/runs/{run.name}/").text
    assert "wirebench duel &#39;./old --port {port}&#39; ./new --seed 1</pre>" in text


def test_history_draws_what_was_asked_for(application: Application) -> None:
    form = ask(application, "/history").text
    assert "<option>throughput_per_s</option>" in form
    assert "<option>cpp/floor</option>" in form
    asked = "/history?metric=throughput_per_s&contestant=node%2Fhttp&cell=concurrency.c50"
    shown = ask(application, asked).text
    assert shown.count('<img src="data:image/svg+xml;base64,') == 1
    assert "node/http: requests/s in concurrency c50" in shown


def test_history_of_runs_that_lost_their_host(application: Application, results: Path) -> None:
    (run_of(results) / HOST_FILE).unlink()
    shown = ask(application, "/history?metric=throughput_per_s&cell=concurrency.c50")
    assert shown.status == 200
    assert "requests/s in concurrency c50" in shown.text


@pytest.mark.parametrize("name", ["metric", "contestant", "cell", "host"])
def test_history_says_what_it_expected(application: Application, name: str) -> None:
    answer = ask(application, f"/history?{name}=%3Cscript%3E")
    assert answer.status == 400
    assert f"{name}: expected one of " in answer.text
    assert "<script" not in answer.text


def test_decide_answers_what_the_form_asks(application: Application) -> None:
    form = ask(application, "/decide").text
    assert "<option>server of http.hello</option>" in form
    assert "Limits that are left empty ask for nothing" in form
    question = "what=server+of+http.hello&throughput=30000&must=&licence=permissive&p99="
    text = ask(application, f"/decide?{question}").text
    assert "rust/axum, rust/hyper, which cannot be told apart, first by requests/s" in text
    assert "python/flask" in text
    assert "wirebench run concurrency --preset hour --only " in text
    assert '<input name="throughput" value="30000"' in text
    assert ask(application, f"/decide?{question}&language=rust&language=go&must=9112").status == 200


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("p99=1ms", "expected either"),
        ("what=server+of+ftp", "workload: expected one of"),
        ("what=server+of+rest&p99=%3Cb%3E", "p99: expected a duration"),
        ("what=server+of+rest&connections=many", "connections: expected a number"),
        ("what=server+of+rest&rate=1e400", "rate: expected a number"),
        ("what=client+of+http&tls=yes", "are for servers"),
        ("what=client+of+http&rate=5", "are for servers"),
        ("&".join(f"x{one}=1" for one in range(40)), "at most 30 fields"),
    ],
)
def test_decide_says_what_it_expected(application: Application, query: str, expected: str) -> None:
    answer = ask(application, f"/decide?{query}")
    assert answer.status == 400
    assert expected in answer.text
    assert "<b>" not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_it_can_only_be_read(application: Application, method: str) -> None:
    answer = ask(application, "/", method=method)
    assert answer.status == 405
    assert answer.fields["Allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:8088.evil.example"]
)
def test_another_host_is_refused(application: Application, host: str) -> None:
    answer = ask(application, "/", HTTP_HOST=host)
    assert answer.status == 421
    assert "Runs on this host" not in answer.text


def test_at_the_port_of_http_the_host_has_none() -> None:
    assert hosts_of(8088) == {"127.0.0.1:8088", "localhost:8088"}
    assert hosts_of(80) == {"127.0.0.1:80", "localhost:80", "127.0.0.1", "localhost"}


def test_pages_of_other_sites_get_nothing_but_may_link(application: Application) -> None:
    for site in ("cross-site", "same-site"):
        fetched = ask(application, "/", HTTP_SEC_FETCH_SITE=site, HTTP_SEC_FETCH_DEST="image")
        assert fetched.status == 403
        followed = ask(application, "/", HTTP_SEC_FETCH_SITE=site, HTTP_SEC_FETCH_DEST="document")
        assert followed.status == 200
    assert ask(application, "/", HTTP_SEC_FETCH_SITE="same-origin").status == 200


def test_nothing_outside_the_runs_is_shown(application: Application, results: Path) -> None:
    run = run_of(results)
    outside = results.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / RUN_FILE).write_bytes((run / RUN_FILE).read_bytes())
    (results / "linked").symlink_to(outside)
    (run / "secret.txt").write_text("secret")
    (run / "table.txt").unlink(missing_ok=True)
    (run / "table.txt").symlink_to("/etc/passwd")
    (run / "left.jsonl").unlink(missing_ok=True)
    os.mkfifo(run / "left.jsonl")
    for path in (
        "/runs/linked/",
        "/runs/../outside/",
        "/runs/%2e%2e/",
        "/runs/./",
        "/runs/.hidden/",
        "/runs//",
        f"/runs/{run.name}",
        f"/runs/{run.name}/secret.txt",
        f"/runs/{run.name}/table.txt",
        f"/runs/{run.name}/left.jsonl",
        f"/runs/{run.name}/.lock",
        f"/runs/{run.name}/../{run.name}/run.json",
        f"/runs/{run.name}\0/",
        "/runs/\xff/",
        "/history.sqlite",
        "//",
        "",
    ):
        assert ask(application, path).status == 404, path
    page = ask(application, f"/runs/{run.name}/")
    assert page.status == 200
    assert "root:" not in page.text
    assert 'href="table.txt"' not in page.text, "a link to what is not shown"


def test_every_answer_has_the_fields_that_protect_it(
    application: Application, results: Path
) -> None:
    run = run_of(results).name
    for path, method in (
        ("/", "GET"),
        ("/history", "GET"),
        ("/decide", "GET"),
        (f"/runs/{run}/", "GET"),
        (f"/runs/{run}/report.html", "GET"),
        (f"/runs/{run}/run.json", "GET"),
        ("/none", "GET"),
        ("/", "POST"),
    ):
        fields = ask(application, path, method=method).fields
        policy = fields["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; "), path
        assert "frame-ancestors 'none'" in policy, path
        assert fields["X-Content-Type-Options"] == "nosniff"
        assert fields["Cross-Origin-Resource-Policy"] == "same-origin"
        assert fields["Cache-Control"] == "no-store"
        # A browser shows no page that has both.
        assert ("sandbox" in policy) == ("Cross-Origin-Opener-Policy" not in fields), path


def test_head_is_get_without_its_body(application: Application, results: Path) -> None:
    for path in ("/", f"/runs/{run_of(results).name}/report.html", "/none"):
        whole, head = ask(application, path), ask(application, path, method="HEAD")
        assert (head.status, head.fields, head.body) == (whole.status, whole.fields, b"")


def test_a_damaged_run_costs_no_other_page(application: Application, results: Path) -> None:
    run = run_of(results)
    (run / RUN_FILE).write_text("{")
    answer = ask(application, f"/runs/{run.name}/")
    assert answer.status == 500
    assert "expected JSON" in answer.text
    assert ask(application, "/").status == 200


@contextmanager
def under_way(results: Path, *, stored: int) -> Iterator[tuple[Path, list[bytes]]]:
    """A run whose directory is locked, with some of its trials, and the lines of the others."""
    run = write_run(results, WORLD, status="running")
    lines = (run / TRIALS_FILE).read_bytes().splitlines(keepends=True)
    (run / TRIALS_FILE).write_bytes(b"".join(lines[:stored]))
    with closing(RunDirectory(run)):
        yield run, lines[stored:]


def test_a_run_under_way_shows_what_is_known_so_far(
    application: Application, results: Path
) -> None:
    with under_way(results, stored=40) as (run, rest):
        assert '<td class="running">running</td>' in ask(application, "/").text
        first = ask(application, f"/runs/{run.name}/").text
        assert "trials, about" in first
        assert "node/http" in first
        assert "1.00×" in first
        (after,) = re.findall(r'content="1; url=\?after=(\d+)"', first)
        # Nothing more is stored: the same page, when the longest wait is over.
        assert ask(application, f"/runs/{run.name}/?after={after}").text == first
        with (run / TRIALS_FILE).open("ab") as file:
            file.write(rest[0] + rest[1][:20])
        second = ask(application, f"/runs/{run.name}/?after={after}").text
        assert f"after={int(after) + len(rest[0])}" in second, "a line that is not whole waits"
        with (run / TRIALS_FILE).open("ab") as file:
            file.write(rest[1][20:] + b"not JSON\n[]\n{}\n")
        assert ask(application, f"/runs/{run.name}/").status == 200
    assert 'http-equiv="refresh"' not in ask(application, f"/runs/{run.name}/").text


def test_a_trial_that_did_not_take_place_is_no_trial_of_its_entry(results: Path) -> None:
    """The cell leaves out who failed twice; the run has no more to do for it all the same."""
    run = write_run(results, WORLD, status="running")
    lines = (run / TRIALS_FILE).read_bytes().splitlines(keepends=True)
    found = map(json.loads, lines)
    one = next(it for it in found if it["block"] == 1 and it["twin_of"] is None)

    def stored(block: int, status: str) -> str:
        return json.dumps({**one, "block": block, "status": status, "metrics": {}}) + "\n"

    (run / TRIALS_FILE).write_text(
        "".join(stored(block, "failed") for block in (1, 2)) + stored(3, "not_run")
    )
    followed = UnderWay(run)
    followed.refresh()
    (cell,) = (it for it in followed.cells() if (it.study, it.cell) == (one["study"], one["cell"]))
    (row,) = (it for it in cell.rows if it.entry == one["entry"])
    assert (row.trials, row.failed) == (2, 2)
    assert followed.trials == 3


def test_the_next_page_waits_for_the_end_of_a_trial(results: Path) -> None:
    patient = Application(results=results, hosts=frozenset({HOST}), longest_wait_s=60)
    with under_way(results, stored=20) as (run, rest):
        file = run / TRIALS_FILE
        ask(patient, f"/runs/{run.name}/")
        answered: list[float] = []

        def wait() -> None:
            ask(patient, f"/runs/{run.name}/?after={file.stat().st_size}")
            answered.append(time.monotonic())

        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.6)
        assert answered == []
        stored = time.monotonic()
        with file.open("ab") as opened:
            opened.write(rest[0])
        waiting.join(timeout=30)
        assert answered
        assert answered[0] > stored


def test_few_may_wait_at_a_time(results: Path) -> None:
    patient = Application(results=results, hosts=frozenset({HOST}), longest_wait_s=3)
    with under_way(results, stored=20) as (run, _rest):
        path = f"/runs/{run.name}/?after={10**12}"
        waiting = [threading.Thread(target=ask, args=(patient, path)) for _ in range(3)]
        for one in waiting:
            one.start()
        time.sleep(0.5)
        assert ask(patient, path).status == 200
        assert all(one.is_alive() for one in waiting), "the fourth was answered before them"
        for one in waiting:
            one.join()


def test_numbers_in_the_address_are_checked(application: Application, results: Path) -> None:
    with under_way(results, stored=20) as (run, _rest):
        for after in ("-1", "x", "9" * 5000, "%00", "\u0663"):
            assert ask(application, f"/runs/{run.name}/?after={after}").status == 200
