"""A client for http and https that does one thing wrong, or none: ``client.py FAULT``. Standard
library only.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import struct
import sys
import time
import urllib.parse
from pathlib import Path
from typing import Any

fault = sys.argv[1]
target = urllib.parse.urlsplit(os.environ["WIREBENCH_URL"])
policy = os.environ["WIREBENCH_POLICY"]
size = int(os.environ["WIREBENCH_PAYLOAD_BYTES"])
warmup, operations = int(os.environ["WIREBENCH_WARMUP"]), int(os.environ["WIREBENCH_OPERATIONS"])
wanted = bytes(ord("a") + i % 26 for i in range(size))
method = os.environ["WIREBENCH_METHOD"] if fault != "gets_anyway" else "GET"
request = f"{method} {target.path} HTTP/1.1\r\nHost: {target.netloc}\r\n".encode()
if method == "POST":
    kind = b"text/plain" if fault == "posts_text" else b"application/octet-stream"
    sent = wanted[:-1] + b"!" if fault == "posts_other_bytes" else wanted
    sent = sent[:-1] if fault == "posts_less" else sent
    request += b"Content-Type: " + kind + b"\r\n"
    if fault == "posts_chunks":
        chunks = [sent[:7], sent[7:]]
        sent = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in chunks) + b"0\r\n\r\n"
        request += b"Transfer-Encoding: chunked\r\n\r\n" + sent
    else:
        request += b"Content-Length: %d\r\n\r\n" % len(sent) + sent
else:
    request += b"\r\n"
RECONNECTS = ("reconnects", "reconnects_openly")
seconds: list[Any] = []
connections = 0
connection: Any = None
asked_ahead = False
samples: list[int] = []
sent_at: list[int] = []


def new_context() -> Any:
    if target.scheme != "https":
        return None
    import ssl  # it takes as long as all the rest of a short run

    made = ssl.create_default_context(cafile=os.environ["WIREBENCH_CA_FILE"] or None)
    made.check_hostname = fault not in ("trusts_anyone", "checks_no_name")
    if fault == "trusts_anyone":
        made.verify_mode = ssl.CERT_NONE
    return made


context = new_context()


def connect() -> Any:
    """To the first address of the host that accepts."""
    global connections
    for family, kind, number, _, address in socket.getaddrinfo(
        target.hostname, target.port, type=socket.SOCK_STREAM
    ):
        one = socket.socket(family, kind, number)
        one.settimeout(5)
        connections += fault == "counts_attempts"
        try:
            one.connect(address)
        except ConnectionRefusedError:
            one.close()
            continue
        connections += fault != "counts_attempts"
        return one
    raise ConnectionRefusedError(target.netloc)


def operate() -> bool:
    global connections, connection, context, asked_ahead
    if policy == "cold":
        context = new_context()
    if fault.startswith("opens_a_second") and policy == "reuse" and connection and not seconds:
        seconds.append(connection)
        connection = None
    if connection is None:
        connection = connect()
        if target.scheme == "https":
            connection = context.wrap_socket(connection, server_hostname=target.hostname)
    if not asked_ahead:
        connection.sendall(request)
    if fault == "times_the_sending":
        sent_at.append(time.perf_counter_ns())
    asked_ahead = fault == "asks_ahead" and policy == "reuse" and len(samples) < operations - 1
    if asked_ahead:
        connection.sendall(request)
    stream = connection.makefile("rb")
    status = int(stream.readline().split()[1])
    headers = {}
    while (line := stream.readline().strip()) != b"":
        name, _, value = line.partition(b":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers[b"content-length"]))
    stream.close()
    closes = policy != "reuse" and fault != "keeps_its_connection"
    if closes or headers.get(b"connection") == b"close" or fault in RECONNECTS:
        connection.close()
        connection = None
    if fault == "checks_nothing":
        return True
    if fault == "checks_the_length":
        return status == 200 and len(body) == size
    return status == 200 and body == wanted


def cpu() -> tuple[int, int]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return round(used.ru_utime * 1e9), round(used.ru_stime * 1e9)


if fault == "obeys_proxies" and any(name.lower().endswith("_proxy") for name in os.environ):
    sys.exit("what it asks for would go to a proxy")
if fault == "hangs":
    time.sleep(3600)
errors = sum(not operate() for _ in range(warmup if fault != "skips_the_warmup" else 0))
before, began = cpu(), time.perf_counter_ns()
for _ in range(operations):
    start = time.perf_counter_ns()
    errors += not operate()
    ended = sent_at[-1] if sent_at else time.perf_counter_ns()
    samples.append((ended - start) // (1000 if fault == "says_microseconds" else 1))
wall, after = time.perf_counter_ns() - began, cpu()
if fault == "crashes":
    os.abort()
if fault == "loses_a_sample":
    samples.pop()
Path(os.environ["WIREBENCH_SAMPLES"]).write_bytes(struct.pack(f"<{len(samples)}Q", *samples))
if fault == "prints_nothing":
    sys.exit(0)
said = {
    "operations": operations,
    "errors": errors,
    "connections": 1
    if fault in ("says_one_connection", "reconnects", "opens_a_second_in_secret")
    else connections + 5000 * (fault == "says_too_many"),
    "wall_ns": wall * (1000 if fault == "says_picoseconds" else 1),
    "cpu_user_ns": 10**400 if fault == "says_no_float" else after[0] - before[0],
    "cpu_system_ns": after[1] - before[1],
}
other = {"chatters": "a line of chatter", "nests_deeply": "[" * 10_000}
print(other.get(fault) or json.dumps(said))
sys.exit(1 if errors else 0)
