"""One lane in MuJoCo's own viewer, in real time. It only watches: the bits are the same as without it."""

from __future__ import annotations

import copy
import os
import time
import warnings

import mujoco

from graspline.engine.protocol import Engine
from graspline.errors import EnvironmentProblem
from graspline.scenes.scene import Scene


class Viewer:
    """A window that follows lane 0."""

    def __init__(self, scene: Scene) -> None:
        if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            raise EnvironmentProblem("--view needs a display, and this machine has none (DISPLAY is not set)")
        _check_window_system()
        try:
            import mujoco.viewer

            self._model = copy.copy(scene.model)
            self._data = mujoco.MjData(self._model)
            self._window = mujoco.viewer.launch_passive(self._model, self._data)
        except Exception as error:
            raise EnvironmentProblem(f"--view could not open a window: {error}") from error
        self._dt_s = scene.robot.dt_s
        self._due = time.monotonic()

    @property
    def closed(self) -> bool:
        return not self._window.is_running()

    def show(self, engine: Engine) -> None:
        """Draw the lane as it is now, and wait until its clock and ours agree."""
        with self._window.lock():
            for name in engine.scene.object_names:
                self._model.geom(name).size[:] = engine.half_extents_m(0, name)
            self._data.qpos[:] = engine.qpos[0]
            mujoco.mj_forward(self._model, self._data)
        self._window.sync()
        self._due += self._dt_s
        wait_s = self._due - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        else:
            self._due = time.monotonic()

    def close(self) -> None:
        self._window.close()


def _check_window_system() -> None:
    """MuJoCo's viewer ends the whole process where GLFW does not start, so it is tried before."""
    import glfw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of every error, besides returning it
        started = glfw.init()
        _, reason = glfw.get_error()
    if not started:
        words = reason.decode(errors="replace") if isinstance(reason, bytes) else reason or "GLFW does not start"
        raise EnvironmentProblem(f"--view could not open a window: {words}")
