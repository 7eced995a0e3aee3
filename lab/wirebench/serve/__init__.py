"""A local, read-only page over the runs of this host."""
