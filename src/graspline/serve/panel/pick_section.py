"""What the console of a task adds to the page: the object, whether it can be picked, and how."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

import annotated_types
import numpy as np

from graspline.parameters import Parameters
from graspline.robots.robot import Robot
from graspline.serve.live.commands import (
    CheckReachable,
    CloseRange,
    GraspClose,
    GraspOpen,
    MoveToGrab,
    OpenRange,
    Pick,
    Preview,
    Refresh,
    ResetScene,
    Select,
    SetVariables,
    Ticket,
)
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.serve.panel import words
from graspline.serve.panel.controls import Button, Controls, Dropdown, Synced, Text
from graspline.serve.panel.plan_cache import PlanCache
from graspline.serve.panel.refusals import LABELS, way_out
from graspline.tasks.console import Plain, Refused

_BACK, _CLICKED = "Back where it was", "At the point below"
_NONE = "Choose an object"
_MM = 1000.0


class PickSection:
    """One client's choice of an object; the page puts its verbs between this and what `fold` adds."""

    def __init__(self, controls: Controls, board: PlanCache, variables_model: type[Parameters]) -> None:
        self._controls, self._board, self._model = controls, board, variables_model
        self._object = Dropdown(controls, "Object", _NONE, self._select)
        self._reach = Text(controls.gui)
        self._way_out = controls.button("", self._take_way_out, visible=False)
        self._label = ""
        # What the button sets; nothing stands for another scene.
        self._change: dict[str, Plain] = {}

    def pick(self) -> None:
        """Pick the selected object."""
        self._controls.give(Pick(self.spot_m))

    def fold(self, robot: Robot) -> None:
        """Everything about a pick that is seldom needed."""
        controls, gui, give = self._controls, self._controls.gui, self._controls.give
        with gui.add_folder("Grasp", expand_by_default=False):
            self._grab, _ = controls.row(
                Button("Move to grab", lambda: give(MoveToGrab())), Button("Preview", self._preview)
            )
            controls.row(Button("Check", self._check), Button("Refresh", lambda: give(Refresh())))
            self._seen = Text(gui)
            self._place = controls.hold(gui.add_dropdown("Put it down", (_BACK, _CLICKED)))
            self._spot = controls.hold(
                gui.add_vector2("x, y (mm)", (200.0, 0.0), step=1.0, hint="Click on the table to set it")
            )
            Text(gui, words.caption("Lengths in mm"))
            self._variables = {name: self._variable(name) for name in self._model.model_fields}
        with gui.add_folder("Gripper", expand_by_default=False):
            self._gripper(robot)

    def show(self, snapshot: SessionSnapshot) -> None:
        """Show what the snapshot says."""
        self._object.offer([each.name for each in snapshot.objects], snapshot.selected)
        chosen = next((each for each in snapshot.objects if each.name == snapshot.selected), None)
        self._seen.show(words.seen(chosen))
        found = self._board.reach(snapshot)
        self._reach.show(words.reach(found, snapshot))
        self._controls.allow(self._grab, self.can_pick(snapshot))
        self._offer(found if isinstance(found, Refused) else None)
        for name, value in snapshot.variables.items():
            self._variables[name].show(_shown(name, value))

    def can_pick(self, snapshot: SessionSnapshot) -> bool:
        """Whether something is selected, and not known to be out of reach."""
        return bool(snapshot.selected) and not isinstance(self._board.reach(snapshot), Refused)

    def clicked(self, name: str, spot_m: tuple[float, float]) -> None:
        """The user clicked at an object in the scene, or at the table."""
        if name:
            self._select(name)
        elif self._controls.operator.may_drive:
            self._spot.value = tuple(round(_MM * each, 1) for each in spot_m)
            self._place.value = _CLICKED

    @property
    def spot_m(self) -> tuple[float, float] | None:
        """The point that is chosen for putting down; None is back."""
        x, y = self._spot.value
        return (x / _MM, y / _MM) if self._place.value == _CLICKED else None

    def _offer(self, refused: Refused | None) -> None:
        """A button for the way out of a refusal; where no setting helps, another scene may."""
        found = None if refused is None else way_out(refused)
        label, change = found or ("New scene", {})
        visible = refused is not None
        if visible and label != self._label:
            self._label = self._way_out.label = label
        self._change = dict(change)
        if self._way_out.visible != visible:
            self._way_out.visible = visible

    def _take_way_out(self) -> None:
        give, change = self._controls.give, self._change
        if change:
            give(SetVariables(change))
            self._check()
        else:
            give(ResetScene(self._controls.operator.session.snapshot.seed + 1))

    def _select(self, name: str) -> Ticket | None:
        if not name:
            return None
        ticket = self._controls.give(Select(name))
        self._check()
        return ticket

    def _check(self) -> None:
        self._board.ask(self._controls.operator, CheckReachable())

    def _preview(self) -> None:
        self._board.ask(self._controls.operator, Preview())

    def _gripper(self, robot: Robot) -> None:
        controls, gui, give = self._controls, self._controls.gui, self._controls.give
        Text(gui, words.caption("To the gap that the object needs"))
        controls.row(Button("Grasp open", lambda: give(GraspOpen())), Button("Grasp close", lambda: give(GraspClose())))
        Text(gui, words.caption("To an angle"))
        lower, upper = np.degrees([robot.limits.lower[robot.jaw], robot.limits.upper[robot.jaw]])
        low, high = float(np.ceil(lower * 10) / 10), float(np.floor(upper * 10) / 10)
        self._upper = controls.hold(gui.add_number("Open to (°)", 60.0, min=low, max=high, step=0.5))
        self._lower = controls.hold(gui.add_number("Close to (°)", 0.0, min=low, max=high, step=0.5))
        controls.row(
            Button("Open", lambda: give(OpenRange(float(np.radians(self._upper.value))))),
            Button("Close", lambda: give(CloseRange(float(np.radians(self._lower.value))))),
        )

    def _variable(self, name: str) -> Synced:
        """A control for one variable, with the meaning and the range that its field has."""
        gui, field = self._controls.gui, self._model.model_fields[name]
        label, hint, default = LABELS.get(name, name), field.description, field.default
        if isinstance(default, bool):
            made: Any = gui.add_checkbox(label, default, hint=hint)
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
        if self._controls.operator.session.snapshot.selected:
            self._check()
        return ticket


def _is_length(name: str, value: Plain) -> bool:
    return name.endswith("_m") and not isinstance(value, bool | str)


def _shown(name: str, value: Plain) -> Plain:
    """A variable in the unit it is shown in."""
    return round(_MM * float(value), 3) if _is_length(name, value) else value
