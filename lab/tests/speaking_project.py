"""A small project like ``run_project``'s with wireload itself, servers that also speak TLS and
WebSocket, and studies with cells of several kinds.
"""

from __future__ import annotations

import pytest

from misbehaving.support import HERE
from run_project import LAB, NOTE_PID, Project
from wirebench.process.native import find_native

WIRELOAD = find_native("wireload")
needs_wireload = pytest.mark.skipif(WIRELOAD is None, reason="wireload is not built")

CONCURRENCY = """
name = "concurrency"
title = "Few connections"
question = "Does it run?"
role = "server"
workload = "http.hello"

[[cells]]
id = "c2"
title = "2 connections"
kind = "closed"
primary = "throughput_per_s"
connections = 2

[[cells]]
id = "rate-200"
title = "200 requests a second"
kind = "open"
primary = "cpu_per_request_ns"
connections = 2
rate = 200

[[cells]]
id = "tls-http"
title = "2 connections over TLS"
kind = "closed"
primary = "throughput_per_s"
connections = 2
tls = true

[presets.hour]
cells = ["c2"]
budget = "10m"
min_blocks = 6
max_blocks = 6
warmup = "50ms"
window = "400ms"

[presets.quick]
cells = ["rate-200", "tls-http"]
warmup = "50ms"
window = "400ms"

[presets.full]
cells = ["c2"]
"""

WEBSOCKET = """
name = "websocket"
title = "A short ramp"
question = "Does it run?"
role = "server"
workload = "ws.count"

[[cells]]
id = "burst"
title = "a ramp, back to back"
kind = "ramp"
primary = "throughput_per_s"
rounds = 3
add = 4
messages = 5
pacing = "burst"

[[cells]]
id = "serial"
title = "a ramp, one in flight"
kind = "ramp"
primary = "throughput_per_s"
rounds = 3
add = 4
messages = 5
pacing = "serial"

[[cells]]
id = "tls-ws"
title = "2 connections over TLS"
kind = "closed"
primary = "throughput_per_s"
connections = 2
tls = true

[[cells]]
id = "restart"
title = "20 connections at once after a crash"
kind = "storm"
primary = "makespan_ns"
connections = 20
restart = true

[[cells]]
id = "idle"
title = "idle connections"
kind = "idle"
primary = "server_pss_bytes"
connections = 2
window = "1s"

[presets.quick]
cells = ["burst", "serial", "tls-ws", "restart", "idle"]
warmup = "50ms"
window = "400ms"

[presets.full]
cells = ["burst"]
"""


def teach(project: Project) -> None:
    """Give the project these studies, servers that answer them, and wireload."""
    assert WIRELOAD is not None
    (project.root / "studies" / "concurrency.toml").write_text(CONCURRENCY)
    (project.root / "studies" / "websocket.toml").write_text(WEBSOCKET)
    project.use(WIRELOAD)
    source = (HERE / "server.py").read_text().replace("from __future__ import annotations", "")
    source = source.replace("sys.argv[1]", '"none"')
    path = f"import sys\nsys.path.insert(0, {str(LAB)!r})\n"
    for folder in (project.root / "contestants" / "python").iterdir():
        if not folder.is_dir():
            continue
        note = NOTE_PID.format(pids=str(project.pids), name=folder.name)
        (folder / "server.py").write_text(path + note + source)
        manifest = folder / "manifest.toml"
        everything = 'serves = ["http.hello", "ws.count"]\ntls = true'
        manifest.write_text(manifest.read_text().replace('serves = ["http.hello"]', everything))
