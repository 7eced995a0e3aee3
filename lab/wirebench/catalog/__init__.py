"""What can be measured: contestants from their manifests, and studies
(``wirebench.catalog.studies``).
"""

from __future__ import annotations

from wirebench.catalog.contestants import (
    Catalog,
    ManifestError,
    contestant_folders,
    find_root,
    load_catalog,
)
from wirebench.catalog.errors import CatalogError, UnavailableError
from wirebench.catalog.model import (
    CALLED,
    SCHEMES,
    TIERS,
    WORKLOADS,
    Contestant,
    Disabled,
    Needs,
    Role,
    Scheme,
    Tier,
    Workload,
)

__all__ = [
    "CALLED",
    "SCHEMES",
    "TIERS",
    "WORKLOADS",
    "Catalog",
    "CatalogError",
    "Contestant",
    "Disabled",
    "ManifestError",
    "Needs",
    "Role",
    "Scheme",
    "Tier",
    "UnavailableError",
    "Workload",
    "contestant_folders",
    "find_root",
    "load_catalog",
]
