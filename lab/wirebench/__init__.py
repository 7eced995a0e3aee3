"""wirebench: test HTTP and WebSocket libraries before you depend on them.

The packages follow the pipeline, and each imports only those before it:
``catalog``, ``host``, ``process``, ``build``, ``verify``, ``conformance``, ``plan``, ``trial``,
``store``, ``run``, ``stats``, ``report``, ``selftest``, ``cli`` (tested by test_layers.py).
"""

from __future__ import annotations

__version__ = "0.1.0"
