"""The WSGI application: who may ask, which page answers, and with which fields."""

from __future__ import annotations

import html
import os
import re
import stat
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import parse_qsl
from wsgiref.types import StartResponse, WSGIEnvironment
from wsgiref.util import FileWrapper

from wirebench.serve.pages import POLICY, Pages, QueryError
from wirebench.serve.under_way import UnderWay
from wirebench.store.jsonl import StoreError
from wirebench.store.rundir import (
    DUEL_FILE,
    HOST_FILE,
    LEFT_FILE,
    PLAN_FILE,
    REPORT_FILE,
    RUN_FILE,
    TABLE_FILE,
    TRIALS_FILE,
    VERIFY_FILE,
    has_run,
    is_being_written,
)

JSON, LINES, TEXT = "application/json", "application/jsonl", "text/plain; charset=utf-8"
FILES: Mapping[str, str] = {
    RUN_FILE: JSON,
    HOST_FILE: JSON,
    PLAN_FILE: JSON,
    "contestants.json": JSON,
    DUEL_FILE: JSON,
    TRIALS_FILE: LINES,
    VERIFY_FILE: LINES,
    LEFT_FILE: LINES,
    TABLE_FILE: TEXT,
}
"""The files of a run that may be fetched, beside its report, with their types."""
NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,199}")
"""A run's directory; in particular no path out of the results."""
MOST_WAITING = 3
"""Requests that may wait for a run under way at a time. Others are answered at once, so that some
threads are always free.
"""
LONGEST_WAIT_S = 45.0
MOST_FIELDS = 30
"""Of a form."""
NO_CONTENT_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox"
)
"""Holds beside the policy that a report carries, whatever that says: runs may come from elsewhere.
The scripts of a report have an origin of their own, which cannot read the other pages, and reach
nothing.
"""
_PAGE_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_COMMON = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("X-Frame-Options", "DENY"),
    ("Cache-Control", "no-store"),
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: str = "200 OK"
    type: str = "text/html; charset=utf-8"
    body: bytes = b""
    file: IO[bytes] | None = None
    """Sent instead of ``body``."""
    size: int = 0
    """Of ``file``."""
    policy: str = POLICY
    fields: tuple[tuple[str, str], ...] = ()


class RefusedError(Exception):
    """The request gets no page. The message says why."""

    def __init__(self, status: str, message: str, fields: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.fields = fields


@dataclass(kw_only=True)
class Application:
    """Answers GET and HEAD of a browser on this host. Changes nothing but the index of the runs,
    which is a cache.
    """

    results: Path
    hosts: frozenset[str]
    """The values of ``Host`` that are answered. A name that somebody made point to 127.0.0.1 is
    none of them (DNS rebinding).
    """
    longest_wait_s: float = LONGEST_WAIT_S
    _runs: dict[str, UnderWay] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _waiting: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MOST_WAITING))

    def __post_init__(self) -> None:
        self._pages = Pages(results=self.results)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            answer = self._answer(environ)
        except RefusedError as refused:
            answer = self._problem(refused.status, str(refused), refused.fields)
        except QueryError as wrong:
            answer = self._problem("400 Bad Request", str(wrong))
        except StoreError as error:
            answer = self._problem("500 Internal Server Error", str(error))
        except Exception:  # the last resort: report it as our bug
            traceback.print_exc(file=sys.stderr)
            answer = self._problem(
                "500 Internal Server Error",
                "this is a bug in wirebench; please report what it printed in the terminal",
            )
        size = answer.size if answer.file is not None else len(answer.body)
        start_response(
            answer.status,
            [
                ("Content-Type", answer.type),
                ("Content-Length", str(size)),
                ("Content-Security-Policy", answer.policy),
                *_isolation(answer.policy),
                *_COMMON,
                *answer.fields,
            ],
        )
        if environ["REQUEST_METHOD"] == "HEAD":
            if answer.file is not None:
                answer.file.close()
            return []
        if answer.file is not None:
            wrap: Callable[[IO[bytes]], Iterable[bytes]] = environ.get(
                "wsgi.file_wrapper", FileWrapper
            )
            return wrap(answer.file)
        return [answer.body]

    def _problem(
        self, status: str, message: str, fields: tuple[tuple[str, str], ...] = ()
    ) -> Answer:
        page = self._pages.problem(status.partition(" ")[2], message)
        return Answer(status=status, body=page.encode(), fields=fields)

    def _answer(self, environ: WSGIEnvironment) -> Answer:
        self._check(environ)
        # WSGI gives the decoded bytes of the path as Latin-1. Ours are ASCII; others are not found.
        path: str = environ.get("PATH_INFO", "")
        try:
            fields = parse_qsl(environ.get("QUERY_STRING", ""), max_num_fields=MOST_FIELDS)
        except ValueError as error:
            raise QueryError(f"expected at most {MOST_FIELDS} fields") from error
        query = dict(fields)
        if path == "/":
            return Answer(body=self._pages.runs().encode())
        if path == "/history":
            return Answer(body=self._pages.history(query).encode())
        if path == "/decide":
            return Answer(body=self._pages.decide(fields).encode())
        parts = path.split("/")
        if len(parts) == 4 and parts[:2] == ["", "runs"]:
            return self._of_run(parts[2], parts[3], query)
        raise RefusedError("404 Not Found", "there is no such page")

    def _check(self, environ: WSGIEnvironment) -> None:
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            raise RefusedError(
                "405 Method Not Allowed", "these pages can only be read", (("Allow", "GET, HEAD"),)
            )
        if environ.get("HTTP_HOST", "") not in self.hosts:
            expected = " or ".join(sorted(self.hosts))
            raise RefusedError("421 Misdirected Request", f"Host: expected {expected}")
        site = environ.get("HTTP_SEC_FETCH_SITE", "none")
        is_page = environ.get("HTTP_SEC_FETCH_DEST") == "document"
        if site not in ("none", "same-origin") and not is_page:
            raise RefusedError("403 Forbidden", "a page of another site may not fetch from here")

    def _of_run(self, name: str, file: str, query: Mapping[str, str]) -> Answer:
        run = self._directory(name)
        if not file:
            return self._run(run, query)
        if file == REPORT_FILE:
            return self._report(run)
        if file not in FILES:
            raise RefusedError("404 Not Found", f"no file {file!r} of a run is shown here")
        opened, size = _open(run / file)
        return Answer(type=FILES[file], file=opened, size=size, policy=NO_CONTENT_POLICY)

    def _directory(self, name: str) -> Path:
        run = self.results / name
        if NAME.fullmatch(name) is None or run.is_symlink() or not has_run(run):
            raise RefusedError("404 Not Found", "there is no such run; the list of runs has all")
        return run

    def _run(self, run: Path, query: Mapping[str, str]) -> Answer:
        if not is_being_written(run):
            with self._lock:
                self._runs.pop(run.name, None)
            return Answer(body=self._pages.run(run, _whats_there(run)).encode())
        with self._lock:
            followed = self._runs.setdefault(run.name, UnderWay(run))
        after = query.get("after", "")
        # The moment after a trial is stored lies before the next one's timed window.
        if after.isdecimal() and len(after) < 19 and self._waiting.acquire(blocking=False):
            try:
                followed.wait_for_more(int(after), longest_s=self.longest_wait_s)
            finally:
                self._waiting.release()
        with self._lock:
            followed.refresh()
            page = self._pages.under_way(run, followed, _whats_there(run))
        return Answer(body=page.encode())

    def _report(self, run: Path) -> Answer:
        opened, size = _open(run / REPORT_FILE)
        head = opened.read(8192).decode("utf-8", errors="replace")
        opened.seek(0)
        # The page's own policy, which names its scripts by their hashes.
        found = _PAGE_POLICY.search(head)
        policy = html.unescape(found[1]) if found is not None else ""
        if not re.fullmatch(r"[A-Za-z0-9+/=:;' -]+", policy):
            policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        policy = f"{policy}; frame-ancestors 'none', {REPORT_POLICY}"
        return Answer(file=opened, size=size, policy=policy)


def _isolation(policy: str) -> tuple[tuple[str, str], ...]:
    """Nobody who opened a page keeps a hold on it. A browser refuses an answer that asks for that
    and for a sandbox, whose origin is nobody's anyway (HTML, "create navigation params").
    """
    return () if "sandbox" in policy else (("Cross-Origin-Opener-Policy", "same-origin"),)


def _whats_there(run: Path) -> list[str]:
    """The files that ``_open`` would open."""
    names = (REPORT_FILE, *FILES)
    return [name for name in names if (run / name).is_file() and not (run / name).is_symlink()]


def _open(path: Path) -> tuple[IO[bytes], int]:
    """A regular file and its size; what a link points to is not shown."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        raise RefusedError("404 Not Found", f"this run has no {path.name}") from None
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode):
        os.close(handle)
        raise RefusedError("404 Not Found", f"this run has no {path.name}")
    return os.fdopen(handle, "rb"), state.st_size
