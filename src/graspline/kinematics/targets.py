"""What a solver is asked and what it answers: tool points, targets, how hard to search, solutions and refusals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.errors import InputError
from graspline.evidence import Evidence, failures
from graspline.parameters import Parameters

Array = NDArray[np.float64]

DAMPING = 0.1
# Radians or metres per joint and iteration.
STEP_LIMIT = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ToolPoint:
    """A point and axes fixed to a body: a jaw's tip, the middle between fingers, a held object's centre."""

    body: str
    # In the body's frame. `rotation` is the matrix R_BT; None gives the tool the body's own axes.
    offset_m: Array
    rotation: Array | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Target:
    """Where the tool point shall be, in the world, and optionally how the tool shall be turned.

    `quaternion` (w first) fixes all three tool axes. `approach` fixes only where the tool's x axis points and
    leaves the turn about it free, which is what an arm of five joints can promise. With neither, any
    orientation will do.
    """

    position_m: Array
    quaternion: Array | None = None
    approach: Array | None = None
    # Metres that weigh as much as one radian; the lever from wrist to fingertip. At 0 no turn is asked for.
    orientation_weight: float = 0.1

    def __post_init__(self) -> None:
        problems: list[str] = []
        if self.quaternion is not None and self.approach is not None:
            problems.append("a target has a quaternion or an approach, not both")
        if not 0 <= self.orientation_weight < math.inf:
            problems.append(f"orientation_weight {self.orientation_weight} is not a finite number from 0")
        object.__setattr__(self, "position_m", checked_vector("position_m", self.position_m, 3, problems))
        for name, size in (("quaternion", 4), ("approach", 3)):
            if getattr(self, name) is not None:
                direction = checked_vector(name, getattr(self, name), size, problems)
                length = float(np.linalg.norm(direction))
                if length < 1e-6:
                    problems.append(f"{name} has no length: {direction.tolist()}")
                object.__setattr__(self, name, direction / max(length, 1e-6))
        if problems:
            raise InputError(problems)

    @property
    def oriented(self) -> bool:
        return self.orientation_weight > 0 and (self.quaternion is not None or self.approach is not None)


class Search(Parameters):
    """When a solve has converged, and how much work it may do; work is counted, never timed."""

    position_tolerance_m: float = Field(default=1e-5, gt=0)
    # Over the 0.1 m from wrist to fingertip this is the position tolerance again.
    orientation_tolerance_rad: float = Field(default=1e-4, gt=0)
    iterations: int = Field(default=40, ge=1, description="per attempt, and to settle a refusal")
    restarts: int = Field(default=30, ge=0)
    damping: float = Field(default=DAMPING, ge=0)
    step_limit: float = Field(default=STEP_LIMIT, gt=0, description="rad or m per joint and iteration")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """Joint values, in the solver's order, that bring the tool to the target; iterations of all attempts."""

    q: Array
    position_error_m: float
    orientation_error_rad: float
    iterations: int
    restarts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """No attempt converged; the evidence is that of the nearest point found.

    First the errors beside their tolerances, then each joint stuck at a limit, valued where an unclamped step
    would have taken it.
    """

    evidence: Evidence
    iterations: int
    restarts: int

    def __str__(self) -> str:
        reasons = ", ".join(str(each) for each in failures(self.evidence))
        return f"target not reached in {self.iterations} iterations: {reasons}"


def checked_vector(name: str, value: Array, size: int, problems: list[str]) -> Array:
    """A copy of `value` as `size` floats; what is wrong with it goes to `problems`."""
    array = np.array(value, float)
    if array.shape != (size,):
        problems.append(f"{name} has shape {array.shape}, not ({size},)")
    # Squares of anything larger would overflow on the way.
    elif not (np.abs(array) < 1e9).all():
        problems.append(f"{name} has entries that are not finite and below 1e9: {array.tolist()}")
    return array
