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


def rate_text(successes: int, trials: int) -> str:
    low, high = wilson(successes, trials)
    share = successes / trials if trials else 0.0
    return f"{successes}/{trials} = {100 * share:.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f} %)"
