"""Files in ``results/`` that keep a few records of each run, so that they outlive it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from wirebench.store.jsonl import StoreError

Record = TypeVar("Record")


def append_records(path: Path, records: Sequence[Any]) -> None:
    """Append the records (dataclasses) in one write, so that two runs at once cannot mix their
    lines. A torn line at the end, as a full disk leaves it, gets an end of its own first.
    """
    if not records:
        return
    text = "".join(json.dumps(asdict(one)) + "\n" for one in records)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":
            text = "\n" + text
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def read_records(path: Path, adapter: TypeAdapter[Record]) -> list[Record]:
    """The file's records; none if there is no file. A line that cannot be read (torn by a kill,
    damaged, or of another version) is left out. ``StoreError`` where the file may not be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{path}: not read: {error.strerror}") from error
    records = []
    for line in content.split(b"\n"):
        try:
            records.append(adapter.validate_python(json.loads(line)))
        except (ValueError, RecursionError, ValidationError):
            continue
    return records
