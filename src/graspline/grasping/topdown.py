"""Grasping from above with an SO-101: the whole plan, checked before anything moves.

One planning function serves the sampler that certifies scenes, the pre-check and the state that executes: what is
certified is exactly what is played.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.evidence import at_most
from graspline.grasping.candidates import Grasp, GraspRejected, JawParameters, box_grasps, in_order
from graspline.kinematics.so101 import STRAIGHT_DOWN_RAD, Solutions, solve
from graspline.motion.joint_moves import joint_move
from graspline.motion.lines import scaled_path
from graspline.motion.path import Command, Path, check_path
from graspline.parameters import Parameters
from graspline.perception.estimates import Estimate
from graspline.planning.collision import STRIDE, CollisionWorld
from graspline.robots.robot import Robot
from graspline.robots.so101 import ROLL_OFFSET_RAD

Array = NDArray[np.float64]

_STEP_RAD = np.radians(2.0)
# From the cheapest check to the dearest; a refusal reports the candidate that came furthest.
_CHECKS = ("shape", "jaw_width", "reach", "jaw_alignment", "limits", "collision")
_FRONT = slice(0, 2)


class ReachParameters(Parameters):
    """How the arm gets to an object and raises it."""

    lift_m: float = Field(0.06, ge=0.02, le=0.15, description="how far the object is raised")
    max_tilt_rad: float = Field(
        1.05, ge=0, le=1.2, description="how far the gripper may lean where it cannot point straight down"
    )
    max_face_error_rad: float = Field(
        0.26, ge=0, le=0.5, description="largest angle between the jaw axis and the normal of the faces it closes on"
    )
    joint_margin_rad: float = Field(0.02, ge=0, le=0.2, description="distance that plans keep from joint limits")
    travel_speed: float = Field(0.5, gt=0, le=1, description="share of the joints' speed limit on the way to the object")
    descend_speed_m_s: float = Field(0.15, gt=0, le=0.5, description="peak speed of the fingertips on the way down")
    lift_speed_m_s: float = Field(0.12, gt=0, le=0.5, description="peak speed of the fingertips while lifting")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraspPlan:
    """A grasp with every motion to it and away from it."""

    grasp: Grasp
    pitch_rad: float
    approach: Path
    descend: Path
    # With the jaw column as in `descend`; `with_jaw` puts in what the jaw really holds.
    lift: Path


def with_jaw(path: Path, robot: Robot, jaw_rad: float) -> Path:
    """The same arm motion with the jaw commanded to one angle throughout."""
    positions = path.positions.copy()
    positions[:, robot.jaw] = jaw_rad
    return Path(positions=positions, velocities=path.velocities, dt_s=path.dt_s)


def reversed_path(path: Path) -> Path:
    """The way back, at the same speeds."""
    return Path(positions=path.positions[::-1].copy(), velocities=-path.velocities[::-1], dt_s=path.dt_s)


def plan_grasp(
    robot: Robot,
    world: CollisionWorld,
    estimate: Estimate,
    start: Command,
    jaw: JawParameters,
    reach: ReachParameters,
    tried: tuple[str, ...] = (),
) -> GraspPlan | GraspRejected:
    """The best grasp that passes every check on its whole path, or why none does.

    Straight down is tried first, then leaning further and further; grasps already `tried` come last.
    """
    grasps = box_grasps(estimate, jaw)
    if isinstance(grasps, GraspRejected):
        return grasps
    planner = _Planner(robot, world, estimate, start, reach)
    refused: list[GraspRejected] = []
    for tilts in (np.zeros(1), np.arange(_STEP_RAD, reach.max_tilt_rad + 1e-9, _STEP_RAD)):
        plan = planner.plan_any(in_order(grasps, tried), tilts, bool(tried), refused)
        if plan is not None:
            return plan
    return max(refused, key=lambda each: _CHECKS.index(each.check))


class _Planner:
    """The parts of one planning query that all candidates share."""

    def __init__(
        self, robot: Robot, world: CollisionWorld, estimate: Estimate, start: Command, reach: ReachParameters
    ) -> None:
        self.robot, self.world, self.estimate, self.start, self.reach = robot, world, estimate, start, reach

    def plan_any(
        self, grasps: list[Grasp], tilts: Array, keep_order: bool, refused: list[GraspRejected]
    ) -> GraspPlan | None:
        """Solve grasp and standoff of every candidate at every tilt at once, then check whole plans, best first."""
        tilt, which = np.repeat(tilts, len(grasps)), np.tile(np.arange(len(grasps)), len(tilts))
        pitch = STRAIGHT_DOWN_RAD - tilt
        yaw = np.array([each.yaw_rad for each in grasps])[which]
        tool = np.array([each.tool_m for each in grasps])[which]
        standoff = np.array([each.standoff_m for each in grasps])[which]
        at_grasp = self._solve(np.broadcast_to(self.estimate.position_m, (len(which), 3)), pitch, yaw, tool)
        # Back off along the approach axis, which lies in the arm's vertical plane.
        heading = -at_grasp.joints_rad[:, 0, 0]
        back = np.stack([-np.cos(pitch) * np.cos(heading), -np.cos(pitch) * np.sin(heading), np.sin(pitch)], axis=-1)
        above = self._solve(self.estimate.position_m + standoff[:, None] * back, pitch, yaw, tool)
        reached = at_grasp.reached[:, _FRONT] & above.reached[:, _FRONT]
        lean = jaw_lean(at_grasp.joints_rad[:, 0])
        order = np.arange(len(which))
        if not keep_order:
            # Among equal tilts shallow before deep; then the least turn of the wrist, or leaning, the squarest jaws.
            roll = np.where(tilt > 0, lean, np.abs(at_grasp.joints_rad[:, 0, 4]))
            deep = np.array([each.label.endswith("_deeper") for each in grasps])[which]
            order = np.lexsort((roll, deep, tilt))
        for index in order:
            grasp = grasps[which[index]]
            if reached[index].any() and lean[index] > self.reach.max_face_error_rad:
                evidence = (at_most("jaw_axis_off_face", lean[index], self.reach.max_face_error_rad, "rad"),)
                plan = GraspRejected(label=grasp.label, stage="grasp", check="jaw_alignment", evidence=evidence)
            elif reached[index].any():
                branch = int(np.argmax(reached[index]))
                plan = self._whole_plan(grasp, float(pitch[index]), back[index], branch)
            else:
                plan = _unreached(grasp, int(index), at_grasp, above)
            if isinstance(plan, GraspPlan):
                return plan
            refused.append(plan)
        return None

    def _solve(self, position: Array, pitch: Array | float, yaw: Array | float, tool: Array) -> Solutions:
        return solve(position, pitch, yaw, tool, margin_rad=self.reach.joint_margin_rad)

    def _whole_plan(self, grasp: Grasp, pitch: float, back: Array, branch: int) -> GraspPlan | GraspRejected:
        centre, reach, robot = self.estimate.position_m, self.reach, self.robot
        raised = centre + np.array([0.0, 0.0, reach.lift_m])
        top_pitch = self._steepest(raised, grasp, branch)
        if top_pitch is None:
            explained = self._solve(raised[None], pitch, grasp.yaw_rad, np.array(grasp.tool_m)).explain(0)
            return GraspRejected(label=grasp.label, stage="lifted", check="reach", evidence=explained)
        above = centre + grasp.standoff_m * back
        descend = self._line("descend", grasp, (above, centre), (pitch, pitch), branch, reach.descend_speed_m_s)
        if isinstance(descend, GraspRejected):
            return descend
        lift = self._line("lift", grasp, (centre, raised), (pitch, top_pitch), branch, reach.lift_speed_m_s)
        if isinstance(lift, GraspRejected):
            return lift
        speed = np.full(len(robot.joints), reach.travel_speed)
        approach = joint_move(robot, self.start, descend.positions[0], speed=speed)
        for stage, path in (("approach", approach), ("descend", descend), ("lift", lift)):
            refusal = self._check(grasp, stage, path)
            if refusal is not None:
                return refusal
        return GraspPlan(grasp=grasp, pitch_rad=pitch, approach=approach, descend=descend, lift=lift)

    def _steepest(self, position: Array, grasp: Grasp, branch: int) -> float | None:
        """The pitch nearest to straight down at which this elbow reaches a position."""
        pitch = STRAIGHT_DOWN_RAD - np.arange(0.0, self.reach.max_tilt_rad + 1e-9, _STEP_RAD)
        positions = np.broadcast_to(position, (len(pitch), 3))
        reached = self._solve(positions, pitch, grasp.yaw_rad, np.array(grasp.tool_m)).reached[:, branch]
        return float(pitch[int(np.argmax(reached))]) if reached.any() else None

    def _line(
        self,
        stage: str,
        grasp: Grasp,
        ends: tuple[Array, Array],
        pitches: tuple[float, float],
        branch: int,
        speed_m_s: float,
    ) -> Path | GraspRejected:
        """A straight line of the object's centre, the gripper leaning steadily from one pitch to the other."""
        refusal: list[GraspRejected] = []
        tool = np.array(grasp.tool_m)

        def joints_at(progress: Array) -> Array:
            position = ends[0] + progress[:, None] * (ends[1] - ends[0])
            pitch = pitches[0] + progress * (pitches[1] - pitches[0])
            solved = self._solve(position, pitch, grasp.yaw_rad, tool)
            missed = np.flatnonzero(~solved.reached[:, branch])
            if len(missed) and not refusal:
                evidence = solved.explain(int(missed[0]))
                refusal.append(GraspRejected(label=grasp.label, stage=stage, check="reach", evidence=evidence))
            jaw = np.full((len(progress), 1), grasp.open_rad)
            return np.concatenate([solved.joints_rad[:, branch], jaw], axis=1)

        length = float(np.linalg.norm(ends[1] - ends[0]))
        path = scaled_path(self.robot, joints_at, length, speed_m_s=speed_m_s)
        return refusal[0] if refusal else path

    def _check(self, grasp: Grasp, stage: str, path: Path) -> GraspRejected | None:
        refused = check_path(path, self.robot)
        if refused is not None:
            return GraspRejected(label=grasp.label, stage=stage, check="limits", evidence=refused.evidence)
        # While lifting, the object is in the hand, where touching it is the point.
        self.world.place(() if stage == "lift" else (self.estimate,))
        samples = np.concatenate([path.positions[:-1:STRIDE], path.positions[-1:]])
        hit = self.world.first_collision(samples)
        if hit is not None:
            return GraspRejected(label=grasp.label, stage=stage, check="collision", evidence=hit.evidence)
        return None


def jaw_lean(joints: Array) -> Array:
    """How far the jaw axis is from horizontal, where the normals of an upright box's sides lie."""
    pitch = joints[:, 1] + joints[:, 2] + joints[:, 3]
    return np.abs(np.arcsin(np.clip(np.cos(pitch) * np.cos(ROLL_OFFSET_RAD - joints[:, 4]), -1, 1)))


def _unreached(grasp: Grasp, index: int, at_grasp: Solutions, above: Solutions) -> GraspRejected:
    for stage, solutions in (("grasp", at_grasp), ("above", above)):
        if not solutions.reached[index, _FRONT].any():
            return GraspRejected(label=grasp.label, stage=stage, check="reach", evidence=solutions.explain(index))
    # Each pose is reached by another elbow; switching on the way is no straight line.
    evidence = (at_most("elbow_branches_needed", 2, 1),)
    return GraspRejected(label=grasp.label, stage="descend", check="reach", evidence=evidence)
