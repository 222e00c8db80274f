"""Pictures with depth of household items on a table or in a shelf, as the head of the robot before it sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.hsr import head_camera
from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd.planes import SearchBox
from graspline.perception.rgbd.recognition import KnownModel
from graspline.perception.rgbd.tabletop import Tabletop, see_tabletop
from graspline.rendering.choose import open_renderer
from graspline.rendering.depth_errors import DepthErrors, measured_depth
from graspline.rendering.picture import Picture
from graspline.robots.hsr import hsr
from graspline.scenes.fittings import FITTINGS, SHELF, TABLE, Fitting
from graspline.scenes.household import KNOWN, Item
from graspline.scenes.room import Standing, room, room_start, room_variation

Array = NDArray[np.float64]

ROBOT = hsr()
SCENE = room(ROBOT)
HANDLES_M = {"mug": 0.032}
MODELS = tuple(
    KnownModel(
        name=each.name,
        shape=each.shape,
        half_extents_m=each.half_extents_m,
        rgb=each.rgb,
        handle_m=HANDLES_M.get(each.name, 0.0),
    )
    for each in KNOWN
)
SOUND = DepthErrors()
# How far the base stands before table and shelf, and how far the head is tilted down.
_AWAY_M = {"table": 0.75, "shelf": 0.80}
_TILT_RAD = {"table": -0.45, "board_low": -0.62, "board_middle": -0.33}


def standing(item: Item, x_m: float, y_m: float, yaw_rad: float = 0.0, level: str = "table") -> Standing:
    """An item so far behind and to the left of a level's middle, as one looks at it."""
    fitting = fitting_of(level)
    x, y, z = fitting.level(level).position_m
    at = fitting.in_world((x + x_m, y + y_m, z + item.half_extents_m[2])).tolist()
    return Standing(item=item, position_m=(at[0], at[1], at[2]), yaw_rad=fitting.yaw_rad + yaw_rad)


def fitting_of(level: str) -> Fitting:
    return next(each for each in FITTINGS if level in [one.name for one in each.levels])


def around(level: str, margin_m: float = 0.1) -> SearchBox:
    """Where a level is looked for."""
    fitting = fitting_of(level)
    found = fitting.level(level)
    x, y, z = found.position_m
    half_x, half_y = found.half_extents_m
    corners = np.stack([fitting.in_world((x + a * half_x, y + b * half_y, z)) for a in (-1, 1) for b in (-1, 1)])
    low, high = (corners.min(axis=0) - margin_m).tolist(), (corners.max(axis=0) + margin_m).tolist()
    return SearchBox(low_m=(low[0], low[1], low[2] + 0.04), high_m=(high[0], high[1], high[2] - 0.04))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shot:
    """A picture that does not tell where it was taken, and where that was."""

    picture: Picture
    position_m: Array
    rotation: Array
    level: str

    def seen(self, known: Sequence[Belief] = ()) -> Tabletop:
        found = see_tabletop(
            self.picture,
            self.position_m,
            self.rotation,
            around(self.level),
            MODELS,
            highest_m=0.45 if self.level == "table" else 0.33,
            known=known,
        )
        assert isinstance(found, Tabletop)
        return found


class RoomStudio:
    """Draws the room from the robot's head."""

    def __init__(self) -> None:
        self._renderer = open_renderer(SCENE, 640, 480)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._renderer.close()

    def take(
        self, things: Sequence[Standing], level: str = "table", errors: DepthErrors = SOUND, seed: int = 0
    ) -> Shot:
        """What the head sees of a level, with the errors of a depth camera."""
        joints = _looking(level)
        qpos = room_start(SCENE, things)
        for name, angle in zip(ROBOT.joints, joints, strict=True):
            qpos[SCENE.joint_address(name)] = angle
        qpos[SCENE.joint_address("torso_lift")] = joints[ROBOT.joints.index("arm_lift")] / 2
        variation = room_variation(things, FITTINGS, {})
        picture = self._renderer.render(qpos, variation, "head")
        exact = self._renderer.depth(qpos, variation, "head")
        depth = measured_depth(exact, picture.fovy_rad, errors, np.random.default_rng(seed))
        nowhere = replace(picture, depth_m=depth, position_m=np.full(3, np.nan), rotation=np.full((3, 3), np.nan))
        position, rotation = head_camera(joints)
        return Shot(picture=nowhere, position_m=position, rotation=rotation, level=level)


def _looking(level: str) -> Array:
    fitting = TABLE if level == "table" else SHELF
    joints = ROBOT.home.copy()
    front = fitting.in_world((-fitting.level(level).half_extents_m[0] - _AWAY_M[fitting.name], 0.0, 0.0))
    joints[:3] = front[0], front[1], fitting.yaw_rad
    joints[ROBOT.joints.index("head_tilt")] = _TILT_RAD[level]
    return joints
