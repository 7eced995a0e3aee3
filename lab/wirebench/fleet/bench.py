"""The bench of a fleet: builds and checks are made here, what the hosts are is theirs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wirebench.catalog.model import Contestant
from wirebench.catalog.units import count_of
from wirebench.fleet.bundles import Packed, pack_contestant, pack_programs
from wirebench.fleet.cluster import HostError
from wirebench.fleet.orders import PROGRAMS
from wirebench.fleet.parity import refusals
from wirebench.process.native import find_native
from wirebench.run.local import GENERATOR, LINK, LocalBench


class FleetBench(LocalBench):
    """Builds are made once, here, and sent. A cell must fit the smallest host."""

    def __init__(
        self, *, root: Path, jobs: int, fleet_id: str, hosts: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """``hosts``: what each host says of itself (``child.describe``)."""
        super().__init__(root=root, jobs=jobs)
        self._fleet_id, self.hosts = fleet_id, dict(hosts)
        self._packed: dict[str, Packed] = {}

    @property
    def hardware_threads(self) -> int:
        return min(int(one["cores"]) for one in self.hosts.values())

    @property
    def open_files(self) -> int:
        return min(int(one["open_files"]) for one in self.hosts.values())

    def host(self) -> Mapping[str, Any]:
        return {"host_id": f"fleet-{self._fleet_id}", "hosts": dict(self.hosts)}

    def link_refusal(self) -> str | None:
        refused = {
            name: one["link_refusal"]
            for name, one in self.hosts.items()
            if one["link_refusal"] is not None
        }
        return "; ".join(f"{name}: {why}" for name, why in refused.items()) or None

    def notes(self) -> tuple[str, ...]:
        few = [name for name, one in self.hosts.items() if int(one["cores"]) < 2]
        asleep = [name for name, one in self.hosts.items() if not one["cores_awake"]]
        notes = [
            f"blocks went to {count_of(len(self.hosts), 'host')}; each host is a repeat, so that"
            " what hosts differ by is in every interval"
        ]
        if few:
            notes.append(
                "server and generator share one core, so that throughput is their joint limit, on"
                f" {', '.join(few)}"
            )
        if asleep:
            notes.append(
                "idle cores may sleep, so that their wake-up time is part of every round trip, on"
                f" {', '.join(asleep)}"
            )
        return tuple(notes)

    def add(self, name: str, host: Mapping[str, Any]) -> None:
        """A host that joins later. ``HostError`` if the run's cells do not fit it, or the others
        cannot be in one run with it.
        """
        refused = refusals({**self.hosts, name: host})
        for key in ("cores", "open_files"):
            least = min(int(one[key]) for one in self.hosts.values())
            if int(host[key]) < least:
                refused.append(f"{key}: expected at least {least}, got {host[key]}")
        if refused:
            raise HostError(f"host {name} cannot join: {'; '.join(refused)}")
        self.hosts[name] = host

    def packed(self, name: str, contestant: Contestant | None = None) -> Packed:
        """The bundle of a contestant, or of ``PROGRAMS``."""
        if name not in self._packed:
            if contestant is None:
                assert name == PROGRAMS
                found = [find_native(one) for one in (GENERATOR, LINK)]
                self._packed[name] = pack_programs(one for one in found if one is not None)
            else:
                folder = self.folder_of(contestant)
                self._packed[name] = pack_contestant(contestant, self.root, folder)
        return self._packed[name]

    def build_path(self, contestant: Contestant) -> str:
        """Its build folder below a root."""
        return str(self.folder_of(contestant).resolve().relative_to(self.root.resolve()))
