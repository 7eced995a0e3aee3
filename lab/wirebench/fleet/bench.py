"""The bench of a fleet: builds and checks are made here, what the hosts are is theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import ClientLoad, Load
from wirebench.catalog.model import Contestant
from wirebench.catalog.units import count_of
from wirebench.fleet.bundles import Packed, pack_contestant, pack_programs
from wirebench.fleet.cluster import HostError
from wirebench.fleet.hosts import Pair
from wirebench.fleet.link import Floor
from wirebench.fleet.orders import PROGRAMS
from wirebench.fleet.parity import refusals
from wirebench.process.native import find_native
from wirebench.run.local import GENERATOR, LINK, LocalBench
from wirebench.trial.apart import refusal

_OF_A_PAIR = ("server", "generator", "address")


class FleetBench(LocalBench):
    """Builds are made once, here, and sent. A cell must fit the smallest host that runs servers."""

    def __init__(
        self,
        *,
        root: Path,
        jobs: int,
        fleet_id: str,
        hosts: Mapping[str, Mapping[str, Any]],
        pairs: Mapping[str, Pair] | None = None,
    ) -> None:
        """``hosts``: what each host says of itself (``child.describe``). ``pairs``: with them,
        server and generator of a trial are on different hosts.
        """
        super().__init__(root=root, jobs=jobs)
        self._fleet_id, self.hosts, self.pairs = fleet_id, dict(hosts), dict(pairs or {})
        self._floors: dict[str, list[Mapping[str, Any]]] = {name: [] for name in self.pairs}
        """Of each pair's link, each time that it was measured."""
        self._former: dict[str, Any] = {}
        """Pairs that the interrupted run had and the file has no more."""
        self._packed: dict[str, Packed] = {}

    @property
    def hardware_threads(self) -> int:
        """Of the hosts that run servers."""
        return min(int(one["cores"]) for name, one in self.hosts.items() if self._serves(name))

    def _serves(self, host: str) -> bool:
        return not self.pairs or any(host == pair.server for pair in self.pairs.values())

    @property
    def open_files(self) -> int:
        return min(int(one["open_files"]) for one in self.hosts.values())

    def host(self) -> Mapping[str, Any]:
        found = {"host_id": f"fleet-{self._fleet_id}", "hosts": dict(self.hosts)}
        if not self.pairs:
            return found
        pairs = {
            name: {
                "server": pair.server,
                "generator": pair.generator,
                "address": pair.address,
                "floors": list(self._floors[name]),
            }
            for name, pair in self.pairs.items()
        }
        # Other figures than those of hosts that measure by themselves.
        return {
            **found,
            "host_id": f"fleet-{self._fleet_id}-apart",
            "pairs": {**self._former, **pairs},
        }

    def add_floor(self, pair: Pair, floor: Floor) -> None:
        self._floors[pair.name].append(asdict(floor))

    def remember(self, host: Mapping[str, Any]) -> None:
        """What the interrupted run says of its pairs. ``CatalogError`` where one was another."""
        for name, then in host.get("pairs", {}).items():
            pair = self.pairs.get(name)
            if pair is None:
                self._former[name] = then
                continue
            was = Pair(name=name, **{key: str(then[key]) for key in _OF_A_PAIR})
            if was != pair:
                raise CatalogError(
                    f"pairs.{name}: expected it as it was when the run began ({was}), got {pair}"
                )
            self._floors[name] = list(then["floors"])

    def load_refusal(self, load: Load) -> str | None:
        if not self.pairs:
            return None
        if isinstance(load, ClientLoad):
            return "clients and their server are measured on one host, not by a pair"
        return refusal(load)

    def link_refusal(self) -> str | None:
        refused = {
            name: one["link_refusal"]
            for name, one in self.hosts.items()
            if one["link_refusal"] is not None
        }
        return "; ".join(f"{name}: {why}" for name, why in refused.items()) or None

    def notes(self) -> tuple[str, ...]:
        asleep = [name for name, one in self.hosts.items() if not one["cores_awake"]]
        notes = self._notes_of_pairs() if self.pairs else self._notes_of_hosts()
        if asleep:
            notes.append(
                "idle cores may sleep, so that their wake-up time is part of every round trip, on"
                f" {', '.join(asleep)}"
            )
        return tuple(notes)

    def _notes_of_hosts(self) -> list[str]:
        few = [name for name, one in self.hosts.items() if int(one["cores"]) < 2]
        notes = [
            f"blocks went to {count_of(len(self.hosts), 'host')}; each host is a repeat, so that"
            " what hosts differ by is in every interval"
        ]
        if few:
            notes.append(
                "server and generator share one core, so that throughput is their joint limit, on"
                f" {', '.join(few)}"
            )
        return notes

    def _notes_of_pairs(self) -> list[str]:
        pairs = "; ".join(f"{name}: {pair}" for name, pair in self.pairs.items())
        return [
            f"server and generator were on different hosts ({pairs}), so that the link between"
            " them is part of every figure but the server's CPU and memory",
            f"blocks went to {count_of(len(self.pairs), 'pair')}; each pair is a repeat, so that"
            " what pairs differ by is in every interval",
            "what a server used was read on its own host, at the edges of the generator's window;"
            " memory per connection, and the CPU of ramps and storms, were not",
        ]

    def add(self, name: str, host: Mapping[str, Any]) -> None:
        """A host that joins later. ``HostError`` if the run's cells do not fit it, or the others
        cannot be in one run with it.
        """
        refused = refusals({**self.hosts, name: host})
        needed = {"open_files": self.open_files}
        if self._serves(name):
            needed["cores"] = self.hardware_threads
        for key, least in needed.items():
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
