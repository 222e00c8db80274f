"""How far an arm that stands on a table reaches over it, by the name of its robot: what maps of a table show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from graspline.kinematics import so101
from graspline.robots.so101 import BASE_FOOTPRINT_M, FIXED_TIP_M, SO101


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReach:
    """The arm seen from above, in W."""

    # Where the pan axis is, with y = 0.
    pan_x_m: float
    # From the pan axis to the fingertips of the stretched arm when they touch the table.
    reach_m: float
    # The base from x to x, and half its width.
    base_m: tuple[float, float, float]


_STRETCHED_M = so101.UPPER_LINK_M + so101.LOWER_LINK_M + so101.GRIPPER_M + FIXED_TIP_M[0]

TABLE_REACHES: Mapping[str, TableReach] = MappingProxyType(
    {
        SO101.name: TableReach(
            pan_x_m=so101.PAN_X_M,
            reach_m=so101.LIFT_RADIUS_M + math.sqrt(_STRETCHED_M**2 - so101.LIFT_HEIGHT_M**2),
            base_m=BASE_FOOTPRINT_M,
        )
    }
)
