"""Contestants that each do one thing wrong, and what tests of the lab's own conduct share."""
