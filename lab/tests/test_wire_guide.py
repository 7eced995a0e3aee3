"""The guide of wire and its page of migration quote examples, and the build compiles those: what
they show works.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

WIRE = Path(__file__).resolve().parents[2] / "wire"
GUIDES = "".join(
    (WIRE / name).read_text(encoding="utf-8") for name in ("README.md", "MIGRATING.md")
)
EXAMPLES = "\n".join(
    path.read_text(encoding="utf-8") for path in sorted((WIRE / "examples").glob("*.cpp"))
)
QUOTED = re.findall(r"```cpp\n(.*?)```", GUIDES, flags=re.DOTALL)


@pytest.mark.parametrize("code", QUOTED, ids=lambda code: code.split("\n")[0].strip()[:40])
def test_the_guide_quotes_an_example(code: str) -> None:
    assert code in EXAMPLES


def test_every_example_is_in_a_guide() -> None:
    assert QUOTED
    assert [
        path.name
        for path in (WIRE / "examples").glob("*.cpp")
        if f"](examples/{path.name})" not in GUIDES
    ] == []
