"""The parts of a fleet that need no other process: files, bundles, the host's folder, parity."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509

from fleet_project import free_port
from test_plan import contestant
from test_store import plan, trial
from wirebench.catalog.errors import CatalogError
from wirebench.cli.console import EXIT_UNAVAILABLE, EXIT_USAGE
from wirebench.cli.fleet import command_with
from wirebench.cli.main import run_app
from wirebench.fleet import bundles, child
from wirebench.fleet.bundles import BundleError, Packed, pack, pack_contestant
from wirebench.fleet.certificates import (
    AUTHORITY_KEY_FILE,
    CA_FILE,
    CERTIFICATE_FILE,
    KEY_FILE,
    Identity,
    make_certificates,
)
from wirebench.fleet.cores import share_cores
from wirebench.fleet.hosts import read_fleet, split_address
from wirebench.fleet.orders import TRIAL, BlockOrder, OrderError, read_trial
from wirebench.fleet.parity import differences, refusals
from wirebench.fleet.place import HostPlace
from wirebench.fleet.worker import clean_environment, reason
from wirebench.report.provenance import host_rows
from wirebench.store.jsonl import LineFile


def write_fleet(folder: Path, text: str) -> Path:
    path = folder / "fleet.toml"
    path.write_text(text)
    return path


def test_a_fleet_file_names_its_hosts_and_the_scheduler(tmp_path: Path) -> None:
    fleet = read_fleet(
        write_fleet(
            tmp_path,
            'listen = "10.0.0.1"\n[hosts.a]\n[hosts.b]\nssh = "me@b:2222"\n',
        )
    )
    assert fleet.scheduler == "tls://10.0.0.1:8786"
    assert list(fleet.hosts) == ["a", "b"]
    assert fleet.hosts["a"].ssh is None
    assert fleet.hosts["b"].ssh == "me@b:2222"
    assert fleet.certificates == tmp_path / "fleet-certificates"
    assert replace(fleet, listen="fd00::1").scheduler == "tls://[fd00::1]:8786"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "listen: expected a value, got nothing"),
        ('listen = "x"\n[hosts]\n', "hosts: expected"),
        ('listen = "x"\nport = 0\n[hosts.a]\n', "port: expected greater than or equal to 1"),
        ('listen = "x"\n[hosts.a]\ncores = 2\n', "hosts.a.cores: expected no such key"),
        ('listen = "x"\n[hosts."../a"]\n', "hosts"),
        # What would be an option of ssh, not a name.
        ('listen = "x"\n[hosts.a]\nssh = "-oProxyCommand=x"\n', "hosts.a.ssh: expected"),
        *(
            (
                f'listen = "x"\n[hosts.a]\nssh = "{ssh}"\n',
                "hosts.a.ssh: expected [user@]name[:port]",
            )
            for ssh in ("me@", "b:x", "b:0", "b:65536", "b:", "[::1]:x", "[]")
        ),
        ('listen = "x"\n[hosts]\na = "me@x"\n', "hosts.a: expected a table, got 'me@x'"),
        ('listen = "x"\n[hosts.scheduler]\n', "hosts.scheduler: expected another name"),
        ("[[", "expected TOML"),
        # What Python's parser itself fails at.
        pytest.param(f"port = {'9' * 5000}", "expected TOML", id="digits"),
        pytest.param(f"port = {'[' * 5000}", "expected TOML", id="levels"),
    ],
)
def test_a_wrong_fleet_file_is_explained(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        read_fleet(write_fleet(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "fleet.toml"))
    assert message in str(caught.value)


def test_a_run_of_another_fleet_file_is_completed_with_that_file() -> None:
    assert command_with(Path("fleet.toml")) == "fleet run"
    assert command_with(Path("my fleet.toml")) == "fleet run --fleet 'my fleet.toml'"


def test_without_a_fleet_file_the_help_that_shows_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="fleet init --help"):
        read_fleet(tmp_path / "fleet.toml")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("alpha", (None, "alpha", None)),
        ("me@alpha", ("me", "alpha", None)),
        ("me@alpha:2222", ("me", "alpha", 2222)),
        ("fd00::1", (None, "fd00::1", None)),
        ("::1", (None, "::1", None)),
        ("me@[fd00::1]:2222", ("me", "fd00::1", 2222)),
        ("[fd00::1]", (None, "fd00::1", None)),
    ],
)
def test_ssh_names(text: str, parts: tuple[str | None, str, int | None]) -> None:
    assert split_address(text) == parts


def test_each_host_has_a_key_of_its_own_that_only_its_owner_reads(tmp_path: Path) -> None:
    folder = tmp_path / "certificates"
    assert make_certificates(folder, ["a", "b"]) == ["scheduler", "a", "b"]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert len({(folder / name / KEY_FILE).read_bytes() for name in ("scheduler", "a", "b")}) == 3
    assert not (folder / "a" / "authority-key.pem").exists()


def test_each_name_that_a_fleet_file_may_have_gets_a_certificate(tmp_path: Path) -> None:
    fleet = read_fleet(write_fleet(tmp_path, 'listen = "x"\n[hosts.rack_1]\n[hosts."a.b-"]\n'))
    assert make_certificates(fleet.certificates, fleet.hosts) == ["scheduler", "rack_1", "a.b-"]
    for name in fleet.hosts:
        own = Identity(folder=fleet.certificates / name)
        own.context(server_side=True)
        certificate = x509.load_pem_x509_certificate((own.folder / CERTIFICATE_FILE).read_bytes())
        assert f"CN={name}" in certificate.subject.rfc4514_string()


def test_certificates_that_cannot_be_placed_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_fleet(tmp_path, 'listen = "x"\ncertificates = "fleet.toml"\n[hosts.a]\n')
    assert run_app(["fleet", "init", "--fleet", str(file)]) == EXIT_USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert f"error: {file}: certificates: expected a folder, got {file}" in said


@pytest.mark.parametrize("server", [(), ("--server", "a")])
def test_that_no_host_came_is_no_wrong_usage(tmp_path: Path, server: tuple[str, ...]) -> None:
    text = f'listen = "127.0.0.1"\nport = {free_port()}\n[hosts.a]\n'
    file = write_fleet(tmp_path, text)
    assert run_app(["fleet", "init", "--fleet", str(file)]) == 0
    words = ["fleet", "load", "--fleet", str(file), "--wait", "0", *server]
    answer = subprocess.run(
        [sys.executable, "-m", "wirebench.cli.main", *words, "--", "http://127.0.0.1:1/"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == EXIT_UNAVAILABLE, answer.stderr
    assert f"error: {file}: " in answer.stderr
    assert "worker" in answer.stderr


def test_a_host_must_not_have_the_name_of_another_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_fleet(tmp_path, 'listen = "127.0.0.1"\n[hosts.a]\n[hosts.merged]\n')
    words = ["fleet", "load", "--fleet", str(file), "--out", str(tmp_path / "out")]
    assert run_app([*words, "--", "-c", "1", "http://127.0.0.1:1/"]) == EXIT_USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert f"error: {file}: hosts.merged: --out has a file of this name of its own" in said


def test_a_host_that_joins_later_is_of_the_same_fleet(tmp_path: Path) -> None:
    make_certificates(tmp_path, ["a"])
    before = (tmp_path / "a" / KEY_FILE).read_bytes()
    assert make_certificates(tmp_path, ["a", "b"]) == ["b"]
    assert (tmp_path / "a" / KEY_FILE).read_bytes() == before
    ids = {Identity(folder=tmp_path / name).fleet_id() for name in ("scheduler", "a", "b")}
    assert len(ids) == 1
    make_certificates(tmp_path / "other", ["a"])
    assert Identity(folder=tmp_path / "other" / "a").fleet_id() not in ids


def test_a_missing_certificate_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=f"{CA_FILE}: expected a certificate of the fleet"):
        Identity(folder=tmp_path).security()


def test_the_folder_of_another_host_is_refused_before_the_other_hosts_of_pairs_refuse_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_certificates(tmp_path, ["alpha", "beta"])
    words = ["fleet", "worker", "--host", "beta", "--certificates", str(tmp_path / "alpha")]
    folder = ["--folder", str(tmp_path / "work"), "tls://127.0.0.1:1"]
    assert run_app([*words, *folder]) == EXIT_USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert (
        f"alpha/{CERTIFICATE_FILE}: expected the certificate of host beta, got that of alpha"
        in (said)
    )
    Identity(folder=tmp_path / "beta").check_name("beta")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--folder", "/dev/null/x", "tls://127.0.0.1:1"], "--folder: expected a folder, got"),
        (["tls://127.0.0.1:0"], "SCHEDULER: expected tls://HOST:PORT, got 'tls://127.0.0.1:0'"),
        (["tls://127.0.0.1:65536"], "SCHEDULER: expected tls://HOST:PORT"),
    ],
)
def test_a_worker_that_cannot_work_says_what_is_wrong_with_its_words(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_certificates(tmp_path, ["alpha"])
    own = ["fleet", "worker", "--host", "alpha", "--certificates", str(tmp_path / "absent")]
    assert run_app([*own, *words]) == EXIT_USAGE
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_certificate_that_is_not_valid_now_is_named_before_anybody_refuses_it(
    tmp_path: Path,
) -> None:
    make_certificates(tmp_path, ["a"])
    authority = trustme.CA.from_pem(
        (tmp_path / CA_FILE).read_bytes(), (tmp_path / AUTHORITY_KEY_FILE).read_bytes()
    )
    own = Identity(folder=tmp_path / "a")
    own.security()
    ended = authority.issue_cert("a", not_after=datetime(2020, 1, 1, tzinfo=UTC))
    (own.folder / CERTIFICATE_FILE).write_bytes(ended.cert_chain_pems[0].bytes())
    with pytest.raises(CatalogError, match=r"certificate\.pem: expected .* to 2020-01-01; where"):
        own.security()
    (own.folder / CERTIFICATE_FILE).write_text("x")
    with pytest.raises(CatalogError, match=r"certificate\.pem: expected a certificate \(PEM\)"):
        own.security()


# --- bundles --------------------------------------------------------------------------------------


def some_files(folder: Path) -> Packed:
    source = folder / "source"
    (source / "deep").mkdir(parents=True)
    (source / "program").write_text("#!/bin/sh\n")
    (source / "program").chmod(0o755)
    (source / "deep" / "data").write_bytes(b"\x00data")
    (source / "deep" / "link").symlink_to("data")
    (source / "__pycache__").mkdir()
    (source / "__pycache__" / "x.pyc").write_bytes(b"x")
    return pack([(source, "build/x")])


def test_what_is_packed_arrives_as_it_was(tmp_path: Path) -> None:
    packed = some_files(tmp_path)
    root = tmp_path / "root"
    bundles.unpack(packed.content, packed.files, root)
    assert (root / "build/x/deep/data").read_bytes() == b"\x00data"
    assert (root / "build/x/deep/link").readlink() == Path("data")
    assert (root / "build/x/program").stat().st_mode & 0o100
    assert not (root / "build/x/__pycache__").exists()
    bundles.check(packed.files, root)


def replaced(path: Path) -> None:
    path.write_bytes(b"\x00dato")


def gone(path: Path) -> None:
    path.unlink()


def runs(path: Path) -> None:
    path.chmod(0o755)


def a_link(path: Path) -> None:
    path.rename(path.with_name("other"))
    path.symlink_to("other")


@pytest.mark.parametrize("tamper", [replaced, gone, runs, a_link])
def test_a_build_that_was_tampered_with_is_refused(
    tmp_path: Path, tamper: Callable[[Path], None]
) -> None:
    packed = some_files(tmp_path)
    place = HostPlace(folder=tmp_path / "host")
    place.receive(packed.digest, packed.files, packed.content)
    root = place.root("run", seed=1, host="a")
    place.unpack(packed.digest, root)
    place.unpack(packed.digest, root)
    tamper(root / "build/x/deep/data")
    with pytest.raises(BundleError, match="expected it as it was packed"):
        place.unpack(packed.digest, root)


def test_another_bundle_under_the_name_of_one_is_refused(tmp_path: Path) -> None:
    packed = some_files(tmp_path)
    place = HostPlace(folder=tmp_path / "host")
    with pytest.raises(BundleError, match="expected its list of files, got another"):
        place.receive("0" * 64, packed.files, packed.content)
    (tmp_path / "source/program").write_text("#!/bin/sh\nevil\n")
    other = pack([(tmp_path / "source", "build/x")])
    place.receive(packed.digest, packed.files, other.content)
    with pytest.raises(BundleError, match="program: expected it as it was packed"):
        place.unpack(packed.digest, tmp_path / "root")
    with pytest.raises(BundleError, match="expected a digest"):
        place.has("../../etc/passwd")


@pytest.mark.parametrize("path", ["/etc/x", "../x", "build/../../x", "."])
def test_a_path_out_of_the_bundle_is_refused(tmp_path: Path, path: str) -> None:
    source = tmp_path / "x"
    source.write_text("x")
    packed = pack([(source, path)])
    with pytest.raises(BundleError, match="expected a path inside the bundle"):
        bundles.unpack(packed.content, packed.files, tmp_path / "root" / "deep")


def test_a_link_in_a_bundle_leads_no_file_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out")
    (tmp_path / "file").write_text("x")
    packed = pack([(tmp_path / "link", "a"), (tmp_path / "file", "a/file")])
    with pytest.raises(BundleError, match="got a link out of it"):
        bundles.unpack(packed.content, packed.files, tmp_path / "root")
    assert not (tmp_path / "out" / "file").exists()


def test_files_beyond_the_list_and_missing_ones_are_refused(tmp_path: Path) -> None:
    packed = some_files(tmp_path)
    fewer = {key: value for key, value in packed.files.items() if key != "build/x/program"}
    with pytest.raises(BundleError, match="expected a file of the list"):
        bundles.unpack(packed.content, fewer, tmp_path / "root")
    with pytest.raises(BundleError, match="expected it in the bundle, got none"):
        bundles.unpack(packed.content, {**packed.files, "y": "-0"}, tmp_path / "root")


def test_a_contestant_travels_with_its_language_and_what_it_shares(tmp_path: Path) -> None:
    folder = tmp_path / "contestants" / "go" / "x"
    folder.mkdir(parents=True)
    (folder / "manifest.toml").write_text("")
    (folder.parent / "language.toml").write_text("")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "one.h").write_text("")
    build = tmp_path / "build" / "contestants" / "go" / "x-1234"
    build.mkdir(parents=True)
    (build / "server").write_text("")
    one = replace(contestant("go/x"), folder=folder, build_inputs=("shared",))
    assert set(pack_contestant(one, tmp_path, build).files) == {
        "contestants/go/x/manifest.toml",
        "contestants/go/language.toml",
        "shared/one.h",
        "build/contestants/go/x-1234/server",
    }


# --- the folder of a host -------------------------------------------------------------------------


def order(attempt: str = "a-1") -> BlockOrder:
    return BlockOrder(
        run="20260101T000000Z-fleet",
        attempt=attempt,
        host="a",
        seed=1,
        cell=plan().cells[0],
        block=1,
        trials=(),
        hardware_threads=2,
        bundles={},
        builds={},
    )


def full_disk(*_arguments: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_bundle_that_does_not_fit_leaves_nothing_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program").write_text("x")
    packed = pack([(tmp_path / "program", "bin/program")])
    place = HostPlace(folder=tmp_path / "host")
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(BundleError) as why:
        place.receive(packed.digest, packed.files, packed.content)
    assert reason(why.value) == (
        f"{tmp_path}/host/bundles: expected to keep a bundle of {len(packed.content):,} bytes, got:"
        " No space left on device"
    )
    assert list((tmp_path / "host" / "bundles").iterdir()) == []


def test_a_full_disk_under_a_block_is_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = HostPlace(folder=tmp_path).take(order())
    monkeypatch.setattr(child, "measure", full_disk)
    assert child.main(["measure", str(tmp_path), str(path)]) == child.REFUSED
    assert capsys.readouterr().err == (
        f"{tmp_path}: No space left on device; what was stored before is kept\n"
    )


def test_an_order_is_taken_once(tmp_path: Path) -> None:
    place = HostPlace(folder=tmp_path)
    place.take(order())
    place.take(order("a-2"))
    with pytest.raises(OrderError, match="got one that was taken"):
        HostPlace(folder=tmp_path).take(order())
    for name in ("../x", "", "a/b"):
        with pytest.raises(OrderError, match="attempt: expected a name"):
            place.take(order(name))
        with pytest.raises(OrderError, match="run: expected the name of a run"):
            place.run(name)


def test_a_line_torn_by_a_kill_is_no_trial(tmp_path: Path) -> None:
    place = HostPlace(folder=tmp_path)
    place.trials("r").parent.mkdir(parents=True)
    place.trials("r").write_text('{"a":1}\n{"b":')
    assert place.lines("r") == ['{"a":1}']
    assert place.lines("never-ran") == []


def test_a_line_ends_at_its_newline_alone_whatever_a_server_replied(tmp_path: Path) -> None:
    place = HostPlace(folder=tmp_path)
    place.trials("r").parent.mkdir(parents=True)
    odd = "a\u2028\x85\x1c"
    file = LineFile(place.trials("r"))
    file.append({"trial": odd})
    file.append({"trial": "b"})
    file.close()
    assert [json.loads(line)["trial"] for line in place.lines("r")] == [odd, "b"]


def test_of_an_order_only_its_own_trials_are_answered(tmp_path: Path) -> None:
    place = HostPlace(folder=tmp_path)
    place.trials("r").parent.mkdir(parents=True)
    place.trials("r").write_text('{"trial":"a"}\n{"trial":"b"}\n')
    assert place.lines("r", only=frozenset({"b", "c"})) == ['{"trial":"b"}']


def test_at_the_end_of_a_run_its_builds_go_and_its_trials_stay(tmp_path: Path) -> None:
    packed = some_files(tmp_path)
    place = HostPlace(folder=tmp_path / "host")
    place.receive(packed.digest, packed.files, packed.content)
    root = place.root("r", seed=1, host="a")
    place.unpack(packed.digest, root)
    place.trials("r").write_text("{}\n")
    place.tidy("r", frozenset([packed.digest]))
    assert not root.exists()
    assert place.has(packed.digest)
    place.tidy("r", frozenset())
    assert not place.has(packed.digest)
    assert place.lines("r") == ["{}"]


def test_roots_differ_in_length_between_hosts(tmp_path: Path) -> None:
    place = HostPlace(folder=tmp_path)
    lengths = {len(str(place.root("r", seed=1, host=f"h{number}"))) for number in range(6)}
    assert len(lengths) > 3


def test_only_a_trial_of_the_host_itself_is_read() -> None:
    line = TRIAL.dump_json(replace(trial(1), host="a")).decode()
    assert read_trial(line, host="a").host == "a"
    with pytest.raises(OrderError, match="host: expected 'b', got 'a'"):
        read_trial(line, host="b")
    with pytest.raises(OrderError, match="a trial of a"):
        read_trial("{}", host="a")


def test_contestants_inherit_nothing_of_what_started_the_worker() -> None:
    given = {
        "PATH": "/bin",
        "HOME": "/root",
        "OMP_NUM_THREADS": "1",
        "MALLOC_TRIM_THRESHOLD_": "65536",
        "DASK_INTERNAL_INHERIT_CONFIG": "x",
        "PYTHONPATH": "/x",
        "WIREBENCH_ROOT": "/x",
        "LD_PRELOAD": "x.so",
    }
    assert clean_environment(given) == {
        "PATH": "/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def test_the_worker_has_a_core_outside_the_trials_where_there_are_three() -> None:
    four = share_cores({0, 1, 2, 3})
    assert four.housekeeping not in four.measured
    assert four.measured == (1, 2, 3)
    two = share_cores({4, 5})
    assert two.measured == (4, 5)
    assert two.housekeeping == 5


# --- parity ---------------------------------------------------------------------------------------


def test_differences_are_said_with_who_has_what() -> None:
    hosts: dict[str, dict[str, Any]] = {
        "a": {"kernel": "6.1", "governor": None, "tools": {"go": "1.22"}, "cores_awake": True},
        "b": {"kernel": "6.1", "governor": None, "tools": {"go": "1.21"}, "cores_awake": False},
        "c": {"kernel": "6.8", "governor": None, "tools": {}, "cores_awake": True},
    }
    assert differences(hosts) == [
        "idle cores kept awake: yes on a, c; no on b",
        "kernel: 6.1 on a, b; 6.8 on c",
        "go: 1.22 on a; 1.21 on b; unknown on c",
    ]
    assert differences({"a": hosts["a"]}) == []
    assert refusals(hosts) == []


def test_hosts_of_another_architecture_or_version_are_refused() -> None:
    hosts = {
        "a": {"architecture": "x86_64", "wirebench": "0.1.0"},
        "b": {"architecture": "aarch64", "wirebench": "0.2.0"},
    }
    assert refusals(hosts) == [
        "architecture: x86_64 on a; aarch64 on b",
        "wirebench: 0.1.0 on a; 0.2.0 on b",
    ]


def test_a_report_names_each_host_of_a_fleet() -> None:
    one = {"cpu_model": "X", "cores": 4, "kernel": "6.1", "distribution": "D"}
    assert list(
        host_rows({"host_id": "fleet-1", "hosts": {"a": one, "b": {"cpu_model": "Y"}}})
    ) == [
        ("a", "X, 4 cores, kernel 6.1, D"),
        ("b", "Y"),
        ("host", "fleet-1"),
    ]
