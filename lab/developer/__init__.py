"""What only developers of this project run, from a checkout. It is not installed with the lab."""
