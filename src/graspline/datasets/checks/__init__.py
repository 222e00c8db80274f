"""The checks of `graspline doctor`, one module for each part of a dataset."""
