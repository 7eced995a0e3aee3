"""How much memory many connections take, above a run with one. The peak (VmHWM), so load on the
machine does not matter.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import unittest

from servers import WIRELOAD

TRUTH_SERVER = os.environ["TRUTH_SERVER"]
MIB = 1024 * 1024


def setUpModule() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 20_000:
        raise unittest.SkipTest(f"a process may open {hard} files here, and 20,000 are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Memory(unittest.TestCase):
    def setUp(self) -> None:
        self.server = subprocess.Popen(
            [TRUTH_SERVER, "constant", "0ms"], stdout=subprocess.PIPE, text=True
        )
        assert self.server.stdout is not None
        self.port = int(self.server.stdout.readline().split()[1])

    def tearDown(self) -> None:
        self.server.send_signal(signal.SIGTERM)
        self.server.communicate(timeout=60)

    def peak(self, connections: int, *words: str) -> float:
        url = f"http://127.0.0.1:{self.port}/"
        asked = [
            WIRELOAD,
            "--json",
            "-",
            "-c",
            str(connections),
            "-n",
            str(2 * connections),
            "--timeout",
            "100s",
            *words,
            url,
        ]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=200, check=False)
        if not done.stdout and "io_uring" in done.stderr:
            self.skipTest(done.stderr.strip())
        document = json.loads(done.stdout)
        self.assertEqual(document["requests"]["ok"], 2 * connections, document["first_error"])
        return float(document["generator"]["rss_peak_bytes"]) / MIB

    def test_ten_thousand(self) -> None:
        one_thread = ("--threads", "1", "--engine", "epoll")
        self.assertLess(self.peak(10_000, *one_thread) - self.peak(1, *one_thread), 4)

    def test_many_through_io_uring(self) -> None:
        two_threads = ("--threads", "2", "--engine", "io_uring")
        self.assertLess(self.peak(19_900, *two_threads) - self.peak(1, *two_threads), 8)

    def test_three_thousand_intervals_of_a_log(self) -> None:
        asked = [WIRELOAD, "--json", "-", "--threads", "1", "-c", "4", "-d", "3s"]
        url = f"http://127.0.0.1:{self.port}/"
        peaks = []
        for words in ((), ("--hdr-log", "/dev/null", "--interval", "1ms")):
            done = subprocess.run(
                [*asked, *words, url], capture_output=True, text=True, timeout=60, check=True
            )
            document = json.loads(done.stdout)
            peaks.append(float(document["generator"]["rss_peak_bytes"]) / MIB)
        self.assertEqual(len(document["series"]["ok"]), 3000)
        self.assertLess(peaks[1] - peaks[0], 8)


if __name__ == "__main__":
    unittest.main()
