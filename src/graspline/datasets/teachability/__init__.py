"""How well the demonstrations of a dataset can be imitated, measured from their frames and the scenes they start in."""
