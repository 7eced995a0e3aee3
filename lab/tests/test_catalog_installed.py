"""The project that an installed package brings, copied to where it can be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wirebench.catalog import CatalogError
from wirebench.catalog.installed import installed_project


@pytest.fixture
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "package" / "project"
    write(folder / "contestants/go/one/manifest.toml", "first")
    write(folder / "contestants/go/two/manifest.toml", "second")
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def files(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def test_a_checkout_brings_none(tmp_path: Path) -> None:
    assert installed_project(tmp_path / "project") is None


def test_it_is_copied_with_its_programs(brought: Path, tmp_path: Path) -> None:
    program = brought / "contestants/go/one/server"
    write(program, "")
    program.chmod(0o755)
    folder = installed_project(brought)
    assert folder == tmp_path / "data" / "wirebench"
    assert files(folder) == files(brought)
    assert os.access(folder / "contestants/go/one/server", os.X_OK)


def test_another_package_replaces_what_the_last_one_brought_and_no_more(
    brought: Path, tmp_path: Path
) -> None:
    folder = installed_project(brought)
    assert folder is not None
    write(folder / "contestants/go/mine/manifest.toml", "mine")
    write(folder / "results/run/trials.jsonl", "{}")
    newer = tmp_path / "newer" / "project"
    write(newer / "contestants/go/one/manifest.toml", "newer")
    assert installed_project(newer) == folder
    assert files(folder) == {
        "contestants/go/one/manifest.toml",
        "contestants/go/mine/manifest.toml",
        "results/run/trials.jsonl",
    }
    text = (folder / "contestants/go/one/manifest.toml").read_text(encoding="utf-8")
    assert text == "newer"


def test_the_same_package_copies_once(brought: Path) -> None:
    folder = installed_project(brought)
    assert folder is not None
    changed = folder / "contestants/go/one/manifest.toml"
    write(changed, "changed by hand")
    assert installed_project(brought) == folder
    assert changed.read_text(encoding="utf-8") == "changed by hand"


def test_a_folder_that_cannot_be_made_is_an_error_that_says_what_to_do(
    brought: Path, tmp_path: Path
) -> None:
    write(tmp_path / "data", "a file where the folder has to be")
    with pytest.raises(CatalogError, match=r"expected a folder that can be written.*XDG_DATA_HOME"):
        installed_project(brought)
