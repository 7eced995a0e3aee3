"""gunicorn for the Flask application."""

import os

_threads = int(os.environ.get("WIREBENCH_THREADS") or 1)

bind = f"{os.environ['WIREBENCH_HOST']}:{os.environ['WIREBENCH_PORT']}"
worker_class = "gthread"
if os.environ.get("WIREBENCH_WORKLOAD") == "rest":
    workers, threads = 1, _threads  # handlers of one service
else:
    workers, threads = _threads, 1  # that many cores: one interpreter uses one
keepalive = 75
worker_connections = (
    100_000  # beyond it (default 1000) gthread stops accepting and answers `Connection: close`
)
backlog = 4096
preload_app = True  # else it listens before the application is loaded
graceful_timeout = 0  # at SIGTERM the trial is over
worker_tmp_dir = os.environ.get("WIREBENCH_TMP") or None
control_socket_disable = True
loglevel = "critical"
