"""A run from its plan to its stored trials: build, verify, measure, resume, stop."""
