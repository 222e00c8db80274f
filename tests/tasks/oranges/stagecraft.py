"""A table painted by hand: answers everything a state of `oranges` asks for, without physics."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.execution.notifications import Happening
from graspline.execution.requests import Announce, Look, Motion, ObjectSeen, Reply, Solve
from graspline.kinematics.so101 import PAN_X_M, forward
from graspline.motion.path import Command, at_rest
from graspline.parameters import build
from graspline.perception.core.beliefs import Belief
from graspline.robots.so101 import FIXED_FACE_M, HOME, TIP_M
from graspline.scenes.fruit_table import FLOOR_M, PLATE
from graspline.tasks.oranges.layout import collision_world
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.pick_state import OrangesCell
from graspline.tasks.oranges.sight import FruitTruthEye, Survey

from ..replies import readings, reply

Array = NDArray[np.float64]

BALL_M = 0.03
PLATE_XY = (PAN_X_M + 0.22 * np.cos(0.8), 0.22 * np.sin(0.8))
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def parameters(*assignments: str) -> Oranges:
    return build(Oranges, assignments=list(assignments))


SETTINGS = parameters("oranges.count=2")


def at(radius_m: float, azimuth_rad: float, height_m: float = BALL_M) -> Array:
    """A place around the pan axis."""
    return np.array([PAN_X_M + radius_m * np.cos(azimuth_rad), radius_m * np.sin(azimuth_rad), height_m])


def on_plate(x_m: float = 0.0, y_m: float = 0.0, plate: tuple[float, float] = PLATE_XY) -> Array:
    """A place on the plate, from its middle."""
    return np.array([plate[0] + x_m, plate[1] + y_m, FLOOR_M + BALL_M])


def seen_ball(name: str, place: Array, radius_m: float = BALL_M, sigma_m: float = 0.0) -> Belief:
    return Belief(
        name=name,
        position_m=np.asarray(place, float),
        quaternion=UPRIGHT,
        half_extents_m=np.full(3, radius_m),
        position_sigma_m=sigma_m,
        yaw_sigma_rad=0.0,
        time_s=0.0,
        shape="ball",
    )


def seen_plate(xy: tuple[float, float] = PLATE_XY) -> Belief:
    return Belief(
        name=PLATE,
        position_m=np.array([*xy, 0.0]),
        quaternion=UPRIGHT,
        half_extents_m=np.array([0.105, 0.105, 0.002]),
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
        time_s=0.0,
        shape="plate",
    )


def survey_of(*balls: Belief, plate: Belief | None = None, time_s: float = 0.0) -> Survey:
    return Survey(things={each.name: each for each in balls}, plate=plate or seen_plate(), time_s=time_s)


def eye_of(settings: Oranges = SETTINGS, seed: int = 1) -> FruitTruthEye:
    return FruitTruthEye(settings=settings, random=np.random.default_rng(seed))


def cell_of(settings: Oranges = SETTINGS) -> OrangesCell:
    return OrangesCell(world=collision_world(settings), eye=eye_of(settings), settings=settings)


# What a scripted motion does: ends by a guard of this kind, or calls back when it is over.
Ending = type | Callable[["Act", Motion], None]


@dataclass
class Act:
    """Where everything is and what the hand feels; motions end as told and otherwise complete."""

    balls: dict[str, Array]
    plate: tuple[float, float] | None = PLATE_XY
    command: Command = field(default_factory=lambda: at_rest(HOME))
    time_s: float = 0.0
    # Force on the fixed and on the moving pad.
    pads_n: tuple[float, float] = (0.0, 0.0)
    # The jaw where what it grips holds it; None where it follows its command.
    jaw_rad: float | None = None
    # By how much the joints are off their command.
    off_rad: Array = field(default_factory=lambda: np.zeros(6))
    # By the name of the motion, in order; a motion without one completes.
    endings: dict[str, list[Ending]] = field(default_factory=dict)
    requests: list[Any] = field(default_factory=list)
    told: list[Happening] = field(default_factory=list)
    radii: dict[str, float] = field(default_factory=dict)
    evidence: Evidence = ()

    @property
    def motions(self) -> list[str]:
        return [each.name for each in self.requests if isinstance(each, Motion)]

    def paths(self, name: str) -> list[Any]:
        return [each.path for each in self.requests if isinstance(each, Motion) and each.name == name]

    def reply(self, by: Any = "completed", **more: Any) -> Reply:
        joints = self.command.position + self.off_rad
        if self.jaw_rad is not None:
            joints = np.append(joints[:5], self.jaw_rad)
        tool, rotation = forward(joints[None, :5], np.array([TIP_M, 0.0, FIXED_FACE_M]))
        sensed = readings(
            joints,
            fixed_n=self.pads_n[0],
            moving_n=self.pads_n[1],
            tool_m=(float(tool[0, 0]), float(tool[0, 1]), float(tool[0, 2])),
            rotation=rotation[0],
        )
        return reply(by, command=self.command, sensed=sensed, time_s=self.time_s, **more)

    def look(self) -> dict[str, ObjectSeen]:
        seen = {name: self._thing(place, self.radii.get(name, BALL_M)) for name, place in self.balls.items()}
        if self.plate is not None:
            seen[PLATE] = replace(self._thing(np.array([*self.plate, 0.0]), 0.105))
        return seen

    @staticmethod
    def _thing(place: Array, half_m: float) -> ObjectSeen:
        return ObjectSeen(
            position_m=np.asarray(place, float),
            quaternion=UPRIGHT,
            velocity_m_s=np.zeros(3),
            half_extents_m=np.full(3, half_m),
        )

    def play(self, stage: Generator[Any, Any, Any]) -> Any:
        """Drive a state to its end; what it returned."""
        answer: Reply | None = None
        while True:
            try:
                request = stage.send(answer)
            except StopIteration as stop:
                return stop.value
            assert len(self.requests) < 1000, "the state asks on for ever"
            if isinstance(request, Announce):
                self.told.append(request.notification)
                answer = None
                continue
            self.requests.append(request)
            answer = self._answer(request)

    def _answer(self, request: Any) -> Reply:
        match request:
            case Look():
                return self.reply(value=self.look())
            case Solve():
                return self.reply(value=request.function(*request.arguments))
            case Motion():
                return self._moved(request)
            case _:
                raise AssertionError(f"nobody answers {request}")

    def _moved(self, motion: Motion) -> Reply:
        np.testing.assert_allclose(motion.path.positions[0], self.command.position, atol=1e-6, err_msg=motion.name)
        np.testing.assert_allclose(motion.path.velocities[0], self.command.velocity, atol=1e-6, err_msg=motion.name)
        waiting = self.endings.get(motion.name, [])
        ending = waiting.pop(0) if waiting else None
        if isinstance(ending, type):
            tick = motion.path.ticks // 2
            self.command, self.time_s = motion.path.command_at(tick), self.time_s + tick * motion.path.dt_s
            guard = next(each for each in motion.guards if isinstance(each, ending))
            return self.reply(guard, evidence=guard.evidence([1.0] * 4))
        self.command, self.time_s = at_rest(motion.path.end), self.time_s + motion.path.duration_s
        if ending is not None:
            ending(self, motion)
        return self.reply()


def feel(fixed_n: float, moving_n: float) -> Callable[[Act, Motion], None]:
    """After this motion the pads feel this."""

    def ending(act: Act, motion: Motion) -> None:
        act.pads_n = (fixed_n, moving_n)

    return ending


def forward_held(joints: Array, centre_m: tuple[float, float, float]) -> Array:
    """Where something at this place in the gripper frame is."""
    return forward(joints[None, :5], np.array(centre_m))[0][0]
