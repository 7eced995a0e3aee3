"""One trial: a contestant in fresh processes, a load on it, and everything gone afterwards."""
