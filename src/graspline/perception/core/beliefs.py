"""A belief: where perception has an object, how large, and how wrong that may be. Planning starts from these."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from graspline.parameters import Parameters
from graspline.perception.core.estimators import one_of_estimators
from graspline.scenes.meshes.resting import Rest
from graspline.scenes.meshes.solid import Solid
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import (
    matrix_from_quaternion,
    matrix_from_vector,
    multiply,
    quaternion_from_matrix,
    yaw_of,
)

Array = NDArray[np.float64]
Shape = Literal["box", "cylinder", "ball", "plate", "mesh"]
UNKNOWN = "unknown"


class PositionNoise(Parameters):
    """What is added to the positions that an estimator sees, which would otherwise be exact."""

    position_sigma_m: float = Field(
        default=0.0, ge=0, le=0.02, description="noise on each coordinate of a detection, 1σ"
    )


class Noise(PositionNoise):
    """The same, and what is added to headings."""

    yaw_sigma_rad: float = Field(default=0.0, ge=0, le=0.5, description="noise on the heading of a detection, 1σ")


class Perception(Noise):
    """How a task sees its objects."""

    source: str = Field(
        default="truth", description="pose estimator: truth reads the simulator; or an installed one, or MODULE:NAME"
    )

    _source_is_known = field_validator("source")(one_of_estimators("truth"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Belief:
    """One object as believed: pose, size, and one standard deviation of position and heading."""

    # Of a known object, else "unknown".
    name: str
    position_m: Array  # (3,), its middle
    quaternion: Array  # w first
    # (3,); of a cylinder, which stands along its own z: radius, radius, half its height; of a mesh, the box around it.
    half_extents_m: Array
    # Of each coordinate of the middle.
    position_sigma_m: float
    # Zero for what is round.
    yaw_sigma_rad: float
    # When it was seen; NaN where that does not matter, as for furniture.
    time_s: float = math.nan
    shape: Shape = "box"
    # What a mesh is.
    solid: Solid | None = None

    @classmethod
    def exact(
        cls,
        name: str,
        position_m: Array,
        quaternion: Array,
        half_extents_m: Array,
        *,
        shape: Shape = "box",
        solid: Solid | None = None,
        time_s: float = math.nan,
    ) -> Belief:
        """An object that is known without error, as by truth or in plans."""
        return cls(
            name=name,
            position_m=position_m,
            quaternion=quaternion,
            half_extents_m=half_extents_m,
            position_sigma_m=0.0,
            yaw_sigma_rad=0.0,
            time_s=time_s,
            shape=shape,
            solid=solid,
        )

    @property
    def rest(self) -> Rest | None:
        """How a mesh stands: the way to rest that is nearest to how it is turned. None for what is no mesh."""
        return None if self.solid is None else self.solid.rest_at(self.rotation)

    @property
    def rotation(self) -> Array:
        """The rotation matrix, (3, 3)."""
        return matrix_from_quaternion(self.quaternion)

    @property
    def pose(self) -> Pose:
        """The pose in the world."""
        return Pose(position_m=self.position_m, rotation=self.rotation)

    @property
    def yaw_rad(self) -> float:
        """The rotation about the vertical."""
        return float(yaw_of(self.quaternion))

    @property
    def top_m(self) -> float:
        """Height of its highest point."""
        if self.solid is not None:
            return float(self.position_m[2]) + self.solid.reach_m(self.rotation)[1]
        return float(self.position_m[2] + self._reach_m[2])

    @property
    def bottom_m(self) -> float:
        """Height of its lowest point."""
        if self.solid is not None:
            return float(self.position_m[2]) - self.solid.reach_m(self.rotation)[0]
        return float(self.position_m[2] - self._reach_m[2])

    @property
    def _reach_m(self) -> Array:
        """(3,): half the sides of the upright box around it; of a mesh, around its box."""
        rotation, half = np.abs(self.rotation), self.half_extents_m
        if self.shape == "ball":
            return half
        if self.shape in ("box", "mesh"):
            return np.einsum("ij,j->i", rotation, half)
        leaning = np.sqrt(np.maximum(1 - rotation[:, 2] ** 2, 0.0))
        return half[0] * leaning + half[2] * rotation[:, 2]

    @property
    def radius_m(self) -> float:
        """The radius."""
        return float(self.half_extents_m[0])

    @property
    def up_axis(self) -> int:
        """Which of its axes points up or down; a ball's last."""
        return 2 if self.shape == "ball" else int(np.argmax(np.abs(self.rotation[2])))

    @property
    def uprightness(self) -> float:
        """How much of that axis points up or down, 1 for a ball. Of a mesh, how nearly it rests on a face."""
        rest = self.rest
        if rest is not None:
            return self.upright_on(rest)
        return 1.0 if self.shape == "ball" else float(np.abs(self.rotation[2]).max())

    def upright_on(self, rest: Rest) -> float:
        """How much of the direction that is down when a mesh rests like this points down."""
        return float(-self.rotation[2] @ np.array(rest.down))

    @property
    def half_height_m(self) -> float:
        """How far its position is above what it stands on: half of how high it stands, of all but a mesh."""
        rest = self.rest
        return float(self.half_extents_m[self.up_axis]) if rest is None else rest.height_m

    @property
    def rise_m(self) -> float:
        """How far its top is above its position while it stands."""
        rest = self.rest
        return float(self.half_extents_m[self.up_axis]) if rest is None else rest.rise_m

    @property
    def spread_m(self) -> float:
        """How far it reaches around its upright axis."""
        rest = self.rest
        if rest is not None:
            return rest.spread_m
        sides = [float(half) for axis, half in enumerate(self.half_extents_m) if axis != self.up_axis]
        return float(np.hypot(sides[0], sides[1])) if self.shape == "box" else max(sides)

    def distance_m(self, points_m: Array) -> Array | None:
        """How far points (N, 3) are from its surface, 0 inside; None for a plate, which things are put into.

        A mesh is taken as the box around it.
        """
        if self.shape == "plate":
            return None
        apart = points_m - self.position_m
        if self.shape == "ball":
            return np.maximum(np.sqrt(np.vecdot(apart, apart)) - self.half_extents_m.max(), 0.0)
        inside = np.abs(np.einsum("ni,ij->nj", apart, self.rotation))
        if self.shape == "cylinder":
            inside = np.stack([np.hypot(inside[:, 0], inside[:, 1]), np.zeros(len(inside)), inside[:, 2]], axis=-1)
        beyond = np.maximum(inside - self.half_extents_m, 0.0)
        return np.sqrt(np.vecdot(beyond, beyond))


def noisy(estimate: Belief, perception: PositionNoise, random: np.random.Generator) -> Belief:
    """The same sighting as a worse eye would have it; the estimate says how much worse."""
    yaw_sigma_rad = perception.yaw_sigma_rad if isinstance(perception, Noise) else 0.0
    if not perception.position_sigma_m and not yaw_sigma_rad:
        return estimate
    shift = random.normal(0.0, 1.0, 3) * perception.position_sigma_m
    turn = random.normal() * yaw_sigma_rad
    rotation = multiply(matrix_from_vector(np.array([0.0, 0.0, turn])), estimate.rotation)
    return replace(
        estimate,
        position_m=estimate.position_m + shift,
        quaternion=quaternion_from_matrix(rotation),
        position_sigma_m=perception.position_sigma_m,
        yaw_sigma_rad=yaw_sigma_rad,
    )
