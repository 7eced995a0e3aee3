"""The JSON that the C++ contestants share, beside Python's."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

COMMON = Path(__file__).parents[2] / "contestants" / "cpp" / "common"
PROGRAM = """
#include <iostream>
#include <iterator>
#include <string>

#include "json.hpp"

// Asked by the first argument, about standard input.
int main(int, char** argv) {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    if (std::string_view(argv[1]) == "valid") return wirebench::is_json(text) ? 0 : 1;
    rapidjson::StringBuffer answer;
    answer.Put('x');  // what an earlier answer has left
    if (!wirebench::answer_count(text, answer)) return answer.GetSize() == 0 ? 1 : 2;
    std::cout << wirebench::text_of(answer);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("json")
    source, built = folder / "json.cpp", folder / "json"
    source.write_text(PROGRAM)
    subprocess.run(["g++", "-std=c++17", f"-I{COMMON}", source, "-o", built], check=True)
    return built


def ask(program: Path, what: str, text: bytes) -> tuple[int, bytes]:
    done = subprocess.run([program, what], input=text, capture_output=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    "text",
    [
        b'{"param1":42,"param2":"test"}',
        b" [1, -2.5e-3, true, false, null, {}] \r\n",
        b'"alone"',
        b"0",
        b'{"a":{"b":[[[]]]}}',
        '"grün \\u6c34 \\ud83d\\ude42"'.encode(),
        b"123456789012345678901234567890",
        b"[" * 100_000 + b"]" * 100_000,
    ],
)
def test_json_is_valid(program: Path, text: bytes) -> None:
    assert ask(program, "valid", text) == (0, b"")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"no json",
        b'{"param1":42',
        b'{"param1":42}x',
        b"{}{}",
        b"{}\0",
        b"{}\0x",
        b"[1,]",
        b'{"c":11,}',
        b"{ param1: 42 }",
        b"{'a':1}",
        b"01",
        b"+1",
        b".5",
        b"1.",
        b"NaN",
        b"nul",
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"\n"',
        b'"\\x"',
        b'"\\ud800"',
        b"[" * 1_000_000,
    ],
)
def test_anything_else_is_not(program: Path, text: bytes) -> None:
    assert ask(program, "valid", text) == (1, b"")
    assert ask(program, "count", text) == (1, b"")


@pytest.mark.parametrize(
    "text",
    [
        '{"c":0}',
        '{"c":-12}',
        '{"c":2147483648}',
        '{"c":-9223372036854775808}',
        '{"c":18446744073709551615}',
        '{"c":7e0}',
        '{"c":0.1}',
        '{"c":2.2250738585072011e-308}',
        '{"c":9007199254740993.0}',
        '{ "c" :\n 7 }',
        '{"\\u0063":9}',
        '{"z":"}","a":{"c":[1,{"c":2}]},"c":10}',
        '{"x":"' + 5_000 * "long" + '","c":3,"y":' + 500 * "[" + 500 * "]" + "}",
    ],
)
def test_a_count_is_answered_with_the_same_number(program: Path, text: str) -> None:
    code, out = ask(program, "count", text.encode())
    assert code == 0
    answer = json.loads(out)
    assert list(answer) == ["c", "ts"]
    assert answer["c"] == json.loads(text)["c"]
    assert abs(answer["ts"] - time.time()) <= 60


@pytest.mark.parametrize(
    "text", [b"{}", b"[]", b"7", b'{"d":1}', b'{"c":"1"}', b'{"c":true}', b'{"a":{"c":1}}']
)
def test_json_without_a_count_is_refused(program: Path, text: bytes) -> None:
    assert ask(program, "count", text) == (1, b"")
