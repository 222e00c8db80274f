"""Rates with honest intervals."""

from __future__ import annotations

import math


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % Wilson interval of a success rate; (0, 1) when nothing has been tried."""
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def rate_text(successes: int, trials: int, digits: int = 1) -> str:
    low, high = (f"{100 * end:.{digits}f}" for end in wilson(successes, trials))
    share = f"{100 * successes / max(trials, 1):.{digits}f}"
    return f"{successes}/{trials} = {share} % (95 % interval {low} to {high} %)"
