"""One lane in MuJoCo's own viewer, in real time. It only watches: the bits are the same as without it."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np

from graspline.engine.protocol import Engine
from graspline.errors import EnvironmentProblem
from graspline.scenes.scene import Scene

WINDOW = (sys.executable, "-m", "graspline.cli.window")
# How long a window may take to open, and to show a picture.
OPEN_S = 60.0
SHOW_S = 10.0
# States sent ahead of what the window has shown; more would only make it late.
_AHEAD = 3


class Viewer:
    """A window that follows lane 0, in a process of its own: nothing that becomes of a display can harm this one."""

    def __init__(self, scene: Scene) -> None:
        if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            raise EnvironmentProblem("--view needs a display, and this machine has none (DISPLAY is not set)")
        self._names, self._dt_s = scene.object_names, scene.robot.dt_s
        geoms = [str(scene.model.geom(name).id) for name in self._names]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "scene.mjb"
            mujoco.mj_saveModel(scene.model, str(path))
            self._process = subprocess.Popen(
                [*WINDOW, str(path), *geoms],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # X and GLFW have much to say when a display goes away.
                stderr=subprocess.DEVNULL,
                # Ctrl-C is for us to hear.
                start_new_session=True,
            )
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._records, self._said = self._process.stdin.fileno(), self._process.stdout.fileno()
            os.set_blocking(self._records, False)
            os.set_blocking(self._said, False)
            try:
                self._open()
            except BaseException:
                self.close()
                raise
        # What is still to be sent of a state, and how many were sent that have not been shown.
        self._left, self._ahead = b"", 0
        self._due = self._heard = time.monotonic()

    @property
    def closed(self) -> bool:
        """Whether there is no window any more, or it shows nothing any more."""
        return self._process.poll() is not None or (self._ahead > 0 and time.monotonic() - self._heard > SHOW_S)

    def show(self, engine: Engine) -> None:
        """Show the lane as it is now, and wait until its clock and ours agree."""
        shown = self._listen().count(b"\n")
        if shown or not self._ahead:
            self._heard = time.monotonic()
        self._ahead -= shown
        # Where the window cannot follow, states are left out.
        if not self._left and self._ahead < _AHEAD:
            self._ahead += 1
            sizes = [engine.half_extents_m(0, name) for name in self._names]
            self._left = np.concatenate([engine.qpos[0], *sizes]).tobytes()
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            self._left = self._left[os.write(self._records, self._left) :]
        self._due += self._dt_s
        wait_s = self._due - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        else:
            self._due = time.monotonic()

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _open(self) -> None:
        """Wait until there is a window."""
        until = time.monotonic() + OPEN_S
        said = b""
        while b"\n" not in said:
            if self._process.poll() is not None:
                said += self._listen() + b"the viewer ended\n"
            elif time.monotonic() > until:
                said = f"none within {OPEN_S:g} s\n".encode()
            else:
                select.select([self._said], [], [], 0.05)
                said += self._listen()
        line = said.partition(b"\n")[0].decode(errors="replace")
        if line != "ready":
            raise EnvironmentProblem(f"--view could not open a window: {line}")

    def _listen(self) -> bytes:
        """What the window has said meanwhile."""
        try:
            return os.read(self._said, 65_536)
        except BlockingIOError:
            return b""
