"""Straight lines of the tool point in one branch of the arm, and how far an arm goes to reach."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.errors import WiringError
from graspline.grasping.candidates import Grasp
from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Arm, Solutions
from graspline.kinematics.arms import arm_of
from graspline.kinematics.questions import Targets
from graspline.motion.lines import scaled_paths
from graspline.motion.path import Path
from graspline.parameters import Parameters
from graspline.planning.batched_planning import Planning, alone
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.spatial.flags import some

Array = NDArray[np.float64]

# Pitches that are tried are this far apart.
_STEP_RAD = np.radians(2.0)
_FEW = 12


class ArmReach(Parameters):
    """How the arm gets to an object and raises it."""

    joint_margin_rad: float = Field(default=0.02, ge=0, le=0.2, description="margin that plans keep to joint limits")
    travel_speed: float = Field(
        default=0.5, ge=0.05, le=1, description="fraction of the joints' speed limit used on the way to the object"
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

    def whole(self, **given: float) -> ReachParameters:
        """The same, or as given, for planners; what a task does not offer is at its default."""
        return ReachParameters.model_construct(**{**dict(self), **given})


class LiftReach(ArmReach):
    """How the arm gets to an object and raises it straight up."""

    lift_m: float = Field(default=0.06, ge=0.02, le=0.15, description="how far the object is raised")


class LeaningReach(ArmReach):
    """How the arm gets to an object, leaning where it has to."""

    max_tilt_rad: float = Field(
        default=1.05, ge=0, le=1.2, description="largest tilt of the gripper where it cannot point straight down"
    )


class BoxReach(LiftReach, LeaningReach):
    """How the arm gets to a box and raises it."""

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
        description="largest offset along the fingers between the two contacts of a tilted gripper",
    )


class BallReach(LeaningReach):
    """How the arm gets to a ball and raises it."""

    max_ball_lean_rad: float = Field(
        default=0.35, ge=0, le=1.0, description="largest tilt of the jaw axis from horizontal when grasping a ball"
    )


class ReachParameters(BoxReach, BallReach):
    """Everything that planners may ask for; a task offers the part of it that its objects need."""


@dataclass(frozen=True, slots=True)
class ToolLine:
    """A straight line of the tool point, the gripper leaning steadily from one pitch to the other."""

    stage: str
    start_m: Array
    end_m: Array
    pitches_rad: tuple[float, float]
    speed_m_s: float


class Lines:
    """Straight lines of one grasp's tool point in one branch of the arm, solved as whole paths."""

    def __init__(self, robot: Robot, reach: ReachParameters, grasp: Grasp, branch: int) -> None:
        self.robot, self.reach, self.grasp, self.branch = robot, reach, grasp, branch

    def _targets(self, position: Array, pitch: Array) -> Targets:
        return Targets(
            arm=arm_of(self.robot),
            position_m=position,
            pitch_rad=pitch,
            yaw_rad=self.grasp.yaw_rad,
            tool_m=np.array(self.grasp.tool_m),
            margin_rad=self.reach.joint_margin_rad,
            branch=self.branch,
        )

    def top_pitch(self, wanted: float, positions: Array) -> Planning[float | Refusal]:
        """The pitch nearest to the wanted one that reaches all positions (n, 3): a held object turns least."""
        count = len(positions)
        pitches = STRAIGHT_DOWN_RAD - leans_rad(self.reach.max_tilt_rad)
        pitches = np.concatenate([[wanted], pitches[np.argsort(np.abs(pitches - wanted), kind="stable")]])
        # Mostly one of the first will do.
        for pitch in (pitches[:_FEW], pitches[_FEW:]):
            solved = yield self._targets(np.tile(positions, (len(pitch), 1)), np.repeat(pitch, count))
            reached = solved.reached[:, self.branch].reshape(len(pitch), count).all(axis=1)
            if reached.any():
                return float(pitch[int(np.argmax(reached))])
        solved = yield self._targets(positions, np.full(count, wanted))
        evidence = solved.explain(int(np.argmin(solved.reached[:, self.branch])))
        return Refusal(label=self.grasp.label, stage="lift", check="reach", evidence=evidence)

    def plan(self, *lines: ToolLine) -> list[Path] | Refusal:
        """All lines in one solve, or the first sample of the first one that cannot be reached."""
        return alone(self.planning(*lines))

    def planning(self, *lines: ToolLine) -> Planning[list[Path] | Refusal]:
        """The same among other planners."""
        found = yield Moves(
            robot=self.robot,
            branch=self.branch,
            tool_m=self.grasp.tool_m,
            margin_rad=self.reach.joint_margin_rad,
            label=self.grasp.label,
            moves=tuple(self._move(line) for line in lines),
        )
        return found

    def _move(self, line: ToolLine) -> Move:
        way = line.end_m - line.start_m
        lean, length = line.pitches_rad[1] - line.pitches_rad[0], float(np.sqrt(way.dot(way)))
        return Move(
            stage=line.stage,
            start=(*line.start_m.tolist(), line.pitches_rad[0], self.grasp.yaw_rad),
            way=(*way.tolist(), lean, 0.0),
            jaw_rad=self.grasp.open_rad,
            length_m=length,
            speed_m_s=line.speed_m_s,
        )


@functools.lru_cache(maxsize=64)
def leans_rad(max_tilt_rad: float) -> Array:
    """Tilts that are tried, from none to this."""
    return np.arange(0.0, max_tilt_rad + 1e-9, _STEP_RAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Steadily from one pose of the hand to another, the jaw as it is.

    A pose is x, y and z of the tool point, pitch, and heading of the jaws; or, of a `polar` move, azimuth, radius and
    height about the first axis, pitch, and turn of the jaws from the azimuth.
    """

    # What a plan calls it.
    stage: str
    start: tuple[float, ...]
    way: tuple[float, ...]
    jaw_rad: float
    length_m: float
    speed_m_s: float
    polar: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """Several moves of one arm in one branch, timed within limits; answered by paths, or by the first out of reach."""

    robot: Robot
    # Which branch of the arm.
    branch: int
    tool_m: tuple[float, float, float]
    margin_rad: float
    # What a refusal calls them together.
    label: str
    moves: tuple[Move, ...]

    @classmethod
    def answered(cls, asked: Sequence[Moves]) -> list[list[Path] | Refusal]:
        """The moves of all arms in one solve, and again in one those that have to be slowed down."""
        return _Arms(asked).paths()


class _Arms:
    """The moves of several arms, one after the other."""

    def __init__(self, asked: Sequence[Moves]) -> None:
        self._asked, self._robot = asked, asked[0].robot
        self._arm = arm_of(self._robot)
        if any(each.robot is not self._robot for each in asked):
            raise WiringError("moves of different robots cannot be planned together")
        moves = [move for each in asked for move in each.moves]
        counts = [len(each.moves) for each in asked]
        self._moves = moves
        self._ends = list(itertools.accumulate(counts))
        # Of each move: whose it is, how it goes, (5, moves) so that columns of samples are long runs, and the jaw.
        self._whose = np.repeat(range(len(asked)), counts)
        self._start = np.array([move.start for move in moves]).T
        self._way = np.array([move.way for move in moves]).T
        self._jaw_rad = np.array([move.jaw_rad for move in moves])
        self._polar = np.array([move.polar for move in moves]) if any(move.polar for move in moves) else None
        self._missed: dict[int, Refusal] = {}

    def paths(self) -> list[list[Path] | Refusal]:
        lengths, speeds = [move.length_m for move in self._moves], [move.speed_m_s for move in self._moves]
        paths = scaled_paths(self._robot, self._joints_at, lengths, speeds)
        return [
            self._missed.get(arm) or paths[end - len(each.moves) : end]
            for arm, (each, end) in enumerate(zip(self._asked, self._ends, strict=True))
        ]

    def _joints_at(self, move: NDArray[np.intp], progress: Array) -> Array:
        poses = self._start[:, move] + progress * self._way[:, move]
        if self._polar is not None:
            _from_polar(self._arm, poses, self._polar[move].nonzero()[0])
        tool_m, margin_rad, rows, branch = self._how(move)
        solved = self._arm.solve(poses[:3].T, poses[3], poses[4], tool_m, margin_rad, backwards=False, branch=branch)
        joints = np.empty((len(move), len(self._robot.joints)))
        joints[:, self._robot.arm] = solved.joints_rad[rows, branch]
        joints[:, self._robot.jaw] = self._jaw_rad[move]
        missed = ~solved.reached[rows, branch]
        if some(missed):
            self._miss(move, missed.nonzero()[0], solved)
            # There is nothing left to be timed.
            joints[np.isin(self._whose[move], list(self._missed))] = 0.0
        return joints

    def _how(self, move: NDArray[np.intp]) -> tuple[Array, Any, Any, Any]:
        """Tool and margin of each sample, and which rows and branches are theirs among the solutions.

        Of one arm these are plain numbers, which cost less and give the same bits.
        """
        asked = self._asked
        if len(asked) == 1:
            return np.array(asked[0].tool_m), asked[0].margin_rad, slice(None), asked[0].branch
        arm = self._whose[move]
        tools, margins = np.array([each.tool_m for each in asked]), np.array([each.margin_rad for each in asked])
        branches = np.array([each.branch for each in asked])
        return tools[arm], margins[arm], np.arange(len(move)), branches[arm]

    def _miss(self, move: NDArray[np.intp], missed: NDArray[np.intp], solved: Solutions) -> None:
        """Keep each arm's first sample that is not reached."""
        arms, first = np.unique(self._whose[move[missed]], return_index=True)
        for arm, row in zip(arms.tolist(), missed[first].tolist(), strict=True):
            if arm not in self._missed:
                branch = self._asked[arm].branch
                self._missed[arm] = Refusal(
                    label=self._asked[arm].label,
                    stage=self._moves[int(move[row])].stage,
                    check="reach",
                    evidence=solved.explain(row, slice(branch, branch + 1)),
                )


def _from_polar(arm: Arm, poses: Array, rows: NDArray[np.intp]) -> None:
    """Turn these columns of poses (5, n) into points and headings."""
    azimuth, radius, turn = poses[0, rows], poses[1, rows], poses[4, rows]
    axis_x_m, axis_y_m = arm.axis_m
    poses[0, rows] = axis_x_m + radius * np.cos(azimuth)
    poses[1, rows] = axis_y_m + radius * np.sin(azimuth)
    poses[4, rows] = azimuth + turn
