"""A dataset as one page."""
