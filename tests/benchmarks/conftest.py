"""Puts `benchmarks/` where its scripts find each other, last, so that it hides no other module."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
