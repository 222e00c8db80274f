"""Gauss and Newton on an outline: the parameters of a shape that reaches as far in the picture as it is seen to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.rendering.picture import Array

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settling:
    """How parameters (P,) are looked for: what is believed of them beforehand, and the steps slopes are taken by."""

    believed: Array
    # One standard deviation each; half of it is the longest step.
    doubt: Array
    steps: Array
    low: Array
    high: Array
    # The error of one place on the outline.
    edge_sigma_px: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settled:
    """Fitted parameters with their certainty and residuals."""

    parameters: Array
    # (P, P): the inverse covariance, in edge errors.
    normal: Array
    # (M,): how far the shape reaches beyond where it is seen to, and which of these counted.
    misses_px: Array
    counted: Flags

    @property
    def misfit_px(self) -> float:
        """Root mean square over what counted; 0 if nothing did."""
        return float(np.sqrt(np.mean(self.misses_px[self.counted] ** 2))) if self.counted.any() else 0.0


def settle(
    reaches: Callable[[Array], Array],
    observed: Array,
    seen: Flags,
    settling: Settling,
    start: Array,
    farthest_px: tuple[float, ...],
) -> Settled:
    """One round for each of `farthest_px`: places on the outline that are seen but farther off are left out of it.

    `reaches` gives for parameters (B, P) how far (B, M) the shape reaches at each place, `observed` (M,) how far it is
    seen to. Where something hides the shape, which is not `seen` there, it reaches at least as far as that.
    """
    prior = np.diag((settling.edge_sigma_px / settling.doubt) ** 2)
    probes = np.concatenate([np.zeros((1, len(start))), np.diag(settling.steps)])
    shape, normal = start, prior
    misses, counted = np.zeros(len(seen)), np.zeros(len(seen), bool)
    for far_px in farthest_px:
        found = reaches(shape + probes)
        misses = found[0] - observed
        counted = (seen & (np.abs(misses) <= far_px)) | (~seen & (misses < 0))
        slopes = ((found[1:] - found[0])[:, counted] / settling.steps[:, None]).T
        normal = slopes.T @ slopes + prior
        change = np.linalg.solve(normal, slopes.T @ misses[counted] + prior @ (shape - settling.believed))
        shape = np.clip(shape - np.clip(change, -settling.doubt / 2, settling.doubt / 2), settling.low, settling.high)
    return Settled(parameters=shape, normal=normal, misses_px=misses, counted=counted)
