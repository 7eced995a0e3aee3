"""The folder of a host: bundles by digest, and what it measured of each run.

bundles/DIGEST.json, DIGEST.tar   what was sent, until no run needs it
runs/RUN/xxx/                     the root that the run's contestants run below
runs/RUN/trials.jsonl             finished trials, each on disk before the next begins
runs/RUN/orders/ATTEMPT.json      orders that were taken
loads/LOAD/                       wireload's documents of a load, until they are sent
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wirebench.fleet import bundles
from wirebench.fleet.bundles import MOST_BYTES, BundleError
from wirebench.fleet.orders import LOAD_ORDER, ORDER, BlockOrder, LoadOrder, OrderError
from wirebench.plan.repeats import path_filler
from wirebench.store.jsonl import write_whole_bytes

DOCUMENT, LOG = "wireload.json", "wireload.hlog"
"""What a generator leaves in the folder of its load."""
_LOCK = ".measuring"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.~-]{0,200}")


@dataclass(frozen=True, kw_only=True)
class HostPlace:
    folder: Path

    def has(self, digest: str) -> bool:
        return self._bundle(digest, "tar").exists()

    def receive(self, digest: str, files: Mapping[str, str], content: bytes) -> None:
        """Keep a bundle. ``BundleError`` if it is not the one of that name, or does not fit on the
        disk.
        """
        if bundles.list_digest(files) != digest:
            raise BundleError(f"bundle {digest[:12]}: expected its list of files, got another")
        if len(content) > MOST_BYTES:
            raise BundleError(
                f"bundle {digest[:12]}: expected at most {MOST_BYTES:,} bytes, got {len(content):,}"
            )
        target = self._bundle(digest, "tar")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole_bytes(
                self._bundle(digest, "json"), json.dumps(files, sort_keys=True).encode()
            )
            write_whole_bytes(target, content)
        except OSError as error:
            raise BundleError(
                f"{target.parent}: expected to keep a bundle of {len(content):,} bytes, got:"
                f" {error.strerror}"
            ) from None

    def root(self, run: str, *, seed: int, host: str) -> Path:
        """What the run's contestants run below. Its length differs between hosts, as the paths of
        copies do between repeats.
        """
        filler = path_filler(seed=seed, repeat=zlib.crc32(host.encode()))
        return self.run(run) / ("x" * filler)

    def unpack(self, digest: str, root: Path) -> None:
        """Make the bundle's files below ``root``, or check those that are there. ``BundleError`` if
        they are not what was packed.
        """
        files = self._files(digest)
        mark = root / ".unpacked" / digest
        if mark.exists():
            bundles.check(files, root)
            return
        bundles.unpack(self._bundle(digest, "tar").read_bytes(), files, root)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()

    def run(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise OrderError(f"run: expected the name of a run, got {name!r}")
        return self.folder / "runs" / name

    def load(self, name: str) -> Path:
        """The folder of a host's part of a load."""
        if not _NAME.fullmatch(name):
            raise OrderError(f"load: expected a name, got {name!r}")
        return self.folder / "loads" / name

    def trials(self, run: str) -> Path:
        return self.run(run) / "trials.jsonl"

    def lines(self, run: str, *, only: frozenset[str] | None = None) -> list[str]:
        """The finished trials of the run, or those with these ids. What a kill tore is no trial."""
        path = self.trials(run)
        content = path.read_bytes() if path.exists() else b""
        # Bytes: a text would also be cut at U+2028 and others, which a wrong reply may contain.
        lines = content[: content.rfind(b"\n") + 1].splitlines()
        return [one.decode() for one in lines if only is None or json.loads(one)["trial"] in only]

    def take(self, order: BlockOrder) -> Path:
        """Note that an order was taken. ``OrderError`` the second time: no trial runs twice."""
        if not _NAME.fullmatch(order.attempt):
            raise OrderError(f"attempt: expected a name, got {order.attempt!r}")
        path = self.run(order.run) / "orders" / f"{order.attempt}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise OrderError(f"{path.name}: expected a new order, got one that was taken") from None
        with os.fdopen(handle, "wb") as file:
            file.write(ORDER.dump_json(order))
            file.flush()
            os.fsync(file.fileno())
        return path

    def take_load(self, order: LoadOrder) -> Path:
        """Make the folder of a load, with the order in it. ``OrderError`` the second time."""
        folder = self.load(order.load)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            raise OrderError(f"{order.load}: expected a new load, got one that was taken") from None
        (folder / "order.json").write_bytes(LOAD_ORDER.dump_json(order))
        return folder / "order.json"

    def take_result(self, load: str) -> tuple[str, str]:
        """The generator's document and log. The folder is gone then."""
        folder = self.load(load)
        found = (folder / DOCUMENT).read_text("utf-8"), (folder / LOG).read_text("utf-8")
        self.forget_load(load)
        return found

    def forget_load(self, load: str) -> None:
        shutil.rmtree(self.load(load), ignore_errors=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One process measures on this host at a time; the next one waits."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def stay_alone(self) -> None:
        """As ``alone()``, until this process ends, and also what it becomes by exec does."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder / _LOCK, os.O_WRONLY | os.O_CREAT, 0o600)
        os.set_inheritable(lock, True)
        fcntl.flock(lock, fcntl.LOCK_EX)

    def tidy(self, run: str, keep: frozenset[str]) -> None:
        """At the end of a run: its builds go, and all bundles but those to keep. Trials stay."""
        for path in self.run(run).iterdir() if self.run(run).exists() else ():
            if path.is_dir() and path.name.strip("x") == "":
                shutil.rmtree(path, ignore_errors=True)
        for path in (self.folder / "bundles").glob("*.*"):
            if path.stem not in keep:
                path.unlink(missing_ok=True)

    def _bundle(self, digest: str, kind: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise BundleError(f"bundle: expected a digest, got {digest!r}")
        return self.folder / "bundles" / f"{digest}.{kind}"

    def _files(self, digest: str) -> dict[str, str]:
        try:
            files: dict[str, str] = json.loads(self._bundle(digest, "json").read_bytes())
        except (OSError, ValueError):
            raise BundleError(f"bundle {digest[:12]}: expected it here, got none") from None
        if bundles.list_digest(files) != digest:
            raise BundleError(f"bundle {digest[:12]}: expected its list of files, got another")
        return files
