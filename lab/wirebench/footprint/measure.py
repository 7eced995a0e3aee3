"""Measures one contestant's footprint, part by part: one that fails leaves the others."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from wirebench.build.builder import build_environment, resolve_command
from wirebench.catalog.model import Contestant, Role
from wirebench.footprint import cargo, composer, debian, go, maven, npm, nuget, pip
from wirebench.footprint.building import Timed, time_builds
from wirebench.footprint.features import features_of, http_workload
from wirebench.footprint.model import (
    Ask,
    Bill,
    Footprint,
    FootprintError,
    Manager,
    Piece,
    Site,
    Spoken,
    Using,
)
from wirebench.footprint.starting import Started, start_of_client, start_of_server
from wirebench.footprint.using import using_of
from wirebench.host.released import released, why_unknown
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program

MANAGERS: Mapping[str, Manager] = {
    "bun": npm,
    "c": debian,
    "cpp": debian,
    "csharp": nuget,
    "go": go,
    "java": maven,
    "node": npm,
    "php": composer,
    "python": pip,
    "rust": cargo,
}
"""By language."""

_BUILDS = ("build_wall_ns", "build_cpu_ns", "rebuild_wall_ns", "rebuild_cpu_ns")
_ASK_TIMEOUT_S = 900.0
CACHE = "build/footprint"


def asker(root: Path) -> Ask:
    """Runs commands in the environment of builds."""
    environment = build_environment(root) | {"LC_ALL": "C.UTF-8"}

    def ask(argv: Sequence[str]) -> str:
        try:
            answer = subprocess.run(
                argv,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_ASK_TIMEOUT_S,
                check=False,
            )
        except FileNotFoundError:
            raise FootprintError(f"expected the program {argv[0]}, got none in PATH") from None
        except subprocess.TimeoutExpired:
            raise FootprintError(f"{argv[0]}: still running after {_ASK_TIMEOUT_S:.0f} s") from None
        # These fail when they do not know one of several names, and tell of the others.
        partial = argv[0] in ("apt-cache", "dpkg-query")
        if answer.returncode != 0 and not (partial and answer.stdout):
            said = answer.stderr.strip().splitlines()
            shown = f": {said[-1][:200]}" if said else ""
            raise FootprintError(f"{' '.join(argv[:3])}: exited with {answer.returncode}{shown}")
        return answer.stdout

    return ask


@contextmanager
def _understood() -> Iterator[None]:
    """What a package manager writes may be another thing in another release of it."""
    try:
        yield
    except (LookupError, TypeError, ValueError) as error:
        raise FootprintError(f"what its package manager says is strange: {error!r}") from error


def usual_role(contestant: Contestant) -> Role:
    """The role that is measured unless another is asked for."""
    return "server" if contestant.serves else "client"


def measure(
    contestant: Contestant,
    role: Role,
    *,
    root: Path,
    build: Path,
    key: str,
    host_id: str,
    jobs: int,
    supervisor: Supervisor,
    client_server: Callable[[], Program],
    doing: Callable[[str], None] = lambda _text: None,
) -> Footprint:
    """``role``: one that the contestant has. ``build``: its build folder. ``client_server`` gives
    the server that clients call.
    """
    command = tuple(resolve_command(contestant, build, role))
    cache = root / CACHE
    cache.mkdir(parents=True, exist_ok=True)
    site = Site(
        contestant=contestant,
        root=root,
        build=build,
        cache=cache,
        command=command,
        ask=asker(root),
    )
    unknown: dict[str, str] = {}

    @contextmanager
    def part(*names: str) -> Iterator[None]:
        try:
            yield
        except (FootprintError, OSError) as error:
            unknown.update(dict.fromkeys(names, str(error)))

    manager = MANAGERS.get(contestant.language)
    bill = Bill(manager="", packages=())
    timed: Timed | None = None
    pieces: tuple[Piece, ...] = ()
    if manager is None:
        reason = f"the lab knows no package manager of {contestant.language}"
        unknown |= dict.fromkeys(("packages", "shipped_bytes", *_BUILDS), reason)
    else:
        doing("reading what it depends on")
        with part("packages"), _understood():
            bill = manager.read(site)
        doing("weighing what one ships")
        with part("shipped_bytes"):
            pieces = manager.pieces(site)
        doing("building it from nothing")
        with part(*_BUILDS):
            timed = time_builds(
                contestant,
                root,
                role=role,
                jobs=jobs,
                offline=manager.offline(site),
                compiled=manager.compiled,
                folder=cache,
            )
    doing("starting it")
    started = None
    program = Program(argv=command, folder=build)
    with part("first_reply_ns", "idle_bytes"):
        started = (
            start_of_server(contestant, program, supervisor)
            if role == "server"
            else start_of_client(contestant, program, client_server(), supervisor)
        )
    features: tuple[Spoken, ...] = ()
    if role == "server" and http_workload(contestant) is not None:
        doing("asking what it speaks")
        with part("features"):
            features = features_of(contestant, program, supervisor)
    using: Using | None = None
    if manager is debian:
        doing("reading what it includes and links")
        with part("using"):
            using = using_of(site)
    if role == "client":
        unknown.setdefault("idle_bytes", "a client ends with its last operation")
    elif started is not None and started.idle_bytes is None:
        unknown["idle_bytes"] = "this host has no /proc/PID/smaps_rollup"
    if timed is not None and timed.again is None:
        unknown |= dict.fromkeys(("rebuild_wall_ns", "rebuild_cpu_ns"), timed.not_again)
    return _footprint(
        contestant,
        role,
        bill,
        timed,
        pieces,
        started,
        features,
        using,
        unknown,
        key=key,
        host_id=host_id,
        jobs=jobs,
    )


def _footprint(
    contestant: Contestant,
    role: Role,
    bill: Bill,
    timed: Timed | None,
    pieces: tuple[Piece, ...],
    started: Started | None,
    features: tuple[Spoken, ...],
    using: Using | None,
    unknown: dict[str, str],
    *,
    key: str,
    host_id: str,
    jobs: int,
) -> Footprint:
    day = released(contestant)
    if day is None:
        unknown["released"] = why_unknown(contestant)
    again = timed.again if timed is not None else None
    return Footprint(
        contestant=contestant.identity,
        library=contestant.library,
        version=contestant.version,
        licence=contestant.license,
        key=key,
        role=role,
        measured_unix_ns=time.time_ns(),
        host_id=host_id,
        jobs=jobs,
        released=day,
        manager=bill.manager,
        packages=bill.packages,
        header_only=bill.header_only,
        build_wall_ns=timed.clean.wall_ns if timed is not None else None,
        build_cpu_ns=timed.clean.cpu_ns if timed is not None else None,
        rebuild_wall_ns=again.wall_ns if again is not None else None,
        rebuild_cpu_ns=again.cpu_ns if again is not None else None,
        touched=timed.touched if timed is not None else "",
        pieces=pieces,
        first_reply_ns=started.first_reply_ns if started is not None else None,
        idle_bytes=started.idle_bytes if started is not None else None,
        features=features,
        using=using,
        unknown=unknown,
    )
