"""``wirebench compare``: what changed between two runs on the same host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from wirebench.catalog import CatalogError
from wirebench.cli.console import console, for_tables, say_warning
from wirebench.cli.report import two_runs

if TYPE_CHECKING:
    from wirebench.stats.compare import Change
    from wirebench.store.rundir import StoredRun

SIGNS = {
    "faster": ("▲", "green"),
    "slower": ("▼", "red"),
    "equivalent": ("≈", "bright_black"),
    "undecided": ("?", ""),
}
WORDS = {
    "faster": "better",
    "slower": "worse",
    "equivalent": "equivalent",
    "undecided": "not decided",
}


def register(app: typer.Typer) -> None:
    app.command("compare")(compare_runs)


def compare_runs(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A", help="The earlier run: its directory, or its name in 'results'."
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The later run.")],
    force: Annotated[
        bool, typer.Option("--force", help="Compare runs of different hosts too.")
    ] = False,
) -> None:
    """Compare two runs on the same host: the ratio of B over A for every cell and contestant, with
    its interval and verdict.

    Each figure is first divided by its own run's floor, so that a slower host today does not look
    like a change. The floor itself is compared as it is.

    A figure that the load generator limited is a bound, so it supports the claim that its run is
    better, and no other. Where that holds of the floor, figures are compared as they are. Nothing
    is claimed of a contestant that could not keep up with its load, or never got steady.

    Two runs differ without any change, by memory layout and the like. Runs with --repeats 3 show by
    how much. Of runs with one repeat it is taken from earlier runs on the host, or from how far all
    contestants of a cell changed, or assumed; a line under each table says which.

    Exit code 0 whatever has changed; 64 if the runs cannot be compared.
    """
    from wirebench.duel.stored import other_servers
    from wirebench.stats import load_history
    from wirebench.stats.compare import compare
    from wirebench.store.jsonl import StoreError

    try:
        first, second = two_runs(a, b, "A")
    except StoreError as error:
        raise CatalogError(str(error)) from error
    _check_hosts(first, second, force=force)
    if first.plan is None or second.plan is None:
        ended = first if first.plan is None else second
        raise CatalogError(
            f"{ended.path}: expected a run with a plan, got one that ended before anything was"
            " measured"
        )
    if (others := other_servers(first, second)) is not None:
        raise CatalogError(f"B: expected a duel of the same servers: {others}")
    after_both = max(run.info.started_unix_ns for run in (first, second)) + 1
    try:
        history = load_history(
            second.path.parent,
            host_id=str(second.host.get("host_id", "")),
            before_unix_ns=after_both,
        )
    except StoreError as error:
        raise CatalogError(str(error)) from error
    changes = compare((first.plan, first.trials), (second.plan, second.trials), history)
    if not changes:
        raise CatalogError(
            f"B: expected a run with a cell of {first.info.name}, got {second.info.name}"
            " without any"
        )
    _print(first, second, changes)


def _check_hosts(first: StoredRun, second: StoredRun, *, force: bool) -> None:
    hosts = [run.host.get("host_id") for run in (first, second)]
    if hosts[0] == hosts[1] and hosts[0] is not None:
        return
    message = (
        f"expected two runs of the same host, got {hosts[0]} ({first.info.name}) and {hosts[1]}"
        f" ({second.info.name})"
    )
    if not force:
        raise CatalogError(f"B: {message}; --force compares them all the same")
    say_warning(f"{message}: a difference may come from the hosts")


def _sign(change: Change, limited: bool, other_limited: bool = False) -> str:
    """What stands before a figure, or before a ratio of two, that the generator limited."""
    from wirebench.report.figures import bound_sign
    from wirebench.stats.bottleneck import bound_of

    return bound_sign(
        bound_of(
            limited=limited,
            other_limited=other_limited,
            higher_is_better=change.higher_is_better,
        )
    )


def _table(rows: Sequence[Change], *, whole: bool) -> Table:
    """``whole``: with the reasons of verdicts, which take many columns."""
    from wirebench.report.figures import figure, ratio_text

    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("", width=1)
    table.add_column("contestant", no_wrap=True)
    for heading in ("A", "B"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("B over A", "", ""):
        table.add_column(heading, no_wrap=True)
    for one in rows:
        sign, style = SIGNS[one.verdict.kind] if one.missing is None else (" ", "bright_black")
        a, b = (
            _sign(one, limited) + figure(one.metric, value) if value is not None else ""
            for value, limited in zip((one.a, one.b), one.bounds, strict=True)
        )
        ratio = _sign(one, *one.bounds[::-1]) + ratio_text(one.ratio) if one.ratio else ""
        word = WORDS[one.verdict.kind] if one.missing is None else ""
        said = ": ".join(text for text in (word, _reason(one) if whole else "") if text)
        basis = "" if one.missing else one.basis
        table.add_row(sign, Text(one.entry), a, b, ratio, basis, Text(said), style=style)
    return table


def _reason(one: Change) -> str:
    """Of its verdict, or of its absence; the rates that were offered."""
    from wirebench.report.figures import amount

    reason = one.missing or one.verdict.reason or ""
    if one.offered is None:
        return reason
    rates = (amount("offered_per_s", rate) if rate else "?" for rate in one.offered)
    return f"{reason} (offered {' and '.join(rates)})".lstrip()


def _reasons(rows: Sequence[Change]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in rows:
        if reason := _reason(one):
            found.setdefault(reason, []).append(one.entry)
    return found


def _print(first: StoredRun, second: StoredRun, changes: Sequence[Change]) -> None:
    from wirebench.report.figures import noun
    from wirebench.stats.compare import not_compared

    out = for_tables(console())
    out.print(f"A  {first.info.name}\nB  {second.info.name}\n", markup=False)
    for key in dict.fromkeys((one.study, one.cell) for one in changes):
        rows = [one for one in changes if (one.study, one.cell) == key]
        better = "more" if rows[0].higher_is_better else "less"
        out.print(
            Text.assemble(
                (" ".join(key), "bold"),
                f"  {noun(rows[0].metric, rows[0].unit)}, {better} is better",
            )
        )
        table = _table(rows, whole=True)
        fits = for_tables(out, table).width <= out.width
        if not fits:
            table = _table(rows, whole=False)
        for_tables(out, table).print(table)
        for reason, names in () if fits else _reasons(rows).items():
            out.print(Text(f"  {', '.join(names)}: {reason}"), soft_wrap=True)
        if rows[0].without_floor is not None:
            out.print(
                Text(f"  as they are, not over the floor ({rows[0].without_floor})"),
                style="bright_black",
            )
        out.print(
            Text(
                f"  differences within {rows[0].band.d:.1%} are noise ({rows[0].band.source})\n"
                f"  {rows[0].run_effect}\n",
                style="bright_black",
            )
        )
    assert first.plan is not None
    assert second.plan is not None
    for why in not_compared(first.plan, second.plan):
        out.print(Text(f"not compared: {why}"), soft_wrap=True)
    counts = {
        WORDS[kind]: sum(1 for one in changes if one.missing is None and one.verdict.kind == kind)
        for kind in WORDS
    }
    if missing := sum(one.missing is not None for one in changes):
        counts["without a ratio"] = missing
    out.print(", ".join(f"{count} {word}" for word, count in counts.items()))
