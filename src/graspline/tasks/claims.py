"""Claims held against truth: what it takes for an object to really be in the hand."""

from __future__ import annotations

import numpy as np

from graspline.evidence import Evidence, at_least, at_most
from graspline.tasks.task import Snapshot

# An object in the hand is this close to the middle of the pads, and each of them presses at least this hard.
_OFF_PADS_M = 0.025
_PRESS_N = 0.05


def in_hand(truth: Snapshot, name: str) -> Evidence:
    """Between the pads, both of which press."""
    apart = float(np.linalg.norm(truth.objects[name].position_m - truth.tool_m))
    return (
        at_most("off_pads", apart, _OFF_PADS_M, "m"),
        at_least("weaker_pad_force", min(truth.pad_forces_n), _PRESS_N, "N"),
    )
