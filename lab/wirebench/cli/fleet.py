"""``wirebench fleet``: runs on several hosts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from wirebench.catalog import CatalogError, UnavailableError
from wirebench.catalog.units import count_of
from wirebench.cli.arguments import Jobs, check_finite, check_folder, open_catalog, refuse_beside
from wirebench.cli.console import EXIT_OK, EXIT_UNAVAILABLE, console, say_error, say_warning
from wirebench.cli.execute import Request, execute
from wirebench.cli.fleet_load import load
from wirebench.cli.run import (
    AS_BEGUN,
    BESIDE_RESUME,
    Blocks,
    Budget,
    Cells,
    Force,
    Only,
    Out,
    Resume,
    Seed,
    label_of,
    split_words,
)

# Everything of the later stages is imported where it is used: Dask alone takes most of a second.
if TYPE_CHECKING:
    from rich.console import Console

    from wirebench.fleet.cluster import Cluster
    from wirebench.fleet.hosts import FleetFile
    from wirebench.plan.model import Plan
    from wirebench.plan.stop import Look
    from wirebench.run.bench import Bench
    from wirebench.run.measure import Measured
    from wirebench.run.session import Session

File = Annotated[
    Path, typer.Option("--fleet", metavar="FILE", help="The hosts. Default: fleet.toml.")
]
Wait = Annotated[
    float,
    typer.Option("--wait", min=0, metavar="SECONDS", help="How long to wait for hosts."),
]
_FILE = Path("fleet.toml")
_WAIT_S = 60.0

EXAMPLE = """
A fleet.toml:

    listen = "10.0.0.1"            # where workers reach this machine

    [hosts.alpha]                  # its worker is started by hand

    [hosts.beta]
    ssh = "lab@beta.example"       # its worker is started by 'fleet run'
    command = "/opt/wirebench/.venv/bin/wirebench"

With pairs, 'fleet run' has server and generator on different hosts:

    [pairs.rack]
    server = "alpha"
    generator = "beta"
    address = "10.0.0.2"           # of alpha, as beta reaches it
"""


def register(app: typer.Typer) -> None:
    fleet = typer.Typer(
        name="fleet",
        no_args_is_help=True,
        help="Measure on several hosts at once, each or each pair with whole blocks.",
    )
    # Help is markup to Typer, in which the names of tables would be styles.
    fleet.command("init", epilog=escape(EXAMPLE))(init)
    fleet.command("check")(check)
    fleet.command("worker")(worker)
    fleet.command("run")(run)
    fleet.command("load")(load)
    app.add_typer(fleet, name="fleet")


def init(fleet: File = _FILE) -> None:
    """Make the certificates of the hosts in fleet.toml.

    Each host needs its own folder of them; 'fleet run' copies it to hosts that are reached by ssh.
    Who has one of them may run any program on every host of the fleet.
    """
    from wirebench.fleet.certificates import make_certificates
    from wirebench.fleet.hosts import read_fleet

    file = read_fleet(fleet)
    check_folder(f"{fleet}: certificates", file.certificates)
    out = console()
    new = make_certificates(file.certificates, file.hosts)
    made = ", ".join(new) if new else "none: all are there"
    out.print(f"certificates made in {file.certificates}: {made}", markup=False, soft_wrap=True)
    for host in file.hosts.values():
        if host.ssh is None:
            out.print(
                f"on {host.name}: copy {file.certificates / host.name} there, then start:"
                f" wirebench fleet worker --host {host.name} --certificates FOLDER"
                f" {file.scheduler}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )


def worker(
    scheduler: Annotated[
        str, typer.Argument(metavar="SCHEDULER", help="Such as tls://10.0.0.1:8786.")
    ],
    host: Annotated[str, typer.Option("--host", help="The host's name in fleet.toml.")],
    certificates: Annotated[
        Path, typer.Option("--certificates", help="The host's folder that 'fleet init' made.")
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            help="Where builds and trials are kept. Default: ~/.cache/wirebench/fleet/HOST.",
        ),
    ] = None,
    attached: Annotated[
        bool, typer.Option("--attached", help="End when standard input does, as over ssh.")
    ] = False,
) -> None:
    """Serve the runs of one scheduler, one after another, until it is ended.

    It runs what the scheduler sends, with the rights of its user: builds of contestants, which are
    refused unless they are what was packed, and the lab's own code.
    """
    from wirebench.fleet.certificates import Identity
    from wirebench.fleet.quiet import make_quiet

    make_quiet()
    from wirebench.fleet.worker import WorkerSettings, serve

    where = r"tls://(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):([0-9]{1,5})"
    found = re.fullmatch(where, scheduler)
    if found is None or not 1 <= int(found[2]) <= 65_535:
        raise CatalogError(f"SCHEDULER: expected tls://HOST:PORT, got {scheduler!r}")
    check_folder("--folder", folder)
    out = console()
    serve(
        WorkerSettings(
            host=host,
            scheduler=scheduler,
            folder=folder or Path.home() / ".cache" / "wirebench" / "fleet" / host,
            identity=Identity(folder=certificates),
            attached=attached,
        ),
        lambda line: out.print(line, markup=False, highlight=False, soft_wrap=True),
    )


def check(fleet: File = _FILE, wait_s: Wait = 10.0) -> None:
    """Say which hosts are there, what they differ by, and what the links of pairs allow.

    Exit code 0: all are there, and can be in one run, and each pair's address leads from one of its
    hosts to the other. 69: not so.
    """
    from wirebench.fleet.hosts import read_fleet
    from wirebench.fleet.parity import differences, refusals
    from wirebench.fleet.quiet import make_quiet

    check_finite("--wait", wait_s)
    file = read_fleet(fleet)
    make_quiet()
    from wirebench.fleet.cluster import Cluster

    out = console()
    with Cluster(file) as cluster:
        missing = cluster.wait_for(set(file.hosts), timeout_s=wait_s)
        hosts = _describe(cluster)
        strangers = cluster.presence.strangers
        absent = [
            cluster.failure(name) or f"host {name}: expected its worker in {wait_s:g} s, got none"
            for name in sorted(missing)
        ]
        links = _links(cluster, missing)
    for name, one in hosts.items():
        out.print(
            f"{name}: {count_of(one['cores'], 'core')}, {one['cpu_model']}, kernel {one['kernel']},"
            f" {one['distribution']}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    for pair in file.pairs.values():
        out.print(
            f"pair {pair.name}: {pair}; {links.said.get(pair.name, 'its link is not known')}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    for line in differences(hosts) or ["no differences that are known to matter"] * bool(hosts):
        out.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    for line in absent:
        say_error(line)
    _say_strangers(file, strangers)
    refused = refusals(hosts)
    for line in refused:
        say_error(f"cannot be in one run: {line}")
    for line in links.wrong:
        say_error(line)
    raise typer.Exit(EXIT_UNAVAILABLE if missing or refused or links.wrong else EXIT_OK)


@dataclass(frozen=True, kw_only=True)
class _Links:
    """Between the hosts of pairs."""

    said: Mapping[str, str]
    """By pair: what its link allows."""
    wrong: tuple[str, ...]
    """Why others could not be measured."""


def _links(cluster: Cluster, missing: set[str]) -> _Links:
    from wirebench.fleet.cluster import HostError
    from wirebench.fleet.pair_links import measure_floor
    from wirebench.fleet.together import floor_text

    said, wrong = {}, []
    for pair in cluster.fleet.pairs.values():
        if missing.intersection(pair.hosts):
            continue
        try:
            said[pair.name] = floor_text(measure_floor(cluster, pair))
        except HostError as error:
            wrong.append(f"pair {pair.name}: {error}")
    return _Links(said=said, wrong=tuple(wrong))


def _say_strangers(fleet: FleetFile, names: Iterable[str]) -> None:
    """Of workers that no host of the file is for: most are misspelt."""
    for name in sorted(names):
        say_warning(
            f"a worker calls itself {name!r}, which {fleet.path} has no host for; 'wirebench fleet"
            f" worker --host' takes one of {', '.join(fleet.hosts)}"
        )


def run(
    context: typer.Context,
    studies: Annotated[
        list[str] | None, typer.Argument(metavar="STUDY", help="As with 'run'.")
    ] = None,
    fleet: File = _FILE,
    wait_s: Wait = _WAIT_S,
    preset: Annotated[str, typer.Option("--preset", help="As with 'run'.")] = "full",
    only: Only = None,
    blocks: Blocks = None,
    cells: Cells = None,
    seed: Seed = None,
    out: Out = None,
    resume: Resume = None,
    budget: Budget = None,
    force: Force = False,
    jobs: Jobs = None,
) -> None:
    """Measure studies on all hosts at once: each block on one host, all cells on every host.

    Where the file has pairs, each block goes to a pair instead: servers run on one of its hosts,
    the load comes from the other, and the floor of the link between them is measured first.

    Builds and checks contestants here, sends them, and writes an ordinary run directory: 'report',
    'show', 'compare' and the others read it. What hosts differ by is in every interval. A host that
    is lost keeps its blocks until it comes back, and others run more in the meantime.

    Exit codes are those of 'run', and 69 when no host is there, or none is left; --resume completes
    the run.
    """
    from wirebench.fleet.hosts import read_fleet

    check_finite("--wait", wait_s)
    if resume is None and not studies:
        raise CatalogError("STUDY: expected a study or --resume RUN, got neither")
    if resume is not None:
        allowed = (*BESIDE_RESUME, "fleet", "wait_s")
        refuse_beside(context, "--resume", allowed, why=AS_BEGUN)
    names = tuple(dict.fromkeys(studies or ()))
    request = Request(
        label=f"fleet-{label_of(names)}",
        studies=() if "all" in names else names,
        preset=preset,
        only=tuple(only or ()),
        blocks=blocks,
        cells=split_words(cells),
        seed=seed,
        out=out,
        resume=resume,
        budget=budget,
        repeats=1,
        dry_run=False,
        force=force,
        jobs=jobs,
    )
    site = FleetSite(fleet=read_fleet(fleet), wait_s=wait_s, command=command_with(fleet))
    raise typer.Exit(execute(request, site=site))


def command_with(fleet: Path) -> str:
    """The words after ``wirebench`` that start a run on the hosts of this file."""
    return "fleet run" if fleet == _FILE else f"fleet run --fleet {shlex.quote(str(fleet))}"


@dataclass(kw_only=True)
class FleetSite:
    """The hosts of a fleet."""

    fleet: FleetFile
    wait_s: float
    command: str
    _clusters: list[Cluster] = field(default_factory=list)

    def bench(self, root: Path, *, jobs: int) -> AbstractContextManager[Bench]:
        from contextlib import contextmanager

        from wirebench.fleet.quiet import make_quiet

        make_quiet()
        from wirebench.fleet.bench import FleetBench
        from wirebench.fleet.certificates import Identity
        from wirebench.fleet.cluster import Cluster
        from wirebench.fleet.hosts import SCHEDULER

        @contextmanager
        def entered() -> Iterator[Bench]:
            with Cluster(self.fleet) as cluster:
                self._clusters.append(cluster)
                identity = Identity(folder=self.fleet.certificates / SCHEDULER)
                bench = FleetBench(
                    root=root,
                    jobs=jobs,
                    fleet_id=identity.fleet_id(),
                    hosts=self._hosts(cluster),
                    pairs=self.fleet.pairs,
                )
                with bench:
                    yield bench

        return entered()

    def _hosts(self, cluster: Cluster) -> Mapping[str, Mapping[str, Any]]:
        """Those that are there and can measure. ``UnavailableError`` if there are none, or if they
        cannot be in one run.
        """
        from wirebench.fleet.parity import differences, refusals

        wanted = self.fleet.measuring
        missing = cluster.wait_for(set(wanted), timeout_s=self.wait_s)
        for name in sorted(missing):
            why = cluster.failure(name)
            say_warning(
                f"{why}; the run goes on without it"
                if why is not None
                else f"host {name} is not here yet; it gets blocks once it is"
            )
        _say_strangers(self.fleet, cluster.presence.strangers)
        hosts = {name: one for name, one in _describe(cluster).items() if name in wanted}
        if not hosts:
            raise self.fleet.without_workers(self.wait_s)
        if pairs := self.fleet.pairs:
            spare = ", ".join(sorted(self.fleet.hosts.keys() - wanted))
            if spare:
                say_warning(f"in no pair, so that they get no blocks: {spare}")
            if all(missing.intersection(pair.hosts) for pair in pairs.values()):
                raise UnavailableError(
                    f"{self.fleet.path}: expected both hosts of a pair, got"
                    f" {', '.join(sorted(hosts))}"
                )
        if refused := refusals(hosts):
            raise UnavailableError(f"{self.fleet.path}: cannot be in one run: {'; '.join(refused)}")
        for line in differences(hosts):
            say_warning(f"hosts differ: {line}")
        return hosts

    def measure(self, session: Session, plan: Plan, *, look: Look, out: Console) -> Measured:
        from wirebench.fleet.bench import FleetBench
        from wirebench.fleet.session import FleetRun

        bench = session.bench
        assert isinstance(bench, FleetBench)
        return FleetRun(
            session=session,
            plan=plan,
            bench=bench,
            hosts=self._clusters[-1],
            look=look,
            say=lambda line: out.print(line, markup=False, highlight=False, soft_wrap=True),
            patience_s=self.wait_s,
        ).measure()


def _describe(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """What the hosts that are there say of themselves."""
    from wirebench.fleet.cluster import HostError
    from wirebench.fleet.session import describe_hosts

    try:
        return describe_hosts(cluster, _commands())
    except HostError as error:
        raise UnavailableError(f"{cluster.fleet.path}: {error}") from error


def _commands() -> list[str]:
    """What contestants need, to compare its versions."""
    everybody = open_catalog(warn=False).contestants.values()
    return sorted({one.split(" ")[0] for each in everybody for one in each.needs.commands})
