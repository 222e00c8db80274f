"""What a robot is asked whose base takes part in every reach: like `Arm`, with a whole rotation of the tool.

All is in O, the frame of the base's odometry. Joints begin with the base's x, y and heading. A module of functions, as
a closed form is one, answers to this.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


class WholeBody(Protocol):
    """The kinematics of a robot on wheels with a lift, an arm, and a head with a camera."""

    # Which joint lifts the arm, and which turn arm and head.
    LIFT: int
    ARM: list[int]
    HEAD: list[int]

    def forward(self, joints: Array, /) -> tuple[Array, Array]:
        """Position (..., 3) and rotation (..., 3, 3) of the tool."""
        ...

    def head_camera(self, joints: Array, /) -> tuple[Array, Array]:
        """Position and rotation of the head's camera: x right, y up, looking along -z."""
        ...

    def wrist_force_frame(self, joints: Array, /) -> tuple[Array, Array]:
        """Position and rotation of the sensor that feels force and acceleration at the wrist."""
        ...

    def gazing(self, joints: Array, point_m: Array, /) -> Array:
        """The same joints, (nu,), with the head looking at a point, as far as it can turn."""
        ...

    def postures(
        self,
        position_m: Array,
        rotation: Array,
        start: Array,
        *,
        margin: float,
        facing_rad: float | None = None,
        finely: bool = False,
    ) -> list[Array]:
        """For each tool pose, (N, 3) and (N, 3, 3), postures (n, m) of all but head and jaw, nearest to `start` first.

        The base may face anywhere, or as given; `finely` tries more leans of the arm. `margin` is kept from all limits.
        """
        ...

    def unreached(self, position_m: Array, rotation: Array, margin: float, /) -> Evidence:
        """Why no posture brings the tool to a pose, (3,) and (3, 3)."""
        ...

    def straight(self, joints: Array, way_m: Array, /) -> tuple[Array, Flags]:
        """Joints (2, nu) at both ends of a straight way (3,) of the hand by base and lift, and which can be had."""
        ...

    def hand_above_m(self, rotation: Array, /) -> float:
        """How far hand and wrist reach above the tool when it is turned like this."""
        ...

    def looking_over(self, joints: Array, /) -> Array:
        """The same joints with the head as high as it comes and the arm out of its sight."""
        ...
