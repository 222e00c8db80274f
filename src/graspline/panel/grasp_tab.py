"""The Grasp tab: choose an object, set how it is taken, see whether that works, and send the arm."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args, get_origin

import annotated_types
import numpy as np

from graspline.grasping.grab import GrabVariables
from graspline.live.commands import (
    CheckReachable,
    CloseRange,
    GraspClose,
    GraspOpen,
    MoveToGrab,
    OpenRange,
    Pick,
    Preview,
    Refresh,
    Select,
    SetVariables,
    Ticket,
)
from graspline.live.snapshot import Plain, Snapshot
from graspline.panel import words
from graspline.panel.board import Board
from graspline.panel.controls import Choice, Controls, Synced, Text, poses_of
from graspline.robots.robot import Robot

_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "cross_axis": "Cross-axis",
        "tcp_offset": "TCP offset",
        "tcp_clearance_m": "TCP clearance",
        "open_clearance_m": "Open clearance",
        "close_clearance_m": "Close clearance",
        "object_z_m": "Object Z",
        "approach_height_m": "Approach height",
        "tcp": "TCP is",
    }
)
_BACK, _CLICKED = "back where it lay", "at the point below"
_MM = 1000.0


class GraspTab:
    """One client's Grasp tab."""

    def __init__(self, controls: Controls, board: Board, robot: Robot) -> None:
        self._controls, self._board = controls, board
        gui, give = controls.gui, controls.give
        self._object = Choice(controls, "Object", "(none)", self._select)
        controls.button("Refresh", lambda: give(Refresh()), icon="refresh", hint="Look at the table again")
        self._seen, self._reach = Text(gui), Text(gui)
        controls.buttons("Plan", {"Check": self._check, "Preview": self._preview}, "Nothing moves")
        controls.button("Move to Grab", self._grab, color="blue", hint="Both stages, then stop at the object")
        controls.button("Pick", self._pick, color="green", hint="Grab, lift, verify, and put it down")
        with gui.add_folder("Put it down"):
            self._place = controls.hold(gui.add_dropdown("Place", (_BACK, _CLICKED)))
            self._spot = controls.hold(
                gui.add_vector2("x, y (mm)", (200.0, 0.0), step=1.0, hint="Click on the table to set it")
            )
        with gui.add_folder("Variables (lengths in mm)"):
            self._variables = {name: self._variable(name) for name in GrabVariables.model_fields}
        with gui.add_folder("Gripper"):
            controls.buttons(
                "For the object",
                {"Grasp Open": lambda: give(GraspOpen()), "Grasp Close": lambda: give(GraspClose())},
                "To the gap that the selected object needs",
            )
            lower, upper = np.degrees([robot.limits.lower[robot.jaw], robot.limits.upper[robot.jaw]])
            low, high = float(np.ceil(lower * 10) / 10), float(np.floor(upper * 10) / 10)
            self._lower = controls.hold(gui.add_number("Lower (°)", 0.0, min=low, max=high, step=0.5))
            self._upper = controls.hold(gui.add_number("Upper (°)", 60.0, min=low, max=high, step=0.5))
            controls.buttons(
                "By range",
                {
                    "Open": lambda: give(OpenRange(float(np.radians(self._upper.value)))),
                    "Close": lambda: give(CloseRange(float(np.radians(self._lower.value)))),
                },
                "To the upper, and to the lower field",
            )
        controls.buttons("Arm", poses_of(controls, robot), "Where episodes begin; gripper straight down; all zero")

    def show(self, snapshot: Snapshot) -> None:
        self._object.offer([each.name for each in snapshot.objects], snapshot.selected)
        chosen = next((each for each in snapshot.objects if each.name == snapshot.selected), None)
        self._seen.show(words.seen(chosen))
        self._reach.show(words.reach(self._board.reach(snapshot)))
        for name, value in snapshot.variables.items():
            self._variables[name].show(_shown(name, value))

    def clicked(self, name: str, spot_m: tuple[float, float]) -> None:
        """The user clicked at an object in the scene, or at the table."""
        if name:
            self._select(name)
        elif self._controls.helm.may_drive:
            self._spot.value = tuple(round(_MM * each, 1) for each in spot_m)
            self._place.value = _CLICKED

    @property
    def spot_m(self) -> tuple[float, float] | None:
        """The point that is chosen for putting down; None is back."""
        x, y = self._spot.value
        return (x / _MM, y / _MM) if self._place.value == _CLICKED else None

    def _select(self, name: str) -> Ticket | None:
        if not name:
            return None
        ticket = self._controls.give(Select(name))
        self._check()
        return ticket

    def _check(self) -> None:
        self._board.ask(self._controls.helm, CheckReachable())

    def _preview(self) -> None:
        self._board.ask(self._controls.helm, Preview())

    def _grab(self) -> None:
        self._controls.give(MoveToGrab())

    def _pick(self) -> None:
        self._controls.give(Pick(self.spot_m))

    def _variable(self, name: str) -> Synced:
        """A control for one variable, with the meaning and the range that its field has."""
        gui, field = self._controls.gui, GrabVariables.model_fields[name]
        label, hint, default = _LABELS.get(name, name), field.description, field.default
        if isinstance(default, bool):
            made = gui.add_checkbox(label, default, hint=hint)
        elif get_origin(field.annotation) is Literal:
            made = gui.add_dropdown(label, get_args(field.annotation), initial_value=default, hint=hint)
        else:
            low = next(_MM * each.ge for each in field.metadata if isinstance(each, annotated_types.Ge))  # type: ignore[operator]
            high = next(_MM * each.le for each in field.metadata if isinstance(each, annotated_types.Le))  # type: ignore[operator]
            made = gui.add_number(label, _MM * default, min=low, max=high, step=0.5, hint=hint)
        return Synced(self._controls, made, lambda value: self._set(name, value))

    def _set(self, name: str, value: Plain) -> Ticket:
        given = float(value) / _MM if _is_length(name, value) else value
        ticket = self._controls.give(SetVariables({name: given}))
        if self._controls.helm.session.snapshot.selected:
            self._check()
        return ticket


def _is_length(name: str, value: Plain) -> bool:
    return name.endswith("_m") and not isinstance(value, bool | str)


def _shown(name: str, value: Plain) -> Plain:
    """A variable in the unit it is shown in."""
    return round(_MM * float(value), 3) if _is_length(name, value) else value
