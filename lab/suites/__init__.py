"""The test suites that `lab/checks.py` runs and counts."""
