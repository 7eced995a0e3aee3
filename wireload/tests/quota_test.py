"""wireload in a cgroup with a limit of CPU time or memory. Left out where none can be made."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from servers import WIRELOAD, http_replies, load, reply, serving, typed

PERIOD_US = 100_000


@contextmanager
def group_with(quota_us: int) -> Iterator[Path]:
    """A cgroup, v2 or v1, whose processes have so much CPU time in each 100 ms."""
    v2 = {"cpu.max": f"{quota_us} {PERIOD_US}"}
    with group_of("cpu", v2, {"cpu.cfs_quota_us": str(quota_us)}) as group:
        yield group


@contextmanager
def group_of(controller: str, v2: dict[str, str], v1: dict[str, str]) -> Iterator[Path]:
    """A cgroup, of whichever version has the controller here, with this in its files."""
    for folder, files in candidates(controller, v2, v1):
        group = folder / f"wireload-quota-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            for name, text in files.items():
                (group / name).write_text(text)
        except OSError:
            group.rmdir()
            continue
        try:
            yield group
        finally:
            remove(group)
        return
    raise unittest.SkipTest(f"no cgroup with a limit of {controller} can be made here")


def candidates(
    controller: str, v2: dict[str, str], v1: dict[str, str]
) -> Iterator[tuple[Path, dict[str, str]]]:
    """The folders of the own groups, and what to write below them."""
    own = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own[controllers] = path.lstrip("/")
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        mount, (kind, _, options) = Path(before.split()[4]), after.split()[:3]
        if kind == "cgroup2":
            yield from ((mount / own.get("", ""), v2), (mount, v2))
        elif kind == "cgroup" and controller in options.split(","):
            path = next((own[key] for key in own if controller in key.split(",")), "")
            yield from ((mount / path, v1), (mount, v1))


def remove(group: Path) -> None:
    for _ in range(200):  # the kernel takes a moment to forget a process
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.01)


def within(group: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", 'echo $$ >"$0/cgroup.procs"; exec "$@"', group, WIRELOAD, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def own_quota() -> float | None:
    """Of the groups that the tests run in themselves."""
    with serving(http_replies(lambda n: reply())) as server:
        quota: float | None = load(server, "-n", "1").document["generator"]["cpu_quota"]
    return quota


def loaded(group: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """The exit code, the document and the summary."""
    with serving(http_replies(lambda n: reply())) as server:
        url = f"http://127.0.0.1:{server.port}/"
        done = within(group, "--json", "-", *arguments, url)
    assert done.stdout, f"no document: {done.stderr}"
    return done.returncode, json.loads(done.stdout), done.stderr


class Quota(unittest.TestCase):
    def test_a_generator_that_it_stops_is_the_limit(self) -> None:
        with group_with(2_000) as group:
            code, document, screen = loaded(
                group, *typed("-c 10 -d 1s --fail-if generator>99%"), "--color", "never"
            )
        generator = document["generator"]
        self.assertEqual(generator["cpu_quota"], 0.02)
        self.assertGreater(generator["throttled_periods"], 0)
        self.assertGreater(generator["throttled_ns"], 10_000_000)
        self.assertEqual(generator["limited_by"], "cpu_quota")
        self.assertIn("stopped by its CPU quota", screen)
        words = " ".join(screen.split())
        self.assertIn("a CPU quota of 0.02 stopped the generator in ", words)
        self.assertNotIn("it was not the limit", words)
        self.assertEqual(code, 3, "a run that measured the generator fails")

    def test_one_that_is_not_used_up_is_no_limit(self) -> None:
        if own_quota() is not None:
            self.skipTest("the tests have a quota themselves, which may be used up")
        with group_with(8 * PERIOD_US) as group:
            _, document, screen = loaded(group, *typed("-c 2 -n 50"))
        generator = document["generator"]
        self.assertEqual(generator["cpu_quota"], 8)
        self.assertEqual((generator["throttled_periods"], generator["throttled_ns"]), (0, 0))
        self.assertNotEqual(generator["limited_by"], "cpu_quota")
        self.assertNotIn("quota", screen)

    def test_an_open_loop_that_it_slows_is_void(self) -> None:
        with group_with(1_000) as group:
            _, document, screen = loaded(group, *typed("-c 10 -d 1s --rate 3000"))
        found = document["open_loop"]
        self.assertEqual(found["limited_by"], "generator")
        self.assertIn("its CPU quota stopped it", found["void"])
        self.assertNotIn("the server could not keep up", screen)

    def test_threads_fit_into_it(self) -> None:
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU: there is one thread in any case")
        with group_with(PERIOD_US * 3 // 2) as group:
            _, document, _ = loaded(group, *typed("-c 10 -n 50"))
            self.assertEqual(document["plan"]["threads"], 1)
            _, document, _ = loaded(group, *typed("-c 10 -n 50 -t 2"))
            self.assertEqual(document["plan"]["threads"], 2)

    def test_a_server_that_it_stops_is_told_apart(self) -> None:
        if own_quota() is not None:
            self.skipTest("the tests have a quota themselves, which may be used up")
        work = 'echo $$ >"$0/cgroup.procs"; while :; do :; done'
        with (
            group_with(1_000) as group,
            serving(http_replies(lambda n: reply())) as server,
            subprocess.Popen(["/bin/sh", "-c", work, group]) as busy,
        ):
            try:
                while not (group / "cgroup.procs").read_text():
                    time.sleep(0.01)
                run = load(server, *typed(f"-c 2 -d 1s --watch {busy.pid}"))
            finally:
                busy.kill()
        self.assertEqual(run.document["server"]["cpu_quota"], 0.01)
        self.assertGreater(run.document["server"]["throttled_periods"], 0)
        self.assertEqual(run.document["server"]["limited_by"], "cpu_quota")
        self.assertNotEqual(run.document["generator"]["limited_by"], "cpu_quota")
        self.assertIn("stopped the server in ", " ".join(run.screen.split()))


class Memory(unittest.TestCase):
    def test_connections_that_do_not_fit_are_refused(self) -> None:
        limit = str(40 << 20)
        with group_of("memory", {"memory.max": limit}, {"memory.limit_in_bytes": limit}) as group:
            done = within(group, *typed("-c 15000 -n 15000 http://127.0.0.1:9/"))
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("the memory limit of this cgroup", done.stderr)


if __name__ == "__main__":
    unittest.main()
