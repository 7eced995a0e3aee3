"""Manifests: what is accepted, what is said about what is not, what a language gives, and who is
chosen by name.
"""

from __future__ import annotations

import datetime
import os
import shutil
from pathlib import Path

import pytest

from conftest import MANIFEST, RUN, Project
from wirebench.catalog import Catalog, CatalogError, find_root, load_catalog
from wirebench.catalog.manifest import read_contestant

REAL_ROOT = Path(__file__).resolve().parents[2]


def error_of(project: Project, manifest: str, language: str | None = None) -> str:
    """What is said about this manifest, without the path."""
    folder = project.add("python/mine", manifest)
    if language is not None:
        project.write("contestants/python/language.toml", language)
    with pytest.raises(CatalogError) as caught:
        read_contestant(folder, root=project.root)
    return str(caught.value).replace(f"{folder}/manifest.toml: ", "")


def test_a_manifest_becomes_a_contestant(project: Project) -> None:
    project.add(
        "python/mine",
        MANIFEST
        + """
        tls = true
        published = "https://example.org/download"
        note = "quick"
        needs = { commands = ["python3", "pip>=24.1"], debian = ["libevent-dev"], \
files = ["mine.hpp"] }
        disabled = { reason = "does not build", since = 2026-01-31 }
        [build]
        steps = [["make", "-C", "{source}", "-j", "{jobs}"]]
        inputs = ["contestants"]
        """
        + RUN,
    )
    one = project.contestant("python/mine")
    assert (one.identity, one.language, one.name) == ("python/mine", "python", "mine")
    assert one.folder == project.root / "contestants/python/mine"
    assert (one.library, one.version, one.license, one.tier) == ("mine", "1.0", "MIT", "idiomatic")
    assert (one.serves, one.calls, one.tls) == (("http.hello",), (), True)
    assert (one.needs.commands, one.needs.minimum) == (("python3", "pip"), (("pip", "24.1"),))
    assert (one.needs.debian, one.needs.files) == (("libevent-dev",), ("mine.hpp",))
    assert one.build_steps == (("make", "-C", "{source}", "-j", "{jobs}"),)
    assert one.build_inputs == ("contestants",)
    assert one.command("server") == ("{build}/server",)
    assert one.command("client") is None
    assert one.disabled is not None
    assert one.disabled.since == datetime.date(2026, 1, 31)


def test_what_a_manifest_leaves_out_comes_from_its_language(project: Project) -> None:
    project.write(
        "contestants/python/language.toml",
        """
        title = "Python"
        needs = { commands = ["python3"], debian = ["python3-venv"] }
        [build]
        steps = [["one"], ["two"]]
        [run]
        server = ["{build}/venv/bin/python", "{source}/server.py"]
        client = ["{build}/venv/bin/python", "{source}/client.py"]
        [warmup]
        server = "10s"
        client = "800ms"
        """,
    )
    project.add("python/plain", MANIFEST)
    project.add(
        "python/special",
        MANIFEST
        + 'needs = { debian = ["libuv1-dev"] }\n[build]\nsteps = [["three"]]\n'
        + RUN
        + '\n[warmup]\nserver = "2s"\n',
    )
    plain, special = project.contestant("python/plain"), project.contestant("python/special")
    assert plain.language_title == "Python"
    assert plain.build_steps == (("one",), ("two",))
    assert plain.server_command == ("{build}/venv/bin/python", "{source}/server.py")
    assert plain.client_command is None, (
        "it calls nothing, so it has no client although its language has one"
    )
    # Lists replace whole, tables are taken key by key.
    assert special.needs.debian == ("libuv1-dev",)
    assert special.needs.commands == ("python3",)
    assert special.build_steps == (("three",),)
    assert special.server_command == ("{build}/server",)
    assert (plain.warmup_ns, plain.client_warmup_ns) == (10_000_000_000, 800_000_000)
    assert (special.warmup_ns, special.client_warmup_ns) == (2_000_000_000, 800_000_000)


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (
            MANIFEST.replace('tier = "idiomatic"', 'tier = "fast"'),
            "tier: expected 'idiomatic', 'tuned' or 'floor', got 'fast'",
        ),
        (
            MANIFEST.replace('version = "1.0"', "version = 1.0"),
            "version: expected a valid string, got 1.0",
        ),
        (MANIFEST.replace('license = "MIT"', ""), "license: expected a value, got nothing"),
        (MANIFEST + "serve = []", "serve: expected no such key, got []"),
        (
            MANIFEST.replace("https:", "ftp:"),
            r"homepage: expected text that matches ^https?://\S+$, got 'ftp://example.org/mine'",
        ),
        (
            MANIFEST.replace('["http.hello"]', '["http"]'),
            "serves.0: expected 'http.hello', 'http.payload', 'rest'",
        ),
        (
            MANIFEST.replace('["http.hello"]', "[]"),
            "serves: expected at least one workload here, or a scheme in calls",
        ),
        (MANIFEST, "run.server: expected a command here or in language.toml, got nothing"),
        (
            MANIFEST + '[run]\nserver = ["{bild}/server"]',
            "run.server.0: expected only the placeholders {source}, {build}",
        ),
        (
            MANIFEST + RUN + '[warmup]\nserver = "10"',
            "warmup.server: expected a duration such as '500ms', '10s' or '5m', got '10'",
        ),
        (
            MANIFEST + "posts = true\n" + RUN,
            "posts: expected http or https in calls, or http.payload in serves, got none",
        ),
        (
            MANIFEST + "open_files = 0\n" + RUN,
            "open_files: expected greater than or equal to 1, got 0",
        ),
        (
            MANIFEST + "kept_connections = 0\n" + RUN,
            "kept_connections: expected greater than or equal to 1, got 0",
        ),
        (MANIFEST + "[run]\nserver = []", "run.server: expected at least 1 item, got []"),
        (
            MANIFEST + '[build]\ninputs = ["../x"]\n' + RUN,
            "build.inputs.0: expected a path inside the project",
        ),
        (
            MANIFEST + '[build]\ninputs = ["lib"]\n' + RUN,
            "build.inputs: expected a folder or file of the project, got 'lib'",
        ),
        (
            MANIFEST + 'needs = { debian = ["-o=x"] }\n' + RUN,
            "needs.debian.0: expected text that matches ^[a-z0-9][a-z0-9+.-]+",
        ),
        (
            MANIFEST + 'needs = { commands = ["go>1"] }\n' + RUN,
            "needs.commands.0: expected text that matches ^",
        ),
        (
            MANIFEST + 'needs = { commands = ["a/b"] }\n' + RUN,
            "needs.commands.0: expected text that matches ^",
        ),
        (
            MANIFEST + 'disabled = { reason = "old" }\n' + RUN,
            "disabled.since: expected a value, got nothing",
        ),
        ('library = "mine', "expected TOML, got"),
    ],
)
def test_a_mistake_is_named_by_file_and_key(project: Project, manifest: str, expected: str) -> None:
    assert error_of(project, manifest).startswith(expected)


def test_a_mistake_in_the_language_is_blamed_on_the_language(project: Project) -> None:
    message = error_of(project, MANIFEST, language='title = "Python"\n[run]\nservr = ["x"]')
    assert (
        message
        == f"{project.root}/contestants/python/language.toml: run.servr: expected no such key, got"
        " ['x']"
    )


def test_one_wrong_manifest_leaves_the_others(project: Project) -> None:
    project.add("python/good")
    project.add("python/bad", "library = 3")
    project.add("python/Bad_Name")
    catalog = project.catalog()
    assert list(catalog.contestants) == ["python/good"]
    assert [error.identity for error in catalog.errors] == ["python/Bad_Name", "python/bad"]
    assert "Bad_Name: expected a folder name of a-z" in catalog.errors[0].message
    with pytest.raises(
        CatalogError, match=r"python/bad/manifest.toml: library: expected a valid string, got 3"
    ):
        catalog.select(["python/bad"])


def test_a_pipe_is_not_waited_for(project: Project) -> None:
    project.add("python/good")
    folder = project.root / "contestants/python/piped"
    folder.mkdir()
    os.mkfifo(folder / "manifest.toml")
    catalog = project.catalog()
    assert list(catalog.contestants) == ["python/good"]
    assert catalog.errors[0].message == f"{folder}/manifest.toml: expected a file, got a pipe"


def test_folders_without_manifest_and_unfinished_ones_are_no_contestants(project: Project) -> None:
    project.add("python/_new-1")
    project.add("python/good")
    project.write("contestants/python/common/shared.py", "")
    catalog = project.catalog()
    assert list(catalog.contestants) == ["python/good"]
    assert catalog.errors == ()


@pytest.fixture
def several(project: Project) -> Project:
    floor = MANIFEST.replace("idiomatic", "floor")
    project.add("cpp/floor", floor + RUN)
    project.add("c/floor", floor + RUN)
    for identity in ("go/net-http", "go/gorilla", "node/http", "python/http", "python/aiohttp"):
        project.add(identity)
    return project


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        (["go/gorilla"], ["go/gorilla"]),
        (["aiohttp"], ["python/aiohttp"]),
        (["go/*"], ["go/gorilla", "go/net-http"]),
        (["floor"], ["c/floor", "cpp/floor"]),
        (["node"], ["node/http"]),
        (["python/aiohttp,floor", "cpp/floor"], ["c/floor", "cpp/floor", "python/aiohttp"]),
        (
            [],
            [
                "c/floor",
                "cpp/floor",
                "go/gorilla",
                "go/net-http",
                "node/http",
                "python/aiohttp",
                "python/http",
            ],
        ),
    ],
)
def test_selectors(several: Project, selectors: list[str], expected: list[str]) -> None:
    assert [one.identity for one in several.catalog().select(selectors)] == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("aiohtp", "aiohtp: no contestant has this name; did you mean python/aiohttp"),
        ("go/gorila", "did you mean go/gorilla?"),
        ("flor", "did you mean floor"),
        ("http", "expected a name that one contestant has, got node/http, python/http"),
        ("php/*", "php/*: no contestant has this name; 'wirebench list' shows them all"),
    ],
)
def test_a_selector_that_names_nothing(several: Project, selector: str, expected: str) -> None:
    with pytest.raises(CatalogError) as caught:
        several.catalog().select([selector])
    assert expected in str(caught.value)


def test_the_root_is_found_from_below_and_not_in_the_build_folder(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WIREBENCH_ROOT")
    inside = project.root / "build" / "contestants" / "python"
    inside.mkdir(parents=True)
    assert find_root(inside) == project.root
    monkeypatch.setenv("WIREBENCH_ROOT", "/nonexistent")
    with pytest.raises(
        CatalogError,
        match="WIREBENCH_ROOT: expected a folder that holds contestants/, got '/nonexistent'",
    ):
        find_root(inside)


# --- the real ones --------------------------------------------------------------------------------


def test_every_manifest_of_the_project_is_right() -> None:
    assert [error.message for error in load_catalog(REAL_ROOT).errors] == []


REAL = load_catalog(REAL_ROOT).contestants


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The project's contestants in a folder of their own."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(REAL_ROOT / "contestants", root / "contestants")
    for name in {given for one in REAL.values() for given in one.build_inputs}:
        (root / name).mkdir(parents=True, exist_ok=True)
    return load_catalog(root)


@pytest.mark.parametrize("identity", REAL)
def test_removing_a_contestant_leaves_the_others_as_they_were(
    tmp_path: Path, identity: str, copied: Catalog
) -> None:
    """No other contestant takes anything from its folder: not a default, not a file that its build
    reads.
    """
    folder = copied.contestants[identity].folder
    folder.rename(tmp_path / "removed")
    try:
        after = load_catalog(copied.root)
    finally:
        (tmp_path / "removed").rename(folder)
    assert after.errors == copied.errors == ()
    assert after.contestants == {
        key: one for key, one in copied.contestants.items() if key != identity
    }
    for one in after.contestants.values():
        for given in one.build_inputs:
            assert not given.startswith(f"contestants/{identity}"), (
                f"{one.identity} reads another contestant's folder"
            )


@pytest.mark.parametrize("identity", [one for one in REAL if one.startswith("php/")])
def test_servers_of_php_run_with_opcache(identity: str) -> None:
    """A manifest that has a command of its own replaces the language's."""
    command = REAL[identity].server_command
    assert command is not None
    assert command[:3] == ("php", "-d", "opcache.enable_cli=1")
