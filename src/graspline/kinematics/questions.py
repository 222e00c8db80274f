"""What planners ask about an arm, to be answered for many lanes in one call; see `planning.batched_planning`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.kinematics.arm import Arm, Indices, Solutions

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Targets of one arm, to be solved facing them together with those of others; see `Arm.solve`."""

    arm: Arm
    position_m: Array  # (n, 3)
    pitch_rad: Array  # (n,)
    yaw_rad: Array | float  # (n,) or one
    tool_m: Array  # (n, 3) or (3,)
    margin_rad: float
    # The only branch that is asked for, of all or of each, (n,); None for all branches.
    branch: Indices | int | None = None

    @classmethod
    def answered(cls, asked: Sequence[Targets]) -> list[Solutions]:
        """The solutions of each."""
        arm = _one_arm([each.arm for each in asked])
        if len(asked) == 1:
            (one,) = asked
            pose = one.position_m, one.pitch_rad, one.yaw_rad, one.tool_m, one.margin_rad
            return [arm.solve(*pose, backwards=False, branch=one.branch)]
        counts = [len(each.position_m) for each in asked]
        some = [
            np.full(count, each.branch) for each, count in zip(asked, counts, strict=True) if each.branch is not None
        ]
        solved = arm.solve(
            np.concatenate([each.position_m for each in asked]),
            np.concatenate([each.pitch_rad for each in asked]),
            np.concatenate([np.full(count, each.yaw_rad) for each, count in zip(asked, counts, strict=True)]),
            np.concatenate([np.full((count, 3), each.tool_m) for each, count in zip(asked, counts, strict=True)]),
            np.repeat([each.margin_rad for each in asked], counts),
            backwards=False,
            branch=np.concatenate(some) if len(some) == len(asked) else None,
        )
        return [solved.of(rows) for rows in _each(counts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stances:
    """Joint positions of one arm, (n, at least its joints), whose tool points are found with those of others."""

    arm: Arm
    joints_rad: Array
    tool_m: tuple[float, float, float]

    @classmethod
    def answered(cls, asked: Sequence[Stances]) -> list[Array]:
        """Positions (n, 3) of each one's tool point; see `Arm.forward`."""
        arm = _one_arm([each.arm for each in asked])
        if len(asked) == 1:
            return [arm.forward(asked[0].joints_rad, np.array(asked[0].tool_m))[0]]
        counts = [len(each.joints_rad) for each in asked]
        tools = np.repeat([each.tool_m for each in asked], counts, axis=0)
        points, _ = arm.forward(np.concatenate([each.joints_rad for each in asked]), tools)
        return [points[rows] for rows in _each(counts)]


def _each(counts: list[int]) -> list[slice]:
    return [slice(end - count, end) for end, count in zip(itertools.accumulate(counts), counts, strict=True)]


def _one_arm(arms: list[Arm]) -> Arm:
    if any(each is not arms[0] for each in arms):
        raise WiringError("questions about different arms cannot be answered together")
    return arms[0]
