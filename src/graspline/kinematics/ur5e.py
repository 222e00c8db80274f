"""Closed-form kinematics of the UR5e, vectorised over targets.

The three middle axes are parallel, so the arm is a planar one on a turntable, beside whose plane the wrist runs at the
distance d4. That leaves two turns of the table, two turns of the wrist and two elbows: eight branches, each exact.

The arm's plane has the heading of the pan joint. In it, elevations count from the heading upwards: of the upper arm
-q2, of the forearm -(q2 + q3), and -(q2 + q3 + q4) of the wrist, which leans that way. The tool's x axis is the
approach, out of the flange; its z axis is that along which the gripper closes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arm import Arm, ArmLimits, Indices, Solutions, lean_rad
from graspline.kinematics.jaw_headings import heading_that_keeps_wrist
from graspline.kinematics.lines import nearest_branch, unwound
from graspline.kinematics.pointing import cross, opening_towards
from graspline.robots.gripper_2f85 import TOOL_M
from graspline.robots.ur5e import ARM_JOINTS, DH_A_M, DH_D_M, HOME, LOWER, UPPER
from graspline.spatial.flags import some

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Published a2 and a3 are negative: links point against their own x axes.
BASE_HEIGHT_M, ASIDE_M, WRIST_M, FLANGE_M = (float(DH_D_M[joint]) for joint in (0, 3, 4, 5))
UPPER_LINK_M, LOWER_LINK_M = -float(DH_A_M[1]), -float(DH_A_M[2])
ARM_LOWER, ARM_UPPER = LOWER[:6], UPPER[:6]

# Branch 4 f + 2 w + e: f = 0 faces the target and 1 has its back to it, w = 0 has wrist 2 negative and 1 positive,
# e = 0 has the elbow positive (up where the arm faces its target) and 1 negative.
BRANCHES = 8
# What a target may lie beyond reach and still be claimed: rounding, and less than any caller can tell.
TOLERANCE_M = 1e-10
# With the sine of wrist 2 below this, wrists 1 and 3 turn about one axis.
_SINGULAR = 1e-10
_FAR_M, _NEAR_M = UPPER_LINK_M + LOWER_LINK_M, abs(UPPER_LINK_M - LOWER_LINK_M)
_TURN = 2 * np.pi
# Makes a quotient of nothing by nothing nothing, and leaves every other as it is.
_TINY = 1e-300
# The way the arm faces, (2, 1); the sign of sin q5, and of q3.
_FACING = _ELBOW = np.array([[1.0], [-1.0]])
_WRIST = -_FACING
_LIMITS = ArmLimits(
    misses=(("wrist_too_near_pan_axis", "m"), ("wrist_beyond_reach", "m")),
    joints=ARM_JOINTS,
    lower_rad=ARM_LOWER,
    upper_rad=ARM_UPPER,
)
LAST = ARM_JOINTS.index("wrist_3")
# Headings of a jaw that may open in any; half a turn further it is the same jaw.
_ANY_YAW = np.arange(6) * np.pi / 6
# On a line elbow and wrist 2 keep home's sign.
_LOWEST, _HIGHEST = unwound(_LIMITS, HOME, LAST)
_LOWEST[2] = _HIGHEST[4] = 0.0
_LOWEST[4] = -np.pi


def forward(joints_rad: Array, tool_m: Array | float = TOOL_M) -> tuple[Array, Array]:
    """Position (..., 3) and rotation (..., 3, 3) of the tool in the base frame for joint angles (..., 6)."""
    joints = np.moveaxis(np.asarray(joints_rad, float), -1, 0)
    angles = np.empty(joints.shape)
    angles[0], angles[4:] = joints[0], joints[4:]
    np.cumsum(-joints[1:4], axis=0, out=angles[1:4])
    cosines, sines = np.cos(angles), np.sin(angles)
    c1, ca, cb, cw, c5, c6 = cosines
    s1, sa, sb, sw, s5, s6 = sines
    # Along the heading, to the left of it and up: axes x5, y5 and z5 of wrist 2, and the tool point.
    x5, y5, z5 = (-c5 * cw, s5, -c5 * sw), (-sw, 0.0, cw), (s5 * cw, c5, s5 * sw)
    reach = FLANGE_M + np.asarray(tool_m, float)
    shape = joints.shape[1:]
    local = np.empty((3, 4, *shape))
    for row in range(3):
        local[row, 0] = z5[row]
        local[row, 1] = s6 * x5[row] - c6 * y5[row]
        local[row, 2] = c6 * x5[row] + s6 * y5[row]
    local[0, 3] = UPPER_LINK_M * ca + LOWER_LINK_M * cb + WRIST_M * sw + reach * z5[0]
    local[1, 3] = ASIDE_M + reach * z5[1]
    local[2, 3] = BASE_HEIGHT_M + UPPER_LINK_M * sa + LOWER_LINK_M * sb - WRIST_M * cw + reach * z5[2]
    found = np.empty((*shape, 3, 4))
    rows = np.moveaxis(found, (-2, -1), (0, 1))
    rows[0] = local[0] * c1 - local[1] * s1
    rows[1] = local[0] * s1 + local[1] * c1
    rows[2] = local[2]
    return found[..., 3], found[..., :3]


def solve(
    position_m: Array, rotation: Array, tool_m: Array | float = TOOL_M, prefer_rad: Array | float = 0.0
) -> Solutions:
    """All eight branches that bring the tool, so far before the flange, to each pose in the base frame.

    `position_m` is (N, 3), `rotation` (N, 3, 3) or one (3, 3) for all; angles are in [-π, π]. Where wrists 1 and 3 turn
    about one axis, wrist 3 is at `prefer_rad` or as near as the arm reaches, and both turns of the wrist are the same
    solution.
    """
    found = _solve(np.asarray(position_m, float), np.asarray(rotation, float), tool_m, prefer_rad)
    return _solutions(found.joints.transpose(2, 1, 0), found)


class _Found(NamedTuple):
    joints: Array  # (6, 8, N)
    # How much too near the target brings the wrist to the pan axis, (N,); how far it lies outside the ring that the two
    # links reach, (4, N), of two branches each.
    inside: Array
    beyond: Array


def _solutions(joints: Array, found: _Found, margin_rad: Array | float = 0.0) -> Solutions:
    """The first branches, (N, B, 6), held against limits."""
    excess = np.empty((*joints.shape[:2], 8))
    excess[..., 0] = found.inside[:, None] - TOLERANCE_M
    excess[..., 1] = np.repeat(found.beyond, 2, axis=0).T[:, : joints.shape[1]] - TOLERANCE_M
    np.maximum(ARM_LOWER - joints, joints - ARM_UPPER, out=excess[..., 2:])
    excess[..., 2:] += margin_rad
    reached = np.logical_and.reduce(excess <= 0, axis=-1)
    return Solutions(joints_rad=joints, excess=excess, reached=reached, limits=_LIMITS)


class _Table(NamedTuple):
    """The pan joint's heading, and how far along it the wrist lies, (S, N) each."""

    cosine: Array
    sine: Array
    ahead: Array

    def seen(self, x: Array, y: Array) -> tuple[Array, Array]:
        """A direction along the heading and to its left."""
        return x * self.cosine + y * self.sine, y * self.cosine - x * self.sine


class _Wrist(NamedTuple):
    """Where wrist 1 leans, as a unit vector (2, S, F, N) and as an angle (S, F, N), and the angle of wrist 3."""

    lean: Array
    lean_rad: Array
    turn_rad: Array


def _solve(position: Array, rotation: Array, tool_m: Array | float, prefer_rad: Array | float) -> _Found:
    position = position if position.ndim == 2 else position[None]
    count = len(position)
    # By facing, wrist and elbow.
    joints = np.empty((6, 2, 2, 2, count))
    ax, ay, az = np.moveaxis(rotation[..., 0], -1, 0)
    reach = FLANGE_M + np.asarray(tool_m, float)
    x, y = position[:, 0] - reach * ax, position[:, 1] - reach * ay
    z = position[:, 2] - (reach * az + BASE_HEIGHT_M)
    table, inside = _turntable(x, y)
    out, left = table.seen(ax, ay)
    size = np.sqrt(out * out + az * az)
    turned = _wrists(table, rotation, out, left, size)
    singular = size < _SINGULAR
    if some(singular):
        _choose(turned, singular, table, z, rotation, left, prefer_rad)
    joints[0] = np.arctan2(table.sine, table.cosine)[:, None, None]
    joints[4] = (_WRIST * np.arctan2(size, left)[:, None])[:, :, None]
    joints[5] = turned.turn_rad[:, :, None]
    beyond = _two_links(table.ahead[:, None] - WRIST_M * turned.lean[1], z + WRIST_M * turned.lean[0], joints)
    rest = joints[3]
    np.add(joints[1], joints[2], out=rest)
    rest += turned.lean_rad[:, :, None]
    np.negative(rest, out=rest)
    rest -= _TURN * np.rint(rest * (1 / _TURN))
    # Half a turn may come out a rounding beyond π.
    np.minimum(np.maximum(rest, -np.pi, out=rest), np.pi, out=rest)
    return _Found(joints.reshape(6, BRANCHES, count), inside, beyond.reshape(4, count))


def _turntable(x: Array, y: Array) -> tuple[_Table, Array]:
    """The pan joint that has a wrist at x and y beside the arm's plane, and how much too near to the axis that is."""
    radius = np.sqrt(x * x + y * y)
    ahead = _FACING * np.sqrt(np.maximum((radius - ASIDE_M) * (radius + ASIDE_M), 0.0))
    # Where it is too near this is still a heading.
    scale = 1.0 / (radius * np.maximum(radius, ASIDE_M) + _TINY)
    return _Table((x * ahead + y * ASIDE_M) * scale, (y * ahead - x * ASIDE_M) * scale, ahead), ASIDE_M - radius


def _wrists(table: _Table, rotation: Array, out: Array, left: Array, size: Array) -> _Wrist:
    """Both turns of the wrist: the second leans the other way, and turns wrist 3 by half a turn.

    The approach axis lies `size` in the arm's plane, of which `out` along the heading, and `left` beside it.
    """
    lean = np.empty((2, *size.shape))
    np.divide(out, size + _TINY, out=lean[0])
    np.divide(rotation[..., 2, 0], size + _TINY, out=lean[1])
    up = rotation[..., 2, 2]
    flat, aside = table.seen(rotation[..., 0, 2], rotation[..., 1, 2])
    # From the lean that was chosen, rounded as it may be, so that all three axes fit even next to the singularity.
    turn = np.arctan2(lean[0] * up - lean[1] * flat, size * aside - left * (lean[0] * flat + lean[1] * up))[:, None]
    angle = np.arctan2(lean[1], lean[0])[:, None]
    half = np.where(_WRIST < 0, np.pi, 0.0)
    return _Wrist(lean[:, :, None] * _WRIST, angle - np.copysign(half, angle), turn - np.copysign(half, turn))


def _choose(
    wrist: _Wrist,
    singular: Flags,
    table: _Table,
    z: Array,
    rotation: Array,
    left: Array,
    prefer_rad: Array | float,
) -> None:
    """Where wrists 1 and 3 turn about one axis, put wrist 3 where it is preferred, and let wrist 1 do the rest.

    If that brings wrist 1 out of the ring that the links reach, then only up to the edge of the ring.
    """
    way, row = singular.nonzero()
    count = singular.shape[1]
    here = _Table(*(each[way, row] for each in table))
    prefer = np.broadcast_to(np.asarray(prefer_rad, float), (count,))[row]
    R = np.broadcast_to(rotation, (count, 3, 3))[row]
    # y5, along which wrist 2 stands off wrist 1, lies in the arm's plane a quarter turn above the lean.
    y5 = np.sin(prefer)[:, None] * R[:, :, 2] - np.cos(prefer)[:, None] * R[:, :, 1]
    out, up, ahead, above = here.seen(y5[:, 0], y5[:, 1])[0], y5[:, 2], here.ahead, z[row]
    distance = np.maximum(np.sqrt(ahead * ahead + above * above), 1e-9)
    cosine = (out * ahead + up * above) / distance
    # By the law of cosines, from where wrist 2 stands off by `WRIST_M`.
    least, most = (
        (edge * edge - distance * distance - WRIST_M * WRIST_M) / (2 * distance * WRIST_M) for edge in (_NEAR_M, _FAR_M)
    )
    # Where the ring is out of reach altogether this comes as near to it as can be.
    kept = np.minimum(np.maximum(np.minimum(np.maximum(cosine, least), most), -1.0), 1.0)
    moved = kept != cosine
    sine = np.copysign(np.sqrt((1.0 - kept) * (1.0 + kept)), up * ahead - out * above)
    out = np.where(moved, (ahead * kept - above * sine) / distance, out)
    up = np.where(moved, (above * kept + ahead * sine) / distance, up)
    flat, _ = here.seen(R[:, 0, 2], R[:, 1, 2])
    turn = np.arctan2(up * R[:, 2, 2] + out * flat, -left[way, row] * (up * flat - out * R[:, 2, 2]))
    turn = np.where(moved, turn, prefer - _TURN * np.rint(prefer * (1 / _TURN)))
    wrist.lean[0, way, :, row], wrist.lean[1, way, :, row] = up[:, None], -out[:, None]
    wrist.lean_rad[way, :, row] = np.arctan2(-out, up)[:, None]
    wrist.turn_rad[way, :, row] = turn[:, None]


def _two_links(x: Array, z: Array, joints: Array) -> Array:
    """Put lift and elbow for wrist 1 at x and z in the arm's plane into `joints`, (6, S, F, E, N).

    Returns how far wrist 1 lies outside the reachable ring, (S, F, N).
    """
    a, b = UPPER_LINK_M, LOWER_LINK_M
    square = x * x + z * z
    distance = np.sqrt(square)
    # Rounding can push the cosine a hair outside [-1, 1], where arccos is nan; outside the ring it is clipped too,
    # and the branch is refused.
    cosine = np.minimum(np.maximum((square - (a * a + b * b)) * (0.5 / (a * b)), -1.0), 1.0)
    # Both from one cosine: a stretched arm would otherwise lose half its digits.
    np.multiply(np.arccos(cosine)[:, :, None], _ELBOW, out=joints[2])
    across = (b * np.sqrt((1.0 - cosine) * (1.0 + cosine)))[:, :, None] * _ELBOW
    along, x, z = (a + b * cosine)[:, :, None], x[:, :, None], z[:, :, None]
    np.arctan2(-(z * along + x * across), x * along - z * across, out=joints[1])
    return np.maximum(distance - _FAR_M, _NEAR_M - distance)


def _middle() -> Array:
    """(8, 6): where the turns of each branch's joints are counted from: where it has them at home, within limits."""
    position, rotation = forward(HOME[:6])
    joints = solve(position, rotation, prefer_rad=HOME[LAST]).joints_rad[0]
    joints = joints + _TURN * np.rint((HOME[:6] - joints) / _TURN)
    return np.clip(joints, ARM_LOWER + np.pi, ARM_UPPER - np.pi)


_MIDDLE = _middle()


@dataclass(frozen=True, slots=True)
class Ur5eArm:
    """The closed form behind the protocol that all arms have; with a free heading eight branches for each of six."""

    limits: ArmLimits = _LIMITS
    axis_m: tuple[float, float] = (0.0, 0.0)
    wrist: int = LAST
    folding: tuple[int, ...] = (1, 2, 3)
    at_once: int = 500

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
        """Joint solutions for tool poses, every branch."""
        position = np.atleast_2d(np.asarray(position_m, float))
        count = len(position)
        ways = 1 if yaw_rad is not None else len(_ANY_YAW)
        rows = np.repeat(np.arange(count), ways)
        yaw = np.tile(_ANY_YAW, count) if yaw_rad is None else np.full(count, yaw_rad)
        point, pitch = position[rows], np.full(count, pitch_rad)[rows]
        tool = np.broadcast_to(np.asarray(tool_m, float), (count, 3))[rows]
        rotation = _rotation(np.arctan2(point[:, 1], point[:, 0]), pitch, yaw)
        found = _solve(_on_axis(point, rotation, tool), rotation, TOOL_M + tool[:, 0], HOME[LAST])
        kept = slice(None if backwards else BRANCHES // 2)
        joints, middle = found.joints.transpose(2, 1, 0)[:, kept], _MIDDLE[kept]
        joints = joints - _TURN * np.rint((joints - middle) / _TURN)
        solved = _solutions(joints, found, np.full(count, margin_rad)[rows, None, None])
        return Solutions(
            joints_rad=solved.joints_rad.reshape(count, -1, 6),
            excess=solved.excess.reshape(count, -1, 8),
            reached=solved.reached.reshape(count, -1),
            limits=_LIMITS,
        )

    def forward(self, joints_rad: Array, tool_m: Array) -> tuple[Array, Array]:
        """Position and rotation of the tool."""
        joints, tool = np.atleast_2d(np.asarray(joints_rad, float)), np.asarray(tool_m, float)
        point, rotation = forward(joints[:, :6], TOOL_M + tool[..., 0])
        return point + rotation[..., 1] * tool[..., 1:2] + rotation[..., 2] * tool[..., 2:], rotation

    def follow(self, points_m: Array, rotation: Array, near_rad: Array, tool_m: Array) -> Array | None:
        """Joints along a line of points, from those nearby; None where a point is out of reach."""
        near, tool = np.asarray(near_rad, float)[:6], np.asarray(tool_m, float)
        points = _on_axis(points_m, rotation, tool)
        found = _solve(points, rotation, TOOL_M + tool[0], near[LAST])
        reached = np.repeat(found.beyond <= TOLERANCE_M, 2, axis=0) & (found.inside <= TOLERANCE_M)
        return nearest_branch(found.joints, reached, near, _LOWEST, _HIGHEST)

    def pitch_rad(self, joints_rad: Array) -> Array:
        """(N,): in the plane of the tool point."""
        point, rotation = self.forward(joints_rad, np.zeros(3))
        azimuth = np.arctan2(point[:, 1], point[:, 0])
        ahead = np.cos(azimuth) * rotation[:, 0, 0] + np.sin(azimuth) * rotation[:, 1, 0]
        return np.arctan2(-rotation[:, 2, 0], ahead)

    def jaw_lean_rad(self, joints_rad: Array) -> Array:
        """How far the gripper is from straight down."""
        return lean_rad(self.forward(joints_rad, np.zeros(3))[1])

    def jaw_heading(self, position_m: Array, across_m: float, joints_rad: Array) -> float:
        """The heading of the jaws that keeps the wrist nearest to these joints."""
        # Wrist 3 turns about the approach.
        return heading_that_keeps_wrist(self, 1.0, np.zeros(3), position_m, across_m, joints_rad)


def _on_axis(points_m: Array, rotation: Array, tool_m: Array) -> Array:
    """Where the closed form has its point, which is on the flange's axis: beside the tool points, (N, 3)."""
    return points_m - rotation[..., 1] * tool_m[..., 1:2] - rotation[..., 2] * tool_m[..., 2:]


def _rotation(azimuth: Array, pitch: Array, yaw: Array) -> Array:
    """(N, 3, 3): hands that point outwards at a pitch and open, seen from above, along a heading."""
    cosine = np.cos(pitch)
    approach = np.stack([cosine * np.cos(azimuth), cosine * np.sin(azimuth), -np.sin(pitch)])
    opening = opening_towards(approach, np.cos(yaw), np.sin(yaw))
    return np.stack([approach, cross(opening, approach), opening]).transpose(2, 1, 0)


ARM: Arm = Ur5eArm()
