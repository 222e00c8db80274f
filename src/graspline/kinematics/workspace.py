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

from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Arm
from graspline.kinematics.arms import arm_of
from graspline.robots.robot import Robot

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
# Random postures that say how far targets are tried, in whole steps.
_EXTENT_POSES, _EXTENT_STEP_M = 50_000, 0.05

Done = Callable[[], object]


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSurvey:
    """What a workspace is measured of: an arm, the point of its tool, and where targets are tried."""

    name: str
    arm: Arm
    # In the gripper frame, (3,).
    tool_m: Array
    # How far out and how high and low targets are tried.
    radius_m: Range
    height_m: Range

    def forward(self, joints_rad: Array) -> Array:
        """Tool points (N, 3) of joint angles (N, n)."""
        return self.arm.forward(joints_rad, self.tool_m)[0]

    def reaches_down(self, points_m: Array, yaw_rad: Array) -> Flags:
        """Which tool points (N, 3) are reached straight down with the jaws at this heading, (N,)."""
        return np.any(self.arm.solve(points_m, STRAIGHT_DOWN_RAD, yaw_rad, self.tool_m).reached, axis=1)


def survey_of(robot: Robot) -> WorkspaceSurvey:
    """All around the robot's first axis, as far as its tool gets in any posture."""
    arm = arm_of(robot)
    tool = np.array(robot.hand.tool_m if robot.hand else (0.0, 0.0, 0.0))
    joints = arm.limits.sampled(np.random.default_rng(0), _EXTENT_POSES)
    points, _ = arm.forward(joints, tool)
    radius = _radius(arm, points)
    return WorkspaceSurvey(
        name=robot.name,
        arm=arm,
        tool_m=tool,
        radius_m=(0.0, _outward(radius.max())),
        height_m=(-_outward(-points[:, 2].min()), _outward(points[:, 2].max())),
    )


def _outward(value_m: float) -> float:
    """To the next step away from zero, or towards it if negative."""
    return float(np.ceil(value_m / _EXTENT_STEP_M) * _EXTENT_STEP_M)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceBounds:
    """An envelope: nothing outside can be reached; inside, inverse kinematics has the last word."""

    radius_m: Range
    height_m: Range

    def inner(self) -> WorkspaceBounds:
        """The same less a margin on all sides."""
        return WorkspaceBounds(radius_m=_narrowed(self.radius_m), height_m=_narrowed(self.height_m))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The grasp workspace in a half plane through the first axis: the share of headings reached at each grid point."""

    radii_m: Array
    heights_m: Array
    # (radii, heights)
    share: Array

    def bounds(self) -> WorkspaceBounds:
        """The envelope of all points that are reached with any heading."""
        at, up = np.nonzero(self.share)
        return WorkspaceBounds(
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
    # With the heading as sampled, and with that or the opposite one: jaws grasp alike both ways round.
    share: float
    share_either_way: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Both workspaces of one arm, as measured."""

    survey: WorkspaceSurvey
    samples: int
    general: WorkspaceBounds
    # Radius and height of some of the samples, to plot.
    cloud_m: Array
    section: Section
    coverage: Coverage

    def document(self) -> dict[str, Any]:
        """What `workspace_bounds.yaml` says."""
        raw = self.section.bounds()
        return {
            "robot": self.survey.name,
            "axis_m": list(self.survey.arm.axis_m),
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


def steps_of(survey: WorkspaceSurvey, samples: int) -> int:
    """How often `measure` and `plan_view` together call `done`."""
    radii, heights, across = (len(_grid(span, STEP_M)) for span in (survey.radius_m, survey.height_m, _across(survey)))
    counts = samples, radii * heights * HEADINGS, _COVERAGE_POSES, _COVERAGE_POSES, across**2 * HEADINGS
    return sum(-(-count // _CHUNK) for count in counts)


def measure(survey: WorkspaceSurvey, samples: int, seed: int = 0, done: Done = _nothing) -> Workspace:
    """Sample joint angles, sweep the section, and count which poses in it are reached; `done` after each part."""
    random = np.random.default_rng(seed)
    joints = survey.arm.limits.sampled(random, samples)
    parts: list[Array] = []
    for at in range(0, samples, _CHUNK):
        parts.append(survey.forward(joints[at : at + _CHUNK]))
        done()
    points = np.concatenate(parts)
    radius, height = _radius(survey.arm, points), points[:, 2]
    section = sweep(survey, done=done)
    return Workspace(
        survey=survey,
        samples=samples,
        general=WorkspaceBounds(
            radius_m=(float(radius.min()), float(radius.max())), height_m=(float(height.min()), float(height.max()))
        ),
        cloud_m=np.stack([radius, height], axis=-1)[:3000],
        section=section,
        coverage=_coverage(survey, section.bounds().inner(), random, done),
    )


def _radius(arm: Arm, points: Array) -> Array:
    return np.hypot(points[:, 0] - arm.axis_m[0], points[:, 1] - arm.axis_m[1])


def sweep(survey: WorkspaceSurvey, step_m: float = STEP_M, headings: int = HEADINGS, done: Done = _nothing) -> Section:
    """Every radius, height and heading of a grid through inverse kinematics."""
    radii, heights = _grid(survey.radius_m, step_m), _grid(survey.height_m, step_m)
    yaws = np.arange(headings, dtype=float) * (2 * np.pi / headings)
    radius, height, yaw = _all_of(radii, heights, yaws)
    reached = _reached(survey, _at(survey.arm, radius, np.zeros(len(radius)), height), yaw, done)
    shape = len(radii), len(heights), headings
    return Section(radii_m=radii, heights_m=heights, share=reached.reshape(shape).mean(axis=2))


def plan_view(
    survey: WorkspaceSurvey, height_m: float, step_m: float = STEP_M, headings: int = HEADINGS, done: Done = _nothing
) -> tuple[Array, Array]:
    """Grid coordinates along x and y alike, and the share of headings reached at this height, (x, y)."""
    axis = _grid(_across(survey), step_m)
    yaws = np.arange(headings, dtype=float) * (2 * np.pi / headings)
    x, y, yaw = _all_of(axis, axis, yaws)
    points = np.stack([x + survey.arm.axis_m[0], y + survey.arm.axis_m[1], np.full(len(x), height_m)], axis=-1)
    share = _reached(survey, points, yaw, done).reshape(len(axis), len(axis), headings).mean(axis=2)
    return axis, share


def _across(survey: WorkspaceSurvey) -> Range:
    return -survey.radius_m[1], survey.radius_m[1]


def _coverage(survey: WorkspaceSurvey, bounds: WorkspaceBounds, random: np.random.Generator, done: Done) -> Coverage:
    """Poses are sampled evenly in the plane of the section and all around, as far as the first joint turns."""
    poses = _COVERAGE_POSES
    radius = random.uniform(*bounds.radius_m, poses)
    height = random.uniform(*bounds.height_m, poses)
    azimuth = -random.uniform(*_turned(survey.arm), poses)
    yaw = random.uniform(-np.pi, np.pi, poses)
    points = _at(survey.arm, radius, azimuth, height)
    one, other = _reached(survey, points, yaw, done), _reached(survey, points, yaw + np.pi, done)
    return Coverage(poses=poses, share=float(one.mean()), share_either_way=float((one | other).mean()))


def _turned(arm: Arm) -> Range:
    """The first joint's range, counted to the right."""
    before = arm.limits.sampled(np.random.default_rng(0), 16)
    after = before.copy()
    after[:, 0] += 0.1
    (x, y), (moved_x, moved_y) = (
        (arm.forward(joints, np.zeros(3))[0][:, :2] - arm.axis_m).T for joints in (before, after)
    )
    low, high = float(arm.limits.lower_rad[0]), float(arm.limits.upper_rad[0])
    low, high = (low, high) if np.isfinite(high - low) else (-np.pi, np.pi)
    return (-high, -low) if (x * moved_y - y * moved_x).sum() > 0 else (low, high)


def _at(arm: Arm, radius: Array, azimuth: Array, height: Array) -> Array:
    x, y = arm.axis_m
    return np.stack([x + radius * np.cos(azimuth), y + radius * np.sin(azimuth), height], axis=-1)


def _reached(survey: WorkspaceSurvey, points: Array, yaw: Array, done: Done) -> Flags:
    parts: list[Flags] = []
    for at in range(0, len(points), _CHUNK):
        parts.append(survey.reaches_down(points[at : at + _CHUNK], yaw[at : at + _CHUNK]))
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


def _ranges(bounds: WorkspaceBounds) -> dict[str, list[float]]:
    return {
        "radius_m": [round(each, 4) for each in bounds.radius_m],
        "height_m": [round(each, 4) for each in bounds.height_m],
    }
