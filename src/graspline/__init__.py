"""Robot pick-and-place in simulation that is verified, recovers, and turns into training data."""

__version__ = "0.1.0"
