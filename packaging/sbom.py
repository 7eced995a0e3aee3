"""The bill of materials of a release (SPDX 2.3, JSON): which Debian packages each file holds code
of, with their versions and licences.

Which they are is read from the build: each header that was compiled in, by ninja's own record. All
libraries of a static build come from packages whose headers are used too.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from license_expression import get_spdx_licensing
from spdx_tools.spdx.model import (
    Actor,
    ActorType,
    Checksum,
    ChecksumAlgorithm,
    CreationInfo,
    Document,
    Package,
    Relationship,
    RelationshipType,
    SpdxNoAssertion,
)
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
from spdx_tools.spdx.writer.json.json_writer import write_document_to_file

LICENCES = {
    "libbrotli-dev": "MIT",
    "libc6-dev": "LGPL-2.1-or-later",
    "libcli11-dev": "BSD-3-Clause",
    "libfmt-dev": "MIT",
    "libre2-dev": "BSD-3-Clause",
    "libssl-dev": "Apache-2.0",
    "libzstd-dev": "BSD-3-Clause OR GPL-2.0-only",
    "linux-libc-dev": "GPL-2.0-only WITH Linux-syscall-note",
    "nlohmann-json3-dev": "MIT",
    "rapidjson-dev": "MIT",
    "zlib1g-dev": "Zlib",
}
RUNTIME = re.compile(r"lib(gcc|stdc\+\+)-[0-9]+-dev")
"""GCC's own libraries, of which each version has packages of its own."""
RUNTIME_LICENCE = "GPL-3.0-or-later WITH GCC-exception-3.1"
OWN_LICENCE = "MIT"
DOCUMENT = "SPDXRef-DOCUMENT"


class SbomError(Exception):
    """What is missing for a bill of materials."""


def packages_of(build: Path, parts: Sequence[str]) -> set[str]:
    """The Debian packages whose headers were compiled into objects below these folders of a build
    with ninja.
    """
    said = _output(["ninja", "-C", str(build), "-t", "deps"])
    headers: set[str] = set()
    wanted = False
    for line in said.splitlines():
        if line and not line.startswith(" "):
            wanted = line.startswith(tuple(parts))
        elif wanted and line.strip().startswith("/usr/"):
            headers.add(str(Path(line.strip()).resolve()))
    owners = _output(["dpkg-query", "--search", *sorted(headers)]) if headers else ""
    return {line.split(":", 1)[0] for line in owners.splitlines()}


def write(file: Path, version: str, epoch: int, holds: dict[Path, set[str]]) -> None:
    """Writes the document. ``holds``: the packages that each released file has code of; ``epoch``:
    the time that stands for the time of the build, in seconds. ``SbomError`` for a package whose
    licence is not in the table, and for a document that breaks the specification.
    """
    wanted = sorted({package for packages in holds.values() for package in packages})
    unknown = [name for name in wanted if licence_of(name) is None]
    if unknown:
        raise SbomError(
            f"packaging/sbom.py: LICENCES: expected the licence of {', '.join(unknown)}, got none"
        )
    files = [_file_package(path, version) for path in sorted(holds)]
    libraries = [_debian_package(name) for name in wanted]
    relations = [Relationship(DOCUMENT, RelationshipType.DESCRIBES, one.spdx_id) for one in files]
    for path in sorted(holds):
        relations += [
            Relationship(_identity(path.name), RelationshipType.CONTAINS, _identity(name))
            for name in sorted(holds[path])
        ]
    sums = "".join(str(one.checksums[0].value) for one in files)
    document = Document(
        CreationInfo(
            spdx_version="SPDX-2.3",
            spdx_id=DOCUMENT,
            name=f"wirebench-{version}",
            document_namespace=f"urn:wirebench:{version}:{hashlib.sha256(sums.encode()).hexdigest()}",
            creators=[Actor(ActorType.ORGANIZATION, "The wirebench authors")],
            created=datetime.fromtimestamp(epoch, UTC).replace(tzinfo=None),
        ),
        packages=[*files, *libraries],
        relationships=relations,
    )
    problems = validate_full_spdx_document(document)
    if problems:
        raise SbomError("; ".join(problem.validation_message for problem in problems))
    write_document_to_file(document, str(file), validate=False)


def licence_of(package: str) -> str | None:
    """Its SPDX expression; None where nobody has looked it up."""
    return RUNTIME_LICENCE if RUNTIME.fullmatch(package) else LICENCES.get(package)


def _file_package(file: Path, version: str) -> Package:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return Package(
        spdx_id=_identity(file.name),
        name=file.name,
        version=version,
        file_name=file.name,
        download_location=SpdxNoAssertion(),
        files_analyzed=False,
        license_declared=get_spdx_licensing().parse(OWN_LICENCE),
        checksums=[Checksum(ChecksumAlgorithm.SHA256, digest)],
    )


def _debian_package(name: str) -> Package:
    return Package(
        spdx_id=_identity(name),
        name=name,
        version=_output(["dpkg-query", "--show", "--showformat=${Version}", name]),
        supplier=Actor(ActorType.ORGANIZATION, "Debian"),
        download_location=SpdxNoAssertion(),
        files_analyzed=False,
        license_declared=get_spdx_licensing().parse(licence_of(name)),
    )


def _identity(name: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
