"""Processes: start them, pin them, account for them, and leave none behind."""
