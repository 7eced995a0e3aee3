"""The server that a client contestant calls outside a run."""

from __future__ import annotations

from wirebench.catalog import Catalog
from wirebench.catalog.contestants import STUDIES
from wirebench.catalog.model import TLS_SCHEMES, Scheme, Workload
from wirebench.catalog.studies import load_studies
from wirebench.process.types import Program

STUDY = "roundtrip"
"""The study of clients, whose servers these are."""


class NoServerError(Exception):
    """None of the servers can run here."""


def server_for(
    catalog: Catalog, workload: Workload, scheme: Scheme, *, jobs: int, name: str | None = None
) -> Program:
    """The study's preferred server of those that can be built; with ``name`` that one."""
    from wirebench.build import build, resolve_command

    names = load_studies(catalog.root / STUDIES)[STUDY].servers if name is None else (name,)
    known = [catalog.contestants[one] for one in names if one in catalog.contestants]
    for server in known:
        if workload not in server.serves or (scheme in TLS_SCHEMES and not server.tls):
            continue
        built = build(server, catalog.root, jobs=jobs)
        if built.folder is not None:
            argv = tuple(resolve_command(server, built.folder, "server"))
            return Program(argv=argv, folder=built.folder)
    raise NoServerError(f"none of its servers can run here: {', '.join(names)}")
