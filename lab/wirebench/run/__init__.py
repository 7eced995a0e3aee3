"""A run: build, verify, measure, store; resumed after an interruption."""
