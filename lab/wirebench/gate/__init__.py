"""Thresholds that a change must hold, judged by intervals, for continuous integration."""
