"""Where an arm's tool point can be: anywhere at all, and straight down over something to be grasped.

The general workspace comes from random joint angles. The grasp workspace comes from a grid of targets through the very
inverse kinematics that plans grasps, because random joints almost never point straight down.

Both are bodies of revolution about the first axis, up to that joint's range, so radius means distance from that axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Range = tuple[float, float]

# Sweep: radii and heights this far apart, headings this many.
STEP_M = 0.005
HEADINGS = 36
# The share of each range that is left as a margin at either end.
MARGIN = 0.05
# Poses that are tried at once, and poses for the coverage.
_CHUNK = 100_000
_COVERAGE_POSES = 20_000

Done = Callable[[], object]


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """What a workspace is measured with: an arm's own kinematics."""

    name: str
    # Where the first axis stands on the floor.
    axis_m: tuple[float, float]
    lower_rad: Array
    upper_rad: Array
    # How far out and how high and low targets are tried.
    radius_m: Range
    height_m: Range
    # Tool points (N, 3) of joint angles (N, n).
    forward: Callable[[Array], Array]
    # Which tool points (N, 3) are reached straight down with the jaws at this heading (N,).
    reaches_down: Callable[[Array, Array], Flags]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """An envelope: nothing outside can be reached; inside, inverse kinematics has the last word."""

    radius_m: Range
    height_m: Range

    def inner(self) -> Bounds:
        """The same less a margin on all sides."""
        return Bounds(radius_m=_narrowed(self.radius_m), height_m=_narrowed(self.height_m))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The grasp workspace in a half plane through the first axis: the share of headings reached at each grid point."""

    radii_m: Array
    heights_m: Array
    # (radii, heights)
    share: Array

    def bounds(self) -> Bounds:
        """The envelope of all points that are reached with any heading."""
        at, up = np.nonzero(self.share)
        return Bounds(
            radius_m=(float(self.radii_m[at.min()]), float(self.radii_m[at.max()])),
            height_m=(float(self.heights_m[up.min()]), float(self.heights_m[up.max()])),
        )

    def columns(self) -> list[tuple[float, float, float]]:
        """Radius, lowest and highest height of every column in which anything is reached."""
        found = []
        for radius, shares in zip(self.radii_m, self.share, strict=True):
            up = np.flatnonzero(shares)
            if len(up):
                found.append((float(radius), float(self.heights_m[up[0]]), float(self.heights_m[up[-1]])))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Of random poses inside the bounds with their margin, the share that inverse kinematics accepts."""

    poses: int
    # With the heading as drawn, and with that or the opposite one: jaws grasp alike both ways round.
    share: float
    share_either_way: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Both workspaces of one arm, as measured."""

    arm: Arm
    samples: int
    general: Bounds
    # Radius and height of some of the samples, to draw.
    cloud_m: Array
    section: Section
    coverage: Coverage

    def document(self) -> dict[str, Any]:
        """What `workspace_bounds.yaml` says."""
        raw = self.section.bounds()
        return {
            "robot": self.arm.name,
            "axis_m": list(self.arm.axis_m),
            "general": {"samples": self.samples, **_ranges(self.general)},
            "grasp": {
                "step_m": STEP_M,
                "headings": HEADINGS,
                "raw": _ranges(raw),
                "margin_share": MARGIN,
                "with_margin": _ranges(raw.inner()),
                "columns_m": [[round(each, 4) for each in column] for column in self.section.columns()],
            },
            "coverage": {
                "poses": self.coverage.poses,
                "accepted": round(self.coverage.share, 3),
                "accepted_either_way_round": round(self.coverage.share_either_way, 3),
            },
        }


def steps_of(arm: Arm, samples: int) -> int:
    """How often `measure` and `plan_view` together call `done`."""
    radii, heights, across = (len(_grid(span, STEP_M)) for span in (arm.radius_m, arm.height_m, _across(arm)))
    counts = samples, radii * heights * HEADINGS, _COVERAGE_POSES, _COVERAGE_POSES, across**2 * HEADINGS
    return sum(-(-count // _CHUNK) for count in counts)


def measure(arm: Arm, samples: int, seed: int = 0, done: Done = _nothing) -> Workspace:
    """Sample joint angles, sweep the section, and count which poses in it are reached; `done` after each part."""
    random = np.random.default_rng(seed)
    joints = random.uniform(arm.lower_rad, arm.upper_rad, (samples, len(arm.lower_rad)))
    parts: list[Array] = []
    for at in range(0, samples, _CHUNK):
        parts.append(arm.forward(joints[at : at + _CHUNK]))
        done()
    points = np.concatenate(parts)
    radius, height = radius_of(arm, points), points[:, 2]
    section = sweep(arm, done=done)
    return Workspace(
        arm=arm,
        samples=samples,
        general=Bounds(
            radius_m=(float(radius.min()), float(radius.max())), height_m=(float(height.min()), float(height.max()))
        ),
        cloud_m=np.stack([radius, height], axis=-1)[:3000],
        section=section,
        coverage=_coverage(arm, section.bounds().inner(), random, done),
    )


def radius_of(arm: Arm, points: Array) -> Array:
    return np.hypot(points[:, 0] - arm.axis_m[0], points[:, 1] - arm.axis_m[1])


def sweep(arm: Arm, step_m: float = STEP_M, headings: int = HEADINGS, done: Done = _nothing) -> Section:
    """Every radius, height and heading of a grid through inverse kinematics."""
    radii, heights = _grid(arm.radius_m, step_m), _grid(arm.height_m, step_m)
    yaws = np.arange(headings, dtype=float) * (2 * np.pi / headings)
    radius, height, yaw = _all_of(radii, heights, yaws)
    reached = _reached(arm, _at(arm, radius, np.zeros(len(radius)), height), yaw, done)
    shape = len(radii), len(heights), headings
    return Section(radii_m=radii, heights_m=heights, share=reached.reshape(shape).mean(axis=2))


def plan_view(
    arm: Arm, height_m: float, step_m: float = STEP_M, headings: int = HEADINGS, done: Done = _nothing
) -> tuple[Array, Array]:
    """Grid coordinates along x and y alike, and the share of headings reached at this height, (x, y)."""
    axis = _grid(_across(arm), step_m)
    yaws = np.arange(headings, dtype=float) * (2 * np.pi / headings)
    x, y, yaw = _all_of(axis, axis, yaws)
    points = np.stack([x + arm.axis_m[0], y + arm.axis_m[1], np.full(len(x), height_m)], axis=-1)
    share = _reached(arm, points, yaw, done).reshape(len(axis), len(axis), headings).mean(axis=2)
    return axis, share


def _across(arm: Arm) -> Range:
    return -arm.radius_m[1], arm.radius_m[1]


def _coverage(arm: Arm, bounds: Bounds, random: np.random.Generator, done: Done) -> Coverage:
    """Poses are sampled evenly in the plane of the section and all around, as far as the first joint turns."""
    poses = _COVERAGE_POSES
    radius = random.uniform(*bounds.radius_m, poses)
    height = random.uniform(*bounds.height_m, poses)
    azimuth = -random.uniform(arm.lower_rad[0], arm.upper_rad[0], poses)
    yaw = random.uniform(-np.pi, np.pi, poses)
    points = _at(arm, radius, azimuth, height)
    one, other = _reached(arm, points, yaw, done), _reached(arm, points, yaw + np.pi, done)
    return Coverage(poses=poses, share=float(one.mean()), share_either_way=float((one | other).mean()))


def _at(arm: Arm, radius: Array, azimuth: Array, height: Array) -> Array:
    x, y = arm.axis_m
    return np.stack([x + radius * np.cos(azimuth), y + radius * np.sin(azimuth), height], axis=-1)


def _reached(arm: Arm, points: Array, yaw: Array, done: Done) -> Flags:
    parts: list[Flags] = []
    for at in range(0, len(points), _CHUNK):
        parts.append(arm.reaches_down(points[at : at + _CHUNK], yaw[at : at + _CHUNK]))
        done()
    return np.concatenate(parts)


def _grid(span: Range, step_m: float) -> Array:
    first, last = round(span[0] / step_m), round(span[1] / step_m)
    return np.arange(first, last + 1, dtype=float) * step_m


def _all_of(*axes: Array) -> tuple[Array, ...]:
    """Every combination, each coordinate as one row."""
    return tuple(np.asarray(each, float).ravel() for each in np.meshgrid(*axes, indexing="ij"))


def _narrowed(span: Range) -> Range:
    room = MARGIN * (span[1] - span[0])
    return span[0] + room, span[1] - room


def _ranges(bounds: Bounds) -> dict[str, list[float]]:
    return {
        "radius_m": [round(each, 4) for each in bounds.radius_m],
        "height_m": [round(each, 4) for each in bounds.height_m],
    }
