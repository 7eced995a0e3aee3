"""PHP packages, by Composer's lock file, its folder of packages and its cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from wirebench.footprint.graph import json_apart, with_parts
from wirebench.footprint.model import Bill, FootprintError, Package, Piece, Site
from wirebench.footprint.sizes import size_of
from wirebench.host.composer import Composed, ComposerError, composed

compiled: tuple[str, ...] = ()


def read(site: Site) -> Bill:
    found = _composed(site)
    packages = (
        packages_of(
            found.locked,
            direct=found.direct,
            installed=lambda name: size_of(_vendor(found, site) / name),
            downloaded=_archive,
        )
        if found is not None
        else ()
    )
    return Bill(manager="Composer", packages=with_parts(packages, json=json_apart(site.contestant)))


def offline(_site: Site) -> Mapping[str, str]:
    return {"COMPOSER_DISABLE_NETWORK": "1"}


def pieces(site: Site) -> tuple[Piece, ...]:
    found = _composed(site)
    own = Piece(
        name="the contestant's own files",
        bytes=size_of(site.contestant.folder, without=("vendor",)) or 0,
    )
    if found is None:
        return (own,)
    vendor = _vendor(found, site)
    loader = size_of(vendor / "composer"), size_of(vendor / "autoload.php")
    sizes = [one.installed_bytes for one in read(site).packages]
    return (
        Piece(name="packages", bytes=sum(size or 0 for size in sizes)),
        Piece(name="Composer's loader", bytes=sum(size or 0 for size in loader)),
        own,
    )


def _composed(site: Site) -> Composed | None:
    try:
        return composed(site.contestant)
    except ComposerError as error:
        raise FootprintError(str(error)) from error


def _vendor(found: Composed, site: Site) -> Path:
    return found.vendor if found.vendor is not None else site.build / "vendor"


def packages_of(
    locked: Iterable[Mapping[str, Any]],
    *,
    direct: frozenset[str],
    installed: Callable[[str], int | None],
    downloaded: Callable[[Mapping[str, Any]], int | None],
) -> tuple[Package, ...]:
    """Those of a lock file. ``installed``: bytes of the folder of a package; ``downloaded``: those
    of its archive.
    """
    known = {str(one["name"]).lower(): one for one in locked}
    # A package may stand for another, such as one of interfaces that only has a name.
    stands_for = {
        str(other).lower(): name
        for name, one in known.items()
        for kind in ("replace", "provide")
        for other in one.get(kind) or ()
    }
    return tuple(
        Package(
            key=name,
            name=str(one["name"]),
            version=str(one.get("version", "")),
            requires=tuple(_requires(one, known, stands_for)),
            direct=name in direct,
            licence=_licence(one),
            download_bytes=0 if _is_empty(one) else downloaded(one),
            installed_bytes=0 if _is_empty(one) else installed(str(one["name"])),
            ecosystem="Packagist",
        )
        for name, one in known.items()
    )


def _requires(
    one: Mapping[str, Any], known: Mapping[str, Any], stands_for: Mapping[str, str]
) -> Iterator[str]:
    """Without PHP and its extensions."""
    for wanted in one.get("require") or ():
        name = str(wanted).lower()
        if name in known:
            yield name
        elif name in stands_for:
            yield stands_for[name]


def _is_empty(one: Mapping[str, Any]) -> bool:
    return one.get("type") == "metapackage"


def _licence(one: Mapping[str, Any]) -> str | None:
    """Of several one may choose (getcomposer.org/doc/04-schema.md, "license")."""
    found = [str(it) for it in one.get("license") or ()]
    if len(found) > 1:
        found = [f"({it})" if " " in it else it for it in found]
    return " OR ".join(found) or None


def _archive(one: Mapping[str, Any]) -> int | None:
    """Composer keeps it below the package's name, by the address that it is from
    (Composer\\Downloader\\FileDownloader).
    """
    dist = one.get("dist") or {}
    digest = hashlib.sha1(str(dist.get("url", "")).encode(), usedforsecurity=False).hexdigest()
    file = Path(str(one["name"]).lower()) / f"{digest}.{dist.get('type', '')}"
    sizes = (size_of(cache / "files" / file) for cache in _caches())
    return next((size for size in sizes if size is not None), None)


def _caches() -> Iterator[Path]:
    """Where Composer looks for its cache, in its order."""
    if given := os.environ.get("COMPOSER_CACHE_DIR"):
        yield Path(given)
    elif home := os.environ.get("COMPOSER_HOME"):
        yield Path(home) / "cache"
    else:
        yield Path.home() / ".composer" / "cache"
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "composer"
