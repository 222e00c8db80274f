"""The arm of any robot of four joints or more, solved numerically from tables of solved postures; see `seeds`.

Each row starts from the posture of its own cell of the grid and takes a few Newton steps by itself, so it has the bits
it has alone, and along a steady motion of the target a branch moves steadily. Of four joints, the heading of the jaws
has to come out right, unless the last one turns the hand about its approach: then it is the pitch that has to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arm import ArmLimits, Indices, Solutions, lean_rad
from graspline.kinematics.jaw_headings import heading_that_keeps_wrist
from graspline.kinematics.lines import follow_solutions
from graspline.kinematics.newton import Goals, approached
from graspline.kinematics.pointing import cross, opening_towards
from graspline.kinematics.seeds import seeds_of
from graspline.kinematics.structure import Structure, structure_of
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# What a branch may miss a target by and still be a solution.
TOLERANCE_M, TOLERANCE_RAD = 1e-6, 1e-5
# Targets that are solved at once.
_AT_ONCE = 1000
# Newton steps that a row may take; nearly all that are reached need two.
STEPS = 7
# What is farther from its target than this after three of them does not reach it.
_HOPELESS_M = 0.03
# No joint of a solution is farther from the posture it was found from, rad or m: most are within 0.5, and what is not
# may be of another branch, to which no singular posture need lie in between.
_SAME_BRANCH = 0.9
# What a branch may miss besides its joints.
_MISSES = 4
# A slide keeps this much of a limit for each radian that hinges keep of theirs.
_SLIDE_M_PER_RAD = 0.1


class NumericArm:
    """What planners ask about an arm that has no closed form; see `kinematics.arm.Arm`."""

    at_once = 64

    def __init__(self, robot: Robot) -> None:
        self._structure = structure = structure_of(robot)
        self._seeds = seeds_of(structure)
        self.limits = ArmLimits(
            misses=(
                ("tool_off_target", "m"),
                ("hand_off_direction", "rad"),
                ("beyond_singular_posture", ""),
                ("off_branch", "rad"),
            ),
            joints=structure.chain.joints,
            lower_rad=structure.lower,
            upper_rad=structure.upper,
            slides=tuple(np.array(structure.chain.joints)[structure.chain.slides].tolist()),
        )
        # What joints keep of their limits for each radian of a margin.
        self._keeps = np.where(structure.chain.slides, _SLIDE_M_PER_RAD, 1.0)[:, None]
        self.axis_m = structure.axis_m
        self.wrist, self.folding = structure.wrist, structure.folding

    @property
    def branches(self) -> int:
        """How many joint solutions are tried for a pose."""
        return len(self._seeds.way)

    def solve(
        self,
        position_m: Array,
        pitch_rad: Array | float,
        yaw_rad: Array | float | None,
        tool_m: Array,
        margin_rad: Array | float = 0.0,
        *,
        backwards: bool = True,
        branch: Indices | int | None = None,
    ) -> Solutions:
        """See `Arm.solve`. With yaw None the wrist stays as it is at home."""
        position = np.atleast_2d(np.asarray(position_m, float))
        count = len(position)
        pitch, yaw = np.full(count, pitch_rad), None if yaw_rad is None else np.full(count, yaw_rad)
        tool, margin = np.broadcast_to(np.asarray(tool_m, float), (count, 3)), np.full(count, margin_rad)
        n, branches = len(self.limits.joints), self.branches if backwards else self._seeds.facing
        if branch is None:
            row, family = np.tile(np.arange(count), branches), np.repeat(np.arange(branches), count)
        else:
            row, family = np.arange(count), np.full(count, branch)
        joints = np.zeros((count, branches, n))
        excess = np.full((count, branches, _MISSES + n), np.inf)
        # What is worked on stays in the processor's cache.
        for first in range(0, len(row), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            rows, of = row[part], family[part]
            solved = self._solved(
                position[rows], pitch[rows], None if yaw is None else yaw[rows], tool[rows], margin[rows], of
            )
            joints[rows, of], excess[rows, of] = (each.T for each in solved)
        reached = np.logical_and.reduce(excess <= 0, axis=-1)
        return Solutions(joints_rad=joints, excess=excess, reached=reached, limits=self.limits)

    def _solved(
        self, position: Array, pitch: Array, yaw: Array | None, tool: Array, margin: Array, family: Indices
    ) -> tuple[Array, Array]:
        """Joints (n, L) and by how much limits are missed, (misses + n, L), one family for each row."""
        structure, seeds = self._structure, self._seeds
        out = position.T - np.array([*structure.axis_m, 0.0])[:, None]
        azimuth = np.arctan2(out[1], out[0])
        goals = _goals(
            structure, np.hypot(out[0], out[1]), out[2], pitch, None if yaw is None else yaw - azimuth, tool.T
        )
        starts = self._starts(goals, family)
        found = approached(structure, starts, goals, STEPS, _HOPELESS_M)
        joints = found.joints
        off_branch = np.maximum.reduce(np.abs(joints - starts), axis=0) - _SAME_BRANCH
        joints[0] += structure.turn * azimuth
        joints = structure.wrapped(joints, seeds.middle[family].T)
        excess = np.empty((_MISSES + len(joints), len(family)))
        excess[0], excess[1] = found.off_m - TOLERANCE_M, found.off_rad - TOLERANCE_RAD
        # Beyond a singular posture it would be another branch, which a steady motion does not come to.
        side = seeds.side[0 if goals.headed else 1, family]
        excess[2], excess[3] = -side * found.determinant, off_branch
        np.maximum(structure.lower[:, None] - joints, joints - structure.upper[:, None], out=excess[_MISSES:])
        excess[_MISSES:] += self._keeps * margin
        return joints, excess

    def _starts(self, goals: Goals, family: Indices) -> Array:
        """Joints (n, L) near goals: the posture of each one's cell and family, turned to its azimuth and heading."""
        structure, seeds = self._structure, self._seeds
        way = seeds.way[family]
        sine, cosine = goals.pitch
        beside, turned = goals.tool_m - seeds.point_m[:, None], np.zeros_like(sine)
        middle, headed = np.array([[*structure.axis_m, 0.0]]).T, structure.steered and goals.headed
        target = point = goals.position_m - middle
        opening = goals.along
        # The point of the wrist's axis is where the hand's own direction puts it; that of an arm with a plane is in it.
        for _ in range(2 if structure.planar else 1):
            x, y = way * np.cos(turned), way * np.sin(turned)
            approach = np.array([cosine * x, cosine * y, -sine])
            across = -goals.across
            if structure.planar or not headed:
                left = np.array([-y, x, np.zeros_like(x)])
                opening = opening_towards(approach, goals.along[0], goals.along[1]) if headed else left
                across = cross(opening, approach)
            point = target - (approach * beside[0] + across * beside[1] + opening * beside[2])
            turned = np.arctan2(point[1], point[0])
        joints = seeds.near(np.hypot(point[0], point[1]), point[2], np.arctan2(sine, cosine), family)
        joints[0] += structure.turn * turned
        if headed:
            # The hand turns with the first joint, too.
            x, y = way * np.cos(turned), way * np.sin(turned)
            left, above = np.array([-y, x, np.zeros_like(x)]), np.array([sine * x, sine * y, cosine])
            roll = np.arctan2(np.add.reduce(opening * above, axis=0), np.add.reduce(opening * left, axis=0))
            joints[structure.wrist] += structure.roll * roll
        elif structure.steered:
            joints[structure.wrist] = structure.home[structure.wrist]
        return joints

    def forward(self, joints_rad: Array, tool_m: Array) -> tuple[Array, Array]:
        """Position (N, 3) of the tool point and rotation (N, 3, 3) of the gripper for joints (N, at least n)."""
        posture = self._structure.chain.at(self._rows(joints_rad))
        tool = np.asarray(tool_m, float)
        point = posture.point(tool.T if tool.ndim > 1 else tool[:, None])
        return point.T, posture.rotation.transpose(2, 0, 1)

    def follow(self, points_m: Array, rotation: Array, near_rad: Array, tool_m: Array) -> Array | None:
        """Joints along a line of points, from those nearby; None where a point is out of reach."""
        return follow_solutions(self, points_m, rotation, near_rad, tool_m, self._structure.home)

    def pitch_rad(self, joints_rad: Array) -> Array:
        """(N,): in the arm's own plane, or in that of the tool point."""
        structure, joints = self._structure, self._rows(joints_rad)
        posture = structure.chain.at(joints)
        approach = posture.rotation[:, 0]
        if structure.planar:
            heading = structure.ahead_rad + structure.turn * joints[0]
        else:
            point = posture.point(structure.tool_m[:, None])
            heading = np.arctan2(point[1] - structure.axis_m[1], point[0] - structure.axis_m[0])
        return np.arctan2(-approach[2], approach[0] * np.cos(heading) + approach[1] * np.sin(heading))

    def _rows(self, joints_rad: Array) -> Array:
        """(n, N)."""
        return np.atleast_2d(np.asarray(joints_rad, float))[:, : len(self._structure.home)].T

    def jaw_lean_rad(self, joints_rad: Array) -> Array:
        """How far the gripper is from straight down."""
        return lean_rad(self.forward(joints_rad, np.zeros(3))[1])

    def jaw_heading(self, position_m: Array, across_m: float, joints_rad: Array) -> float:
        """The heading of the jaws that keeps the wrist nearest to these joints."""
        structure = self._structure
        return heading_that_keeps_wrist(self, structure.roll, structure.tool_m, position_m, across_m, joints_rad)


def _goals(structure: Structure, radius: Array, height: Array, pitch: Array, yaw: Array | None, tool: Array) -> Goals:
    """Goals of N targets straight ahead; yaws count from there."""
    sine, cosine = np.sin(pitch), np.cos(pitch)
    nothing = np.zeros_like(radius)
    if yaw is None:
        across = along = np.zeros((3, len(radius)))
    elif structure.planar:
        x, y = np.cos(yaw), np.sin(yaw)
        across, along = np.array([y, -x, nothing]), np.array([x, y, nothing])
    else:
        approach = np.array([cosine, nothing, -sine])
        along = opening_towards(approach, np.cos(yaw), np.sin(yaw))
        across = cross(approach, along)
    position = np.array([structure.axis_m[0] + radius, structure.axis_m[1] + nothing, height])
    pitched = np.array([sine, cosine])
    return Goals(position_m=position, tool_m=tool, pitch=pitched, across=across, along=along, headed=yaw is not None)
