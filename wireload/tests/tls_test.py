"""wireload over TLS, against Python's implementation, with certificates made here by the openssl
command.
"""

from __future__ import annotations

import shlex
import socket
import ssl
import subprocess
import tempfile
import unittest
from pathlib import Path

from servers import (
    RSV1,
    TEXT,
    Handler,
    Server,
    body_file,
    frame,
    http,
    http_replies,
    load,
    read_frame_bits,
    reply,
    serving,
    shake_hands,
    typed,
    wireload,
    ws_replies,
)


def openssl(command: str) -> None:
    words = shlex.split(command)
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)


class Certificates:
    """An authority and what it signed, in a folder that goes when the tests do."""

    def __init__(self) -> None:
        self.held = tempfile.TemporaryDirectory()
        self.folder = Path(self.held.name)
        for name in ("ca", "other"):
            key, authority = self._key(name), self.path(name + ".pem")
            subject = f"'/CN=authority {name}'"
            openssl(f"req -x509 -new -key {key} -subj {subject} -days 2 -out {authority}")
        self.issue("server", "DNS:localhost,IP:127.0.0.1")
        self.issue("elsewhere", "DNS:elsewhere.example")
        self.issue("expired", "IP:127.0.0.1", days="-1")
        self.issue("client", "DNS:client")

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def _key(self, name: str) -> str:
        key = self.path(name + ".key")
        openssl(f"genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out {key}")
        return key

    def issue(self, name: str, alternatives: str, days: str = "2") -> None:
        key, asked = self._key(name), self.path(name + ".csr")
        extensions = self.folder / (name + ".ext")
        extensions.write_text(f"subjectAltName={alternatives}\n")
        openssl(f"req -new -key {key} -subj /CN={name} -out {asked}")
        openssl(
            f"x509 -req -in {asked} -CA {self.path('ca.pem')} -CAkey {self.path('ca.key')} "
            f"-days {days} -extfile {extensions} -out {self.path(name + '.pem')}"
        )

    def server(self, name: str = "server") -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path(name + ".pem"), self.path(name + ".key"))
        return context


CERTIFICATES = Certificates()
CA = ("--cacert", CERTIFICATES.path("ca.pem"))


def tls(handler: Handler, context: ssl.SSLContext | None = None) -> Handler:
    wrapping = context or CERTIFICATES.server()

    def handle(server: Server, connection: socket.socket) -> None:
        with wrapping.wrap_socket(connection, server_side=True) as wrapped:
            handler(server, wrapped)

    return handle


class Https(unittest.TestCase):
    def test_counts_what_it_asked_for(self) -> None:
        with serving(tls(http_replies(lambda n: reply()))) as server:
            run = load(server, "-n", "50", "-c", "4", "--expect-body", "hello", *CA, scheme="https")
            self.assertEqual((server.requests, server.connections), (50, 4))
        self.assertEqual(run.code, 0, run.screen)
        document = run.document
        self.assertEqual(document["requests"]["ok"], 50)
        self.assertEqual(document["target"]["scheme"], "https")
        # The bytes of HTTP, not those of TLS.
        self.assertEqual(document["requests"]["bytes_in"], 50 * len(reply()))
        self.assertEqual(document["requests"]["bytes_out"], sum(map(len, server.seen)))
        self.assertEqual(document["connect"]["opened"], 4)
        self.assertEqual(document["connect"]["phases"]["tcp"]["count"], 4)
        self.assertEqual(document["connect"]["phases"]["tls"]["count"], 4)
        self.assertLessEqual(
            document["connect"]["phases"]["tcp"]["min_ns"]
            + document["connect"]["phases"]["tls"]["min_ns"],
            document["connect"]["latency"]["max_ns"],
        )
        agreed = document["tls"].pop("agreed")
        self.assertEqual(
            document["tls"], {"verified": True, "session": "new", "handshakes": 4, "resumed": 0}
        )
        self.assertEqual(
            [(a["version"], a["alpn"], a["count"]) for a in agreed], [("TLSv1.3", None, 4)]
        )

    def test_without_tls_there_is_no_tls(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "-n", "5", "-c", "2")
        self.assertIsNone(run.document["tls"])
        self.assertIsNone(run.document["connect"]["phases"]["tls"])
        self.assertEqual(run.document["connect"]["phases"]["tcp"]["count"], 2)

    def test_large_bodies_both_ways(self) -> None:
        body = bytes(range(256)) * 4000
        with body_file(body) as file, serving(tls(http_replies(lambda n: reply(body)))) as server:
            run = load(
                server,
                *typed("-n 6 -c 2 --body-file"),
                file,
                "--expect-body-file",
                file,
                *CA,
                scheme="https",
            )
        self.assertEqual(run.code, 0, run.screen)
        self.assertTrue(all(request.endswith(body) for request in server.seen))

    def test_pipelined(self) -> None:
        with serving(tls(http_replies(lambda n: reply()))) as server:
            run = load(server, "-n", "200", "-c", "2", "--pipeline", "16", *CA, scheme="https")
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 200))

    def test_protocol_and_version(self) -> None:
        context = CERTIFICATES.server()
        context.set_alpn_protocols(["two", "http/1.1"])
        with serving(tls(http_replies(lambda n: reply()), context)) as server:
            run = load(
                server,
                *typed("-n 1 -c 1 --tls-max-version 1.2 --alpn one,two"),
                *CA,
                scheme="https",
            )
        agreed = run.document["tls"]["agreed"]
        self.assertEqual(
            [(a["version"], a["alpn"], a["count"]) for a in agreed], [("TLSv1.2", "two", 1)]
        )

    def test_sessions_are_reused_only_when_asked_for(self) -> None:
        def once(_server: Server, connection: socket.socket, _number: int, _request: bytes) -> bool:
            connection.sendall(reply(b"hello", "200 OK", "Connection: close"))
            return False

        for version in ("1.2", "1.3"):
            for how in ("new", "reuse"):
                with self.subTest(version=version, how=how), serving(tls(http(once))) as server:
                    run = load(
                        server,
                        *typed("-n 20 -c 1 --no-keepalive --tls-session"),
                        how,
                        "--tls-max-version",
                        version,
                        *CA,
                        scheme="https",
                    )
                    self.assertEqual(run.code, 0, run.screen)
                    self.assertEqual(run.document["tls"]["handshakes"], 20)
                    self.assertEqual(run.document["connect"]["phases"]["tls"]["count"], 20)
                    if how == "new":
                        self.assertEqual(run.document["tls"]["resumed"], 0)
                    else:
                        self.assertEqual(run.document["tls"]["resumed"], 19, "all but the first")

    def test_a_body_that_ends_with_the_connection_ends_by_notice_only(self) -> None:
        def until_close(notice: bool) -> Handler:
            def answer(
                _server: Server, connection: socket.socket, _number: int, _request: bytes
            ) -> bool:
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nhello")
                if notice and isinstance(connection, ssl.SSLSocket):
                    connection.unwrap()
                return False

            return tls(http(answer))

        with serving(until_close(True)) as server:
            run = load(server, "-n", "1", "-c", "1", "--expect-body", "hello", *CA, scheme="https")
        self.assertEqual(run.code, 0, run.screen)
        with serving(until_close(False)) as server:
            run = load(server, "-n", "1", "-c", "1", "--expect-body", "hello", *CA, scheme="https")
        self.assertEqual(run.errors, {"closed_early": 1})
        self.assertIn("without the peer's word", run.document["first_error"]["received"])


class Wss(unittest.TestCase):
    def test_echo(self) -> None:
        with serving(tls(ws_replies(lambda n, message: frame(TEXT, message)))) as server:
            run = load(server, "-n", "60", "-c", "3", *CA, scheme="wss")
        self.assertEqual(run.code, 0, run.screen)
        self.assertEqual(run.document["requests"]["ok"], 60)
        self.assertEqual(run.document["tls"]["handshakes"], 3)

    def test_compressed(self) -> None:
        def echo(_server: Server, connection: socket.socket) -> None:
            agreed = "permessage-deflate; server_no_context_takeover"
            shake_hands(connection, f"Sec-WebSocket-Extensions: {agreed}")
            while (got := read_frame_bits(connection)) is not None and got[0] == 0xC1:
                connection.sendall(frame(TEXT, got[1], reserved=RSV1))

        with serving(tls(echo)) as server:
            run = load(
                server, *typed("-n 60 -c 3 --deflate --message-size 1000"), *CA, scheme="wss"
            )
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 60), run.screen)
        self.assertEqual(
            (run.document["deflate"]["connections_with"], run.document["deflate"]["payload_in"]),
            (3, 60_000),
        )


class Refusals(unittest.TestCase):
    def refused(self, handler: Handler, *arguments: str) -> str:
        """The reason, after checking that everything failed by TLS."""
        with serving(handler) as server:
            run = load(server, "-n", "4", "-c", "1", *arguments, scheme="https")
        self.assertEqual(set(run.errors), {"tls"}, run.screen)
        self.assertEqual(run.code, 2)
        self.assertEqual(run.document["first_error"]["kind"], "tls")
        return str(run.document["first_error"]["received"])

    def test_certificates_that_are_not_to_be_trusted(self) -> None:
        right = tls(http_replies(lambda n: reply()))
        for arguments, reason in (
            ((), "unable to get local issuer certificate"),
            (
                ("--cacert", CERTIFICATES.path("other.pem")),
                "unable to get local issuer certificate",
            ),
            ((*CA, "--sni", "elsewhere.example"), "hostname mismatch"),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(reason, self.refused(right, *arguments))
        for name, reason in (
            ("expired", "certificate has expired"),
            ("elsewhere", "IP address mismatch"),
        ):
            with self.subTest(name=name):
                self.assertIn(
                    reason,
                    self.refused(
                        tls(http_replies(lambda n: reply()), CERTIFICATES.server(name)), *CA
                    ),
                )

    def test_insecure_accepts_all(self) -> None:
        with serving(
            tls(http_replies(lambda n: reply()), CERTIFICATES.server("expired"))
        ) as server:
            run = load(server, "-n", "4", "-c", "1", "--insecure", scheme="https")
        self.assertEqual(run.code, 0, run.screen)
        self.assertFalse(run.document["tls"]["verified"])

    def test_another_name(self) -> None:
        seen: list[str] = []
        context = CERTIFICATES.server("elsewhere")
        context.sni_callback = lambda _socket, name, _context: seen.append(name)
        with serving(tls(http_replies(lambda n: reply()), context)) as server:
            run = load(
                server, "-n", "4", "-c", "1", "--sni", "elsewhere.example", *CA, scheme="https"
            )
        self.assertEqual((run.code, seen), (0, ["elsewhere.example"]), run.screen)

    def test_a_server_without_tls(self) -> None:
        def plain(_server: Server, connection: socket.socket) -> None:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        self.assertIn("does the server speak TLS on this port?", self.refused(plain, *CA))

    def test_the_connection_ends_in_the_handshake(self) -> None:
        self.assertIn(
            "handshake: the peer closed the connection",
            self.refused(lambda _server, connection: connection.recv(1000) and None, *CA),
        )

    def test_certificates_of_clients(self) -> None:
        context = CERTIFICATES.server()
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(CERTIFICATES.path("ca.pem"))
        with serving(tls(http_replies(lambda n: reply()), context)) as server:
            run = load(server, "-n", "4", "-c", "1", *CA, scheme="https")
        # In TLS 1.3 a client learns of it after its own handshake, and a reset may overtake the
        # server's reason.
        self.assertEqual(run.code, 2, run.screen)
        self.assertLessEqual(set(run.errors), {"tls", "closed_early"}, run.screen)
        mine = ("--cert", CERTIFICATES.path("client.pem"), "--key", CERTIFICATES.path("client.key"))
        with serving(tls(http_replies(lambda n: reply()), context)) as server:
            run = load(server, "-n", "4", "-c", "1", *CA, *mine, scheme="https")
        self.assertEqual(run.code, 0, run.screen)

    def test_files_are_checked_before_anything_is_opened(self) -> None:
        done = wireload("--cacert", CERTIFICATES.path("missing"), "https://127.0.0.1:1/")
        self.assertEqual(done.returncode, 64)
        self.assertIn(CERTIFICATES.path("missing") + ": No such file or directory", done.stderr)
        done = wireload(
            "--cert",
            CERTIFICATES.path("client.pem"),
            "--key",
            CERTIFICATES.path("server.key"),
            "https://127.0.0.1:1/",
        )
        self.assertEqual(done.returncode, 64)
        self.assertIn("is not that of the certificate", done.stderr)


if __name__ == "__main__":
    unittest.main()
