"""Demonstrations as arrays: what every episode commands and measures, frame after frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.teachability.hand import HandRoll
from graspline.datasets.teachability.scenes import SceneStart, StartObject

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

DEGREES, MILLIMETRES = "deg", "mm"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demonstrations:
    """All episodes of a dataset, one after the other: F frames of `nu` joints."""

    joints: tuple[str, ...]
    # Of each joint: deg, mm, or empty where the dataset does not say.
    units: tuple[str, ...]
    # The joint that opens and closes the gripper; None where the dataset does not say.
    jaw: int | None
    fps: float
    # Episode e has the frames from first[e] up to first[e + 1]; (n + 1,).
    first: Indices
    # Commanded and measured joints, (F, nu).
    actions: Array
    measured: Array
    # State of the task in each frame, (F,), as an index of `state_names`.
    states: Indices
    state_names: tuple[str, ...]
    # Where the tool is commanded to be, (F, 3) in millimetres; no rows where the dataset does not say.
    tool_mm: Array

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def lengths(self) -> Indices:
        """Frames of each episode."""
        return np.diff(self.first)

    @property
    def episode_of(self) -> Indices:
        """The episode of each frame, (F,)."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def turning(self) -> list[int]:
        """Joints of the arm that turn: where one of them differs, another posture was chosen."""
        return [at for at, unit in enumerate(self.units) if unit == DEGREES and at != self.jaw]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grasps:
    """The first grasp of each episode that has one, and the scene it began in: n of them."""

    hand: HandRoll
    # Which episodes these are, and the frame of the grasp among all frames.
    episodes: Indices
    frames: Indices
    # As they were at the start: the whole scene, and the object that was grasped.
    scenes: Sequence[SceneStart]
    objects: Sequence[StartObject]
    # Axis of the roll joint and closing direction of the jaw at the grasp, (n, 3) in W.
    axes: Array
    closings: Array
    # By how much the hand must turn about the vertical for another grasp that is as good; 0 for any angle.
    grips_rad: Array

    def __len__(self) -> int:
        return len(self.episodes)

    @property
    def yaws_rad(self) -> Array:
        """Of the grasped objects at the start, (n,)."""
        return np.array([each.yaw_rad for each in self.objects])

    @property
    def looks_rad(self) -> Array:
        """By how much the grasped objects must turn to look the same again, (n,); 0 for any angle."""
        return np.array([each.period_rad for each in self.objects])
