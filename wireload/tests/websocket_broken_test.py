"""wireload against WebSocket servers that give wrong replies or break, and the ramp, which goes on
until one does. Every count is exact.
"""

from __future__ import annotations

import json
import random
import socket
import time
import unittest

from servers import (
    CLOSE,
    TEXT,
    Run,
    Server,
    counted,
    frame,
    http_replies,
    load_ws,
    read_frame,
    reply,
    serving,
    shake_hands,
    websocket,
    ws_replies,
)


class WrongReplies(unittest.TestCase):
    def test_another_message(self) -> None:
        with serving(
            ws_replies(lambda n, message: frame(TEXT, b"something else" if n % 4 == 0 else message))
        ) as server:
            run = load_ws(server, "-n", "20", "-c", "2", "--message", "mine")
        self.assertEqual(
            (run.code, run.errors, run.document["requests"]["ok"]), (1, {"bad_body": 5}, 15)
        )
        first = run.document["first_error"]
        self.assertEqual(
            (first["sent"], first["expected"], first["received"]),
            ("mine", "the same message", "something else"),
        )

    def test_any_message_will_do(self) -> None:
        with serving(ws_replies(lambda n, message: frame(TEXT, b"something else"))) as server:
            self.assertEqual(load_ws(server, "-n", "5", "-c", "1", "--check", "none").code, 0)

    def test_wrong_counts(self) -> None:
        wrong = {
            2: b'{"c":1,"ts":1}',  # an answer to an earlier message
            4: b'{"c":"4","ts":1}',
            6: b'{"c":6}',
            8: b'{"c":8,"ts":"now"}',
            10: b'{"c":99,"ts":1}',
            12: b'{"c":12,"ts":1',
        }
        with serving(
            ws_replies(lambda n, message: frame(TEXT, wrong.get(n) or counted(message)))
        ) as server:
            run = load_ws(server, "-n", "13", "-c", "1", "--check", "count")
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"bad_body": 6}, 7))
        self.assertEqual(
            run.document["first_error"]["expected"], 'JSON with "c":2 and a number "ts"'
        )

    def test_frames_against_the_rules(self) -> None:
        wrong = [
            b"\xc1\x01x",  # a reserved bit
            b"\x83\x01x",  # an unknown opcode
            b"\x81\x81\0\0\0\0x",  # masked by a server
            frame(TEXT, b"\xff\xfe"),  # not UTF-8
            b"\x80\x01x",  # a continuation of nothing
            b"\x09\x00",  # a fragmented ping
            b"\x81\x7e\x00\x05hello",  # a length that is not in its shortest form
        ]
        with serving(ws_replies(lambda n, message: wrong[n - 1])) as server:
            run = load_ws(server, "-n", str(len(wrong)), "-c", "1", "--check", "none")
        self.assertEqual(run.errors, {"protocol": len(wrong)})

    def test_a_message_that_nobody_asked_for(self) -> None:
        with serving(
            ws_replies(lambda n, message: frame(TEXT, message) * (2 if n == 2 else 1))
        ) as server:
            run = load_ws(server, "-n", "4", "-c", "1")
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"bad_body": 1}, 3))


class BrokenServers(unittest.TestCase):
    def test_refuses_the_handshake(self) -> None:
        with serving(http_replies(lambda n: reply(b"no", "403 Forbidden"))) as server:
            run = load_ws(server, "-c", "3", "-d", "10s")
        self.assertEqual((run.code, run.errors), (2, {"connect_failed": 3}))
        self.assertIn("403 Forbidden", run.document["first_error"]["received"])

    def test_closes_during_the_handshake(self) -> None:
        with serving(lambda server, connection: None) as server:
            run = load_ws(server, "-c", "2", "-d", "10s")
        self.assertEqual((run.code, run.errors), (2, {"connect_failed": 2}))

    def test_never_ends_the_handshake(self) -> None:
        def stall(server: Server, connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 101 Switching")
            connection.recv(65536)
            connection.recv(65536)

        with serving(stall) as server:
            run = load_ws(server, "-c", "2", "-d", "10s", "--timeout", "100ms")
        self.assertEqual((run.code, run.errors), (2, {"connect_timeout": 2}))

    def test_wrong_accept_key(self) -> None:
        text = (
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: AAAA\r\n\r\n"
        )
        with serving(http_replies(lambda n: text)) as server:
            run = load_ws(server, "-c", "1", "-d", "10s")
        self.assertEqual((run.code, run.errors), (2, {"connect_failed": 1}))

    def test_drops_connections(self) -> None:
        def drop(server: Server, connection: socket.socket, number: int, message: bytes) -> bool:
            if number % 3 == 0:
                return False
            connection.sendall(frame(TEXT, message))
            return True

        with serving(websocket(drop)) as server:
            run = load_ws(server, "-n", "12", "-c", "1")
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"closed_early": 4}, 8))
        # After the last drop no message is left to reconnect for.
        self.assertEqual(run.document["requests"]["connections_opened"], 4)

    def test_says_goodbye_instead_of_answering(self) -> None:
        with serving(
            ws_replies(
                lambda n, message: (
                    frame(CLOSE, b"\x03\xf3sorry") if n == 3 else frame(TEXT, message)
                )
            )
        ) as server:
            run = load_ws(server, "-n", "5", "-c", "1")
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"closed_early": 1}, 4))
        self.assertIn('code 1011, reason "sorry"', run.document["first_error"]["received"])

    def test_a_close_frame_is_answered(self) -> None:
        ends: list[tuple[int, bytes] | None] = []

        def handle(server: Server, connection: socket.socket) -> None:
            shake_hands(connection)
            read_frame(connection)
            connection.sendall(frame(CLOSE, b"\x03\xe9bye"))
            ends.append(read_frame(connection))

        with serving(handle) as server:
            run = load_ws(server, "-n", "1", "-c", "1")
        self.assertEqual(run.errors, {"closed_early": 1})
        self.assertEqual(ends, [(CLOSE, b"\x03\xe9")])

    def test_fuzzed_frames_are_counted_and_never_crash_it(self) -> None:
        noise = random.Random(3)

        def mutate(n: int, message: bytes) -> bytes:
            data = bytearray(frame(TEXT, message))
            if noise.random() < 0.5:
                for _ in range(noise.randint(1, 4)):
                    data[noise.randrange(len(data))] = noise.randrange(256)
            if noise.random() < 0.1:
                del data[noise.randrange(len(data)) :]
            return bytes(data)

        with serving(ws_replies(mutate)) as server:
            run = load_ws(server, "-n", "300", "-c", "6", "--timeout", "100ms")
        requests = run.document["requests"]
        self.assertEqual(run.code, 1)
        self.assertEqual(requests["sent"], requests["ok"] + requests["errors"])
        self.assertGreater(requests["ok"], 50)
        self.assertGreater(requests["errors"], 50)

    def test_swallows_messages(self) -> None:
        def swallow(server: Server, connection: socket.socket, number: int, message: bytes) -> bool:
            if number != 2:
                connection.sendall(frame(TEXT, message))
            return True

        with serving(websocket(swallow)) as server:
            run = load_ws(server, "-n", "4", "-c", "1", "--timeout", "100ms")
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"read_timeout": 1}, 3))


class Ramp(unittest.TestCase):
    def ramp(self, server: Server, rounds: int, add: int, messages: int, *more: str) -> Run:
        words = [
            "--ramp-rounds",
            str(rounds),
            "--ramp-add",
            str(add),
            "--ramp-messages",
            str(messages),
            "--check",
            "count",
        ]
        return load_ws(server, *words, *more)

    def test_both_pacings(self) -> None:
        for pacing in ("serial", "burst"):
            with (
                self.subTest(pacing),
                serving(ws_replies(lambda n, message: frame(TEXT, counted(message)))) as server,
            ):
                run = self.ramp(server, 3, 4, 5, "--ramp-pacing", pacing)
                self.assertEqual(
                    (run.code, server.connections, server.requests), (0, 12, 20 + 40 + 60)
                )
                rounds = run.document["rounds"]
                self.assertEqual([r["round"] for r in rounds], [1, 2, 3])
                self.assertEqual([r["clients"] for r in rounds], [4, 8, 12])
                self.assertEqual([r["opened"] for r in rounds], [4, 8, 12])
                self.assertEqual([r["answered"] for r in rounds], [20, 40, 60])
                self.assertEqual([r["latency"]["count"] for r in rounds], [20, 40, 60])
                self.assertEqual([r["success_ratio"] for r in rounds], [1, 1, 1])
                self.assertEqual(run.document["requests"]["ok"], 120)
                self.assertEqual(run.document["latency"]["count"], 120)
                elapsed_ns = run.document["window"]["elapsed_ns"]
                self.assertEqual(elapsed_ns, sum(r["elapsed_ns"] for r in rounds))
                own = run.document["generator"]
                self.assertAlmostEqual(
                    own["cpu_share"], (own["cpu_user_ns"] + own["cpu_system_ns"]) / elapsed_ns
                )

    def test_serial_keeps_one_in_flight_and_burst_sends_all(self) -> None:
        most: dict[str, int] = {}
        for pacing in ("serial", "burst"):
            waiting = 0

            def handle(server: Server, connection: socket.socket) -> None:
                nonlocal waiting
                shake_hands(connection)
                time.sleep(0.1)  # what comes without waiting for replies is here by then
                connection.settimeout(0.2)
                try:
                    while (got := read_frame(connection)) and got[0] == TEXT:
                        waiting += 1
                        if pacing == "serial" or waiting == 5:  # noqa: B023
                            most[pacing] = waiting  # noqa: B023
                            for c in range(
                                int(json.loads(got[1])["c"]) - waiting + 1,
                                int(json.loads(got[1])["c"]) + 1,
                            ):
                                connection.sendall(frame(TEXT, counted(b'{"c":%d}' % c)))
                            waiting = 0
                except TimeoutError:
                    pass

            with self.subTest(pacing), serving(handle) as server:
                self.assertEqual(self.ramp(server, 1, 1, 5, "--ramp-pacing", pacing).code, 0)
        self.assertEqual(most, {"serial": 1, "burst": 5})

    def test_late_replies_never_count_in_the_next_round(self) -> None:
        # The first connection's third message is answered long after its time-out, in the second
        # round.
        def late(server: Server, connection: socket.socket, number: int, message: bytes) -> bool:
            if number == 3:
                time.sleep(0.35)
            connection.sendall(frame(TEXT, counted(message)))
            return True

        with serving(websocket(late)) as server:
            run = self.ramp(server, 2, 1, 4, "--timeout", "150ms")
        first, second = run.document["rounds"]
        self.assertEqual((first["answered"], first["errors"]["read_timeout"]), (2, 1))
        self.assertEqual(first["success_ratio"], 0.5)
        self.assertEqual((second["clients"], second["opened"], second["answered"]), (2, 2, 8))
        self.assertEqual(second["success_ratio"], 1)
        self.assertEqual(run.code, 1)

    def test_the_breaking_point(self) -> None:
        # Only six connections are served; later ones are closed at once.
        def full(server: Server, connection: socket.socket) -> None:
            with server.lock:
                server.requests += 1
                served = server.requests <= 6
            if served and shake_hands(connection):
                while (got := read_frame(connection)) and got[0] == TEXT:
                    connection.sendall(frame(TEXT, counted(got[1])))

        with serving(full) as server:
            run = self.ramp(server, 3, 4, 2)
        rounds = run.document["rounds"]
        self.assertEqual([r["opened"] for r in rounds], [4, 6, 6])
        self.assertEqual([r["connect_failed"] for r in rounds], [0, 2, 6])
        self.assertEqual([r["answered"] for r in rounds], [8, 12, 12])
        self.assertEqual([r["success_ratio"] for r in rounds], [1, 0.75, 0.5])
        self.assertEqual(run.errors, {"connect_failed": 8})
        self.assertEqual((run.code, run.document["window"]["stopped_by"]), (1, "requests"))

    def test_connections_that_are_closed_before_their_first_message_are_errors(self) -> None:
        # Only three are let in. Of those after them two are told so as soon as they are open, while
        # the last one is still being opened.
        def full(server: Server, connection: socket.socket) -> None:
            number = server.next_request()
            if number == 6:
                time.sleep(0.3)
            shake_hands(connection)
            if number in (4, 5):
                connection.sendall(frame(CLOSE, b"\x03\xf5"))
                read_frame(connection)
                return
            while (got := read_frame(connection)) and got[0] == TEXT:
                connection.sendall(frame(TEXT, counted(got[1])))

        with serving(full) as server:
            run = self.ramp(server, 2, 3, 2)
        rounds = run.document["rounds"]
        self.assertEqual([r["connect_failed"] for r in rounds], [0, 0])
        self.assertEqual([r["opened"] for r in rounds], [3, 4])
        self.assertEqual([r["answered"] for r in rounds], [6, 8])
        self.assertEqual([r["errors"]["closed_early"] for r in rounds], [0, 2])
        self.assertEqual(run.errors, {"closed_early": 2})
        self.assertIn("before its first message", run.document["first_error"]["received"])
        self.assertEqual(run.code, 1)

    def test_stops_when_nothing_works_any_more(self) -> None:
        def dies(server: Server, connection: socket.socket, number: int, message: bytes) -> bool:
            if number > 4:
                server.stop_listening()
                return False
            connection.sendall(frame(TEXT, counted(message)))
            return True

        with serving(websocket(dies)) as server:
            run = self.ramp(server, 50, 2, 2)
        self.assertEqual(run.document["window"]["stopped_by"], "error")
        rounds = run.document["rounds"]
        self.assertEqual(len(rounds), 2)
        self.assertEqual(rounds[0]["success_ratio"], 1)
        self.assertEqual((rounds[1]["answered"], rounds[1]["success_ratio"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
