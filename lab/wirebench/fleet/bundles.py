"""A build as it travels: its files by content, checked where they arrive and before each block.

A bundle holds what one contestant needs on another host (folder, language defaults, shared inputs,
build), or the native programs. Its name is the digest of its list of files.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from wirebench.catalog.manifest import LANGUAGE
from wirebench.catalog.model import Contestant

_SKIPPED = frozenset({"__pycache__"})
MOST_BYTES = 2 * 2**30
"""A larger bundle is refused where it arrives. Our own choice."""


class BundleError(Exception):
    """What was sent, or lies there, is not what was packed. The text is for the user."""


@dataclass(frozen=True, kw_only=True)
class Packed:
    """``files``: by path, ``x`` (program), ``-`` (file) or ``l`` (link) with the SHA-256 of the
    content or of the link's target.
    """

    files: Mapping[str, str]
    content: bytes
    """A tar archive."""

    @property
    def digest(self) -> str:
        return list_digest(self.files)


def list_digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def pack(paths: Iterable[tuple[Path, str]]) -> Packed:
    """Pack files and folders, each with the path that it gets."""
    files: dict[str, str] = {}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for source, name in paths:
            for file, path in _walk(source, name):
                files[path] = _fingerprint(file)
                _add(archive, file, path)
    return Packed(files=files, content=buffer.getvalue())


def pack_contestant(contestant: Contestant, root: Path, build: Path) -> Packed:
    """Everything that the contestant needs to run below another root."""
    root = root.resolve()
    language = contestant.folder.parent / LANGUAGE
    wanted = [contestant.folder, *([language] if language.is_file() else [])]
    wanted += [root / given for given in contestant.build_inputs]
    wanted += [build] if build.is_dir() and build != contestant.folder else []
    return pack((path, str(path.resolve().relative_to(root))) for path in wanted)


def pack_programs(programs: Iterable[Path]) -> Packed:
    return pack((path, f"bin/{path.name}") for path in programs)


def unpack(content: bytes, files: Mapping[str, str], root: Path) -> None:
    """Write the bundle below ``root``. ``BundleError`` if it is not exactly what ``files`` says, or
    would write elsewhere. What is there already is replaced.
    """
    seen = set()
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for member in archive:
            if member.name not in files:
                raise BundleError(f"{member.name}: expected a file of the list, got another")
            target = _inside(root, member.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            if member.issym():
                target.symlink_to(member.linkname)
            elif member.isfile():
                read = archive.extractfile(member)
                assert read is not None
                target.write_bytes(read.read())
                target.chmod(0o755 if member.mode & 0o100 else 0o644)
            else:
                raise BundleError(f"{member.name}: expected a file or a link, got neither")
            seen.add(member.name)
    missing = sorted(set(files) - seen)
    if missing:
        raise BundleError(f"{missing[0]}: expected it in the bundle, got none")
    check(files, root)


def check(files: Mapping[str, str], root: Path) -> None:
    """``BundleError`` if a file is not what was packed."""
    for path, wanted in files.items():
        target = _inside(root, path)
        try:
            found = _fingerprint(target)
        except OSError as error:
            raise BundleError(
                f"{target}: expected it as it was packed, got {error.strerror}"
            ) from error
        if found != wanted:
            raise BundleError(f"{target}: expected it as it was packed, got other content")


def _inside(root: Path, path: str) -> Path:
    """Where a path of a bundle lies; also no link on the way leads out of the root."""
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts:
        raise BundleError(f"{path!r}: expected a path inside the bundle")
    target = root.joinpath(*parts.parts)
    if not target.parent.resolve().is_relative_to(root.resolve()):
        raise BundleError(f"{path!r}: expected a path inside the bundle, got a link out of it")
    return target


def _add(archive: tarfile.TarFile, file: Path, path: str) -> None:
    """Only what the list has: no owner, no time."""
    member = tarfile.TarInfo(path)
    if file.is_symlink():
        member.type, member.linkname = tarfile.SYMTYPE, os.fspath(file.readlink())
        archive.addfile(member)
        return
    content = file.read_bytes()
    member.size, member.mode = len(content), file.stat().st_mode & 0o777
    archive.addfile(member, io.BytesIO(content))


def _walk(source: Path, name: str) -> Iterable[tuple[Path, str]]:
    if source.is_symlink() or not source.is_dir():
        yield source, name
        return
    for folder, folders, files in os.walk(source):
        folders[:] = sorted(one for one in folders if one not in _SKIPPED)
        links = [one for one in folders if Path(folder, one).is_symlink()]
        for file in sorted([*files, *links]):
            path = Path(folder, file)
            if path.is_symlink() or path.is_file():
                yield path, str(PurePosixPath(name, *path.relative_to(source).parts))


def _fingerprint(path: Path) -> str:
    if path.is_symlink():
        return "l" + hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    return ("x" if path.stat().st_mode & 0o100 else "-") + content
