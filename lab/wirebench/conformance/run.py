"""Run the probes against a server one after another, each on its own connections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from wirebench.conformance.deflate_probes import deflate_probes
from wirebench.conformance.http_connection_probes import http_connection_probes
from wirebench.conformance.http_message_probes import http_message_probes
from wirebench.conformance.http_probes import http_probes
from wirebench.conformance.http_sweep_probes import http_sweep_probes
from wirebench.conformance.types import (
    NotApplicableError,
    Outcome,
    Part,
    Probe,
    ProbeResult,
    Target,
    UnspokenError,
)
from wirebench.conformance.websocket_handshake_probes import websocket_handshake_probes
from wirebench.conformance.websocket_probes import websocket_probes
from wirebench.conformance.websocket_sweep_probes import websocket_sweep_probes
from wirebench.verify.checks import Mismatch
from wirebench.verify.http import PeerError

ENDED = "; the server ended"
"""Behind what was received from a server that exited."""


def probes_for(target: Target, parts: Sequence[Part]) -> Iterator[Probe]:
    """The probes that apply to the target: HTTP if a resource is known, WebSocket if an echo is."""
    if "http" in parts and target.path is not None:
        yield from http_probes()
        yield from http_sweep_probes()
        yield from http_connection_probes()
        yield from http_message_probes()
    if target.websocket_path is not None:
        if "websocket" in parts:
            yield from websocket_probes()
            yield from websocket_handshake_probes()
            yield from websocket_sweep_probes()
        if "deflate" in parts:
            yield from deflate_probes()


def run_probes(
    target: Target,
    probes: Iterable[Probe],
    *,
    alive: Callable[[], bool] = lambda: True,
    progress: Callable[[Probe], None] = lambda _: None,
) -> tuple[ProbeResult, ...]:
    """The result of each probe. If the server exits (``alive`` returns False), the last probe fails
    and the rest is left out.
    """
    results: list[ProbeResult] = []
    for probe in probes:
        progress(probe)
        result = _run(target, probe)
        if not alive():
            results.append(_result(probe, "failed", probe.expected, f"{result.received}{ENDED}"))
            break
        results.append(result)
    return tuple(results)


def _run(target: Target, probe: Probe) -> ProbeResult:
    try:
        return _result(probe, "passed", probe.expected, probe.run(target))
    except UnspokenError as error:
        return _result(probe, "closed", probe.expected, str(error))
    except NotApplicableError as error:
        return _result(probe, "not_applicable", probe.expected, str(error))
    except Mismatch as mismatch:
        return _result(probe, "failed", mismatch.expected, mismatch.received)
    except PeerError as error:
        return _result(probe, "failed", probe.expected, str(error))


def _result(probe: Probe, outcome: Outcome, expected: str, received: str) -> ProbeResult:
    return ProbeResult(
        id=probe.id,
        part=probe.part,
        document=probe.document,
        section=probe.section,
        level=probe.level,
        outcome=outcome,
        sent=probe.sent,
        expected=expected,
        received=received,
    )
