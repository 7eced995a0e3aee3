"""Which contestants meet what somebody needs, by the runs that this host has."""
