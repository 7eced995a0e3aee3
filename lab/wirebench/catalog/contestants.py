"""The catalog: every contestant of a project, and the choice of some of them by name."""

from __future__ import annotations

import difflib
import fnmatch
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from wirebench.catalog.errors import CatalogError
from wirebench.catalog.installed import installed_project
from wirebench.catalog.manifest import MANIFEST, read_contestant
from wirebench.catalog.model import TIERS, Contestant

CONTESTANTS = "contestants"
STUDIES = "studies"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


@dataclass(frozen=True, kw_only=True)
class ManifestError:
    """A contestant that cannot be used because its manifest is wrong. The others stand."""

    identity: str
    path: Path
    message: str


@dataclass(frozen=True, kw_only=True)
class Catalog:
    root: Path
    contestants: Mapping[str, Contestant]
    """By identity, in the order of the identities."""
    errors: tuple[ManifestError, ...] = ()

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(sorted({one.language for one in self.contestants.values()}))

    def select(self, selectors: Iterable[str] = ()) -> tuple[Contestant, ...]:
        """The contestants the selectors name, each once, in the catalog's order; all of them if
        there is no selector.

        A selector is an identity (``go/net-http``), a tier (``floor``), a name that only one
        language has, a language, or a glob over identities (``go/*``); one string may hold several
        with commas between. One that names nothing is an error.
        """
        wanted = [
            part.strip() for selector in selectors for part in selector.split(",") if part.strip()
        ]
        if not wanted:
            return tuple(self.contestants.values())
        chosen = {identity for selector in wanted for identity in self._matches(selector)}
        return tuple(one for identity, one in self.contestants.items() if identity in chosen)

    def _matches(self, selector: str) -> list[str]:
        if selector in self.contestants:
            return [selector]
        for error in self.errors:
            if error.identity == selector:
                raise CatalogError(error.message)
        if any(character in selector for character in "*?["):
            found = [
                identity for identity in self.contestants if fnmatch.fnmatchcase(identity, selector)
            ]
        elif selector in TIERS:
            found = [one.identity for one in self.contestants.values() if one.tier == selector]
        else:
            found = [one.identity for one in self.contestants.values() if one.name == selector]
            if len(found) > 1:
                raise CatalogError(
                    f"{selector}: expected a name that one contestant has, got {', '.join(found)}"
                )
            found = found or [
                one.identity for one in self.contestants.values() if one.language == selector
            ]
        if not found:
            raise CatalogError(self._unknown(selector))
        return found

    def _unknown(self, selector: str) -> str:
        known = {one.name: one.identity for one in self.contestants.values()}
        known |= {word: word for word in (*self.contestants, *TIERS)}
        known |= {one.language: one.language for one in self.contestants.values()}
        close = difflib.get_close_matches(selector, known, n=3, cutoff=0.6)
        if close:
            hint = f"did you mean {' or '.join(dict.fromkeys(known[word] for word in close))}?"
        else:
            hint = "'wirebench list' shows them all"
        return f"{selector}: no contestant has this name; {hint}"


def load_catalog(root: Path) -> Catalog:
    """All contestants below ``root``. One with a wrong manifest is in ``errors``; it does not stop
    the others.
    """
    contestants: dict[str, Contestant] = {}
    errors: list[ManifestError] = []
    for folder in contestant_folders(root):
        identity = f"{folder.parent.name}/{folder.name}"
        try:
            for part in (folder.parent, folder):
                if _NAME.fullmatch(part.name) is None:
                    raise CatalogError(
                        f"{part}: expected a folder name of a-z, 0-9, '-' and '_', "
                        f"got {part.name!r}"
                    )
            contestants[identity] = read_contestant(folder, root=root)
        except CatalogError as error:
            errors.append(
                ManifestError(identity=identity, path=folder / MANIFEST, message=str(error))
            )
    return Catalog(root=root, contestants=contestants, errors=tuple(errors))


def contestant_folders(root: Path) -> list[Path]:
    """Folders that hold a manifest, in the order of their identities; those whose names begin with
    ``_`` or ``.`` are none.
    """
    return sorted(
        manifest.parent
        for manifest in (root / CONTESTANTS).glob(f"*/*/{MANIFEST}")
        if not any(
            part.startswith(("_", ".")) for part in manifest.relative_to(root / CONTESTANTS).parts
        )
    )


def find_root(start: Path | None = None) -> Path:
    """The project: ``WIREBENCH_ROOT``, else the nearest folder from ``start`` (the current one)
    upward that is one, else the checkout this package runs from, else what the installed package
    brings (``installed_project``).
    """
    given = os.environ.get("WIREBENCH_ROOT")
    if given:
        root = Path(given).resolve()
        if not (root / CONTESTANTS).is_dir():
            raise CatalogError(
                f"WIREBENCH_ROOT: expected a folder that holds {CONTESTANTS}/, got {given!r}"
            )
        return root
    here = (start or Path.cwd()).resolve()
    checkout = Path(__file__).resolve().parents[3]
    for folder in (here, *here.parents, checkout):
        # Both, because a build folder has a contestants/ of its own.
        if (folder / CONTESTANTS).is_dir() and (folder / STUDIES).is_dir():
            return folder
    installed = installed_project()
    if installed is not None:
        return installed
    raise CatalogError(
        f"{here}: expected to be inside a wirebench project "
        f"(a folder with {CONTESTANTS}/ and {STUDIES}/); change to it or set WIREBENCH_ROOT"
    )
