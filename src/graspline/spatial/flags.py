"""Flags of a few rows, where calls cost more than elements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def some(flags: NDArray[np.bool_]) -> bool:
    """Whether any flag is set; `ndarray.any` takes eight times as long on a few."""
    return b"\x01" in flags.tobytes()
