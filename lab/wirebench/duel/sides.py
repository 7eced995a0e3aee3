"""The sides of a duel: commands that start a server, or addresses of servers that run already."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from wirebench.catalog.errors import CatalogError
from wirebench.catalog.model import SCHEMES, Contestant, Scheme
from wirebench.process.types import Program

MOST_SIDES = 8
_OPTIONS: Mapping[str, str] = {
    "http": "neither --ws nor --tls",
    "https": "--tls without --ws",
    "ws": "--ws without --tls",
    "wss": "--ws and --tls",
}
"""What asks for a load of this scheme."""


@dataclass(frozen=True, kw_only=True)
class Side:
    name: str
    """A, B, C and so on."""
    given: str
    """The command or address as the user wrote it."""
    url: str | None = None
    """``scheme://host:port`` of a server that runs already; None: ``given`` is a command."""
    folder: Path = field(default_factory=Path.cwd)
    """Where the command runs."""
    label: str = ""
    """What it is, if not its command: a revision."""

    def program(self) -> Program:
        """A shell runs the command, so that it may be anything a user types there. Nothing is
        started where there is an address.
        """
        return Program(argv=("/bin/sh", "-c", self.given), folder=self.folder)

    def contestant(self) -> Contestant:
        return Contestant(
            identity=self.name,
            language="duel",
            language_title="duel",
            name=self.name,
            folder=self.folder,
            library=self.label or self.given,
            version="",
            license="",
            homepage="",
            tier="idiomatic",
        )


def sides_of(
    given: Sequence[str],
    *,
    folders: Sequence[Path],
    labels: Sequence[str] = (),
) -> tuple[Side, ...]:
    """The sides in order. ``folders``: one for all, or one for each. ``CatalogError`` where an
    argument is neither a command nor an address.
    """
    if not 2 <= len(given) <= MOST_SIDES:
        raise CatalogError(
            f"COMMAND: expected 2 to {MOST_SIDES} commands or addresses, got {len(given)}"
        )
    found = []
    for place, text in enumerate(given):
        if not text.strip():
            raise CatalogError("COMMAND: expected a command or an address, got nothing")
        found.append(
            Side(
                name=string.ascii_uppercase[place],
                given=text,
                url=address_of(text),
                folder=folders[place % len(folders)],
                label=labels[place] if place < len(labels) else "",
            )
        )
    return tuple(found)


def check_schemes(given: Sequence[str], scheme: Scheme) -> None:
    """``CatalogError`` where an address is of another scheme than the load, which is the same for
    all.
    """
    for text in given:
        address = address_of(text)
        found = address.partition("://")[0] if address is not None else scheme
        if found != scheme:
            raise CatalogError(
                f"{text}: expected {scheme}://host:port; {found}:// takes {_OPTIONS[found]}"
            )


def address_of(text: str) -> str | None:
    """``scheme://host:port`` if the argument is an address; None if it is a command."""
    scheme, found, _ = text.partition("://")
    if not found or scheme not in SCHEMES:
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise CatalogError(f"{text}: expected {scheme}://host:port, got {error}") from error
    if not parts.hostname or parts.path not in ("", "/") or parts.query or parts.username:
        raise CatalogError(
            f"{text}: expected {scheme}://host:port alone; the path is for all: --path"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{scheme}://{host}" + (f":{port}" if port is not None else "")


def environment_of(given: Sequence[str]) -> Mapping[str, str]:
    """``KEY=VALUE`` words as a mapping."""
    found = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise CatalogError(f"--env: expected NAME=VALUE, got {word!r}")
        found[name] = value
    return found
