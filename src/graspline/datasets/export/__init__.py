"""A dataset in other formats."""
