"""Projects made for one test: contestants in a temporary folder."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from misbehaving.support import leaves_nothing
from wirebench.catalog import Catalog, Contestant, load_catalog
from wirebench.process.supervise import Supervisor


def pytest_configure() -> None:
    """A shell's background jobs ignore SIGINT, programs under nohup SIGHUP, and so would the tests
    and what they start.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run beside each other, a long one that begins last keeps all waiting."""
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """Nothing that it started is there afterwards."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with leaves_nothing(scratch) as found:
        yield found


MANIFEST = """
library = "mine"
version = "1.0"
license = "MIT"
homepage = "https://example.org/mine"
tier = "idiomatic"
serves = ["http.hello"]
"""

RUN = '[run]\nserver = ["{build}/server"]\n'


@dataclass(frozen=True, kw_only=True)
class Project:
    """A project folder and what tests do with it."""

    root: Path

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def add(self, identity: str, manifest: str = MANIFEST + RUN, **files: str) -> Path:
        """A contestant with this manifest; ``files`` are more files by name, with ``_`` for the dot
        of the suffix.
        """
        folder = self.write(f"contestants/{identity}/manifest.toml", manifest).parent
        for name, text in files.items():
            self.write(f"contestants/{identity}/{name.replace('_', '.')}", text)
        return folder

    def catalog(self) -> Catalog:
        return load_catalog(self.root)

    def contestant(self, identity: str) -> Contestant:
        return self.catalog().contestants[identity]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project, which is also the one that commands find."""
    (tmp_path / "contestants").mkdir()
    (tmp_path / "studies").mkdir()
    monkeypatch.setenv("WIREBENCH_ROOT", str(tmp_path))
    return Project(root=tmp_path)
