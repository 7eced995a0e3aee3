"""The plan of a run: blocks of trials in an order that one seed reproduces."""
