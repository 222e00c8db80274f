"""Drive by hand: a gizmo at the tool, keys and a gamepad while the drive mode is on, and recording what is driven."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from graspline.kinematics.differential import ToolKinematics
from graspline.serve.live.commands import BeginTeleop, Command, Drive, EndTeleop, ToolTarget
from graspline.serve.live.server_context import Bench
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.serve.live.steps import FASTEST_M_S
from graspline.serve.panel.operator_client import Helm
from graspline.spatial.rotations import matrix_from_quaternion, quaternion_from_matrix, rotation_vector

Array = NDArray[np.float64]

GIZMO = "/drive/tool"
_SLOWEST_MM_S, _USUAL_MM_S = 10.0, 80.0
# A gizmo that was turned by less was moved only.
_TURNED_RAD = 1e-3
# Of the arm's reach, the gizmo's size.
_SIZE = 0.25
# A tool that moved by less is not sent again.
_STILL_M, _STILL = 2e-5, 2e-4
_KEYS = (
    ("W S", "forward, back"),
    ("A D", "left, right"),
    ("E Q", "up, down"),
    ("J L", "turn the wrist"),
    ("I K", "tilt up, down"),
    ("O C", "open, close the jaw"),
    ("Shift", "a quarter of the speed"),
)
_PAD = (
    ("left stick", "forward, back, left, right"),
    ("right stick", "up, down; turn the wrist"),
    ("LB RB", "tilt up, down"),
    ("LT RT", "open, close the jaw"),
    ("B", "STOP"),
)


class DriveSection:
    """One client's controls for driving, and its gizmo. Made anew with every page."""

    def __init__(self, client: viser.ClientHandle, operator: Helm, bench: Bench) -> None:
        self._operator, self._recording = operator, bench.recording
        scene = operator.session.scene
        self._tool = ToolKinematics(scene)
        gui = client.gui
        # The page's script reads from here which client drives, and whether and how fast.
        self._marker = gui.add_html("")
        with gui.add_folder("Drive by hand", expand_by_default=False):
            self._on = gui.add_checkbox(
                "Drive mode", False, hint="Keys, gamepad and gizmo move the tool while it is on"
            )
            self._axes = gui.add_dropdown("Axes", ("world", "tool"), hint="Axes along which the tool moves")
            fastest = 1000 * FASTEST_M_S
            self._speed = gui.add_slider("Speed (mm/s)", _SLOWEST_MM_S, fastest, 5.0, _USUAL_MM_S)
            self._state = gui.add_html("")
            self._begin = gui.add_button("Record an episode", icon=viser.Icon.PLAYER_RECORD, visible=False)
            self._finish = gui.add_button("Finish and keep", icon=viser.Icon.CHECK, visible=False)
            self._discard = gui.add_button("Discard", icon=viser.Icon.TRASH, visible=False)
            with gui.add_folder("Keys and gamepad", expand_by_default=False):
                gui.add_html(_help())
        self._on.on_update(lambda event: self._switched())
        self._begin.on_click(lambda event: self._give(BeginTeleop()))
        self._finish.on_click(lambda event: self._give(EndTeleop()))
        self._discard.on_click(lambda event: self._give(EndTeleop(keep=False)))
        size = _SIZE * float(scene.robot.levers_m[0])
        self._gizmo = client.scene.add_transform_controls(GIZMO, scale=size, depth_test=False, visible=False)
        self._gizmo.on_update(self._dragged)
        # While it is dragged: rotations of gizmo and tool when that began, (3, 3) each.
        self._held: tuple[Array, Array] | None = None

    def close(self) -> None:
        """Take the gizmo away; the rest goes with the page."""
        self._gizmo.remove()

    def show(self, snapshot: SessionSnapshot, *, words: bool) -> None:
        """Thirty times a second the gizmo; the words less often."""
        if self._held is None and self._gizmo.visible:
            self._follow(snapshot)
        if words:
            self._show_words(snapshot)

    # The gizmo

    def _follow(self, snapshot: SessionSnapshot) -> None:
        at = self._tool.at(snapshot.joints_rad)
        turned = quaternion_from_matrix(at.rotation) if self._axes.value == "tool" else np.array([1.0, 0.0, 0.0, 0.0])
        moved = np.abs(at.position_m - self._gizmo.position).max() > _STILL_M
        if moved or np.abs(turned - self._gizmo.wxyz).max() > _STILL:
            self._gizmo.position, self._gizmo.wxyz = at.position_m, turned

    async def _dragged(self, event: viser.TransformControlsEvent) -> None:
        """In the server's loop, so that what was dragged last comes last."""
        turned = matrix_from_quaternion(np.array(event.target.wxyz))
        if event.phase == "start":
            self._held = turned, self._tool_rotation()
        elif event.phase == "end" or self._held is None:
            self._held = None
            self._give(Drive())
        else:
            self._give(Drive(target=self._target(np.array(event.target.position), turned, *self._held)))

    @staticmethod
    def _target(position_m: Array, turned: Array, gizmo: Array, tool: Array) -> ToolTarget:
        x, y, z = position_m.tolist()
        by = turned @ gizmo.T
        if np.linalg.norm(rotation_vector(by)) < _TURNED_RAD:
            return ToolTarget(position_m=(x, y, z))
        qw, qx, qy, qz = quaternion_from_matrix(by @ tool).tolist()
        return ToolTarget(position_m=(x, y, z), quaternion=(qw, qx, qy, qz))

    def _tool_rotation(self) -> Array:
        return self._operator.session.snapshot.tcp.rotation

    # The controls

    def _switched(self) -> None:
        self._gizmo.visible = on = bool(self._on.value)
        self._held = None
        if not on and self._operator.drives:
            self._give(Drive())

    def _give(self, command: Command) -> None:
        self._operator.give(command)

    def _show_words(self, snapshot: SessionSnapshot) -> None:
        may = self._operator.may_drive
        for control in (self._on, self._begin, self._finish, self._discard):
            _set(control, "disabled", not may)
        on = may and bool(self._on.value)
        marked = {
            "on": int(on),
            "operator": self._operator.name,
            "speed": self._speed.value / 1000,
            "axes": self._axes.value,
        }
        marks = " ".join(f"data-{name}='{escape(str(value))}'" for name, value in marked.items())
        _set(self._marker, "content", f"<span data-drive {marks}></span>")
        can = bool(self._recording)
        _set(self._begin, "visible", can and not snapshot.teleop)
        _set(self._finish, "visible", can and snapshot.teleop == "recording")
        _set(self._discard, "visible", can and snapshot.teleop == "recording")
        _set(self._state, "content", _state(snapshot, on))


def _set(control: Any, name: str, value: Any) -> None:
    """Only what has changed is sent."""
    if getattr(control, name) != value:
        setattr(control, name, value)


def _state(snapshot: SessionSnapshot, on: bool) -> str:
    """What the operator of a driven arm has to know: what stops it, and how the recording goes."""
    lines = []
    if snapshot.teleop:
        goal = "goal met" if snapshot.goal_met else "goal not met yet"
        ending = "ending, " if snapshot.teleop == "ending" else ""
        lines.append(f"<b style='color:#c92a2a'>{ending}recording {snapshot.time_s:.0f} s, {goal}</b>")
    if on:
        refused = snapshot.message.removeprefix("drive: ") if snapshot.message.startswith("drive: ") else ""
        lines.append(escape(refused) or "drag the gizmo, or use keys or a gamepad")
    return f"<div data-driving style='font-size:12.5px;padding:2px 14px'>{'<br>'.join(lines)}</div>"


def _help() -> str:
    rows = "".join(
        f"<tr><td style='padding-right:12px'><b>{escape(keys)}</b></td><td>{escape(does)}</td></tr>"
        for keys, does in (*_KEYS, *_PAD)
    )
    note = "Keys work while drive mode is on and you are not typing in a field. Let go, and the arm brakes and holds."
    return f"<div data-drive-help style='font-size:12.5px;padding:2px 14px'><table>{rows}</table>{escape(note)}</div>"
