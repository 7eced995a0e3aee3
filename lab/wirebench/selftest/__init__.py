"""The generator against servers whose delays and faults are known exactly: ``wirebench selftest``.

``laws`` holds the analytic truths, ``cases`` what is run, ``judge`` when a percentile is right.
"""
