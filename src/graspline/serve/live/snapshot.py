"""What a session shows of itself: one immutable value per tick, safe to keep and to read from any thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graspline.engine.layout import Readings
from graspline.evidence import Evidence
from graspline.kinematics.reach import TcpConvention
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import matrix_from_quaternion
from graspline.tasks.console import ObjectListed, Plain, plain

Array = NDArray[np.float64]

Mode = Literal["idle", "jogging", "moving", "task", "stopping", "replaying"]

# Number of ended states that are shown.
HISTORY = 200
# Fields that are for rendering only.
_FOR_PAGES = ("qpos", "variation", "blind", "option_words", "tool_at")
# The site that the readings of the tool are taken at.
_TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """A state that ended: when, which, how, where that led, and what it measured."""

    t_s: float
    state: str
    outcome: str
    then: str
    evidence: Evidence = ()

    def as_dict(self) -> dict[str, Any]:
        """Without the evidence, which would make every snapshot long."""
        return {"t_s": plain(self.t_s), "state": self.state, "outcome": self.outcome, "then": self.then}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSnapshot:
    """One instant of a session."""

    # Grows by one with each snapshot.
    number: int
    task: str
    seed: int
    robot: str
    # Simulated, since the scene was reset.
    time_s: float
    # How far the simulation is behind the wall clock.
    behind_s: float
    mode: Mode
    # The motion or command in progress; empty when idle.
    doing: str
    # The machine's state while a task runs; empty else.
    state: str
    # Measured and commanded, (nu,) each.
    joints_rad: Array
    command_rad: Array
    # The tool centre point by the convention in force, and the frame of the link that carries the fixed jaw.
    tcp: Pose
    gripper: Pose
    # Midway between the pads.
    tool_mid_m: Array
    jaw_gap_m: float
    jaw_rad: float
    # On the fixed and on the moving pad.
    pad_forces_n: tuple[float, float]
    # For rendering only: the state, the numbers in which this scene differs, and what cameras show instead where they
    # are blind ("" stands for all of them): a state they are frozen at, or None for a black picture.
    qpos: Array
    variation: Variation
    blind: Mapping[str, Array | None] = field(default_factory=dict)
    # Objects the task has turned to, in that order.
    targets: tuple[str, ...] = ()
    # Of the state that ended last, or of the last refusal.
    evidence: Evidence = ()
    history: tuple[HistoryEntry, ...] = ()
    # What is left of each budget of the machine and of those nested in it that play, which are named after their path.
    retries: Mapping[str, int] = field(default_factory=dict)
    # How the last task ended; empty until one has.
    verdict: str = ""
    # Whether only a reset of the scene helps: the task said so, a driver crashed, or physics diverged.
    reset_required: bool = False
    # The last thing a person should read.
    message: str = ""
    # A question the task waits for an answer to; empty if there is none.
    question: str = ""
    options: tuple[str, ...] = ()
    # Options in a person's words, where the task has any.
    option_words: Mapping[str, str] = field(default_factory=dict)
    # What it is answered by if no person answers within this (simulated) time.
    default: str = ""
    answer_within_s: float = 0.0
    selected: str = ""
    objects: tuple[ObjectListed, ...] = ()
    variables: Mapping[str, Plain] = field(default_factory=dict)
    # The client that holds the lease; empty if none does.
    operator: str = ""
    # What is being recorded into; empty if nothing is.
    recording: str = ""
    # Whether an episode is being recorded that a person drives, or is about to end; and whether its goal is met.
    teleop: Literal["", "recording", "ending"] = ""
    goal_met: bool = False
    # Where the tool's frame is, in words.
    tool_at: str = ""
    # Episodes that were played to their end since the session began.
    episodes: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; NaN is null. What is for rendering only is left out."""
        return {each.name: plain(getattr(self, each.name)) for each in fields(self) if each.name not in _FOR_PAGES}


class Instruments:
    """Where the tool is and what the hand feels, from a tick's readings."""

    def __init__(self, scene: Scene) -> None:
        self._robot = scene.robot
        site = scene.model.site(_TOOL)
        # The tool in the frame of the body that carries it: the gripper.
        self._p_GT, self._R_GT = np.array(site.pos), matrix_from_quaternion(np.array(site.quat))

    def read(self, readings: Readings, tcp: TcpConvention) -> dict[str, Any]:
        """As a snapshot has it, by its fields."""
        joints, law = readings.joints.copy(), self._robot.jaw_law
        jaw_rad = float(joints[self._robot.jaw])
        R_WT, p_WT = readings.tool_rotation, readings.tool_position_m.copy()
        middle_m, R_WG = p_WT + R_WT @ law.middle_m(jaw_rad), R_WT @ self._R_GT.T
        return {
            "joints_rad": joints,
            "tcp": Pose(position_m=middle_m if tcp == "between" else p_WT, rotation=R_WT),
            "gripper": Pose(position_m=p_WT - R_WG @ self._p_GT, rotation=R_WG),
            "tool_mid_m": middle_m,
            "jaw_gap_m": float(law.gap_m(jaw_rad)),
            "jaw_rad": jaw_rad,
            "pad_forces_n": readings.pad_forces_n(),
        }
