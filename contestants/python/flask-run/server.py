"""Flask on its own server: http.hello."""

from __future__ import annotations

import logging
import os

from flask import Flask, Response, cli

app = Flask(__name__)


@app.get("/route_01")
def route_01() -> Response:
    return Response("hello from route_01", mimetype="text/plain")


@app.get("/route_02")
def route_02() -> Response:
    return Response("hello from route_02", mimetype="text/plain")


if __name__ == "__main__":
    logging.getLogger("werkzeug").disabled = True
    cli.show_server_banner = lambda *_: None
    app.run(host=os.environ["WIREBENCH_HOST"], port=int(os.environ["WIREBENCH_PORT"]))
