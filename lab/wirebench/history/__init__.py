"""What this host has measured over time: the index of its runs, series of figures, changes."""
