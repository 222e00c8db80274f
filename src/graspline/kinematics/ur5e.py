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

from graspline.evidence import Evidence, at_least, at_most
from graspline.robots.gripper_2f85 import TOOL_M
from graspline.robots.ur5e import ARM_JOINTS, DH_A_M, DH_D_M, LOWER, UPPER
from graspline.spatial.flags import some

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Published a2 and a3 are negative: links point against their own x axes.
BASE_HEIGHT_M, ASIDE_M, WRIST_M, FLANGE_M = (float(DH_D_M[joint]) for joint in (0, 3, 4, 5))
UPPER_LINK_M, LOWER_LINK_M = -float(DH_A_M[1]), -float(DH_A_M[2])
ARM_LOWER, ARM_UPPER = LOWER[:6], UPPER[:6]

BRANCHES = 8
# A path that moves any joint farther than this from one row to the next is torn there.
STEP_RAD = 0.5
# What a target may lie beyond reach and still be claimed: rounding, and less than any caller can tell.
TOLERANCE_M = 1e-10
# With the sine of wrist 2 below this, wrists 1 and 3 turn about one axis.
_SINGULAR = 1e-10
_FAR_M, _NEAR_M = UPPER_LINK_M + LOWER_LINK_M, abs(UPPER_LINK_M - LOWER_LINK_M)
_TURN = 2 * np.pi
# Makes a quotient of nothing by nothing nothing, and leaves every other as it is.
_TINY = 1e-300
# Farther than any turn within limits.
_OUTSIDE = 1e6
# Branches nearer to each other than this begin alike.
_ALIKE_RAD = 1e-6


class _Signs(NamedTuple):
    """Which branches are solved: the way the arm faces (S, 1), of sin q5 (F, 1), of q3 (E, 1)."""

    facing: Array
    wrist: Array
    elbow: Array


_BOTH = np.array([[1.0], [-1.0]])
_ALL = _Signs(_BOTH, -_BOTH, _BOTH)
_ONE = tuple(
    _Signs(_ALL.facing[f : f + 1], _ALL.wrist[w : w + 1], _ALL.elbow[e : e + 1])
    for f in (0, 1)
    for w in (0, 1)
    for e in (0, 1)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solutions:
    """For each of N targets all eight branches, solved or refused; angles are in [-π, π].

    Branch 4 f + 2 w + e: f = 0 faces the target and 1 has its back to it, w = 0 has wrist 2 negative and 1 positive,
    e = 0 has the elbow positive, which is up where the arm faces its target, and 1 negative.
    """

    joints_rad: Array  # (N, 8, 6)
    # How much too near the target brings the wrist to the pan axis, (N,); how far it lies outside the ring that the two
    # links reach, (N, 8). A branch is a solution where both are at most `TOLERANCE_M`.
    inside_m: Array
    beyond_m: Array

    @property
    def reached(self) -> Flags:
        """(N, 8) which branches are solutions."""
        return (self.beyond_m <= TOLERANCE_M) & (self.inside_m <= TOLERANCE_M)[:, None]

    def explain(self, index: int) -> Evidence:
        """Why target `index` is refused, with the measured value; nothing if any branch reaches it."""
        return _refusal(float(self.inside_m[index]), float(self.beyond_m[index].min()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """One branch along a path, turns counted through: what holds up to row `followed` and why it ends there."""

    joints_rad: Array  # (T, 6); beyond row `followed` of no use
    # How many rows, from the first, are reached one from the other.
    followed: int
    # Empty if the path is followed to its end.
    evidence: Evidence

    @property
    def complete(self) -> bool:
        return self.followed == len(self.joints_rad)


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


def straight_down(yaw_rad: Array | float) -> Array:
    """Rotation (N, 3, 3) of a tool that points straight down and closes along this heading, seen from above."""
    yaw = np.atleast_1d(np.asarray(yaw_rad, float))
    rotation = np.zeros((*yaw.shape, 3, 3))
    cosine, sine = np.cos(yaw), np.sin(yaw)
    rotation[..., 2, 0] = -1.0
    rotation[..., 0, 1], rotation[..., 1, 1] = -sine, cosine
    rotation[..., 0, 2], rotation[..., 1, 2] = cosine, sine
    return rotation


def solve(
    position_m: Array, rotation: Array, tool_m: Array | float = TOOL_M, prefer_rad: Array | float = 0.0
) -> Solutions:
    """Joint angles that bring the tool to each pose, in the base frame.

    `position_m` is (N, 3), `rotation` (N, 3, 3) or one (3, 3) for all. Where wrists 1 and 3 turn about one axis, wrist
    3 is at `prefer_rad` or as near as the arm reaches, and both turns of the wrist are the same solution.
    """
    found = _solve(np.asarray(position_m, float), np.asarray(rotation, float), tool_m, prefer_rad, _ALL)
    count = found.joints.shape[-1]
    beyond = np.repeat(found.beyond.reshape(4, count), 2, axis=0)
    return Solutions(
        joints_rad=found.joints.reshape(6, BRANCHES, count).transpose(2, 1, 0), inside_m=found.inside, beyond_m=beyond.T
    )


class _Found(NamedTuple):
    joints: Array  # (6, S, F, E, N)
    inside: Array  # (N,)
    beyond: Array  # (S, F, N)
    singular: Flags  # (S, N)


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


def _solve(position: Array, rotation: Array, tool_m: Array | float, prefer_rad: Array | float, signs: _Signs) -> _Found:
    position = position if position.ndim == 2 else position[None]
    facing, wrist, elbow = signs
    joints = np.empty((6, len(facing), len(wrist), len(elbow), len(position)))
    ax, ay, az = np.moveaxis(rotation[..., 0], -1, 0)
    reach = FLANGE_M + np.asarray(tool_m, float)
    x, y = position[:, 0] - reach * ax, position[:, 1] - reach * ay
    z = position[:, 2] - (reach * az + BASE_HEIGHT_M)
    table, inside = _turntable(x, y, facing)
    out, left = table.seen(ax, ay)
    size = np.sqrt(out * out + az * az)
    turned = _wrists(table, rotation, out, left, size, wrist)
    singular = size < _SINGULAR
    if some(singular):
        _choose(turned, singular, table, z, rotation, left, prefer_rad)
    joints[0] = np.arctan2(table.sine, table.cosine)[:, None, None]
    joints[4] = (wrist * np.arctan2(size, left)[:, None])[:, :, None]
    joints[5] = turned.turn_rad[:, :, None]
    beyond = _two_links(table.ahead[:, None] - WRIST_M * turned.lean[1], z + WRIST_M * turned.lean[0], elbow, joints)
    rest = joints[3]
    np.add(joints[1], joints[2], out=rest)
    rest += turned.lean_rad[:, :, None]
    np.negative(rest, out=rest)
    rest -= _TURN * np.rint(rest * (1 / _TURN))
    # Half a turn may come out a rounding beyond π.
    np.minimum(np.maximum(rest, -np.pi, out=rest), np.pi, out=rest)
    return _Found(joints, inside, beyond, singular)


def _turntable(x: Array, y: Array, facing: Array) -> tuple[_Table, Array]:
    """The pan joint that has a wrist at x and y beside the arm's plane, and how much too near to the axis that is."""
    radius = np.sqrt(x * x + y * y)
    ahead = facing * np.sqrt(np.maximum((radius - ASIDE_M) * (radius + ASIDE_M), 0.0))
    # Where it is too near this is still a heading.
    scale = 1.0 / (radius * np.maximum(radius, ASIDE_M) + _TINY)
    return _Table((x * ahead + y * ASIDE_M) * scale, (y * ahead - x * ASIDE_M) * scale, ahead), ASIDE_M - radius


def _wrists(table: _Table, rotation: Array, out: Array, left: Array, size: Array, wrist: Array) -> _Wrist:
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
    half = np.where(wrist < 0, np.pi, 0.0)
    return _Wrist(lean[:, :, None] * wrist, angle - np.copysign(half, angle), turn - np.copysign(half, turn))


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


def _two_links(x: Array, z: Array, elbow: Array, joints: Array) -> Array:
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
    np.multiply(np.arccos(cosine)[:, :, None], elbow, out=joints[2])
    across = (b * np.sqrt((1.0 - cosine) * (1.0 + cosine)))[:, :, None] * elbow
    along, x, z = (a + b * cosine)[:, :, None], x[:, :, None], z[:, :, None]
    np.arctan2(-(z * along + x * across), x * along - z * across, out=joints[1])
    return np.maximum(distance - _FAR_M, _NEAR_M - distance)


def nearest_branch(
    solutions: Solutions,
    start_rad: Array,
    lower_rad: Array = ARM_LOWER,
    upper_rad: Array = ARM_UPPER,
    weights: Array | None = None,
) -> tuple[Array, Flags]:
    """For each target the joint angles (N, 6) that are nearest to the start, and for which there are any (N,).

    Every joint takes the whole turns within its limits that bring it nearest to the start, (6,) or (N, 6). Far is what
    the joint that moves farthest moves, times its weight.
    """
    turned, far = _turned(solutions, start_rad, lower_rad, upper_rad, weights)
    branch, rows = np.argmin(far, axis=0), np.arange(far.shape[1])
    return turned[:, branch, rows].T, far[branch, rows] < _OUTSIDE


def _turned(
    solutions: Solutions, start_rad: Array, lower_rad: Array, upper_rad: Array, weights: Array | None = None
) -> tuple[Array, Array]:
    """All branches with whole turns towards the start, (6, 8, N), and how far each is from it, (8, N).

    Branches beyond a limit are farther than `_OUTSIDE`, and infinitely far where the target is not reached.
    """
    start = np.asarray(start_rad, float)
    start = start.T[:, None] if start.ndim == 2 else start[:, None, None]
    lower, upper = np.asarray(lower_rad, float)[:, None, None], np.asarray(upper_rad, float)[:, None, None]
    joints = solutions.joints_rad.transpose(2, 1, 0)
    turns = np.rint((start - joints) * (1 / _TURN))
    np.minimum(turns, np.floor((upper - joints) * (1 / _TURN)), out=turns)
    np.maximum(turns, np.ceil((lower - joints) * (1 / _TURN)), out=turns)
    turns *= _TURN
    turned = np.add(joints, turns, out=turns)
    apart = np.abs(turned - start)
    if weights is not None:
        apart *= np.asarray(weights, float)[:, None, None]
    far = apart.max(axis=0)
    # Where no whole turn is within the limits, the lower one was kept.
    far += _OUTSIDE * (turned > upper).any(axis=0)
    far[~solutions.reached.T] = np.inf
    return turned, far


def continuous(
    position_m: Array,
    rotation: Array,
    start_rad: Array,
    lower_rad: Array = ARM_LOWER,
    upper_rad: Array = ARM_UPPER,
    *,
    tool_m: float = TOOL_M,
    step_rad: float = STEP_RAD,
) -> Following:
    """Joint angles along a densely sampled path of the tool, (T, 3) and (T, 3, 3) or one (3, 3), in one branch.

    The branch, and the turns of its joints, are those nearest to the start in the first row. Where wrists 1 and 3 turn
    about one axis, wrist 3 stays as it was. Where several branches begin alike, it is the one that gets farthest.
    """
    position, R, start = np.asarray(position_m, float), np.asarray(rotation, float), np.asarray(start_rad, float)
    lower, upper = np.asarray(lower_rad, float), np.asarray(upper_rad, float)
    first = solve(position[:1], R if R.ndim == 2 else R[:1], tool_m, start[5])
    turned, far = _turned(first, start, lower, upper)
    nearest = far[:, 0].min()
    if not np.isfinite(nearest):
        return Following(joints_rad=np.tile(start, (len(position), 1)), followed=0, evidence=first.explain(0))
    best: Following | None = None
    for branch in np.flatnonzero(far[:, 0] <= nearest + _ALIKE_RAD):
        found = _along(position, R, tool_m, start[5], int(branch))
        following = _followed(found, turned[:, branch, 0], lower, upper, step_rad)
        if best is None or following.followed > best.followed:
            best = following
        if best.complete:
            break
    assert best is not None
    return best


def _along(position: Array, rotation: Array, tool_m: float, prefer_rad: float, branch: int) -> _Found:
    """One branch of every row; where wrist 3 is free it stays where it was last."""
    found = _solve(position, rotation, tool_m, prefer_rad, _ONE[branch])
    singular = found.singular[0]
    if not some(singular):
        return found
    last = np.maximum.accumulate(np.where(singular, -1, np.arange(len(singular))))
    turn = found.joints[5].reshape(-1)
    return _solve(position, rotation, tool_m, np.where(last < 0, prefer_rad, turn[last]), _ONE[branch])


def _followed(found: _Found, first: Array, lower: Array, upper: Array, step_rad: float) -> Following:
    """Count whole turns through from the first row, and stop where a row is not reached or not near the last one."""
    joints = found.joints.reshape(6, -1)
    steps = np.diff(joints, axis=1)
    turns = np.rint(steps * (1 / _TURN))
    steps -= _TURN * turns
    whole = np.empty_like(joints)
    whole[:, 0] = np.rint((first - joints[:, 0]) * (1 / _TURN))
    np.negative(turns, out=whole[:, 1:])
    joints += _TURN * np.cumsum(whole, axis=1)
    far = np.abs(steps, out=steps)
    wrong = np.maximum(found.inside, found.beyond.reshape(-1)) > TOLERANCE_M
    wrong |= ((joints > upper[:, None]) | (joints < lower[:, None])).any(axis=0)
    wrong[1:] |= (far > step_rad).any(axis=0)
    if not some(wrong):
        return Following(joints_rad=joints.T, followed=len(wrong), evidence=())
    row = int(np.argmax(wrong))
    evidence = _refusal(float(found.inside[row]), float(found.beyond[..., row].min()))
    if not evidence:
        for joint, name in enumerate(ARM_JOINTS):
            angle = joints[joint, row]
            if angle > upper[joint]:
                evidence += (at_most(name, angle, upper[joint], "rad"),)
            if angle < lower[joint]:
                evidence += (at_least(name, angle, lower[joint], "rad"),)
            if row and far[joint, row - 1] > step_rad:
                evidence += (at_most(f"{name}_step", far[joint, row - 1], step_rad, "rad"),)
    return Following(joints_rad=joints.T, followed=row, evidence=evidence)


def _refusal(inside_m: float, beyond_m: float) -> Evidence:
    if inside_m > TOLERANCE_M:
        return (at_least("wrist_from_pan_axis", ASIDE_M - inside_m, ASIDE_M, "m"),)
    return (at_most("wrist_beyond_reach", beyond_m, 0.0, "m"),) if beyond_m > TOLERANCE_M else ()
