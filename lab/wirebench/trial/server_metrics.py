"""The figures of a server's trial from the generator's document, and whether they count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from wirebench.catalog.loads import (
    ClosedLoad,
    EachLoad,
    IdleLoad,
    OpenLoad,
    RampLoad,
    StormLoad,
    most_connections,
)
from wirebench.catalog.units import count_of, duration
from wirebench.catalog.workloads import Request
from wirebench.process.types import Failure, FailureKind
from wirebench.trial.wireload import Document, OpenLoop, ServerLoad

_BY_KIND: Mapping[str, FailureKind] = {
    "read_timeout": "hung",
    "connect_timeout": "hung",
    "closed_early": "closed_early",
    "connect_refused": "not_listening",
    "connect_failed": "closed_early",
    "tls": "closed_early",
    "bad_status": "bad_status",
    "bad_body": "wrong_reply",
    "protocol": "wrong_reply",
}

BUSY_SHARE = 0.95
"""A server or generator that used at least this share of the CPU time of its cores was at its
limit. Our own choice.
"""

STOPPED_BY_QUOTA = "stopped_by_cpu_quota"
"""How the kinds of the warnings about CPU quotas end."""

Metrics = dict[str, float | int | None]


def metrics(document: Document, load: ServerLoad, *, ready_ns: int | None) -> Metrics:
    """The figures of one trial. Memory is that of the window's end, with its connections open."""
    match load:
        case RampLoad():
            found = _ramp_metrics(document, load)
        case StormLoad():
            found = _storm_metrics(document, load, ready_ns=ready_ns)
        case IdleLoad():
            found = _idle_metrics(document)
        case _:
            found = _loop_metrics(document, load)
    server, ok = document.server, document.requests.ok
    if server is not None:
        found["server_rss_peak_bytes"] = server.rss_peak_bytes
        # While a queue is left at either end of the window, the server's work is not for what the
        # window counts.
        if server.cpu_ns is not None and ok > 0 and kept_up(document) is not False:
            found["cpu_per_request_ns"] = server.cpu_ns / _answered(document)
        found["server_rss_bytes"] = server.rss_bytes
        found["server_pss_bytes"] = server.pss_bytes
        found["server_kernel_bytes"] = server.kernel_bytes
        found["host_kernel_growth_bytes"] = server.host_kernel_growth_bytes
    found["ready_ns"] = ready_ns
    return found


def server_cpu_share(document: Document, *, cores: int) -> float | None:
    """The share of the CPU time of its cores that the server used: 1 means that it could do no
    more, also where a CPU quota stopped it. None where its CPU time or the window is not known.

    In a ramp both are of the rounds' exchanges, without the time to connect; in an open loop, of
    the window, without the time until its last reply.
    """
    server, elapsed_ns = document.server, document.window.elapsed_ns
    if server is None or server.cpu_ns is None or not elapsed_ns:
        return None
    if server.stopped_by_quota:
        return 1.0
    answered = _answered(document)
    counted = document.requests.ok / answered if answered else 1.0
    return server.cpu_ns * counted / (elapsed_ns * cores)


def stopped_by_quota(document: Document) -> list[str]:
    """The warnings that a CPU quota was the limit of the generator or the server."""
    warnings = []
    if document.generator.stopped_by_quota:
        warnings.append(f"generator_{STOPPED_BY_QUOTA}: {document.generator.stopped('generator')}")
    if document.server is not None and document.server.stopped_by_quota:
        warnings.append(f"server_{STOPPED_BY_QUOTA}: {document.server.stopped('server')}")
    return warnings


def _answered(document: Document) -> int:
    """The right replies that the CPU times are for: in turns, also to what was sent before and
    after the measured parts.
    """
    turns = document.turns
    return document.requests.ok if turns is None else max(turns.answered, document.requests.ok)


def late_turns(document: Document) -> float | None:
    """The share of turns after which a reply came when it was another's turn; None without."""
    turns = document.turns
    return None if turns is None or turns.taken == 0 else turns.late / turns.taken


def _loop_metrics(document: Document, load: ServerLoad) -> Metrics:
    connecting = document.connect.server
    found: Metrics = {
        "throughput_per_s": document.requests.rate_per_s,
        **_latency(document),
        "connect_ns": document.connect.elapsed_ns,
        "connect_cpu_ns": connecting.cpu_ns if connecting is not None else None,
        "success_ratio": _success(
            document.requests.ok, document.requests.ok + document.requests.errors
        ),
    }
    if document.broadcast is not None:
        for name in ("50", "99"):
            found[f"last_p{name}_ns"] = document.broadcast.last.percentiles_ns.get(name)
    if isinstance(load, OpenLoad) and document.open_loop is not None:
        found |= _open_loop_metrics(document, document.open_loop, load)
    if isinstance(load, EachLoad):
        found["makespan_ns"] = document.window.elapsed_ns
        found["service_makespan_ns"] = _service_makespan_ns(document, load)
        if load.policy == "new":
            # Connecting goes on from the first request to the last.
            found["connect_ns"] = None
        found["success_ratio"] = _success(document.requests.ok, load.producers * load.messages)
    return found


def _service_makespan_ns(document: Document, load: EachLoad) -> int | None:
    """From the first byte of a request that reaches the service to the last byte of a reply that
    leaves it, which the article's services logged. As the generator sees it, the same for every
    library: without the first connection's handshake, and without the time that the first request
    and the last reply are on the link.
    """
    elapsed_ns = document.window.elapsed_ns
    if elapsed_ns is None:
        return None
    outside_ns = load.link.rtt_ns if load.link is not None else 0
    if load.policy == "new":
        phases = document.connect.phases
        if phases is None or phases.tcp is None or phases.tcp.min_ns is None:
            return None
        outside_ns += phases.tcp.min_ns
    return max(0, elapsed_ns - outside_ns)


def _open_loop_metrics(document: Document, open_loop: OpenLoop, load: OpenLoad) -> Metrics:
    """What an open loop has besides. An overload has no latency: its requests wait for one another
    ever longer, so it would be the window's length.
    """
    found: Metrics = {
        "offered_per_s": load.rate_per_s,
        "service_p50_ns": open_loop.service.percentiles_ns.get("50"),
        "service_p99_ns": open_loop.service.percentiles_ns.get("99"),
        "lag_p99_ns": open_loop.lag.percentiles_ns.get("99"),
        "success_ratio": _success(document.requests.ok, open_loop.scheduled),
    }
    if load.overload:
        found |= dict.fromkeys(_latency(document))
    return found


def kept_up(document: Document) -> bool | None:
    """Whether an open loop's requests were sent as fast as they were due; None for other loads.
    Where the generator was the limit, the window is void.
    """
    return document.open_loop.rate_kept if document.open_loop is not None else None


def void_reason(document: Document, load: ServerLoad) -> str | None:
    """Why an open loop was not the load asked for, through no fault of the server's.

    Beyond the server's capacity there is always a request waiting, so when the next one is due
    does not matter: the goodput stands. Where the generator was too slow it does not, unless the
    generator was busy: the goodput is then marked as a lower bound.
    """
    open_loop = document.open_loop
    if open_loop is None or not isinstance(load, OpenLoad):
        return None
    if load.overload and (open_loop.limited_by != "generator" or _generator_busy(document)):
        return None
    return open_loop.void


def _generator_busy(document: Document) -> bool:
    share = document.generator.used_share
    return share is not None and share >= BUSY_SHARE


def too_slow(document: Document, load: ServerLoad) -> str | None:
    """The warning that the server could not keep up with a load that was not meant to be too
    much.
    """
    if not isinstance(load, OpenLoad) or load.overload or document.open_loop is None:
        return None
    if document.open_loop.rate_kept or document.open_loop.void is not None:
        return None  # or it was the generator that could not
    rate = document.requests.rate_per_s or 0.0
    return f"could_not_keep_up: answered {rate:,.0f}/s of {load.rate_per_s:,.0f}/s"


def _storm_metrics(document: Document, load: StormLoad, *, ready_ns: int | None) -> Metrics:
    """Until all are served: from the first connection, or from the start of the server that was
    killed. Between that start and its first connection nobody is served; what the generator takes
    to begin is left out.
    """
    rounds = document.rounds or ()
    answered = sum(one.answered for one in rounds)
    serving_ns = sum((one.connect_elapsed_ns or 0) + (one.elapsed_ns or 0) for one in rounds)
    again_ns = ready_ns if load.restart else 0
    return {
        **_latency(document),
        "connect_ns": sum(one.connect_elapsed_ns or 0 for one in rounds),
        "makespan_ns": again_ns + serving_ns if again_ns is not None else None,
        "success_ratio": _success(answered, load.connections),
    }


def _idle_metrics(document: Document) -> Metrics:
    server, idle, elapsed_ns = document.server, document.idle, document.window.elapsed_ns
    connecting = document.connect.server
    found: Metrics = {
        "connect_ns": document.connect.elapsed_ns,
        "connect_cpu_ns": connecting.cpu_ns if connecting is not None else None,
        "success_ratio": _success(idle.held, idle.opened) if idle is not None else None,
    }
    if server is not None and server.cpu_ns is not None and elapsed_ns:
        found["cpu_per_s_ns"] = server.cpu_ns / elapsed_ns * 1e9
    if idle is not None and idle.server_wake_ups is not None and elapsed_ns:
        found["wake_ups_per_s"] = idle.server_wake_ups / elapsed_ns * 1e9
    return found


def _ramp_metrics(document: Document, load: RampLoad) -> Metrics:
    rounds = document.rounds or ()
    answered = sum(one.answered for one in rounds)
    exchanging_ns = sum(one.elapsed_ns or 0 for one in rounds)
    connecting_ns = sum(one.connect_elapsed_ns or 0 for one in rounds)
    return {
        "throughput_per_s": answered / exchanging_ns * 1e9 if exchanging_ns else None,
        **_latency(document),
        "connect_ns": connecting_ns if rounds else None,
        "makespan_ns": connecting_ns + exchanging_ns if rounds else None,
        # Of all the load asked for: rounds that were never reached count as unanswered.
        "success_ratio": _success(answered, load.total_messages),
    }


def _success(right: int, all_of_them: int) -> float | None:
    return right / all_of_them if all_of_them else None


def _latency(document: Document) -> Metrics:
    percentiles = document.latency.percentiles_ns
    return {
        "p50_ns": percentiles.get("50"),
        "p90_ns": percentiles.get("90"),
        "p99_ns": percentiles.get("99"),
        "p999_ns": percentiles.get("99.9"),
        "mean_ns": document.latency.mean_ns,
        "max_ns": document.latency.max_ns,
    }


Judgement = Literal["right", "partly", "failed"]


def judge(document: Document, load: ServerLoad) -> Judgement:
    """``failed``: no figure. A ramp goes on until the server breaks, so it counts if its first
    round was complete; any other load must succeed entirely.
    """
    if isinstance(load, RampLoad):
        rounds = document.rounds or ()
        if not rounds or rounds[0].answered < load.add * load.messages:
            return "failed"
        all_held = len(rounds) == load.rounds and all(
            one.answered == one.round * load.add * load.messages for one in rounds
        )
        return "right" if all_held and document.requests.errors == 0 else "partly"
    if isinstance(load, StormLoad):
        served = sum(one.answered for one in document.rounds or ())
        clean = not any(document.errors.values())
        return "right" if served == load.connections and clean else "failed"
    wrong = document.requests.errors or document.connect.failed or any(document.errors.values())
    if wrong and not _only_too_many(document, load):
        return "failed"
    if document.window.stopped_by not in ("duration", "requests"):
        return "failed"
    if isinstance(load, EachLoad) and document.requests.ok != load.producers * load.messages:
        return "failed"
    if isinstance(load, IdleLoad):
        held = document.idle.held if document.idle is not None else 0
        return "right" if held == load.connections else "failed"
    return "right" if document.requests.ok > 0 else "failed"


_QUEUED = frozenset({"deadline", "read_timeout"})
"""The errors of requests that waited for a connection, or on one, when the generator ended."""


def _only_too_many(document: Document, load: ServerLoad) -> bool:
    """Whether all errors are requests that an open loop had queued beyond what the server could
    take, when the generator stopped waiting for them.

    A server that hangs is told by its first error: a request that was sent and not answered.
    """
    if not isinstance(load, OpenLoad) or kept_up(document) is not False:
        return False
    first = document.first_error
    kinds = {kind for kind, count in document.errors.items() if count}
    return (
        first is not None
        and first.kind == "deadline"
        and kinds <= _QUEUED
        and document.errors.get("read_timeout", 0) <= load.connections * load.in_flight
    )


def failure_of(
    document: Document,
    *,
    asked: Request,
    server_end: str | None,
    output: str,
) -> Failure:
    """Why replies are missing or wrong. ``server_end`` says how the server ended, if it did."""
    errors = {kind: count for kind, count in document.errors.items() if count}
    counts = ", ".join(
        f"{kind} {count}" for kind, count in sorted(errors.items(), key=lambda item: -item[1])
    )
    figures = (
        f"{count_of(document.requests.ok, 'right reply', 'right replies')} of"
        f" {count_of(document.requests.sent, 'request')}; errors: {counts or 'none'}"
    )
    figures += "".join(f"; {_LIMITS[kind]}" for kind in errors if kind in _LIMITS)
    first = document.first_error
    sent = first.sent if first is not None and first.sent else asked.sent
    expected = first.expected if first is not None and first.expected else asked.expected
    received = first.received if first is not None and first.received else "nothing"
    if server_end is not None:
        return Failure(
            kind="crashed",
            phase="load",
            message=f"the server {server_end} under load; {figures}",
            sent=sent,
            expected=expected,
            received=f"its last output: {output}",
        )
    kind = _kind(document, errors)
    return Failure(
        kind=kind,
        phase="load",
        message=f"{_WORDS[kind]}; {figures}{_too_short(document, errors)}",
        sent=sent,
        expected=expected,
        received=received,
    )


def _too_short(document: Document, errors: Mapping[str, int]) -> str:
    """What to do where the window ended before anybody knew whether a reply would come."""
    window = document.window
    told = errors or document.requests.ok or document.idle is not None
    if told or window.stopped_by != "duration" or not window.elapsed_ns:
        return ""
    return (
        f"; the window of {duration(window.elapsed_ns)} ended before a reply was late: one that is"
        " only slow needs a longer window"
    )


_LIMITS: Mapping[str, str] = {
    "connect_refused": "refused: nobody listened when they came",
    "connect_timeout": "backlog: the listen queue took no more in time",
}
"""What stopped connections that never stood."""

_WORDS: Mapping[FailureKind, str] = {
    "not_listening": "nobody listens where the server should",
    "hung": "the server did not answer in time",
    "closed_early": "the server closed connections it should have answered on",
    "bad_status": "the server answered with a wrong status",
    "wrong_reply": "the server gave a wrong reply",
    "generator_failed": "the generator could not put the load on the server",
}


def _kind(document: Document, errors: Mapping[str, int]) -> FailureKind:
    """By the first error, because later ones are often its consequences; else by the
    most frequent.
    """
    if document.first_error is not None and document.first_error.kind in _BY_KIND:
        return _BY_KIND[document.first_error.kind]
    if errors:
        return _BY_KIND.get(max(errors, key=lambda kind: errors[kind]), "generator_failed")
    # Connected and asked, but not one reply or error inside the window: replies never came.
    return "hung" if document.connect.opened > 0 else "generator_failed"


def ended_connections(document: Document, load: ServerLoad) -> str | None:
    """The warning of a server that ends connections that are to be kept, as HTTP lets it: what it
    and the generator do to open others is in its figures.
    """
    kept = isinstance(load, ClosedLoad | OpenLoad) or (
        isinstance(load, EachLoad) and load.policy == "reuse"
    )
    opened, asked = document.requests.connections_opened or 0, most_connections(load)
    if not kept or opened <= asked:
        return None
    return f"ended_connections: {opened:,} were opened where {asked:,} were to be kept"


def partial_errors(document: Document, load: ServerLoad) -> str:
    """The warning of a ramp that broke: where and how."""
    errors = ", ".join(
        f"{kind} {count}" for kind, count in sorted(document.errors.items()) if count
    )
    broke = "after its last round"
    if isinstance(load, RampLoad):
        for one in document.rounds or ():
            if one.answered < one.round * load.add * load.messages:
                broke = f"in round {one.round} with {count_of(one.clients, 'connection')}"
                break
    return f"partial_errors: {broke}: {errors or 'unanswered messages'}"
