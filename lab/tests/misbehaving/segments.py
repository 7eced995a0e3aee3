"""A server for ``http.hello`` whose replies leave in segments as FAULT says: ``segments.py FAULT``.

``none``: one write. ``two_writes``: header and body in two, with Nagle's algorithm on. ``large``: a
body of 100,000 bytes. ``closes``: it closes the connection after each reply. ``thinks``: header and
body in two, with a pause of 60 ms between them and Nagle's algorithm off.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time

LARGE = 100_000
BODY = b"hello from route_01"


def serve(connection: socket.socket, fault: str) -> None:
    nodelay = fault != "two_writes"
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
    body = b"a" * LARGE if fault == "large" else BODY
    close = b"Connection: close\r\n" if fault == "closes" else b""
    with connection:
        while data := connection.recv(4096):
            asked_to_close = b"connection: close" in data.lower()
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n" % (len(body), close)
            if fault in ("two_writes", "thinks"):
                connection.sendall(head)
                if fault == "thinks":
                    time.sleep(0.06)
                connection.sendall(body)
            else:
                connection.sendall(head + body)
            if close or asked_to_close:
                return


address = os.environ["WIREBENCH_HOST"], int(os.environ["WIREBENCH_PORT"])
with socket.create_server(address, backlog=64) as server:
    while True:
        connection, _ = server.accept()
        threading.Thread(target=serve, args=(connection, sys.argv[1]), daemon=True).start()
