"""Where the hand would have to be to take a thing as a person has set it up, and each check of that by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Measurement, at_least, at_most, failures, passes
from graspline.grasping.commanded_grasp_values import Check, GrabQuery, GrabRefusal, GrabVariables, Jaws, StageName
from graspline.grasping.grips import Grip, grips_of
from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Solutions
from graspline.kinematics.arms import arm_of
from graspline.kinematics.envelopes import Envelope
from graspline.motion.path import Path, check_path
from graspline.perception.core.beliefs import Belief
from graspline.robots.robot import Robot
from graspline.spatial.rotations import wrap

Array = NDArray[np.float64]

# How far anything of the fingertips stays above the ground.
GROUND_M = 0.001
# The least height on which pads and object meet, and the least room between open jaws and object.
OVERLAP_M = 0.005
ROOM_M = 0.0005
# A jaw that comes down beside an object keeps off it by this many standard deviations of its position.
_SURE = 1.5
# What sums of lengths may be off by: a clearance that is as large as asked for passes.
_ROUNDING_M = 1e-9
# A finger that is turned by more than this when it touches presses a box down and out rather than holds it.
STEEPEST_TOUCH_RAD = 0.5
# How far over the object the fingers come to it, whatever the first stage.
_OVER_M = 0.005
UP = np.array([0.0, 0.0, 1.0])
# Headings from which something round can be taken.
_ROUND_HEADINGS = 24


def jaws_for(robot: Robot, estimate: Belief, variables: GrabVariables, grip: Grip | None = None) -> Jaws | GrabRefusal:
    """The jaw alone: its gaps for this object, taken by its best sides or by these, or why it has none."""
    if grip is None:
        grips = grips_for(robot, estimate, variables)
        if isinstance(grips, Measurement):
            return GrabRefusal(label=estimate.name, stage="grasp", check="shape", evidence=(grips,))
        grip = grips[0]
    width = 2 * grip.half_width_m
    gap = width + 2 * variables.tcp_clearance_m
    opened, closed = gap + variables.open_clearance_m, gap + variables.close_clearance_m
    law = robot.jaw_law
    least, widest = float(law.gaps_m[0]), float(law.gaps_m.max())
    evidence = (
        at_most("open_gap", opened, widest, "m"),
        at_least("open_gap", opened, width, "m"),
        at_least("close_gap", closed, least, "m"),
        at_most("close_gap", closed, widest, "m"),
    )
    if not passes(evidence):
        return GrabRefusal(label=estimate.name, stage="grasp", check="jaw_width", evidence=failures(evidence))
    return Jaws(
        width_m=width,
        open_gap_m=opened,
        close_gap_m=closed,
        open_rad=float(law.angle_rad(opened)),
        close_rad=float(law.angle_rad(closed)),
    )


def grips_for(
    robot: Robot, estimate: Belief, variables: GrabVariables, ground_m: float = 0.0
) -> tuple[Grip, ...] | Measurement:
    """The grips that an object's width allows, or the measurement that forbids all."""
    clear_m = ground_m + GROUND_M
    return grips_of(estimate, robot.hand, clear_m, variables.object_z_m, crosswise=variables.cross_axis)


class GraspChecks:
    """One query's geometry: where the hand would have to be, and each check by itself."""

    def __init__(self, query: GrabQuery, grip: Grip | None = None) -> None:
        """For these sides of the object, or its best."""
        self.query = query
        self.arm, self.hand = arm_of(query.robot), query.robot.hand
        estimate, variables = query.estimate, query.variables
        if grip is None:
            grips = grips_for(query.robot, estimate, variables, query.workspace.ground_z_m)
            assert not isinstance(grips, Measurement)
            grip = grips[0]
        self.grip = grip
        self.half_width_m, self.half_height_m = grip.half_width_m, grip.half_height_m
        self.centre = grip.centre_m
        self.offset_m = self.half_width_m + variables.tcp_clearance_m
        # A centred hand has no finger to bring beside the object.
        if self.hand.centred or (variables.tcp == "fixed_tip" and not variables.tcp_offset):
            self.offset_m = 0.0
        along, lateral, across = self.hand.tool_m
        self.tool_m = (along, lateral, across + self.offset_m)
        self.round = estimate.shape in ("ball", "cylinder")
        # The jaws take a box alike both ways round, and something round from anywhere: first as the wrist is.
        count = _ROUND_HEADINGS if self.round else 2
        start = query.start.position
        self.roll_rad = float(start[self.arm.wrist])
        first = self.arm.jaw_heading(self.centre, self.tool_m[2], start) if self.round else grip.heading_rad
        self.headings = wrap(first + np.linspace(0.0, 2 * np.pi, count, endpoint=False))
        self.heights_m = [variables.approach_height_m, 0.0] if variables.approach_height_m else [0.0]
        self.names: list[StageName] = ["approach", "grasp"] if variables.approach_height_m else ["grasp"]

    def _rejected(self, stage: StageName, check: Check, *evidence: Measurement) -> GrabRefusal | None:
        broken = failures(evidence)
        return (
            GrabRefusal(label=self.query.estimate.name, stage=stage, check=check, evidence=broken) if broken else None
        )

    def ground(self) -> GrabRefusal | None:
        """The lowest point of either finger, however far the jaw is open, stays above the ground."""
        lowest = self.centre[2] - self.hand.lowest_m
        limit = self.query.workspace.ground_z_m + GROUND_M
        return self._rejected("grasp", "ground", at_least("fingertip_height", lowest, limit, "m"))

    def workspace(self) -> GrabRefusal | None:
        """The fixed jaw's tip at both stages, for the heading that suits it best, within the bounds."""
        bounds = self.query.workspace.envelope(self.query.robot)
        radii = _radii_m(bounds, self.tips_m(self.centre[None], self.headings))
        radius = float(radii[np.argmin(_beyond(radii, bounds.radius_m))])
        for name, above in zip(self.names, self.heights_m, strict=True):
            height = float(self.centre[2] + above)
            evidence = (
                at_least("tip_radius", radius, bounds.radius_m[0], "m"),
                at_most("tip_radius", radius, bounds.radius_m[1], "m"),
                at_least("tip_height", height, bounds.height_m[0], "m"),
                at_most("tip_height", height, bounds.height_m[1], "m"),
            )
            refused = self._rejected(name, "workspace", *evidence)
            if refused is not None:
                return refused
        return None

    def tips_m(self, centres: Array, headings: Array) -> Array:
        """Where the fixed jaw's tip goes for each centre and heading, (N, 2)."""
        return centres[:, :2] - self.offset_m * np.stack([np.cos(headings), np.sin(headings)], axis=-1)

    def touch_rad(self, jaws: Jaws) -> float:
        """The position of the jaw at which both pads touch."""
        angles = self.query.robot.jaw_law.angles_rad
        if self.query.estimate.shape == "ball":
            across = self.hand.across_m(0.0, self.half_width_m)
            room = self.hand.ball_room_m(angles, self._along_centre_m(), across) - self.half_width_m
        else:
            room = self.hand.clear_gap_m(angles, self._along_top_m()) - jaws.width_m
        return float(angles[int(np.argmax(room >= 0))]) if (room >= 0).any() else float(angles[-1])

    def _along_centre_m(self) -> float:
        """The middle of the object's height along the approach axis, in the gripper frame."""
        return self.hand.tool_m[0] + float(self.centre[2] - self.grip.middle_m)

    def _along_top_m(self) -> float:
        if self.grip.shoulder_m is not None:
            return self.hand.tool_m[0] + float(self.centre[2]) - self.grip.shoulder_m
        return self._along_centre_m() - self.half_height_m

    def touch(self, jaws: Jaws) -> GrabRefusal | None:
        """Jaws that have to be wide open to touch do not hold."""
        limit = 1.2 if self.query.estimate.shape == "ball" else STEEPEST_TOUCH_RAD
        tilt = self.hand.tilt_rad(self.touch_rad(jaws))
        return self._rejected("grasp", "jaw_width", at_most("jaw_angle_at_touch", tilt, limit, "rad"))

    def solved(self, centres: Array, headings: Array) -> list[Solutions]:
        """All centres with all headings at each stage; rows are centre by centre."""
        points = np.repeat(centres, len(headings), axis=0)
        yaws, tool = np.tile(headings, len(centres)), np.array(self.tool_m)
        margin = self.query.reach.joint_margin_rad
        return [
            self.arm.solve(points + above * UP, STRAIGHT_DOWN_RAD, yaws, tool, margin, backwards=False)
            for above in self.levels_m()
        ]

    def levels_m(self) -> list[float]:
        """Heights above the grasp that the hand passes: over the object first, where the first stage is not."""
        over = self.top_m() + self.hand.lowest_m + _OVER_M - float(self.centre[2])
        return [over, *self.heights_m] if over > self.heights_m[0] else self.heights_m

    def chosen(self, solved: list[Solutions]) -> tuple[float, int] | GrabRefusal:
        """The heading with the least turn of the wrist that one elbow reaches at every stage, and that elbow."""
        reached = np.all([each.reached for each in solved], axis=0)
        if reached.any():
            # Rounding must not decide between headings that are equally good.
            turn = np.where(
                reached, np.round(np.abs(solved[-1].joints_rad[..., self.arm.wrist] - self.roll_rad), 9), np.inf
            )
            heading, branch = np.unravel_index(int(np.argmin(turn)), turn.shape)
            # Elbow up is tried first.
            branch = 0 if reached[heading, 0] else int(branch)
            return float(self.headings[heading]), branch
        short = np.array([np.maximum(each.excess, 0).sum(axis=-1).min(axis=-1) for each in solved])
        best = int(np.argmin(short.sum(axis=0)))
        level = next((at for at, each in enumerate(solved) if not each.reached[best].any()), 0)
        evidence = solved[level].explain(best) or (at_most("elbow_branches_needed", 2, 1),)
        stage = max(level - (len(solved) - len(self.names)), 0)
        if level < len(solved) - len(self.names):
            evidence = tuple(replace(each, name=f"over_the_object_{each.name}") for each in evidence)
        return GrabRefusal(label=self.query.estimate.name, stage=self.names[stage], check="ik", evidence=evidence)

    def overlap(self) -> GrabRefusal | None:
        """Pads and object meet over some height; of a ball, the part around its equator counts."""
        half = self.half_height_m / 2 if self.query.estimate.shape == "ball" else self.half_height_m
        middle, tool = self.grip.middle_m, float(self.centre[2])
        if self.grip.sides_m is not None:
            low, high = self.grip.sides_m
            middle, half = (low + high) / 2, (high - low) / 2
        # The part of the fingers that grips, from the tool point down and up.
        below, above = self.hand.tip_m - self.hand.tool_m[0], self.hand.tool_m[0] - self.hand.grip_from_m
        shared = min(middle + half, tool + above) - max(middle - half, tool - below)
        return self._rejected("grasp", "pad_overlap", at_least("pad_overlap", shared, OVERLAP_M, "m"))

    def top_m(self) -> float:
        """The height of the object's top."""
        return self.grip.middle_m + self.half_height_m

    def blocked(self, stage: StageName, path: Path, around: tuple[Belief, ...]) -> GrabRefusal | None:
        """The limits a path breaks, or what the robot meets on it."""
        name, world = self.query.estimate.name, self.query.world
        over = check_path(path, self.query.robot)
        if over is not None:
            return GrabRefusal(label=name, stage=stage, check="limits", evidence=over.evidence)
        world.place(around)
        hit = world.first_collision(world.samples(path.positions))
        return None if hit is None else GrabRefusal(label=name, stage=stage, check="collision", evidence=hit.evidence)

    def room(self, jaws: Jaws) -> GrabRefusal | None:
        """Both open jaws clear the object itself on the way down."""
        beside, hand = self.offset_m - self.half_width_m, self.hand
        if self.query.estimate.shape == "ball":
            opened, centre = np.array([jaws.open_rad]), self.tool_m[2]
            left = float(hand.ball_room_m(opened, self._along_centre_m(), centre)[0]) - self.half_width_m
        else:
            gap = float(hand.clear_gap_m(jaws.open_rad, self._along_top_m()))
            left = gap / 2 - self.half_width_m if hand.centred else gap - self.half_width_m - self.offset_m
        beside = left if hand.centred else beside
        evidence = (
            at_least("fixed_jaw_room", beside, room_beside_m(self.query.estimate), "m"),
            at_least("moving_jaw_room", left, ROOM_M, "m"),
        )
        return self._rejected("grasp", "open_clearance", *evidence)


def room_beside_m(estimate: Belief) -> float:
    """How far the fixed jaw keeps off an object on the way down, for how well the object's place is known."""
    return max(_SURE * estimate.position_sigma_m - _ROUNDING_M, 0.0)


def _radii_m(bounds: Envelope, tips: Array) -> Array:
    return np.hypot(tips[:, 0] - bounds.axis_m[0], tips[:, 1] - bounds.axis_m[1])


def _beyond(values: Array, span: tuple[float, float]) -> Array:
    """How far outside of a span."""
    return np.maximum(np.maximum(span[0] - values, values - span[1]), 0.0)
