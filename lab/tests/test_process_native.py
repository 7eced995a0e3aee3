"""Where the native programs are looked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from wirebench.catalog.errors import CatalogError
from wirebench.process.native import find_native
from wirebench.run.local import find_generator


def program(folder: Path) -> Path:
    folder.mkdir()
    file = folder / "wireload"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_the_named_folder_comes_first_then_this_python_s_then_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, beside, in_path = (program(tmp_path / name) for name in ("named", "beside", "path"))
    monkeypatch.setenv("WIREBENCH_PROGRAMS", str(named.parent))
    monkeypatch.setattr(sys, "executable", str(beside.parent / "python"))
    monkeypatch.setenv("PATH", str(in_path.parent))
    for expected in (named, beside, in_path):
        assert find_native("wireload") == expected
        expected.unlink()
    assert find_native("wireload") is None
    with pytest.raises(CatalogError, match="wirebench doctor"):
        find_generator()
