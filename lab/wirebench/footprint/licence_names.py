"""Licences as package managers name them, in SPDX."""

from __future__ import annotations

import re
from pathlib import Path

_DEBIAN = {
    "expat": "MIT",
    "mit/x11": "MIT",
    "bsd": "BSD-3-Clause",
    "bsd2": "BSD-2-Clause",
    "bsd3": "BSD-3-Clause",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "bsd-4-clause": "BSD-4-Clause",
    "boost-1.0": "BSL-1.0",
    "bsl-1": "BSL-1.0",
    "bsl-1.0": "BSL-1.0",
    "openldap-2.8": "OLDAP-2.8",
    "openldap": "OLDAP-2.8",
    "psf-2": "Python-2.0",
    "pd": "LicenseRef-public-domain",
    "public-domain": "LicenseRef-public-domain",
    "zlib": "Zlib",
    "isc": "ISC",
    "curl": "curl",
    "apache-2": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "artistic": "Artistic-1.0",
    "artistic-2": "Artistic-2.0",
}
_GNU = re.compile(r"(a?gpl|lgpl|gfdl)-?v?(\d)(?:\.(\d))?(\+?)")

_NAMES = (
    (r"apache.*2", "Apache-2.0"),
    (r"\bmit\b|mit licen[cs]e|expat", "MIT"),
    (r"(bsd.*(3|new|modified)|(3|new).*bsd)", "BSD-3-Clause"),
    (r"(bsd.*2|simplified.*bsd|2.*bsd)", "BSD-2-Clause"),
    (r"eclipse public.*2|epl.*2", "EPL-2.0"),
    (r"eclipse public.*1|epl.*1", "EPL-1.0"),
    (r"mozilla public.*2|mpl.*2", "MPL-2.0"),
    (r"lesser general public.*2\.1|lgpl.*2\.1", "LGPL-2.1-or-later"),
    (r"python software foundation|\bpsf\b", "PSF-2.0"),
    (r"\bisc\b", "ISC"),
)

_TEXTS = (
    ("Apache License Version 2.0", "Apache-2.0"),
    ("Boost Software License - Version 1.0", "BSL-1.0"),
    ("Mozilla Public License Version 2.0", "MPL-2.0"),
    ("Mozilla Public License, version 2.0", "MPL-2.0"),
    ("Permission to use, copy, modify, and/or distribute this software for any purpose", "ISC"),
    ("GNU AFFERO GENERAL PUBLIC LICENSE", "AGPL-3.0-only"),
    ("GNU LESSER GENERAL PUBLIC LICENSE Version 3", "LGPL-3.0-only"),
    ("GNU LESSER GENERAL PUBLIC LICENSE Version 2.1", "LGPL-2.1-only"),
    ("GNU GENERAL PUBLIC LICENSE Version 3", "GPL-3.0-only"),
    ("GNU GENERAL PUBLIC LICENSE Version 2", "GPL-2.0-only"),
)
_MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy"
_BSD = "Redistribution and use in source and binary forms, with or without modification"
_ENDORSE = re.compile(r"\bendorse or promote\b", re.IGNORECASE)


def from_debian(text: str) -> str:
    """The short names of Debian's machine-readable copyright files (DEP 5) as SPDX. Names that it
    does not know stay.
    """
    # A comma makes "and" and "or" bind less: "A or B, and C" is "(A or B) and C".
    first, *others = re.split(r",\s+(and|or)\s+", text.strip(), flags=re.IGNORECASE)
    joined = _from_debian(first)
    for operator, group in zip(others[::2], others[1::2], strict=True):
        groups: tuple[str, ...] = (joined, _from_debian(group))
        if operator.lower() == "and":
            groups = tuple(f"({it})" if " OR " in it else it for it in groups)
        joined = f" {operator.upper()} ".join(groups)
    return joined


def _from_debian(text: str) -> str:
    words = re.split(r"\s*(\s+and\s+|\s+or\s+|,)\s*", text.strip(), flags=re.IGNORECASE)
    parts = []
    for index, word in enumerate(words):
        if index % 2:
            parts.append("OR" if "or" in word.lower().split() else "AND")
        else:
            parts.append(_debian_name(word))
    return " ".join(parts)


def _debian_name(word: str) -> str:
    name, _, exception = word.partition(" with ")
    plain = name.strip().lower()
    if exception:
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", exception.strip())
        return f"{_debian_name(name)} WITH {slug}"
    if plain in _DEBIAN:
        return _DEBIAN[plain]
    gnu = _GNU.fullmatch(plain)
    if gnu is not None:
        major, minor, later = gnu[2], gnu[3] or "0", "or-later" if gnu[4] else "only"
        return f"{gnu[1].upper()}-{major}.{minor}-{later}"
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", word.strip())


def from_name(text: str) -> str | None:
    """A licence's title, such as ``The Apache Software License, Version 2.0``. None: no known
    one.
    """
    lower = " ".join(text.lower().split())
    return next((spdx for pattern, spdx in _NAMES if re.search(pattern, lower)), None)


def in_text(text: str) -> tuple[str, ...]:
    """The well-known licences whose own words a text holds."""
    plain = " ".join(text.split())
    found = {spdx for words, spdx in _TEXTS if words.lower() in plain.lower()}
    if _MIT in plain:
        found.add("MIT")
    if _BSD in plain:
        found.add("BSD-3-Clause" if _ENDORSE.search(plain) else "BSD-2-Clause")
    return tuple(sorted(found))


def in_folder(folder: Path) -> str | None:
    """By the text of a licence file, whose name is a convention. Of several licences in it, each is
    that of a part.
    """
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if re.fullmatch(r"(?i)(licen[cs]e|copying)(\.(md|txt))?", path.name) and path.is_file():
            found = in_text(path.read_text(encoding="utf-8", errors="replace"))
            return " AND ".join(found) or None
    return None
