"""From trials to verdicts: pure functions of what is stored, with explicit seeds."""
