"""How long the replies of a user's servers are: what tells that two of them answer differently,
where any success counts as right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from wirebench.trial.record import TrialRecord

LEAST_REPLIES = 100
"""In a window with fewer, those that lie in it in part count for too much. Our own choice."""


def reply_bytes(trials: Iterable[TrialRecord]) -> float | None:
    """Bytes that came for each right reply, its head or frame among them: the median over the
    trials. None where no trial says it.

    Left out are trials of fewer than ``LEAST_REPLIES``, and those of a server that did not keep up,
    of which bytes are counted whose replies came too late to count.
    """
    found = [one for trial in trials if (one := _of(trial)) is not None]
    return float(np.median(found)) if found else None


def _of(trial: TrialRecord) -> float | None:
    requests = (trial.load or {}).get("requests")
    if not isinstance(requests, Mapping):
        return None
    bytes_in, replies = requests.get("bytes_in"), requests.get("ok")
    if not isinstance(bytes_in, int) or not isinstance(replies, int):
        return None
    if replies < LEAST_REPLIES or trial.validity.get("kept_up") is False:
        return None
    return bytes_in / replies
