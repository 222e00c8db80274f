"""The running simulation in 3D, for all clients."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np
import viser
from numpy.typing import NDArray

from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation, apply_to_model
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.serve.panel.shapes import Shape, shapes_of

Array = NDArray[np.float64]

# A body that moved by less is not sent again.
_STILL_M, _STILL = 2e-5, 2e-4
# What is further away than this, or than twice the arm's reach, is parked and not shown.
_SIGHT_M = 1.0
# The floor is shown this far below everything else.
_FLOOR_M = 0.002
_CELL_M, _GRID_RGB, _FADE_M = 0.1, (205, 212, 219), 3.0
# Of the stages of a preview, the last one last.
_GHOSTS: tuple[tuple[int, int, int], ...] = ((80, 150, 255), (60, 210, 120))
_GHOST_OPACITY = 0.35
_SKY, _SUN, _SUN_AT = 1.7, 2.0, (0.6, -0.5, 1.6)
_HALO_M = 0.003
_HALO_RGB = (255, 140, 0)


class SceneView3D:
    """Shows snapshots of one scene. All of it happens in one thread, but for `preview`."""

    def __init__(
        self,
        server: viser.ViserServer,
        scene: Scene,
        clicked: Callable[[int, str, tuple[float, float]], None],
    ) -> None:
        self._server, self._scene, self._clicked = server, scene, clicked
        self._things = {*scene.object_names, *scene.place_names}
        self._sight_m = max(_SIGHT_M, 2 * float(scene.robot.levers_m[0]))
        self._variation: Variation | None = None
        self._model = scene.model
        self._data = mujoco.MjData(self._model)
        self._bodies: dict[str, viser.FrameHandle] = {}
        self._last: dict[str, tuple[Array, Array]] = {}
        self._halo: viser.SceneNodeHandle | None = None
        self._selected = ""
        server.scene.reset()
        server.scene.set_up_direction("+z")
        server.scene.configure_default_lights(False)
        # Light from all around pales what it falls on, and keeps a page without a graphics card busy for eight seconds.
        server.scene.configure_environment_map(None)
        server.scene.add_light_ambient("/lights/sky", intensity=_SKY)
        server.scene.add_light_directional("/lights/sun", intensity=_SUN, position=_SUN_AT, cast_shadow=True)
        shapes = shapes_of(self._model)
        lowest_m = min(float((each.position_m + each.vertices)[:, 2].min()) for each in shapes if each.body == "world")
        server.scene.add_grid(
            "/floor",
            infinite_grid=True,
            cell_size=_CELL_M,
            section_size=5 * _CELL_M,
            cell_thickness=0.0,
            section_color=_GRID_RGB,
            fade_distance=_FADE_M * self._sight_m,
            fade_from="origin",
            position=(0.0, 0.0, lowest_m - _FLOOR_M),
        )
        for shape in shapes:
            if shape.body not in self._things:
                self._add(shape)
        self._ghosts = [self._ghost(number, shapes) for number in range(len(_GHOSTS))]

    # Every thirtieth of a second

    def show(self, snapshot: SessionSnapshot) -> None:
        """Put everything where it is now."""
        if self._variation is None or snapshot.variation != self._variation:
            self._vary(snapshot.variation)
        self._data.qpos[:] = snapshot.qpos
        mujoco.mj_kinematics(self._model, self._data)
        with self._server.atomic():
            for name, frame in self._bodies.items():
                self._move(name, frame)
            if snapshot.selected != self._selected:
                self._select(snapshot.selected)

    def _move(self, name: str, frame: viser.FrameHandle) -> None:
        body = self._data.body(name)
        position, quaternion = body.xpos.copy(), body.xquat.copy()
        if name in self._last:
            before, turned = self._last[name]
            if np.abs(position - before).max() < _STILL_M and np.abs(quaternion - turned).max() < _STILL:
                return
        self._last[name] = position, quaternion
        frame.position, frame.wxyz = position, quaternion
        if name in self._things:
            frame.visible = bool(np.linalg.norm(position) <= self._sight_m)

    def _vary(self, variation: Variation) -> None:
        """Another scenario: things of other sizes and colours."""
        self._variation = variation
        self._model = copy.copy(self._scene.model)
        apply_to_model(self._model, variation)
        self._data = mujoco.MjData(self._model)
        self._last.clear()
        self._select("")
        for shape in shapes_of(self._model):
            if shape.body in self._things:
                self._add(shape)

    def _select(self, name: str) -> None:
        self._selected = name
        if self._halo is not None:
            self._halo.remove()
            self._halo = None
        if name in self._bodies:
            size = 2 * np.array(self._scene.extents_of(name, tuple(self._model.geom(name).size))) + 2 * _HALO_M
            self._halo = self._server.scene.add_box(
                f"/bodies/{name}/halo", color=_HALO_RGB, dimensions=tuple(size), wireframe=True, cast_shadow=False
            )

    def _add(self, shape: Shape) -> None:
        if shape.body not in self._bodies:
            self._bodies[shape.body] = self._server.scene.add_frame(f"/bodies/{shape.body}", show_axes=False)
        node = self._node(f"/bodies/{shape.body}/{shape.name}", shape, shape.rgb, None)
        if shape.body in self._things or shape.body == "world":
            thing = shape.body if shape.body in self._things else ""

            @node.on_click
            def _(event: Any) -> None:
                self._clicked(event.client_id, thing, _on_table(event.ray_origin, event.ray_direction))

    def _node(self, name: str, shape: Shape, rgb: tuple[int, int, int], opacity: float | None) -> viser.MeshHandle:
        return self._server.scene.add_mesh_simple(
            name,
            shape.vertices,
            shape.faces,
            color=rgb,
            opacity=opacity,
            flat_shading=shape.flat,
            cast_shadow=opacity is None and shape.body != "world",
            position=shape.position_m,
            wxyz=shape.quaternion,
        )

    # Ghosts

    def _ghost(self, number: int, shapes: Sequence[Shape]) -> dict[str, viser.FrameHandle]:
        """A translucent arm, not shown yet: a frame for each of its bodies, and one for them all."""
        add, frames = self._server.scene.add_frame, {}
        frames[""] = add(f"/ghosts/{number}", show_axes=False, visible=False)
        for shape in shapes:
            if shape.body in self._things or shape.body == "world":
                continue
            if shape.body not in frames:
                frames[shape.body] = add(f"/ghosts/{number}/{shape.body}", show_axes=False)
            self._node(f"/ghosts/{number}/{shape.body}/{shape.name}", shape, _GHOSTS[number], _GHOST_OPACITY)
        return frames

    def preview(self, stages: Sequence[Sequence[float]]) -> None:
        """Show a ghost at the joints (nu,) of each stage, and no other; of more than there are ghosts, the last."""
        data = mujoco.MjData(self._scene.model)
        hidden = max(len(self._ghosts) - len(stages), 0)
        shown = (*(None for _ in range(hidden)), *stages[-len(self._ghosts) :])
        for frames, joints_rad in zip(self._ghosts, shown, strict=True):
            if joints_rad is not None:
                for joint, angle in zip(self._scene.robot.joints, joints_rad, strict=True):
                    data.qpos[self._scene.joint_address(joint)] = angle
                mujoco.mj_kinematics(self._scene.model, data)
                for body, frame in frames.items():
                    if body:
                        frame.position, frame.wxyz = data.body(body).xpos.copy(), data.body(body).xquat.copy()
            frames[""].visible = joints_rad is not None


def _on_table(origin: Sequence[float], direction: Sequence[float]) -> tuple[float, float]:
    """Where a ray meets the table's surface, z = 0 in W."""
    down = direction[2] if abs(direction[2]) > 1e-6 else -1e-6
    reach = -origin[2] / down
    return origin[0] + reach * direction[0], origin[1] + reach * direction[1]
