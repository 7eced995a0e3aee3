"""The run directory: what was planned and measured, append-only, readable after an interruption at
any moment.
"""
