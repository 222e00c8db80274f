"""A task for graspline: an SO-101 puts one cube on another."""
