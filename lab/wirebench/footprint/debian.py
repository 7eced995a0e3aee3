"""Debian packages, by dpkg's and apt's own data: for C and C++, which have no package manager of
their own.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wirebench.catalog.model import Contestant
from wirebench.footprint import native
from wirebench.footprint.graph import json_apart, names_json, reachable, with_parts
from wirebench.footprint.licence_names import from_debian, in_text
from wirebench.footprint.model import Bill, FootprintError, Package, Piece, Site
from wirebench.footprint.sizes import size_of
from wirebench.host.commands import PACKAGE_OF
from wirebench.host.debian import has_dpkg

compiled: tuple[str, ...] = (".c", ".cc", ".cpp")

_DOC = Path("/usr/share/doc")
_FIELDS = (
    "${db:Status-Status}\t${Package}\t${Version}\t${Installed-Size}\t${Essential}\t${Priority}"
    "\t${source:Package}\t${source:Version}\t${Provides}\t${Pre-Depends}\t${Depends}\n"
)
_RUNTIME = re.compile(
    r"libc6|libc6-dev|libc-dev-bin|linux-libc-dev|libcrypt1|libcrypt-dev"
    r"|libstdc\+\+6|libstdc\+\+-\d+-dev|libgcc-s1|libgcc-\d+-dev|gcc-\d+-base"
)
"""The C and C++ libraries of the compiler."""
_TOOLS = frozenset(PACKAGE_OF.values()) - {"nginx-light"}


def read(site: Site) -> Bill:
    if not has_dpkg():
        raise FootprintError("dependencies are read from dpkg, which this host does not have")
    known = parse_installed(site.ask(["dpkg-query", "-W", f"-f={_FIELDS}"]))
    if site.contestant.needs.files:
        files = ", ".join(site.contestant.needs.files)
        raise FootprintError(f"{files}: installed by hand, so no package manager knows what it is")
    if (site.contestant.folder / "Cargo.lock").is_file():
        raise FootprintError("its sources are in a crate of something else, so nobody counts them")
    roots = [name for name in site.contestant.needs.debian if name not in _TOOLS]
    missing = [name for name in roots if name not in known]
    if missing:
        raise FootprintError(f"dpkg: expected {', '.join(missing)}, got no such package")
    bill = bill_of(known, roots, json=json_apart(site.contestant))
    names = [one.name for one in bill]
    shown = site.ask(["apt-cache", "show", *names]) if names else ""
    downloads = parse_downloads(shown)
    ecosystem = ecosystem_of(_os_release())
    packages = [
        replace(
            one,
            download_bytes=downloads.get((one.name, one.version), downloads.get((one.name, ""))),
            licence=licence_of(_text(_DOC / one.name / "copyright")),
            ecosystem=ecosystem,
        )
        for one in bill
    ]
    return Bill(
        manager="Debian",
        packages=(*packages, *_own_source(site.contestant, site.root)),
        header_only=_header_only(site, known, roots),
    )


def ecosystem_of(release: Mapping[str, str]) -> str:
    """OSV's name of a distribution and its release, by os-release(5); empty where none is known,
    as of a derivative, whose packages have versions of their own.
    """
    name, version = release.get("ID"), release.get("VERSION_ID", "")
    if name == "debian":
        # Without a number: testing and unstable.
        return f"Debian:{version.partition('.')[0]}" if version else "Debian"
    if name == "ubuntu" and version:
        return f"Ubuntu:{version}" + (":LTS" if "LTS" in release.get("VERSION", "") else "")
    return ""


def _os_release() -> Mapping[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def offline(_site: Site) -> Mapping[str, str]:
    return {}


def pieces(site: Site) -> tuple[Piece, ...]:
    known = parse_installed(site.ask(["dpkg-query", "-W", f"-f={_FIELDS}"])) if has_dpkg() else {}
    everywhere = baseline_of(known)

    def common(paths: Sequence[Path]) -> set[Path]:
        # The linker names /lib what packages put into /usr/lib (UsrMerge).
        asked = {str(path): path for path in paths} | {f"/usr{path}": path for path in paths}
        if not asked or not known:
            return set()
        try:
            owners = parse_owners(site.ask(["dpkg-query", "-S", *asked]))
        except FootprintError:  # so it ends where no package has any of them
            return set()
        return {asked[name] for name, owner in owners.items() if owner in everywhere}

    return native.pieces(site, common=common)


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A line of dpkg-query."""

    name: str
    version: str
    installed_bytes: int
    base: bool
    """In every installation (Debian Policy 3.8, and priority "required")."""
    source: str
    source_version: str
    provides: tuple[str, ...]
    depends: tuple[tuple[str, ...], ...]
    """Each one of several alternatives."""


def parse_installed(text: str) -> dict[str, Installed]:
    found: dict[str, Installed] = {}
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) != 11 or fields[0] != "installed":
            continue
        _, name, version, size, essential, priority, source, source_version = fields[:8]
        found.setdefault(
            name,
            Installed(
                name=name,
                version=version,
                # In KiB (Debian Policy 5.6.20).
                installed_bytes=int(size or 0) * 1024,
                base=essential == "yes" or priority == "required",
                source=source,
                source_version=source_version,
                provides=tuple(_names(fields[8], ",")),
                depends=tuple(
                    tuple(_names(group, "|"))
                    for group in [*fields[9].split(","), *fields[10].split(",")]
                    if group.strip()
                ),
            ),
        )
    return found


def _names(text: str, separator: str) -> Iterator[str]:
    for part in text.split(separator):
        name = part.strip().split(" ")[0].split(":")[0]
        if name:
            yield name


def bill_of(
    known: Mapping[str, Installed], roots: Collection[str], *, json: str | None
) -> tuple[Package, ...]:
    """What the roots need, with whose cost it is. Sizes to download, licences and the ecosystem
    are not in it.
    """
    requires = _requires(known)
    needed = reachable(roots, requires)
    packages = [
        Package(
            key=one.name,
            name=one.name,
            version=one.version,
            requires=requires[one.name],
            direct=one.name in roots,
            installed_bytes=one.installed_bytes,
            audited=one.source,
            audited_version=one.source_version,
        )
        for one in known.values()
        if one.name in needed
    ]
    return with_parts(packages, json=json, baseline=baseline_of(known))


def baseline_of(known: Mapping[str, Installed]) -> set[str]:
    """The C and C++ libraries, and what every installation has."""
    requires = _requires(known)
    base = reachable((one.name for one in known.values() if one.base), requires)
    return base | {name for name in known if _RUNTIME.fullmatch(name)}


def _requires(known: Mapping[str, Installed]) -> dict[str, tuple[str, ...]]:
    # No library needs what only the C library's headers need, such as Kerberos.
    return {
        one.name: () if _RUNTIME.fullmatch(one.name) else tuple(_chosen(one, known))
        for one in known.values()
    }


def _chosen(one: Installed, known: Mapping[str, Installed]) -> Iterator[str]:
    """Of alternatives the first that is installed, or else what provides one."""
    for group in one.depends:
        for name in group:
            if name in known:
                yield name
                break
        else:
            providers = (it.name for it in known.values() if set(group) & set(it.provides))
            yield from (name for name in (next(providers, None),) if name is not None)


def parse_downloads(text: str) -> dict[tuple[str, str], int]:
    """The size of each package, by name and version, by what ``apt-cache show`` prints. Without a
    version: of the first, which apt would install now.
    """
    found: dict[tuple[str, str], int] = {}
    for stanza in text.split("\n\n"):
        fields = dict(
            line.split(": ", 1)
            for line in stanza.splitlines()
            if re.match(r"(Package|Version|Size): ", line)
        )
        if len(fields) == 3:
            name, size = fields["Package"], int(fields["Size"])
            found[name, fields["Version"]] = size
            found.setdefault((name, ""), size)
    return found


def parse_owners(text: str) -> dict[str, str]:
    """The package of each file, by what ``dpkg-query -S`` prints."""
    found = {}
    for line in text.splitlines():
        packages, separator, path = line.partition(": ")
        if separator and not line.startswith("diversion "):
            found[path] = packages.partition(",")[0].partition(":")[0]
    return found


def licence_of(copyright_text: str) -> str | None:
    """By a copyright file: in the machine-readable form (DEP 5) that of ``Files: *``, otherwise
    by the licence's own words where it holds only one.
    """
    if not copyright_text.startswith("Format"):
        found = in_text(copyright_text)
        return found[0] if len(found) == 1 else None
    stanzas = re.split(r"\n\s*\n", copyright_text)
    for stanza in stanzas:
        files = re.search(r"(?m)^Files:\s*(.*)$", stanza)
        licence = re.search(r"(?m)^License:[ \t]*(\S.*)$", stanza)
        if files is not None and files[1].split()[:1] == ["*"] and licence is not None:
            return from_debian(licence[1])
    return None


def is_header_only(files: Iterable[str]) -> bool | None:
    """By the files of a development package. None: it has no headers."""
    names = list(files)
    if not any(re.search(r"/usr/include/.*\.\w+$", name) for name in names):
        return None
    return not any(re.search(r"\.(so|a)(\.\d+)*$", name) for name in names)


def _header_only(site: Site, known: Mapping[str, Installed], roots: list[str]) -> bool | None:
    """The first package that the manifest names is the library's; a metapackage stands for what it
    depends on.
    """
    json = json_apart(site.contestant)
    own = [name for name in roots if json is None or not names_json(name, json)]
    if _own_source(site.contestant, site.root):
        return False
    if not own:
        return None
    for name in (own[0], *_chosen(known[own[0]], known)):
        found = is_header_only(site.ask(["dpkg-query", "-L", name]).splitlines())
        if found is not None:
            return found
    return None


def _own_source(contestant: Contestant, root: Path) -> tuple[Package, ...]:
    """A library that this project builds from its own folders, as one package: its size is that of
    all its sources.
    """
    inputs = [one for one in contestant.build_inputs if one.split("/")[0] != "contestants"]
    folders = [root / one for one in inputs if (root / one).is_dir()]
    if not folders:
        return ()
    size = sum(size_of(root / one) or 0 for one in inputs)
    return (
        Package(
            key=f"{contestant.library} (source)",
            name=f"{contestant.library} (source)",
            version=contestant.version,
            direct=True,
            licence=contestant.license,
            download_bytes=size,
            installed_bytes=size,
        ),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
