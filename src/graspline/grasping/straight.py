"""Straight lines of the tool point with one elbow, and how far an arm goes to reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.grasping.candidates import Grasp, GraspRejected
from graspline.kinematics.so101 import STRAIGHT_DOWN_RAD, Solutions, solve
from graspline.motion.lines import scaled_paths
from graspline.motion.path import Path
from graspline.parameters import Parameters
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# Pitches that are tried are this far apart.
STEP_RAD = np.radians(2.0)


class ReachParameters(Parameters):
    """How the arm gets to an object and raises it."""

    lift_m: float = Field(default=0.06, ge=0.02, le=0.15, description="how far the object is raised")
    max_tilt_rad: float = Field(
        default=1.05, ge=0, le=1.2, description="how far the gripper may lean where it cannot point straight down"
    )
    max_face_error_rad: float = Field(
        default=0.26,
        ge=0,
        le=0.5,
        description="largest angle between the jaw axis and the normal of the faces it closes on",
    )
    max_contact_offset_m: float = Field(
        default=0.0065,
        ge=0,
        le=0.05,
        description="how far apart along the fingers leaning jaws may touch a wide object's two sides",
    )
    max_ball_lean_rad: float = Field(
        default=0.35, ge=0, le=1.0, description="how far the jaw axis may lean from horizontal when it takes a ball"
    )
    joint_margin_rad: float = Field(
        default=0.02, ge=0, le=0.2, description="distance that plans keep from joint limits"
    )
    travel_speed: float = Field(
        default=0.5, ge=0.05, le=1, description="share of the joints' speed limit on the way to the object"
    )
    descend_speed_m_s: float = Field(
        default=0.15, ge=0.005, le=0.5, description="peak speed of the fingertips on the way down"
    )
    seat_speed_m_s: float = Field(
        default=0.05, ge=0.005, le=0.2, description="peak speed at which the fixed jaw is brought up to the object"
    )
    lift_speed_m_s: float = Field(
        default=0.12, ge=0.005, le=0.5, description="peak speed of the fingertips while lifting"
    )


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line of the tool point, the gripper leaning steadily from one pitch to the other."""

    stage: str
    start_m: Array
    end_m: Array
    pitches_rad: tuple[float, float]
    speed_m_s: float


class Lines:
    """Straight lines of one grasp's tool point with one elbow, solved as whole paths."""

    def __init__(self, robot: Robot, reach: ReachParameters, grasp: Grasp, branch: int) -> None:
        self.robot, self.reach, self.grasp, self.branch = robot, reach, grasp, branch
        self._tool = np.array(grasp.tool_m)

    def _solve(self, position: Array, pitch: Array | float) -> Solutions:
        margin = self.reach.joint_margin_rad
        return solve(position, pitch, self.grasp.yaw_rad, self._tool, margin, backwards=False)

    def top_pitch(self, wanted: float, positions: Array) -> float | GraspRejected:
        """The pitch nearest to the wanted one that reaches all positions (n, 3): a held object turns least."""
        if self._solve(positions, wanted).reached[:, self.branch].all():
            return wanted
        count = len(positions)
        pitch = STRAIGHT_DOWN_RAD - np.arange(0.0, self.reach.max_tilt_rad + 1e-9, STEP_RAD)
        pitch = np.concatenate([[wanted], pitch[np.argsort(np.abs(pitch - wanted), kind="stable")]])
        solved = self._solve(np.tile(positions, (len(pitch), 1)), np.repeat(pitch, count))
        reached = solved.reached[:, self.branch].reshape(len(pitch), count).all(axis=1)
        if not reached.any():
            missed = int(np.argmin(solved.reached[:count, self.branch]))
            evidence = solved.explain(missed)
            return GraspRejected(label=self.grasp.label, stage="lift", check="reach", evidence=evidence)
        return float(pitch[int(np.argmax(reached))])

    def plan(self, *lines: Line) -> list[Path] | GraspRejected:
        """All lines in one solve, or the first sample of the first one that cannot be reached."""
        starts = np.stack([line.start_m for line in lines])
        ways = np.stack([line.end_m - line.start_m for line in lines])
        pitches = np.array([line.pitches_rad for line in lines])

        def joints_at(move: NDArray[np.intp], progress: Array) -> Array:
            pitch = pitches[move, 0] + progress * (pitches[move, 1] - pitches[move, 0])
            solved = self._solve(starts[move] + progress[:, None] * ways[move], pitch)
            missed = np.flatnonzero(~solved.reached[:, self.branch])
            if len(missed):
                this = slice(self.branch, self.branch + 1)
                stage, evidence = lines[move[missed[0]]].stage, solved.explain(int(missed[0]), this)
                raise _Unreached(GraspRejected(label=self.grasp.label, stage=stage, check="reach", evidence=evidence))
            joints = np.empty((len(progress), len(self.robot.joints)))
            joints[:, self.robot.arm] = solved.joints_rad[:, self.branch]
            joints[:, self.robot.jaw] = self.grasp.open_rad
            return joints

        lengths = [float(np.linalg.norm(way)) for way in ways]
        try:
            return scaled_paths(self.robot, joints_at, lengths, [line.speed_m_s for line in lines])
        except _Unreached as unreached:
            return unreached.rejected


class _Unreached(Exception):
    """Leaves a time scaling whose path cannot be reached."""

    def __init__(self, rejected: GraspRejected) -> None:
        self.rejected = rejected
