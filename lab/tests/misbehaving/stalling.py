"""A server for ``http.hello`` with two threads that both wait for ever from the 20th request on."""

from __future__ import annotations

import os
import socket
import threading

REPLY = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 19\r\n\r\nhello from route_01"
)
STALL_AFTER = 20

count = 0
never = threading.Event()


def serve(listener: socket.socket) -> None:
    global count
    while True:
        connection, _ = listener.accept()
        with connection:
            while data := connection.recv(4096):
                for _ in range(data.count(b"\r\n\r\n")):
                    count += 1
                    if count > STALL_AFTER:
                        never.wait()
                    connection.sendall(REPLY)


address = os.environ["WIREBENCH_HOST"], int(os.environ["WIREBENCH_PORT"])
with socket.create_server(address, backlog=64) as server:
    threads = [threading.Thread(target=serve, args=(server,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
