"""How long things took, for figures that people read: nothing that is decided may depend on it."""

from __future__ import annotations

import time


def seconds() -> float:
    """Since some moment; only differences mean anything."""
    return time.perf_counter()
