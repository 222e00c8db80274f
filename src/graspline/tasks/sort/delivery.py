"""What became of the blocks of one episode, for `graspline rates`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graspline.evidence import Evidence
from graspline.tasks.feed import Delivered

_BIN, _MISSED = "bin_", "missed_"


def delivered(truth: Mapping[str, Any], evidence: Evidence) -> Delivered:
    """A block is right in the bin of its colour; what was sorted and missed, and how fast, the last state reports."""
    told = {each.name: each.value for each in evidence}
    blocks = truth["sent"]
    bins = [each for each in blocks if str(each["where"]).startswith(_BIN)]
    right = sum(each["where"] == f"{_BIN}{each['colour']}" for each in bins)
    return Delivered(
        sent=len(blocks),
        right=right,
        wrong=len(bins) - right,
        claimed=int(told.get("sorted", 0)),
        missed={name.removeprefix(_MISSED): int(value) for name, value in told.items() if name.startswith(_MISSED)},
        picks_per_min=told.get("picks_per_min"),
    )
