"""wireload against HTTP servers that refuse, close, stop, or say what is not HTTP. Every count is
exact.
"""

from __future__ import annotations

import random
import select
import socket
import threading
import time
import unittest

from servers import (
    CLOSE,
    MOST_MEMORY,
    TEXT,
    Server,
    body_file,
    frame,
    http,
    http_replies,
    load,
    read_frame,
    read_request,
    reply,
    serving,
    shake_hands,
    wireload,
)


class BrokenServers(unittest.TestCase):
    def test_refuses(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            server.stop_listening()
            started = time.monotonic()
            run = load(server, "-c", "5", "-d", "20s")
            self.assertLess(
                time.monotonic() - started, 10, "it should not wait for the end of the window"
            )
        self.assertEqual(run.code, 2)
        self.assertEqual(run.errors, {"connect_refused": 5})
        self.assertEqual(run.document["connect"]["failed"], 5)
        self.assertEqual(run.document["window"]["stopped_by"], "error")
        self.assertEqual(run.document["first_error"]["kind"], "connect_refused")
        self.assertIn("Nothing measured", run.screen)

    def test_closes_after_each_reply_without_a_word(self) -> None:
        def once(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(reply())
            return False

        with serving(http(once)) as server:
            run = load(server, "-n", "10", "-c", "1", "--expect-body", "hello")
        # Every second request goes to a connection that is closing.
        self.assertEqual((run.code, run.errors), (1, {"closed_early": 5}))
        self.assertEqual(run.document["requests"]["ok"], 5)
        self.assertEqual(run.document["requests"]["connections_opened"], 5)

    def test_closes_instead_of_replying(self) -> None:
        with serving(http(lambda *_: False)) as server:
            run = load(server, "-n", "6", "-c", "2")
        self.assertEqual((run.code, run.errors), (2, {"closed_early": 6}))
        self.assertEqual(run.document["requests"]["ok"], 0)

    def test_a_server_that_always_closes_is_not_asked_in_a_busy_loop(self) -> None:
        with serving(http(lambda *_: False)) as server:
            run = load(server, "-d", "500ms", "-c", "4")
            # 10, 20, 40, 80, 160, 320 ms: at most seven requests on each connection in half a
            # second.
            self.assertLessEqual(server.connections, 4 * 8)
        self.assertEqual(run.code, 2)

    def test_a_failure_right_behind_a_reply_has_its_pause_too(self) -> None:
        """10 ms, though the reply alone would have sent the next request at once."""
        for scheme in ("http", "ws"):
            for options in (("-n", "8"), ("--rate", "500", "-d", "200ms")):
                with self.subTest(scheme=scheme, options=options):
                    self.assertGreaterEqual(min(self.pauses(scheme, *options)), 0.01)

    def pauses(self, scheme: str, *options: str) -> list[float]:
        """How long each new connection came after the reply, and what fails behind it, to the one
        before.
        """
        begun: list[float] = []
        answered: list[float] = []

        def handle(server: Server, connection: socket.socket) -> None:
            begun.append(time.monotonic())
            if scheme == "ws":
                shake_hands(connection)
                _, message = read_frame(connection) or (0, b"")
                both = frame(TEXT, message) + frame(CLOSE, b"\x03\xe8")
            else:
                read_request(connection, bytearray())
                both = reply() + b"more"
            answered.append(time.monotonic())
            connection.sendall(both)
            connection.recv(1)  # until it is closed

        with serving(handle) as server:
            run = load(server, *options, "-c", "1", scheme=scheme)
        self.assertGreater(run.document["requests"]["ok"], 1)
        return [again - before for before, again in zip(answered, begun[1:], strict=False)]

    def test_gives_up_when_nothing_works_any_more(self) -> None:
        def few(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            if number == 3:
                server.stop_listening()
                return False
            connection.sendall(reply())
            return True

        with serving(http(few)) as server:
            run = load(server, "-n", "1000", "-c", "1")
        self.assertEqual(run.code, 1)
        self.assertEqual(run.document["requests"]["ok"], 2)
        self.assertEqual(run.document["window"]["stopped_by"], "error")
        self.assertEqual(run.document["errors"]["closed_early"], 1)
        # One close and then refusals, ten failures in a row in all.
        self.assertEqual(run.document["errors"]["connect_refused"], 9)

    def test_a_server_that_dies_is_no_success_however_many_errors_are_allowed(self) -> None:
        def few(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            if number == 40:
                server.stop_listening()
                return False
            connection.sendall(reply())
            return True

        for words in (["-n", "1000"], ["-d", "60s", "--rate", "500"]):
            with self.subTest(words), serving(http(few)) as server:
                run = load(server, *words, "-c", "1", "--fail-if", "errors>99%")
                self.assertEqual(run.document["window"]["stopped_by"], "error")
                self.assertIs(run.document["thresholds"][0]["holds"], False)
                self.assertEqual(run.code, 1)

    def test_gives_up_when_what_is_left_does_not_work_any_more(self) -> None:
        """One connection gets all that --each asks for. The other is closed then, and refused."""
        finished = threading.Event()

        def handle(server: Server, connection: socket.socket) -> None:
            held = bytearray()
            if server.next_request() == 2:
                read_request(connection, held)
                finished.wait(30)
                return
            while read_request(connection, held) is not None:
                connection.sendall(reply())
            server.stop_listening()
            finished.set()

        with serving(handle) as server:
            run = load(server, "--each", "40", "-c", "2", "--timeout", "40s")
        self.assertEqual(run.document["window"]["stopped_by"], "error")
        self.assertEqual(run.document["requests"]["ok"], 40)
        self.assertEqual(run.errors, {"closed_early": 1, "connect_refused": 9})

    def test_the_rest_of_a_request_that_was_answered_early_is_not_waited_for_for_ever(self) -> None:
        """The server answers what comes first and takes no more."""

        def early(_server: Server, connection: socket.socket) -> None:
            if connection.recv(1):
                connection.sendall(reply())
                until_closed = select.poll()
                until_closed.register(connection, select.POLLRDHUP)
                until_closed.poll()

        with body_file(b"x" * 32_000_000) as file, serving(early) as server:
            words = ["-c", "1", "--timeout", "300ms", "--body-file", file]
            counted = load(server, "-n", "3", *words)
            timed = load(server, "-d", "1s", *words)
            rated = load(server, "-d", "1s", "--rate", "100", *words)
        # The second request waits in vain for the rest of the first; after the third there is
        # nothing to wait for.
        self.assertEqual(counted.errors, {"read_timeout": 1})
        self.assertEqual(counted.document["requests"]["ok"], 2)
        self.assertIn("no room for the rest", counted.document["first_error"]["received"])
        self.assertGreater(timed.document["requests"]["connections_opened"], 1)
        self.assertGreater(rated.document["requests"]["connections_opened"], 1)

    def test_a_single_connection_waits_for_slow_replies_and_not_for_ever(self) -> None:
        """It waits in recv() for some milliseconds, and in the loop from then on."""

        with serving(
            http_replies(lambda n: reply(), after_s=lambda n: 0.6 if n == 4 else 0.03)
        ) as server:
            run = load(server, "-n", "6", "-c", "1", "--timeout", "300ms")
        self.assertEqual((run.code, run.errors), (1, {"read_timeout": 1}))
        self.assertEqual(run.document["requests"]["ok"], 5)
        self.assertGreaterEqual(run.document["latency"]["min_ns"], 30_000_000)

    def test_truncated_replies(self) -> None:
        def cut(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            text = reply(b"x" * 100)
            connection.sendall(
                text if number > 4 else text[: (len(text) - 10, 40, 5, len(text) - 1)[number - 1]]
            )
            return number > 4

        with serving(http(cut)) as server:
            run = load(server, "-n", "10", "-c", "1")
        self.assertEqual((run.code, run.errors), (1, {"closed_early": 4}))
        self.assertEqual(run.document["requests"]["ok"], 6)
        self.assertIn("90 bytes of body", run.document["first_error"]["received"])

    def test_random_bytes(self) -> None:
        noise = random.Random(7)
        with serving(http_replies(lambda n: noise.randbytes(300) if n % 2 else reply())) as server:
            run = load(server, "-n", "10", "-c", "1")
        self.assertEqual((run.code, run.errors), (1, {"protocol": 5}))
        self.assertEqual(run.document["requests"]["ok"], 5)

    def test_fuzzed_replies_are_counted_and_never_crash_it(self) -> None:
        noise = random.Random(5)
        whole = reply(b"hello" * 5)
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"

        def mutate(n: int) -> bytes:
            data = bytearray(noise.choice((whole, chunked)))
            if noise.random() < 0.5:
                for _ in range(noise.randint(1, 4)):
                    data[noise.randrange(len(data))] = noise.randrange(256)
            if noise.random() < 0.1:
                del data[noise.randrange(len(data)) :]
            if noise.random() < 0.1:
                data += noise.randbytes(noise.randrange(100))
            return bytes(data)

        with serving(http_replies(mutate)) as server:
            run = load(server, "-n", "300", "-c", "6", "--timeout", "100ms")
        requests = run.document["requests"]
        self.assertEqual(run.code, 1)
        self.assertEqual(requests["sent"], requests["ok"] + requests["errors"])
        self.assertGreater(requests["ok"], 50)
        self.assertGreater(requests["errors"], 50)

    def test_replies_that_are_nearly_http(self) -> None:
        wrong = [
            b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            b"HTTP/1.1 20 OK\r\n\r\n",
            b"HTTP/2 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\nname : value\r\n\r\n",
        ]
        with serving(http_replies(lambda n: wrong[n - 1])) as server:
            run = load(server, "-n", str(len(wrong)), "-c", "1")
        self.assertEqual(run.errors, {"protocol": len(wrong)})

    def test_an_endless_head_is_cut_off(self) -> None:
        def flood(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while True:
                connection.sendall(b"X-Filler: " + b"y" * 1000 + b"\r\n")

        with serving(http(flood)) as server:
            run = load(server, "-n", "3", "-c", "1")
        self.assertEqual(run.errors, {"protocol": 3})
        self.assertLess(run.document["generator"]["rss_peak_bytes"], MOST_MEMORY)

    def test_more_than_was_asked_for(self) -> None:
        with serving(http_replies(lambda n: reply() + (reply() if n == 2 else b""))) as server:
            run = load(server, "-n", "4", "-c", "1")
        # The second reply is right; what follows it poisons the request that was about to leave.
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"protocol": 1}, 3))

    def test_never_answers(self) -> None:
        def silent(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            if number == 1:
                connection.sendall(reply())
            return True

        with serving(http(silent)) as server:
            run = load(server, "-n", "4", "-c", "1", "--timeout", "100ms")
        self.assertEqual((run.code, run.errors), (1, {"read_timeout": 3}))
        self.assertEqual(run.document["requests"]["ok"], 1)
        self.assertGreaterEqual(run.document["window"]["elapsed_ns"], 300_000_000)

    def test_never_finishes(self) -> None:
        def half(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Le")
            return True

        with serving(http(half)) as server:
            run = load(server, "-n", "2", "-c", "2", "--timeout", "100ms")
        self.assertEqual((run.code, run.errors), (2, {"read_timeout": 2}))

    def test_never_accepts(self) -> None:
        # A listen queue of one that nobody empties: further connections are not answered at all.
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
            port = listener.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)):
                done = wireload(
                    "-c", "3", "-d", "5s", "--timeout", "200ms", f"http://127.0.0.1:{port}/"
                )
        self.assertEqual(done.returncode, 2)
        self.assertIn("connect_timeout 3", done.stdout)

    def test_where_all_wait_in_vain_no_more_are_opened(self) -> None:
        """Sixty-four are opened at a time: the other thousands would take as long each time."""

        def silent(_server: Server, connection: socket.socket) -> None:
            while connection.recv(65536):
                pass

        with serving(silent) as server:
            run = load(server, "-c", "600", "-d", "5s", "--timeout", "200ms", scheme="ws")
        opened = run.document["connect"]
        self.assertEqual((run.code, opened["opened"]), (2, 0))
        self.assertEqual(run.errors, {"connect_timeout": opened["attempted"]})
        self.assertLess(opened["attempted"], 300)


if __name__ == "__main__":
    unittest.main()
