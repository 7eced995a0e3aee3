"""Flask: http.hello, rest."""

from __future__ import annotations

import json
import os
import time

from flask import Flask, Response, request

DELAY_S = int(os.environ.get("WIREBENCH_DELAY_MS") or 0) / 1000


def refuse(constant: str) -> None:
    """NaN and infinities, which are no JSON: Python's default reads and writes them."""
    raise ValueError(f"{constant} is no JSON")


decode = json.JSONDecoder(parse_constant=refuse).decode

app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 16 * 1024 * 1024  # no limit by default


@app.get("/route_01")
def route_01() -> Response:
    return Response("hello from route_01", mimetype="text/plain")


@app.get("/route_02")
def route_02() -> Response:
    return Response("hello from route_02", mimetype="text/plain")


@app.post("/test")
def post_test() -> Response:
    body = request.get_data()
    try:
        decode(body.decode())
    except ValueError:
        return Response("expected JSON", status=400, mimetype="text/plain")
    if DELAY_S:
        time.sleep(DELAY_S)
    return Response(b"Sending response: " + body, mimetype="text/plain")


@app.get("/test/status")
def status() -> Response:
    return Response("OK", mimetype="text/plain")


@app.get("/test/labels/<label>")
def label(label: str) -> Response:
    return Response("label: " + label, mimetype="text/plain")
