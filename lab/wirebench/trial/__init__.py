"""One trial: start a contestant in fresh processes, put a load on it, stop everything."""
