"""Which grasps an arm can be posed for, at which tilts, the best first; what it asks for is solved in few calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_most
from graspline.grasping.candidates import DEEPER, Grasp
from graspline.grasping.cartesian_lines import ReachParameters
from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Arm, Solutions
from graspline.kinematics.arms import arm_of
from graspline.kinematics.questions import Targets
from graspline.planning.batched_planning import Planning
from graspline.refusal import Refusal
from graspline.robots.robot import Robot

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]

# Leaning costs this much more than turning the wrist by the same angle: upright jaws hold better.
_LEAN_COST = 3.0
# Up to this many poses are solved together with those above them and where the object is raised to.
_FEW = 8
# How far past the end of seating a hand may brake that felt the object just before it.
BRAKING_M = 0.0005
# Joints that differ by less than this are the same.
_SAME_RAD = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A grasp that is reached with this pitch by this branch of the arm, there and above."""

    grasp: Grasp
    pitch_rad: float
    branch: int
    # How far the jaws lean, and the joints where they straddle the object, (n,).
    lean_rad: float
    joints_rad: Array
    # The pitch at which it is reached where the object is raised to, once that is known.
    top_pitch_rad: float | None

    def fails_as(self, other: Candidate, why: Refusal, arm: Arm) -> bool:
        """Whether another candidate's refusal holds for this one: it is the same, or differs by the wrist alone.

        What misses a limit besides the wrist then does so at any heading.
        """
        here, there = self.grasp, other.grasp
        if self.branch != other.branch or self.pitch_rad != other.pitch_rad:
            return False
        if here.label == there.label:
            return True
        alike = (here.tool_m, here.width_m, here.standoff_m) == (there.tool_m, there.width_m, there.standoff_m)
        if not alike or why.check not in ("reach", "limits") or why.stage not in ("descend", "seat", "lift"):
            return False
        if why.stage == "lift" and (self.top_pitch_rad is None or self.top_pitch_rad != other.top_pitch_rad):
            return False
        apart, wrist = np.abs(self.joints_rad - other.joints_rad), arm.limits.joints[arm.wrist]
        apart[arm.wrist] = 0.0
        return float(apart.max()) < _SAME_RAD and any(each.name.split()[0] != wrist for each in why.evidence)


class PoseCandidates:
    """Grasps of an object at several tilts, the least first, and which of them the arm can be posed for.

    Both poses of a grasp have to be reached: where the jaws straddle the object, square to its faces, and above that.
    """

    def __init__(
        self,
        robot: Robot,
        position_m: Array,
        start_rad: Array,
        grasps: list[Grasp],
        tilts: Array,
        reach: ReachParameters,
        tried: tuple[str, ...],
    ) -> None:
        """Of an object at `position_m`, (3,), from joints `start_rad`, (nu,); grasps already `tried` come last."""
        self._arm, self._centre, self._start_rad, self._reach = arm_of(robot), position_m, start_rad, reach
        self._grasps, self._count = grasps, len(grasps) * len(tilts)
        self._which, self._tilt = np.tile(np.arange(len(grasps)), len(tilts)), np.repeat(tilts, len(grasps))
        self._pitch = STRAIGHT_DOWN_RAD - self._tilt
        self._yaw = np.array([each.yaw_rad for each in grasps])[self._which]
        self._tool = np.array([each.tool_m for each in grasps])[self._which]
        self._standoff = np.array([each.standoff_m for each in grasps])[self._which]
        self._limit = np.array([_lean_limit(each, reach) for each in grasps])[self._which]
        # Grasps that were not tried come first, of these the ones at the usual depth.
        self._rank = [2 * (each.label in tried) + each.label.endswith(DEEPER) for each in grasps]
        # What is solved so far: solutions where the jaws straddle the object; and of each row how far they lean, the
        # branch that reaches all poses, its joints, and whether it reaches where the object is raised to.
        self._at, self._solved = list[Solutions](), 0
        self._lean = np.zeros(self._count)
        self._usable, self._raised = np.zeros((2, self._count), np.bool_)
        self._branch = np.zeros(self._count, np.intp)
        self._joints = np.zeros((self._count, len(self._arm.limits.joints)))
        # Rank, cost and row of what was not asked for yet.
        self._open = list[tuple[int, float, int]]()

    @property
    def any_usable(self) -> bool:
        """Whether any candidate can be used."""
        return bool(self._usable.any())

    def all_usable(self) -> Planning[bool]:
        """Whether every one of few grasps can be used."""
        while self._solved < self._count:
            yield from self._solve()
        return bool(self._usable.all())

    def next(self) -> Planning[Candidate | None]:
        """The best that was not asked for yet; None where there is none left.

        After those that were tried and the deeper ones the least turn of the wrist from where it is and the least lean
        decide. What costs the same keeps the order of the grasps.
        """
        while True:
            left = self._solved < self._count
            if self._open:
                rank, cost, row = self._open[0]
                # Nothing that is left to be solved costs less.
                least = round(_LEAN_COST * float(self._tilt[self._solved]), 9) if left else np.inf
                if not left or (rank == min(self._rank) and cost <= least):
                    self._open = self._open[1:]
                    return self._candidate(row)
            if not left:
                return None
            yield from self._solve()

    def _candidate(self, row: int) -> Candidate:
        return Candidate(
            grasp=self._grasps[int(self._which[row])],
            pitch_rad=float(self._pitch[row]),
            branch=int(self._branch[row]),
            lean_rad=float(self._lean[row]),
            joints_rad=self._joints[row],
            top_pitch_rad=float(self._pitch[row]) if self._raised[row] else None,
        )

    def _solve(self) -> Planning[None]:
        """The next rows, least tilted first: as many as the arm solves at once, then as many as are solved already."""
        begin, few, grasps = self._solved, self._count <= _FEW, len(self._grasps)
        more = self._count if few else max(begin, grasps * max(self._arm.at_once // grasps, 1))
        rows = np.arange(begin, min(begin + more, self._count))
        count = len(rows)
        # Of few grasps all poses at once cost less than one after the other.
        poses: Solutions = yield self._all_targets(rows) if few else self._targets(rows, self._at_m(rows))
        at = poses.of(slice(count))
        reached, joints = at.reached.copy(), at.posed()
        lean = self._arm.jaw_lean_rad(joints)
        promising = (np.logical_or.reduce(reached, axis=1) & (lean <= self._limit[rows])).nonzero()[0]
        if len(promising):
            if few:
                reached[promising] &= poses.reached[count : 2 * count][promising]
            else:
                yield from self._keep_above(reached, promising, rows)
            usable = promising[np.logical_or.reduce(reached[promising], axis=1)]
            branch, row = np.argmax(reached[usable], axis=1), begin + usable
            self._usable[row], self._branch[row], self._joints[row] = True, branch, at.joints_rad[usable, branch]
            if few:
                raised = poses.reached[2 * count : 3 * count] & poses.reached[3 * count :]
                self._raised[row] = raised[usable, branch]
            # Rounding must not decide between grasps that are equally good.
            turn = np.abs(joints[usable, self._arm.wrist] - self._start_rad[self._arm.wrist])
            cost = np.round(turn + _LEAN_COST * self._tilt[row], 9).tolist()
            ranks = [self._rank[which] for which in self._which[row].tolist()]
            self._open = sorted([*self._open, *zip(ranks, cost, row.tolist(), strict=True)])
        self._at.append(at)
        self._lean[rows] = lean
        self._solved += count

    def _keep_above(self, reached: Flags, promising: Indices, rows: Indices) -> Planning[None]:
        """Keep in `reached`, (n, branches), of `promising` rows the first branch that is reached above, too."""
        left = promising
        while len(left):
            branch, above_m = np.argmax(reached[left], axis=1), self._above_m(rows[left])
            above: Solutions = yield self._targets(rows[left], above_m, branch)
            missed = ~above.reached[np.arange(len(left)), branch]
            reached[left[missed], branch[missed]] = False
            left = left[missed][np.logical_or.reduce(reached[left[missed]], axis=1)]

    def _all_targets(self, rows: Indices) -> Targets:
        """At the object and above; and where it is raised to, from there and from as far as seating takes the hand."""
        seat_m = np.array([each.seat_m for each in self._grasps])[self._which[rows]]
        centre, up = np.repeat(self._centre[None], len(rows), axis=0), np.array([0.0, 0.0, self._reach.lift_m])
        braked = self._centre + (seat_m + BRAKING_M)[:, None] * self._sideways(rows)
        at_m = [self._at_m(rows), self._above_m(rows), centre + up, braked + up]
        return self._targets(np.tile(rows, 4), np.concatenate(at_m))

    def _sideways(self, rows: Indices) -> Array:
        return np.stack([np.cos(self._yaw[rows]), np.sin(self._yaw[rows]), np.zeros(len(rows))], axis=-1)

    def _at_m(self, rows: Indices) -> Array:
        """Where the jaws come down to, (n, 3)."""
        aside_m = np.array([each.aside_m for each in self._grasps])[self._which[rows]]
        return self._centre - aside_m[:, None] * self._sideways(rows)

    def _above_m(self, rows: Indices) -> Array:
        """From where the jaws come down, (n, 3)."""
        return self._at_m(rows) + self._standoff[rows, None] * back(self._arm, self._centre, self._pitch[rows])

    def _targets(self, rows: Indices, position: Array, branch: Indices | None = None) -> Targets:
        return Targets(
            arm=self._arm,
            position_m=position,
            pitch_rad=self._pitch[rows],
            yaw_rad=self._yaw[rows],
            tool_m=self._tool[rows],
            margin_rad=self._reach.joint_margin_rad,
            branch=branch,
        )

    def why(self) -> Planning[Refusal]:
        """Why the candidate that came nearest cannot be used, once it is known that none can."""
        every, lean = np.arange(self._count), self._lean
        at = Solutions.joined(self._at)
        above: Solutions = yield self._targets(every, self._above_m(every))
        poses = np.any(at.reached & above.reached, axis=1)
        if poses.any():
            index = int(np.argmin(np.where(poses, lean - self._limit, np.inf)))
            evidence = (at_most("jaw_axis_off_face", lean[index], self._limit[index], "rad"),)
            return self._refusal(index, "grasp", "jaw_alignment", evidence)
        index = int(np.argmin(sum(np.maximum(each.excess, 0).sum(axis=-1).min(axis=-1) for each in (at, above))))
        stage, solutions = ("grasp", at) if not at.reached[index].any() else ("above", above)
        evidence = solutions.explain(index) or (at_most("elbow_branches_needed", 2, 1),)
        return self._refusal(index, stage, "reach", evidence)

    def _refusal(self, index: int, stage: str, check: str, evidence: Evidence) -> Refusal:
        label = self._grasps[self._which[index]].label
        return Refusal(label=label, stage=stage, check=check, evidence=evidence)


def _lean_limit(grasp: Grasp, reach: ReachParameters) -> float:
    """How far the jaws may lean: touching a wide object's sides at different depths, they would turn it out."""
    if grasp.round:
        return reach.max_ball_lean_rad
    return min(reach.max_face_error_rad, float(np.arcsin(min(1.0, reach.max_contact_offset_m / grasp.width_m))))


def back(arm: Arm, position: Array, pitch: Array) -> Array:
    """The direction out of a grasp, against the approach axis, which leans in the vertical plane of the first axis.

    `position` is (3,), in the base frame; one direction for each pitch.
    """
    axis_x_m, axis_y_m = arm.axis_m
    x, y = position[0] - axis_x_m, position[1] - axis_y_m
    level = np.cos(pitch) / np.maximum(np.hypot(x, y), 1e-9)
    return np.stack([-x * level, -y * level, np.sin(pitch)], axis=-1)
