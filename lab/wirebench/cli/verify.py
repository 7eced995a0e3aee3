"""``wirebench verify``: checks that each contestant gives exactly the right replies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wirebench.build import BuildResult, Builds, resolve_command
from wirebench.catalog import CALLED, WORKLOADS, CatalogError, Contestant, Role, Workload
from wirebench.catalog.units import count_of
from wirebench.cli.arguments import (
    Jobs,
    Selectors,
    check_output,
    default_jobs,
    open_catalog,
    say_left_out,
)
from wirebench.cli.conformance import report
from wirebench.cli.console import EXIT_FAILED, console

# Imported where it is used: it brings NumPy, and --help should not wait for that.
if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from wirebench.conformance import ProbeResult
    from wirebench.process.supervise import Supervisor
    from wirebench.verify import CheckResult, Verdict


def register(app: typer.Typer) -> None:
    app.command("verify")(verify_contestants)


def verify_contestants(
    selectors: Selectors = None,
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            "-w",
            metavar="WORKLOAD",
            help=f"Check only this workload: {', '.join(WORKLOADS)}.",
        ),
    ] = None,
    conformance: Annotated[
        bool,
        typer.Option(
            "--conformance",
            help="Also run the RFC probes on each server, for the report, and each HTTP client.",
        ),
    ] = False,
    timeouts: Annotated[
        bool,
        typer.Option(
            "--timeouts",
            help="Also check that a request head that never ends is given up within 75 s.",
        ),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every check, not only those that failed.")
    ] = False,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write all results to this file, one JSON line each."
        ),
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Check that contestants give exactly the replies that their workloads ask for.

    Builds what is not built, and checks meanwhile what is. Servers that speak TLS are checked over
    TLS, too. --conformance reports how well each follows RFC 9110, 9112, 6455 and 7692; it fails no
    contestant. Exit code 0: all conform. 1: one does not, or could not be built. Contestants that
    are not installed are listed and skipped.
    """
    if workload is not None and workload not in WORKLOADS:
        raise CatalogError(f"--workload: expected one of {', '.join(WORKLOADS)}, got {workload!r}")
    check_output("--json", json_file)
    catalog = open_catalog()
    chosen = [(one, duties(one, workload)) for one in catalog.select(selectors or ())]
    chosen = [(one, found) for one, found in chosen if found]
    if not chosen:
        raise CatalogError(
            f"--workload: expected one that a chosen contestant serves or calls, got {workload!r}"
        )
    taken = {one.identity for one, _ in chosen}
    say_left_out(catalog, selectors, taken, why=f"it neither serves nor calls {workload}")
    session = _Session(
        out=console(),
        everything=everything,
        json_file=json_file,
        conformance=conformance,
        timeouts=timeouts,
    )
    session.check_all(chosen, root=catalog.root, jobs=default_jobs(jobs))
    broken = len(catalog.errors) if not selectors else 0
    session.out.print(
        f"{session.passed} passed, {session.failed + broken} failed, {session.skipped} skipped"
    )
    if session.failed or broken:
        raise typer.Exit(EXIT_FAILED)


def duties(contestant: Contestant, workload: str | None) -> list[tuple[Role, Workload]]:
    """The checks that apply to a contestant."""
    found: list[tuple[Role, Workload]] = [("server", one) for one in contestant.serves]
    found += dict.fromkeys(("client", CALLED[scheme]) for scheme in contestant.calls)
    return [duty for duty in found if workload in (None, duty[1])]


def _name(role: Role, workload: Workload) -> str:
    return workload if role == "server" else f"client of {workload}"


class _Session:
    def __init__(
        self,
        *,
        out: Console,
        everything: bool,
        json_file: Path | None,
        conformance: bool,
        timeouts: bool,
    ) -> None:
        self.out = out
        self.passed = self.failed = self.skipped = 0
        self._everything = everything
        self._json_file = json_file
        self._conformance = conformance
        self._timeouts = timeouts
        if json_file is not None:
            json_file.write_text("")

    def check_all(
        self, chosen: list[tuple[Contestant, list[tuple[Role, Workload]]]], *, root: Path, jobs: int
    ) -> None:
        from wirebench.process.interrupt import interruptible
        from wirebench.process.supervise import Supervisor
        from wirebench.process.types import Program
        from wirebench.verify import Traits, verify

        waiting = {one.identity: (one, found) for one, found in chosen}
        with (
            interruptible(),
            Supervisor() as supervisor,
            closing(Builds(root, jobs=jobs)) as builds,
            self.out.status("") as status,
        ):
            builds.begin(one for one, _ in chosen)
            while waiting:
                status.update(f"building {', '.join(builds.running())}")
                contestant = builds.first_ended([one for one, _ in waiting.values()])
                _, found = waiting.pop(contestant.identity)
                built = builds.wait(contestant)
                if built.folder is None:
                    self._unbuilt(contestant, built, found)
                    continue
                for role, workload in found:
                    status.update(f"{contestant.identity}: {_name(role, workload)}")
                    program = Program(
                        argv=tuple(resolve_command(contestant, built.folder, role)),
                        folder=built.folder,
                    )
                    verdict = verify(
                        contestant.identity,
                        role,
                        workload,
                        program,
                        supervisor,
                        schemes=contestant.calls,
                        traits=Traits.of(contestant),
                        source=contestant.folder,
                        timeouts=self._timeouts,
                    )
                    self._checked(verdict)
                if self._conformance:
                    self._probe(contestant, built.folder, supervisor, status)

    def _probe(
        self, contestant: Contestant, folder: Path, supervisor: Supervisor, status: Status
    ) -> None:
        from wirebench.conformance.contestant import (
            probe_client,
            probe_contestant,
            probed_workloads,
            write_results,
        )
        from wirebench.process.types import Program

        results: list[ProbeResult] = []
        for workload in probed_workloads(contestant.serves):
            program = Program(
                argv=tuple(resolve_command(contestant, folder, "server")), folder=folder
            )
            found, failure = probe_contestant(
                workload,
                program,
                supervisor,
                progress=lambda probe: status.update(
                    f"{contestant.identity}: {probe.document}, {probe.id}"
                ),
            )
            results += found
            if failure is not None:
                self.out.print(
                    f"    {failure.kind}: {failure.message}", markup=False, soft_wrap=True
                )
        if "http" in contestant.calls:
            program = Program(
                argv=tuple(resolve_command(contestant, folder, "client")), folder=folder
            )
            results += probe_client(
                program,
                supervisor,
                progress=lambda probe: status.update(
                    f"{contestant.identity}: client, {probe.document}, {probe.id}"
                ),
            )
        if results:
            write_results(folder, results)
            self._write(
                {"contestant": contestant.identity, "probes": [one.record() for one in results]}
            )
            for line in report(results, everything=self._everything, indent="    "):
                self.out.print(line, markup=False, soft_wrap=True)

    def _unbuilt(
        self, contestant: Contestant, built: BuildResult, found: list[tuple[Role, Workload]]
    ) -> None:
        skipped = built.status != "failed"
        if skipped:
            self.skipped += len(found)
        else:
            self.failed += len(found)
        style, word = ("yellow", "skipped") if skipped else ("bold red", "failed")
        self.out.print(f"[{style}]{word}[/] {contestant.identity}: ", end="")
        self.out.print(built.message, markup=False, soft_wrap=True)
        for line in built.log_tail.splitlines():
            self.out.print(f"    | {line}", markup=False, soft_wrap=True)
        for role, workload in found:
            kind = {"failed": "build_failed"}.get(built.status, built.status)
            failure = {
                "kind": kind,
                "phase": "build",
                "message": built.message,
                "received": built.log_tail or None,
            }
            self._write(
                {
                    "contestant": contestant.identity,
                    "role": role,
                    "workload": workload,
                    "checks": [],
                    "failure": failure,
                    "elapsed_ns": 0,
                    "passed": False,
                }
            )

    def _checked(self, verdict: Verdict) -> None:
        self._write(verdict.record())
        if verdict.passed:
            self.passed += 1
        else:
            self.failed += 1
        style, word = ("green", "passed") if verdict.passed else ("bold red", "failed")
        right = sum(check.passed for check in verdict.checks)
        made = sum(check.checked for check in verdict.checks)
        self.out.print(
            f"[{style}]{word}[/] {verdict.contestant} {_name(verdict.role, _workload(verdict))}: "
            f"{right} of {count_of(made, 'check')} in {verdict.elapsed_ns / 1e9:.1f} s",
            soft_wrap=True,
        )
        for line in _details(verdict, everything=self._everything):
            self.out.print(line, markup=False, soft_wrap=True)

    def _write(self, record: object) -> None:
        if self._json_file is not None:
            with self._json_file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")


def _workload(verdict: Verdict) -> Workload:
    return next(one for one in WORKLOADS if one == verdict.workload)


def _details(verdict: Verdict, *, everything: bool) -> Iterator[str]:
    failure = verdict.failure
    if failure is not None and failure.kind != "nonconformant":
        yield f"    {failure.kind}: {failure.message}"
        for name, text in (
            ("sent", failure.sent),
            ("expected", failure.expected),
            ("received", failure.received),
        ):
            if text is not None:
                yield f"      {name:<9}{text}"
    for check in verdict.checks:
        if everything or not check.passed:
            yield from _explain(check)


def _explain(check: CheckResult) -> Iterator[str]:
    if check.passed:
        yield f"    ok      {check.id}"
        return
    if not check.checked:
        yield f"    unknown {check.id}: {check.received}"
        return
    yield f"    {'FAILED ' if check.required else 'advice '} {check.id}"
    yield f"      sent     {check.sent}"
    yield f"      expected {check.expected}"
    yield f"      received {check.received}"
