"""Joints and tool: sliders that the arm follows, a pose for its tool, the jaw's full range, and measured poses."""

from __future__ import annotations

from typing import Any

import numpy as np

from graspline.kinematics.reach import OperatorKinematics, reach_of
from graspline.scenes.scene import Scene
from graspline.serve.live.commands import Jog, MoveJaw, MoveTool
from graspline.serve.live.pace import now_s
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.serve.panel import words
from graspline.serve.panel.controls import Button, Controls, Text, by_person, poses_of
from graspline.serve.panel.shapes import shapes_of
from graspline.tasks.console import Refused, Result

# Sliders that a person has in hand are not moved by us until this long after the last change.
_IN_HAND_S = 0.6
_STEP_DEG = 0.1
# A joint that slides farther than this is a base on wheels.
_ROOM_M = 4.0


class JointsSection:
    """One client's sliders and readouts."""

    def __init__(self, controls: Controls, scene: Scene) -> None:
        self._controls, self._scene, self._robot = controls, scene, scene.robot
        robot = scene.robot
        self._touched_s = -np.inf
        # Degrees, and millimetres where a joint slides.
        self._scale = np.where(robot.sliding, 1000.0, np.degrees(1.0))
        self._followed = self._scale * robot.home
        gui, give = controls.gui, controls.give
        with gui.add_folder("Joints and tool", expand_by_default=False):
            controls.row(
                *poses_of(controls, robot),
                Button("Open jaw", lambda: give(MoveJaw(full="open"))),
                Button("Close jaw", lambda: give(MoveJaw(full="close"))),
            )
            Text(gui, words.caption("Joints in ° and mm" if robot.slides else "Joints in °"))
            self._sliders = [self._slider(index) for index in range(len(robot.joints))]
            reach = reach_of(robot)
            if reach is not None:
                Text(gui, words.caption("Tool target"))
                self._target(reach)
            Text(gui, words.caption("Measured"))
            self._readouts = Text(gui)

    def show(self, snapshot: SessionSnapshot) -> None:
        """Show what the snapshot says."""
        self._readouts.show(words.readouts(snapshot))
        if now_s() - self._touched_s < _IN_HAND_S:
            return
        # They follow the arm when it moves, and at no other time: a person's change is not overwritten.
        angles = self._scale * snapshot.command_rad
        for index in np.flatnonzero(np.abs(angles - self._followed) >= _STEP_DEG / 2):
            slider = self._sliders[index]
            slider.value = round(float(np.clip(angles[index], slider.min, slider.max)), 1)
            self._followed[index] = angles[index]

    def _slider(self, index: int) -> Any:
        robot = self._robot
        low, high = self._scale[index] * np.array(travel(self._scene, index))
        slider = self._controls.gui.add_slider(
            robot.joints[index],
            min=float(np.ceil(low * 10) / 10),
            max=float(np.floor(high * 10) / 10),
            step=_STEP_DEG,
            initial_value=round(float(self._scale[index] * robot.home[index]), 1),
        )
        slider.on_update(by_person(lambda: self._jog(index)))
        return self._controls.hold(slider)

    def _jog(self, index: int) -> None:
        """Go where this slider stands; the other joints stay where they are going."""
        now = self._controls.operator.session.snapshot
        # Sliders show tenths of a degree; a joint that was not touched keeps its exact angle.
        angles = np.array([each.value for each in self._sliders]) / self._scale
        fresh = now_s() - self._touched_s >= _IN_HAND_S
        goal = np.where(np.arange(len(angles)) == index, angles, now.command_rad if fresh else angles)
        self._touched_s = now_s()
        self._controls.give(Jog(tuple(float(each) for each in goal))).then(self._answered)

    def _answered(self, result: Result) -> None:
        """Where the arm may not go, the sliders go back to where it is."""
        if isinstance(result, Refused):
            self._followed[:] = np.inf

    def _target(self, reach: OperatorKinematics) -> None:
        controls, gui = self._controls, self._controls.gui
        example = reach.example()
        x, y, z = (1000 * float(each) for each in example.position_m)
        position = controls.hold(gui.add_vector3("x, y, z (mm)", (x, y, z), step=1.0))

        def angle(label: str, value: float, hint: str) -> Any:
            return controls.hold(gui.add_number(label, value, min=-180.0, max=180.0, step=1.0, hint=hint))

        pitch = angle(
            "Pitch (°)", round(float(np.degrees(example.pitch_rad)), 1), "90 is straight down, 0 straight ahead"
        )
        yaw = angle("Yaw (°)", 0.0, "The heading in which the jaw opens")
        free = controls.hold(gui.add_checkbox("Any yaw", False))

        def go() -> None:
            x, y, z = (each / 1000 for each in position.value)
            turned = None if free.value else float(np.radians(yaw.value))
            controls.give(MoveTool((x, y, z), float(np.radians(pitch.value)), turned))

        def here() -> None:
            snapshot = controls.operator.session.snapshot
            tcp = "between" if snapshot.variables.get("tcp") == "between" else "fixed_tip"
            now = reach.pose(snapshot.command_rad, reach.tool_m(tcp, snapshot.jaw_gap_m))
            position.value = tuple(round(1000 * float(each), 1) for each in now.position_m)
            pitch.value = round(float(np.degrees(now.pitch_rad)), 1)
            yaw.value = round(float(np.degrees(now.yaw_rad or 0.0)), 1)

        controls.row(Button("Move there", go, "primary"), Button("Copy pose", here))


def travel(scene: Scene, index: int) -> tuple[float, float]:
    """The range of a joint's slider: its limits, but where a base rolls no farther than the floor goes."""
    robot, model = scene.robot, scene.model
    low, high = float(robot.limits.lower[index]), float(robot.limits.upper[index])
    if not robot.sliding[index] or high - low < _ROOM_M:
        return low, high
    axis = model.joint(robot.joints[index]).axis
    fixed = [each for each in shapes_of(model) if each.body == "world"]
    along = np.concatenate([(each.position_m + each.vertices) @ axis for each in fixed])
    # Walls are as thick as they are: what rolls stays in the room.
    return max(low, float(along.min())), min(high, float(along.max()))
