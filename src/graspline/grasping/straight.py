"""Straight lines of the tool point with one elbow, and how far an arm goes to reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.evidence import Evidence
from graspline.grasping.candidates import Grasp, GraspRejected
from graspline.kinematics.so101 import STRAIGHT_DOWN_RAD, Solutions, solve
from graspline.motion.lines import scaled_paths
from graspline.motion.path import Path
from graspline.parameters import Parameters
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# Pitches that are tried are this far apart.
STEP_RAD = np.radians(2.0)
_FEW = 12


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
        count = len(positions)
        pitches = STRAIGHT_DOWN_RAD - np.arange(0.0, self.reach.max_tilt_rad + 1e-9, STEP_RAD)
        pitches = np.concatenate([[wanted], pitches[np.argsort(np.abs(pitches - wanted), kind="stable")]])
        # Mostly one of the first will do.
        for pitch in (pitches[:_FEW], pitches[_FEW:]):
            solved = self._solve(np.tile(positions, (len(pitch), 1)), np.repeat(pitch, count))
            reached = solved.reached[:, self.branch].reshape(len(pitch), count).all(axis=1)
            if reached.any():
                return float(pitch[int(np.argmax(reached))])
        solved = self._solve(positions, wanted)
        evidence = solved.explain(int(np.argmin(solved.reached[:, self.branch])))
        return GraspRejected(label=self.grasp.label, stage="lift", check="reach", evidence=evidence)

    def plan(self, *lines: Line) -> list[Path] | GraspRejected:
        """All lines in one solve, or the first sample of the first one that cannot be reached."""
        starts = np.stack([line.start_m for line in lines])
        ways = np.stack([line.end_m - line.start_m for line in lines])
        pitches = np.array([line.pitches_rad for line in lines])

        def solved_at(move: NDArray[np.intp], progress: Array) -> Solutions:
            pitch = pitches[move, 0] + progress * (pitches[move, 1] - pitches[move, 0])
            return self._solve(starts[move] + progress[:, None] * ways[move], pitch)

        found = one_elbow(
            self.robot,
            self.branch,
            solved_at,
            jaws_rad=[self.grasp.open_rad] * len(lines),
            lengths_m=[float(np.linalg.norm(way)) for way in ways],
            speeds_m_s=[line.speed_m_s for line in lines],
        )
        if isinstance(found, Missed):
            stage = lines[found.move].stage
            return GraspRejected(label=self.grasp.label, stage=stage, check="reach", evidence=found.evidence)
        return found


@dataclass(frozen=True, slots=True)
class Missed:
    """The first of some moves that cannot be reached, and why."""

    move: int
    evidence: Evidence


def one_elbow(
    robot: Robot,
    branch: int,
    solved_at: Callable[[NDArray[np.intp], Array], Solutions],
    *,
    jaws_rad: Sequence[float],
    lengths_m: Sequence[float],
    speeds_m_s: Sequence[float],
) -> list[Path] | Missed:
    """Several moves with this elbow, timed within limits; the jaw stays as it is given for each.

    `solved_at(move, progress)` solves poses (n,) for the number of a move and progress in [0, 1].
    """
    jaws = np.array(jaws_rad)

    def joints_at(move: NDArray[np.intp], progress: Array) -> Array:
        solved = solved_at(move, progress)
        missed = np.flatnonzero(~solved.reached[:, branch])
        if len(missed):
            first = int(missed[0])
            raise _Unreached(Missed(int(move[first]), solved.explain(first, slice(branch, branch + 1))))
        joints = np.empty((len(progress), len(robot.joints)))
        joints[:, robot.arm] = solved.joints_rad[:, branch]
        joints[:, robot.jaw] = jaws[move]
        return joints

    try:
        return scaled_paths(robot, joints_at, lengths_m, speeds_m_s)
    except _Unreached as unreached:
        return unreached.missed


class _Unreached(Exception):
    """Leaves a time scaling whose path cannot be reached."""

    def __init__(self, missed: Missed) -> None:
        self.missed = missed
