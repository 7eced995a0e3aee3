"""The floors of the links of pairs, apart from any run."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from wirebench.catalog.errors import explain
from wirebench.fleet import worker
from wirebench.fleet.cluster import HostError
from wirebench.fleet.hosts import Pair
from wirebench.fleet.link import FLOOR, Floor
from wirebench.fleet.session import Hosts, ask_each


def measure_floor(hosts: Hosts, pair: Pair) -> Floor:
    """Of a pair whose hosts are here and idle. ``HostError`` if its address leads nowhere."""

    def ask(host: str, task: Callable[..., Any], *arguments: Any) -> Any:
        (event,) = ask_each(hosts, task, {host: arguments})
        if event.error is not None:
            raise HostError(event.error)
        return event.result

    token = secrets.token_hex(16)
    port = ask(pair.server, worker.reflect, pair.address, token)
    try:
        answer = ask(pair.generator, worker.measure_link, pair.address, port, token)
        return FLOOR.validate_json(answer)
    except ValidationError as error:
        raise HostError(explain(error, path=f"host {pair.generator}")) from error
    finally:
        ask_each(hosts, worker.stop_reflecting, {pair.server: ()})
