"""Closed-form kinematics of the SO-101, vectorised over targets.

Five joints reach a position, a pitch of the gripper in the arm's vertical plane, and a heading of the jaws. Pan and
wrist roll are coupled, because the tool point lies off the roll axis; a few Newton steps on the pan angle resolve that
to machine precision (none are needed straight down). The rest is a planar two-link arm with two elbow branches.

Pitch π/2 points straight down and 0 straight ahead. Yaw is the heading, seen from above, of the opening direction: from
the fixed jaw to the moving one.
"""

from __future__ import annotations

import cmath
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Arm, ArmLimits, Indices, Solutions
from graspline.kinematics.lines import follow_solutions
from graspline.robots.so101 import ARM_JOINTS, LOWER, OFFSETS_M, ROLL_OFFSET_RAD, UPPER
from graspline.spatial.flags import some
from graspline.spatial.rotations import wrap

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

PAN_X_M = OFFSETS_M["shoulder"][0]
LIFT_RADIUS_M = OFFSETS_M["upper_arm"][0]
LIFT_HEIGHT_M = OFFSETS_M["shoulder"][2] + OFFSETS_M["upper_arm"][2]
UPPER_LINK_M = float(np.hypot(OFFSETS_M["lower_arm"][0], OFFSETS_M["lower_arm"][2]))
LOWER_LINK_M = float(np.hypot(OFFSETS_M["wrist"][0], OFFSETS_M["wrist"][2]))
# Elevation of each link at q = 0.
UPPER_ELEVATION_RAD = float(np.arctan2(OFFSETS_M["lower_arm"][2], OFFSETS_M["lower_arm"][0]))
LOWER_ELEVATION_RAD = float(np.arctan2(OFFSETS_M["wrist"][2], OFFSETS_M["wrist"][0]))
GRIPPER_M = OFFSETS_M["gripper"][0]
WRIST_ROLL = ARM_JOINTS.index("wrist_roll")

_ARM_LOWER, _ARM_UPPER = LOWER[:5], UPPER[:5]
# (joints, ways, elbows, targets), as solutions are computed: calls over many targets are long runs.
_MIDDLE, _HALF = ((_ARM_UPPER + sign * _ARM_LOWER)[:, None, None, None] / 2 for sign in (1, -1))
# A solution is claimed only if the coupled pan angle closes to this.
TOLERANCE_M = 1e-6
_NEWTON_STEPS = 6
# A heading closer than this is not improved further.
_CLOSED_M = 1e-9
_FRONT_AND_BACK = np.array([[1.0], [-1.0]])
_ALIGNED = np.complex128(1.0)
# Makes a quotient of nothing by nothing nothing, and leaves every other as it is.
_TINY = 1e-300
_ELBOW_UP = np.array([[[1.0], [-1.0]]])
_ELEVATIONS_RAD = np.array([[UPPER_ELEVATION_RAD], [LOWER_ELEVATION_RAD]])
_FAR_M, _NEAR_M = UPPER_LINK_M + LOWER_LINK_M, abs(UPPER_LINK_M - LOWER_LINK_M)
_GRIPPER = np.array([GRIPPER_M, 0.0, 0.0])


_LIMITS = ArmLimits(
    misses=(("wrist_beyond_reach", "m"),), joints=ARM_JOINTS, lower_rad=_ARM_LOWER, upper_rad=_ARM_UPPER
)


def solve(
    position_m: Array,
    pitch_rad: Array | float,
    yaw_rad: Array | float | None,
    tool_m: Array,
    margin_rad: Array | float = 0.0,
    *,
    backwards: bool = True,
    branch: Indices | int | None = None,
) -> Solutions:
    """Joint angles that bring the tool point to each position with this pitch and jaw heading.

    `position_m` is (N, 3) in the base frame, pitch and yaw broadcast to (N,), `tool_m` is (3,) or (N, 3) in the gripper
    frame (approach, lateral, opening). Yaw None leaves the heading free: the jaws then open in the arm's plane.
    Solutions keep `margin_rad`, one or (N,), from the joint limits. Branches 0 and 1 face the target, elbow up and
    elbow down; 2 and 3, left out without `backwards`, turn their back to it and reach over the base. All are solved,
    whichever `branch` is asked for.
    """
    position = np.asarray(position_m, float)
    position = position if position.ndim == 2 else position[None]
    count = len(position)
    pitch = np.asarray(pitch_rad, float)
    tool = np.asarray(tool_m, float)
    sin_pitch, cos_pitch = np.sin(pitch), np.cos(pitch)
    # In the plane seen from above, points and headings are complex numbers. Headings are (ways, N): facing the target,
    # and with the back to it. All of them have both axes: one complex number that is spread along a new axis numpy
    # multiplies by other instructions, and a single target would not get the last bits it gets among others. Nor would
    # it where factors have no name: of many targets, numpy lets a product take the place of such a factor, and swaps
    # the two.
    ways = 2 if backwards else 1
    target = np.empty((1, count), np.complex128)
    target.real, target.imag = position[:, 0] - PAN_X_M, position[:, 1]
    along, lateral, opening = tool[..., 0], tool[..., 1], tool[..., 2]
    across = (opening + 1j * lateral)[None] if tool.ndim > 1 else complex(opening, lateral)
    if yaw_rad is None:
        heading = _free_heading(target[0], lateral)[:ways]
        turned_back, roll = np.conj(heading), np.broadcast_to(_ALIGNED, (ways, count))
    else:
        yaw = np.exp(1j * _rows(yaw_rad, count))[None]
        heading = _coupled_heading(target, across, yaw, pitch, sin_pitch, ways)
        turned_back = np.conj(heading)
        roll, _ = _roll_of(yaw * turned_back, sin_pitch)
    ahead, rolled_back = target * turned_back, np.conj(roll)
    aside = across * rolled_back
    reach, offset = GRIPPER_M + along, aside.real
    wrist_r = ahead.real - offset * sin_pitch - (reach * cos_pitch + LIFT_RADIUS_M)
    wrist_z = (position[:, 2] + (reach * sin_pitch - LIFT_HEIGHT_M)) - offset * cos_pitch
    # Five joints, and by how much six limits are missed.
    found = np.empty((11, ways, 2, count))
    joints, excess = found[:5], found[5:]
    ring = _two_links(wrist_r, wrist_z, pitch, joints)
    joints[0] = -np.arctan2(heading.imag, heading.real)[:, None]
    joints[4] = (ROLL_OFFSET_RAD - np.arctan2(roll.imag, roll.real))[:, None]
    # Only what needs it, which is rare: each row gets the same bits in any company.
    beyond = np.abs(joints) > np.pi
    if some(beyond):
        flat, over = joints.reshape(-1), beyond.reshape(-1).nonzero()[0]
        flat[over] = wrap(flat[over])
    # A target nearer to the pan axis than the tool's own sideways offset does not close.
    np.maximum(ring, np.abs(ahead.imag - aside.imag) - TOLERANCE_M, out=ring)
    excess[0] = ring[:, None]
    np.subtract(np.abs(joints - _MIDDLE), _HALF - margin_rad, out=excess[1:])
    reached = np.logical_and.reduce(excess <= 0).reshape(2 * ways, count).T
    rows = found.reshape(11, 2 * ways, count).transpose(2, 1, 0)
    return Solutions(joints_rad=rows[..., :5], excess=rows[..., 5:], reached=reached, limits=_LIMITS)


def _rows(values: Array | float, count: int) -> Array:
    rows = np.asarray(values, float)
    return rows if rows.ndim else np.full(count, rows)


def _free_heading(target: Complex, lateral: Array) -> Complex:
    lean = np.arcsin(np.clip(lateral / np.maximum(np.abs(target), 1e-12), -1, 1))
    return np.exp(1j * (np.angle(target) + np.stack([-lean, np.pi + lean])))


def jaw_heading(position_m: Array, across_m: float, roll_rad: float) -> float:
    """The heading of jaws that point straight down at a position (3,) with the wrist at `roll_rad`.

    What is at the position lies `across_m` off the roll axis, towards the moving jaw, so the arm points beside it.
    """
    target = complex(position_m[0] - PAN_X_M, position_m[1])
    turn, heading = roll_rad - ROLL_OFFSET_RAD, 0.0
    azimuth = cmath.phase(target)
    # Each round is nearer by the ratio of `across_m` to the distance, a tenth or so.
    for _ in range(_NEWTON_STEPS):
        heading = azimuth + turn
        azimuth = cmath.phase(target - across_m * cmath.exp(1j * heading))
    return heading


def _coupled_heading(
    target: Complex, across: Complex | complex, yaw: Complex, pitch: Array, sin_pitch: Array, ways: int
) -> Complex:
    """Heading of the arm's plane for which the tool point meets the target with the jaws at this yaw.

    Straight down the jaw axis is horizontal, so the roll axis is known at once; tilted, Newton steps start from there.
    """
    axis = target - yaw * across
    heading = axis / (np.abs(axis) + _TINY) * _FRONT_AND_BACK[:ways]
    tilted = pitch != STRAIGHT_DOWN_RAD
    if not (some(tilted) if pitch.ndim else tilted):
        return heading
    for _ in range(_NEWTON_STEPS):
        turned_back = np.conj(heading)
        roll, size = _roll_of(yaw * turned_back, sin_pitch)
        rolled_back = np.conj(roll)
        ahead, aside = target * turned_back, across * rolled_back
        open_by = ahead.imag - aside.imag
        # Each row stops by itself when it is there, so that it gets the same bits in any company.
        unsettled = tilted & (np.abs(open_by) > _CLOSED_M)
        if not some(unsettled):
            break
        slope = aside.real * (sin_pitch / (size * size + _TINY)) - ahead.real
        step = (open_by / (slope + _TINY)).clip(-1.0, 1.0)
        turn = 1 - 1j * step
        turned = heading * turn
        np.copyto(heading, turned / (np.abs(turned) + _TINY), where=unsettled)
    return heading


def _roll_of(relative_yaw: Complex, sin_pitch: Array) -> tuple[Complex, Array]:
    """Roll about the approach axis, as a unit number, for which the jaws open towards this heading in the arm plane.

    Also how long the jaws' axis looks in that plane.
    """
    roll: Complex = np.conj(relative_yaw)
    roll.imag *= sin_pitch
    size = np.abs(roll) + _TINY
    return roll / size, size


def _two_links(r: Array, z: Array, pitch: Array, joints: Array) -> Array:
    """Put lift, elbow and wrist flex into `joints`, (5, ways, elbows, N).

    Returns how far the wrist lies outside the reachable ring, (ways, N).
    """
    a, b = UPPER_LINK_M, LOWER_LINK_M
    distance = np.hypot(r, z)
    ring = np.maximum(distance - _FAR_M, _NEAR_M - distance)
    # Rounding can push a cosine a hair outside [-1, 1], where arccos is nan; outside the ring it is clipped too,
    # and the branch is refused by `ring`.
    square = distance * distance
    cosines = np.empty((2, *distance.shape))
    np.divide(square - (a * a + b * b), 2 * a * b, out=cosines[0])
    np.divide(square + (a * a - b * b), np.maximum(distance, 1e-9) * (2 * a), out=cosines[1])
    # Twice as fast as `clip` on arrays this small.
    bend, spread = np.arccos(np.minimum(np.maximum(cosines, -1.0), 1.0))
    upper = np.arctan2(z, r)[:, None] + _ELBOW_UP * spread[:, None]
    lower = upper - _ELBOW_UP * bend[:, None]
    np.subtract(UPPER_ELEVATION_RAD, upper, out=joints[1])
    np.subtract((LOWER_ELEVATION_RAD - UPPER_ELEVATION_RAD) + upper, lower, out=joints[2])
    np.add(pitch - LOWER_ELEVATION_RAD, lower, out=joints[3])
    return ring


def forward(joints_rad: Array, tool_m: Array) -> tuple[Array, Array]:
    """Position (N, 3) of the tool point and rotation (N, 3, 3) of the gripper for joint angles (N, ≥ 5)."""
    joints = np.atleast_2d(np.asarray(joints_rad, float))
    angles = np.empty((5, len(joints)))
    np.negative(joints[:, 0], out=angles[0])
    np.cumsum(joints[:, 1:4].T, axis=0, out=angles[1:4])
    np.subtract(_ELEVATIONS_RAD, angles[1:3], out=angles[1:3])
    np.subtract(ROLL_OFFSET_RAD, joints[:, 4], out=angles[4])
    # Heading of the arm's plane, elevations of both links, pitch and turn of the gripper as unit numbers.
    heading, upper, lower, pitch, turn = np.exp(1j * angles)
    links = UPPER_LINK_M * upper + LOWER_LINK_M * lower
    # Columns of the gripper's rotation in the plane seen from above, relative to the heading, and upwards.
    flat = np.empty((len(joints), 3), complex)
    flat[:, 0] = pitch.real
    flat[:, 1] = pitch.imag * turn.imag + 1j * turn.real
    flat[:, 2] = pitch.imag * turn.real - 1j * turn.imag
    flat *= heading[:, None]
    rotation = np.empty((len(joints), 3, 3))
    rotation[:, 0] = flat.real
    rotation[:, 1] = flat.imag
    rotation[:, 2, 0] = -pitch.imag
    rotation[:, 2, 1] = pitch.real * turn.imag
    rotation[:, 2, 2] = pitch.real * turn.real
    point = np.vecdot(rotation, (np.asarray(tool_m, float) + _GRIPPER)[..., None, :])
    wrist = (LIFT_RADIUS_M + links.real) * heading
    point[:, 0] += PAN_X_M + wrist.real
    point[:, 1] += wrist.imag
    point[:, 2] += LIFT_HEIGHT_M + links.imag
    return point, rotation


@dataclass(frozen=True, slots=True)
class So101Arm:
    """The closed form behind the protocol that all arms have."""

    limits: ArmLimits = _LIMITS
    axis_m: tuple[float, float] = (PAN_X_M, 0.0)
    wrist: int = WRIST_ROLL
    folding: tuple[int, ...] = (1, 2, 3)
    at_once: int = 500

    solve = staticmethod(solve)
    forward = staticmethod(forward)

    def follow(self, points_m: Array, rotation: Array, near_rad: Array, tool_m: Array) -> Array | None:
        """Joints along a line of points, from those nearby; None where a point is out of reach."""
        return follow_solutions(self, points_m, rotation, near_rad, tool_m, np.zeros(5))

    def pitch_rad(self, joints_rad: Array) -> Array:
        """The three joints of the arm's plane turn about one axis."""
        return joints_rad[:, 1:4].sum(axis=1)

    def jaw_lean_rad(self, joints_rad: Array) -> Array:
        """How far the gripper is from straight down."""
        pitch = joints_rad[:, 1] + joints_rad[:, 2] + joints_rad[:, 3]
        level = np.cos(pitch) * np.cos(ROLL_OFFSET_RAD - joints_rad[:, WRIST_ROLL])
        return np.abs(np.arcsin(np.clip(level, -1, 1)))

    def jaw_heading(self, position_m: Array, across_m: float, joints_rad: Array) -> float:
        """The heading of the jaws that keeps the wrist nearest to these joints."""
        return jaw_heading(position_m, across_m, float(joints_rad[WRIST_ROLL]))


ARM: Arm = So101Arm()
