"""``wirebench google-benchmark``: the article's names, with a stand-in for a client's program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from misbehaving.support import contestant, program
from wirebench.catalog.model import Scheme
from wirebench.cli.console import EXIT_USAGE
from wirebench.cli.main import run_app
from wirebench.process.supervise import Supervisor
from wirebench.trial.google_benchmark import PROGRAM, BenchmarkError, benchmark, renamed, row_name

STAND_IN = """#!{python}
import json, os, sys
options = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
rows = []
for policy in options["benchmark_filter"][2:-1].split("|"):
    name = f"http/{{policy}}/process_time/real_time"
    common = {{"run_name": name, "real_time": 2.5, "cpu_time": 1.0, "time_unit": "us"}}
    common["iterations"] = int(options["benchmark_repetitions"])
    rows.append({{**common, "name": name, "run_type": "iteration", **{extra}}})
    mean = {{"run_type": "aggregate", "aggregate_name": "mean"}}
    rows.append({{**common, "name": f"{{name}}_mean", **mean}})
document = {{"context": {{"url": os.environ["WIREBENCH_URL"]}}, "benchmarks": rows}}
with open(options["benchmark_out"], "w") as file:
    json.dump(document, file)
raise SystemExit({code})
"""


def run(
    folder: Path, supervisor: Supervisor, *, extra: str = "{}", code: int = 0
) -> dict[str, Any]:
    file = folder / PROGRAM
    file.write_text(STAND_IN.format(python=sys.executable, extra=extra, code=code))
    file.chmod(0o755)
    return benchmark(
        contestant("some", folder, role="client"),
        "http",
        folder,
        program("server.py", "payload"),
        supervisor,
        policies=("reuse", "cold"),
        repeats=7,
        seconds=0.01,
    )


def test_the_document_is_google_benchmarks_with_the_articles_names(
    tmp_path: Path, supervisor: Supervisor
) -> None:
    document = run(tmp_path, supervisor)
    assert document["context"]["url"].endswith("/payload/1024")
    kept, kept_mean, _, made_mean = document["benchmarks"]
    assert kept["name"] == kept["run_name"] == "http_some_get_and_read_response/repeats:7"
    assert kept_mean["name"] == "http_some_get_and_read_response/repeats:7_mean"
    assert kept_mean["run_name"] == kept["run_name"], "compare.py puts rows together by it"
    assert made_mean["name"] == "http_some_reinit_get_and_read_response/repeats:7_mean"
    assert (kept["real_time"], kept["iterations"]) == (2.5, 7)


def test_a_failed_operation_or_program_gives_no_rows(
    tmp_path: Path, supervisor: Supervisor
) -> None:
    error = '{"error_occurred": True, "error_message": "expected 200"}'
    with pytest.raises(BenchmarkError, match=r"http/reuse.*: expected 200"):
        run(tmp_path, supervisor, extra=error)
    with pytest.raises(BenchmarkError, match="exited with 3"):
        run(tmp_path, supervisor, code=3)
    (tmp_path / PROGRAM).unlink()
    with pytest.raises(BenchmarkError, match="install libbenchmark-dev"):
        benchmark(
            contestant("some", tmp_path, role="client"),
            "http",
            tmp_path,
            program("server.py"),
            supervisor,
            repeats=2,
            seconds=0.01,
        )


@pytest.mark.parametrize(
    ("name", "scheme", "policy", "expected"),
    [
        ("cpp/floor", "http", "reuse", "stream_socket_get_and_read_response"),
        ("cpp/floor", "ws", "reuse", "stream_socket_websocket_send_and_read_response"),
        ("cpp/libcurl", "http", "reuse", "http_libcurl_get_and_read_response"),
        ("cpp/libcurl", "https", "reuse", "https_libcurl_get_and_read_response"),
        ("cpp/libcurl", "http", "cold", "http_libcurl_reinit_get_and_read_response"),
        ("cpp/cpprestsdk", "http", "reuse", "http_cpprest_get_and_read_response"),
        ("cpp/cpprestsdk", "https", "reuse", "https_cpprest_get_and_read_response"),
        ("cpp/cpprestsdk", "wss", "reuse", "wss_cpprest_send_message_and_read_response"),
        ("cpp/websocketpp", "ws", "reuse", "wspp_send_and_read_response"),
        ("cpp/websocketpp", "wss", "reuse", "wspp_secure_send_and_read_response"),
        ("cpp/boost-beast", "ws", "new", "ws_boost_beast_new_send_and_read_response"),
    ],
)
def test_rows_have_the_names_that_the_article_printed(
    name: str, scheme: Scheme, policy: str, expected: str
) -> None:
    assert row_name(name, scheme, policy) == expected


def test_rows_of_another_scheme_are_refused() -> None:
    row = {"run_name": "ws/reuse", "name": "ws/reuse"}
    with pytest.raises(BenchmarkError, match="expected rows of http"):
        renamed({"benchmarks": [row]}, "cpp/some", "http", repeats=2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policy", "reuse,old"], "--policy: expected some of reuse,new,cold"),
        (["--seconds", "inf"], "--seconds: expected a finite number, got inf"),
        (["go/net-http"], "CONTESTANT: expected a C++ client"),
        (["--json", "/nowhere/at/all.json"], "--json: expected a file in a folder that exists"),
    ],
)
def test_wrong_usage_says_what_is_expected(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["google-benchmark", *arguments]) == EXIT_USAGE
    assert said in " ".join(capsys.readouterr().err.split())
