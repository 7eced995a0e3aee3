"""The supervisor: what it starts is where it should be, can be told from everything
else, and ends.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from misbehaving.support import leaves_nothing, processes_of
from wirebench.process import cgroup, ports, procfs, supervise
from wirebench.process.certificates import issue
from wirebench.process.network import Network
from wirebench.process.process import TAIL_BYTES
from wirebench.process.start import Server, ServerSettings, StartError, start_server
from wirebench.process.supervise import OWNER, TMP, Supervisor, owner_id, owner_is_gone, sweep
from wirebench.process.types import Program
from wirebench.trial.setup import end_under_load

LAB = Path(__file__).resolve().parents[1]
ENDLESS = [sys.executable, "-c", "import time; time.sleep(3600)"]


@pytest.fixture(params=[True, False], ids=["as the host has them", "no cgroups"])
def supervisor(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Supervisor]:
    if not request.param:
        monkeypatch.setattr(cgroup, "parent_folder", lambda: None)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with leaves_nothing(scratch) as found:
        yield found


def wait_for(text: str, read: Callable[[], str]) -> None:
    deadline = time.monotonic() + 20
    while text not in read():
        assert time.monotonic() < deadline, read()
        time.sleep(0.005)


def test_a_process_is_pinned_alone_in_its_session_and_knows_its_scratch_folder(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIREBENCH_PORT", "of another run")
    core = min(os.sched_getaffinity(0))
    code = (
        "import json, os, resource; print(json.dumps({'cores': sorted(os.sched_getaffinity(0)),"
        " 'session': os.getsid(0),'pid': os.getpid(), 'env': dict(os.environ), 'cwd': os.getcwd(),"
        " 'core': resource.getrlimit(resource.RLIMIT_CORE)[0],'files':"
        " resource.getrlimit(resource.RLIMIT_NOFILE)}))"
    )
    before = os.sched_getaffinity(0)
    with supervisor.scope() as scope:
        process = scope.start(
            [sys.executable, "-c", code], name="one", cwd=tmp_path, env={"MINE": "1"}, cores=[core]
        )
        assert process.wait(20) == 0
        process.stop()
        said = json.loads(process.output.text())
        assert said["cores"] == [core]
        assert said["session"] == said["pid"] == process.pid
        assert said["env"]["MINE"] == "1"
        assert said["env"][TMP] == said["env"]["TMPDIR"] == str(scope.folder)
        assert said["env"][OWNER] == supervisor.owner
        assert "WIREBENCH_PORT" not in said["env"]
        assert said["cwd"] == str(tmp_path)
        assert said["core"] == 0
        assert said["files"][0] == min(said["files"][1], 1_048_576)
    assert os.sched_getaffinity(0) == before


def test_output_is_kept_to_its_end_and_no_writer_waits(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    code = "import sys; [print('line', i) for i in range(200_000)]; sys.stderr.write('the end')"
    with supervisor.scope() as scope:
        process = scope.start([sys.executable, "-c", code], name="chatty", cwd=tmp_path, env={})
        assert process.wait(30) == 0
        process.stop()
        text = process.output.text()
        assert text.endswith("the end")
        assert "line 199999\n" in text
        assert len(text) <= TAIL_BYTES


def test_outputs_can_be_kept_apart(supervisor: Supervisor, tmp_path: Path) -> None:
    with supervisor.scope() as scope:
        process = scope.start(
            ["sh", "-c", "echo out; echo err >&2"],
            name="two",
            cwd=tmp_path,
            env={},
            merge_output=False,
        )
        process.wait(20)
        process.stop()
        assert process.output.text() == "out\n"
        assert process.errors is not None
        assert process.errors.text() == "err\n"


def test_the_tree_is_seen_and_ends_with_its_scope(supervisor: Supervisor, tmp_path: Path) -> None:
    with supervisor.scope() as scope:
        process = scope.start(
            ["sh", "-c", "sleep 3600 & sleep 3600 & echo up; wait"],
            name="tree",
            cwd=tmp_path,
            env={},
        )
        wait_for("up", process.output.text)
        assert process.pid in process.pids()
        assert len(process.pids()) == 3
        assert process.wait(0.05) is None
        other = scope.start(ENDLESS, name="other", cwd=tmp_path, env={})
        assert not process.pids() & other.pids()
        (scope.folder / "left").write_text("something")
    assert processes_of(supervisor) == []


def test_an_exception_ends_everything_too(supervisor: Supervisor, tmp_path: Path) -> None:
    class OddError(Exception):
        pass

    with pytest.raises(OddError), supervisor.scope() as scope:  # noqa: PT012
        scope.start(ENDLESS, name="one", cwd=tmp_path, env={})
        raise OddError
    assert processes_of(supervisor) == []


def test_a_scope_that_was_never_left_ends_with_the_supervisor(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with Supervisor(scratch_parent=scratch) as supervisor:
        manager = supervisor.scope()
        scope = manager.__enter__()
        scope.start(ENDLESS, name="one", cwd=tmp_path, env={})
    assert processes_of(supervisor) == []
    assert list(scratch.iterdir()) == []


def test_stopping_says_whether_sigterm_did(supervisor: Supervisor, tmp_path: Path) -> None:
    with supervisor.scope() as scope:
        good = scope.start(ENDLESS, name="good", cwd=tmp_path, env={})
        deaf = scope.start(
            ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"],
            name="deaf",
            cwd=tmp_path,
            env={},
        )
        wait_for("deaf", deaf.output.text)
        assert good.stop()
        assert good.exit_code() == -signal.SIGTERM
        assert not deaf.stop(grace_s=0.2)
        assert deaf.exit_code() == -signal.SIGKILL
        assert not deaf.stop(), "the answer stays"


def test_stopping_a_shell_stops_what_it_started_without_the_grace(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    with supervisor.scope() as scope:
        code = "import time; print('up', flush=True); time.sleep(3600)"
        shell = scope.start(
            ["sh", "-c", f'{sys.executable} -c "{code}"; exit 1'], name="one", cwd=tmp_path, env={}
        )
        wait_for("up", shell.output.text)
        began = time.monotonic()
        assert shell.stop(grace_s=20)
        assert time.monotonic() - began < 10
        assert processes_of(supervisor) == []


def test_a_daemon_that_clears_its_environment_ends_too(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    command = ["sh", "-c", "env -i setsid sleep 300 & echo $!; wait"]
    with supervisor.scope() as scope:
        shell = scope.start(command, name="shell", cwd=tmp_path, env={})
        wait_for("\n", shell.output.text)
        daemon = int(shell.output.text())
        wait_for("sleep", lambda: procfs.command_line(daemon).split(" ")[0])
        found = procfs.stat(daemon)
        assert found is not None
        assert found.session == daemon, "it has left the session of its shell"
        assert shell.stop()
        assert procfs.stat(daemon) is None
    assert processes_of(supervisor) == []


def test_a_process_keeps_its_mark_while_it_executes_another_program(tmp_path: Path) -> None:
    """execve(2) sets the new program's memory up in steps, and each could be seen."""
    script = tmp_path / "chain.sh"
    script.write_text('[ "$1" = 0 ] && exec sleep 300; exec sh "$0" $(($1 - 1))')
    looks: list[bool] = []
    environment = {**os.environ, "MARK": "it"}
    with subprocess.Popen(["sh", str(script), "1000"], env=environment) as process:
        try:
            while "sleep" not in procfs.command_line(process.pid).split(" "):
                assert process.poll() is None
                looks.append(procfs.has_environment(process.pid, "MARK=it"))
        finally:
            process.kill()
    assert len(looks) > 100
    assert looks.count(False) == 0, f"missed in {looks.count(False)} of {len(looks)} looks"


@pytest.mark.parametrize("command", [ENDLESS, ["sh", "-c", "sleep 3600 & echo up"]])
def test_one_that_may_not_be_signalled_is_given_up_after_the_grace(
    command: list[str], supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What sudo starts belongs to another user."""

    def refuse(_pid: int, _number: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    with supervisor.scope() as scope:
        foreign = scope.start(command, name="foreign", cwd=tmp_path, env={})
        if command is not ENDLESS:
            assert foreign.wait(20) == 0
        with monkeypatch.context() as patch:
            patch.setattr(os, "kill", refuse)
            patch.setattr(os, "killpg", refuse)
            patch.setattr("wirebench.process.process._PATIENCE_S", 0.1)
            foreign.signal(signal.SIGTERM)
            assert not foreign.stop(grace_s=0.1)
        foreign.kill()
    assert processes_of(supervisor) == []


KILLED_LAB = """
import sys, time
from pathlib import Path
from wirebench.process.supervise import Supervisor

with Supervisor(scratch_parent=Path(sys.argv[1])) as supervisor, supervisor.scope() as scope:
    code = (
        "import subprocess, sys, time; child = [sys.executable, '-c', "
        "'import time; time.sleep(3600)']; subprocess.Popen(child, start_new_session=True); "
        "print('up', flush=True); time.sleep(3600)"
    )
    process = scope.start([sys.executable, "-c", code], name="one", cwd=Path("/"), env={})
    while "up" not in process.output.text():
        time.sleep(0.005)
    print(supervisor.owner, flush=True)
    time.sleep(3600)
"""


def test_what_a_killed_lab_leaves_is_swept_by_the_next_and_nothing_else_is(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "wirebench-notes").mkdir()
    # A test beside this one may start a lab at any time, which sweeps this one's first.
    owner = next((one for _ in range(5) if _alive(one := _kill_a_lab(scratch))), None)
    assert owner is not None, "the server's child outlives the lab, else this test shows nothing"
    assert len(_alive(owner)) == 1
    with Supervisor(scratch_parent=scratch) as supervisor:
        said = " ".join(supervisor.swept)
        assert "process " in said
        assert f"folder {scratch}/wirebench-{owner}" in said
        assert _alive(owner) == []
        assert {path.name for path in scratch.iterdir()} >= {"wirebench-notes"}
        assert [path.name for path in scratch.iterdir() if owner in path.name] == []
    assert [path.name for path in scratch.iterdir()] == ["wirebench-notes"]
    parent = cgroup.parent_folder()
    assert parent is None or not list(parent.glob(f"wirebench-{owner}*"))


def _kill_a_lab(scratch: Path) -> str:
    """Its owner's name. What it leaves is the child of its server."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED_LAB, str(scratch)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(LAB)},
    ) as lab:
        assert lab.stdout is not None
        owner = lab.stdout.readline().strip()
        # It lives: another that starts now must not touch what it has.
        assert not owner_is_gone(owner)
        assert sweep(scratch, cgroup.parent_folder()) == ()
        assert len(_alive(owner)) == 2
        lab.kill()
    assert owner_is_gone(owner)
    deadline = time.monotonic() + 10
    while len(_alive(owner)) > 1:
        assert time.monotonic() < deadline, "the server itself dies with the lab (PR_SET_PDEATHSIG)"
        time.sleep(0.01)
    return owner


def _alive(owner: str) -> list[int]:
    found = [pid for pid in procfs.pids() if procfs.has_environment(pid, f"{OWNER}={owner}")]
    return [
        pid for pid in found if (stat := procfs.stat(pid)) is not None and stat.state not in "ZX"
    ]


def test_owners_of_other_namespaces_are_left_alone() -> None:
    own = owner_id()
    namespace, pid, started = own.split("-")
    assert not owner_is_gone(own)
    assert owner_is_gone(f"{namespace}-{pid}-{int(started) + 1}"), (
        "a later process with the same id"
    )
    assert owner_is_gone(f"{namespace}-999999999-1")
    assert not owner_is_gone("1-999999999-1"), "nothing is known of another namespace"


def test_names_that_are_not_ours_do_not_match() -> None:
    pattern = supervise._NAME
    assert re.fullmatch(pattern, f"wirebench-{owner_id()}.abc_123")
    assert not re.fullmatch(pattern, "wirebench-results")
    assert not re.fullmatch(pattern, f"wirebench-{owner_id()}/../x")


# --- servers of all kinds -------------------------------------------------------------------------


def program(code: str, folder: Path) -> Program:
    return Program(argv=(sys.executable, "-c", code, "{port}"), folder=folder)


OTHER = """
import socket, sys
with socket.create_server(("127.0.0.1", 0)) as taken:
    print(taken.getsockname()[1], flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_a_port_that_another_program_has_is_not_ours_by_another_address() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        port = int(other.stdout.readline())
        with socket.create_server(("::1", port), family=socket.AF_INET6):
            assert not ports.listens_for({os.getpid()}, port)
            assert ports.listens_for({other.pid}, port)
        other.communicate()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1"])
def test_a_server_is_seen_to_listen_by_whatever_address(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family, dualstack_ipv6=":" in host) as ours:
        port = ours.getsockname()[1]
        assert procfs.listener_inodes(port, address=ports.HOST)
        assert ports.listens_for({os.getpid()}, port)
        assert not ports.listens_for({1}, port)


def test_a_server_that_listens_elsewhere_is_told_where(tmp_path: Path) -> None:
    """Node.js takes ``localhost`` for ::1."""
    code = """
import socket, sys, time
elsewhere = socket.socket()
elsewhere.bind(("127.0.0.2", 0))
elsewhere.listen()
print(elsewhere.getsockname()[1], flush=True)
if socket.has_ipv6:
    other = socket.create_server(("::1", int(sys.argv[1])), family=socket.AF_INET6)
time.sleep(60)
"""
    settings = ServerSettings(workload="http.hello")
    with (
        Supervisor() as supervisor,
        supervisor.scope() as scope,
        pytest.raises(StartError) as caught,
    ):
        start_server(scope, program(code, tmp_path), settings, timeout_ns=1_500_000_000)
    failure = caught.value.failure
    assert failure.kind == "start_timeout"
    assert failure.received is not None
    port = failure.message.partition(" on port ")[2].split()[0]
    assert f"it listens on 127.0.0.2:{failure.received}" in failure.message
    assert f"[::1]:{port}" in failure.message


def test_the_last_words_of_a_server_tell_a_terminal_nothing(tmp_path: Path) -> None:
    code = r"""
print("\x1b[1;31mERROR\x1b[0m \x1b]0;title\x07no\x1b(B paper\x9b2J\x08\rleft\r\nin ü", flush=True)
raise SystemExit(3)
"""
    settings = ServerSettings(workload="http.hello")
    with (
        Supervisor() as supervisor,
        supervisor.scope() as scope,
        pytest.raises(StartError) as caught,
    ):
        start_server(scope, program(code, tmp_path), settings)
    assert caught.value.failure.received == "ERROR no paper2J\nleft\nin ü"


def test_a_reply_without_an_end_says_that_the_server_is_ready(tmp_path: Path) -> None:
    code = """
import socket, sys, time
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listener:
    while True:
        peer, _ = listener.accept()
        peer.recv(4096)
        try:
            peer.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\n")
            for _ in range(30):
                peer.sendall(b"event\\n")
                time.sleep(0.5)
        except OSError:
            pass
"""
    began = time.monotonic()
    with Supervisor() as supervisor, supervisor.scope() as scope:
        start_server(
            scope,
            program(code, tmp_path),
            ServerSettings(workload="http.hello"),
            ready_path="/events",
        )
        took = time.monotonic() - began
    assert took < 14, "it was read to its end"


def test_a_server_that_forks_while_it_is_looked_at_is_no_other_program(tmp_path: Path) -> None:
    """The processes of the first look have ended before it sees whose the socket is."""
    looks: list[set[int]] = []

    class Forking(Network):
        def listens_for(self, pids: set[int], port: int) -> bool:
            looks.append(pids)
            return len(looks) > 1 and super().listens_for(pids, port)

    code = """
import socket, sys, time
with socket.create_server(("127.0.0.1", int(sys.argv[1]))):
    time.sleep(60)
"""
    settings, first = ServerSettings(workload="http.hello"), ports.free_port(14)
    with Supervisor() as supervisor, supervisor.scope() as scope:
        server = start_server(
            scope, program(code, tmp_path), settings, port_seed=14, network=Forking()
        )
    assert server.port == first, "it was stopped, and started again elsewhere"


def test_a_server_that_went_into_the_background_is_told_to_stay(tmp_path: Path) -> None:
    with Supervisor() as supervisor, supervisor.scope() as scope:
        process = scope.start(["/bin/sh", "-c", "sleep 60 &"], name="server", cwd=tmp_path, env={})
        assert process.wait(10) == 0
        end = end_under_load(Server(process=process, port=1, ready_ns=1), load_succeeded=True)
    assert end is not None
    assert end.how == "exited with 0 (keep it in the foreground)"


# --- ports ----------------------------------------------------------------------------------------


def test_ports_follow_the_seed_and_are_free_below_those_of_outgoing_connections() -> None:
    assert ports.free_port(11) == ports.free_port(11)
    found = {ports.free_port(seed) for seed in range(30)}
    assert len(found) > 20
    for port in found:
        assert port in ports.port_range()
        assert ports.is_free(port)


def test_a_port_in_use_is_not_given_out_and_not_free() -> None:
    port = ports.free_port(12)
    with socket.create_server((ports.HOST, port)):
        assert ports.free_port(12) != port
        assert not ports.is_free(port)
        assert ports.accepts(port)
        assert ports.listens_for({os.getpid()}, port)
        assert not ports.listens_for({1}, port)
    assert ports.is_free(port)
    assert not ports.accepts(port)


def test_a_port_at_which_connections_of_a_server_without_reuseaddr_linger_is_free() -> None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((ports.HOST, ports.free_port(13)))
    listener.listen(1)
    port = listener.getsockname()[1]
    with socket.create_connection((ports.HOST, port)) as client:
        accepted, _ = listener.accept()
        accepted.close()  # first, so that it is the server's end that lingers
        assert client.recv(1) == b""
    assert not ports.is_free(port)
    listener.close()
    # What makes the case: a bind, even with SO_REUSEADDR, is still refused.
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            probe.bind((ports.HOST, port))
    assert ports.is_free(port)


@pytest.mark.parametrize("tls", [False, True])
def test_a_path_is_asked_for_over_tls_where_the_server_speaks_it(tls: bool, tmp_path: Path) -> None:
    files = issue(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate_file, files.key_file)

    def serve(listener: socket.socket) -> None:
        for _ in range(2):
            accepted, _ = listener.accept()
            with (
                suppress(OSError),
                context.wrap_socket(accepted, server_side=True) if tls else accepted as one,
            ):
                one.recv(4096)
                one.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    with socket.create_server((ports.HOST, 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        port = listener.getsockname()[1]
        assert ports.answers(port, "/ready", tls=tls)
        assert not ports.answers(port, "/ready", tls=not tls)


def test_counters_of_the_host_grow() -> None:
    tcp = procfs.tcp_counters()
    assert tcp["PassiveOpens"] >= 0
    assert tcp["RetransSegs"] >= 0
    assert (procfs.steal_ns() or 0) >= 0
    assert procfs.involuntary_switches([os.getpid()]) >= 0
    own = procfs.stat(os.getpid())
    assert own is not None
    assert own.parent == os.getppid()
    assert procfs.stat(999_999_999) is None
