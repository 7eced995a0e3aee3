"""The watch of the cores: sees that a process stood still, for how long, and when."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from servers import WIRELOAD, http_replies, reply, serving, wireload

TRUTH_SERVER = os.environ["TRUTH_SERVER"]
MS = 1_000_000
STILL_MS = 150


def stop_for_a_while(process: subprocess.Popen[str]) -> tuple[int, int]:
    """When it certainly stood still, in Unix time."""
    process.send_signal(signal.SIGSTOP)
    while Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "T":
        time.sleep(0.001)
    start = time.time_ns()
    time.sleep(STILL_MS / 1000)
    end = time.time_ns()
    process.send_signal(signal.SIGCONT)
    return start, end


class CoreGaps(unittest.TestCase):
    def read(self, file: Path) -> list[tuple[int, int, int]]:
        (core,) = json.loads(file.read_text())["cores"]
        if core["problem"]:
            self.skipTest(core["problem"])
        self.assertGreater(core["looks"], 0)
        return [tuple(gap) for gap in core["gaps"]]

    def check(self, gaps: list[tuple[int, int, int]], start: int, end: int) -> None:
        """One of them is the stop, no later than a tick of the watch, and no shorter."""
        long = [gap for gap in gaps if gap[1] >= (STILL_MS - 10) * MS and gap[0] - gap[2] <= start and gap[0] >= end - MS]
        self.assertEqual(len(long), 1, (start, end, gaps))
        _, shortest, longest = long[0]
        self.assertGreaterEqual(longest, end - start)
        self.assertLessEqual(longest - shortest, 2 * MS)

    def test_of_wireload(self) -> None:
        core = str(max(os.sched_getaffinity(0)))
        with tempfile.TemporaryDirectory() as folder, serving(http_replies(lambda n: reply())) as server:
            file = Path(folder) / "gaps"
            words = ["--threads", "1", "--cpu", core, "--rate", "100", "-d", "1500ms", "-c", "4", "--core-gaps", str(file)]
            process = subprocess.Popen([WIRELOAD, "--quiet", *words, f"http://127.0.0.1:{server.port}/"], text=True)
            time.sleep(0.7)
            start, end = stop_for_a_while(process)
            self.assertEqual(process.wait(timeout=60), 0)
            self.check(self.read(file), start, end)

    def test_of_the_truth_server(self) -> None:
        core = str(min(os.sched_getaffinity(0)))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "gaps"
            words = ["--cpu", core, "--core-gaps", str(file), "--json", str(Path(folder) / "json"), "constant", "1ms"]
            process = subprocess.Popen([TRUTH_SERVER, *words], stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.3)
            start, end = stop_for_a_while(process)
            time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            self.check(self.read(file), start, end)

    def test_a_program_that_is_merely_busy_is_no_gap(self) -> None:
        """Ordinary threads that want the same core do not keep the watch from it."""
        core = max(os.sched_getaffinity(0))
        ending = threading.Event()

        def spin() -> None:
            os.sched_setaffinity(0, {core})
            while not ending.is_set():
                pass

        busy = threading.Thread(target=spin)
        busy.start()
        try:
            with tempfile.TemporaryDirectory() as folder, serving(http_replies(lambda n: reply())) as server:
                file = Path(folder) / "gaps"
                words = ["--threads", "1", "--cpu", str(core), "--rate", "100", "-d", "600ms", "-c", "4", "--core-gaps", str(file)]
                wireload(*words, f"http://127.0.0.1:{server.port}/")
                gaps = self.read(file)
        finally:
            ending.set()
            busy.join()
        # The host's own standstills are short; a slice of the scheduler among busy threads is not.
        self.assertEqual([gap for gap in gaps if gap[1] > 100 * MS], [])

    def test_it_takes_cores_to_watch(self) -> None:
        done = wireload("--core-gaps", "x", "-n", "1", "http://127.0.0.1:1/")
        self.assertEqual(done.returncode, 64)
        self.assertIn("--cpu", done.stderr)


if __name__ == "__main__":
    unittest.main()
