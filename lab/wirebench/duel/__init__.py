"""Servers of the user's, given as commands or addresses, measured in turn and compared."""
