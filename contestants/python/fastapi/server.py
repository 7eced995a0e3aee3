"""uvicorn for the FastAPI application."""

from __future__ import annotations

import os

import uvicorn

THREADS = int(os.environ.get("WIREBENCH_THREADS") or 1)

if __name__ == "__main__":
    uvicorn.run(
        "app:app",
        host=os.environ["WIREBENCH_HOST"],
        port=int(os.environ["WIREBENCH_PORT"]),
        # In rest the threads are handlers of one service.
        workers=1 if os.environ.get("WIREBENCH_WORKLOAD") == "rest" else THREADS,
        backlog=4096,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=0,  # at SIGTERM the trial is over
        access_log=False,
        log_level="critical",
        ssl_certfile=os.environ.get("WIREBENCH_TLS_CERT") or None,
        ssl_keyfile=os.environ.get("WIREBENCH_TLS_KEY") or None,
    )
