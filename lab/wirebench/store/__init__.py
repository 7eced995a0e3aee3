"""The run directory: append-only, and readable after an interruption at any moment."""
