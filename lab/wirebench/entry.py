"""The command's first lines: they import nothing slow, so that a Ctrl-C during the imports is an
ordinary end as well.
"""

from __future__ import annotations

import sys
from typing import NoReturn

INTERRUPTED = 130
"""128 + SIGINT, as shells report it; ``cli.console`` has the rest, but importing it takes the time
this file is about.
"""


def main() -> NoReturn:
    try:
        from wirebench.cli.main import main as run
    except KeyboardInterrupt:
        print("wirebench: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    run()
