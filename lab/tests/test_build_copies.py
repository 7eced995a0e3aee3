"""Copies of builds for the repeats of a run: where they lie, and that none is left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from wirebench.build import copies
from wirebench.build.copies import CannotCopyError, Copies


@pytest.fixture
def build(tmp_path: Path) -> Path:
    folder = tmp_path / "build" / "contestants" / "go" / "x-0123456789ab"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "server").write_text("#!/bin/sh\necho here\n")
    (folder / "bin" / "server").chmod(0o755)
    (folder / "run").symlink_to("bin/server")
    return folder


def test_a_copy_works_at_a_longer_path(tmp_path: Path, build: Path) -> None:
    made = Copies(tmp_path)
    short = made.copy(build, repeat=2, filler=1)
    long = made.copy(build, repeat=3, filler=101)
    assert len(str(long)) - len(str(short)) == 100
    assert subprocess.run([long / "run"], capture_output=True, check=True).stdout == b"here\n"
    assert (long / "run").readlink() == Path("bin/server")
    assert not (long / "bin" / "server").samefile(build / "bin" / "server")


def test_copies_of_the_latest_two_repeats_exist_and_none_after_the_end(
    tmp_path: Path, build: Path
) -> None:
    made = Copies(tmp_path)
    places = [made.copy(build, repeat=repeat, filler=3) for repeat in (2, 3, 4)]
    assert [place.is_dir() for place in places] == [False, True, True]
    made.close()
    assert not (tmp_path / "build" / "copies").exists()
    assert build.is_dir()


def test_copies_of_a_killed_lab_go_and_those_of_a_living_one_stay(
    tmp_path: Path, build: Path
) -> None:
    code = (
        "import os, sys; from pathlib import Path; from wirebench.build.copies import Copies\n"
        f"print(Copies(Path({str(tmp_path)!r})).copy(Path({str(build)!r}), repeat=2, filler=1))\n"
        "sys.stdout.flush(); sys.stdin.read(); os._exit(9)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        place = Path(other.stdout.readline().strip())
        Copies(tmp_path).copy(build, repeat=2, filler=1)
        assert place.is_dir(), "its lab lives"
    Copies(tmp_path).copy(build, repeat=2, filler=1)
    assert not place.exists()


def test_what_cannot_move_is_refused_with_the_reason(
    tmp_path: Path, build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = build / "absolute"
    link.symlink_to(build / "bin" / "server")
    with pytest.raises(CannotCopyError, match=r"absolute is a link to /.*/bin/server"):
        Copies(tmp_path).copy(build, repeat=2, filler=1)
    link.unlink()
    monkeypatch.setattr(copies, "MOST_BYTES", 8)
    with pytest.raises(CannotCopyError, match="at most 0 are copied"):
        Copies(tmp_path).copy(build, repeat=2, filler=1)


def test_a_folder_that_cannot_be_written_is_no_crash(tmp_path: Path, build: Path) -> None:
    (tmp_path / "build" / "copies").write_text("a file where the folder would be")
    with pytest.raises(CannotCopyError, match="could not be copied"):
        Copies(tmp_path).copy(build, repeat=2, filler=1)
    assert build.is_dir()
