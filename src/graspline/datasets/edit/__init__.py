"""A dataset changed as a whole: merged, compacted, episodes taken out and put back."""
