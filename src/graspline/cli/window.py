"""The process of `run --view`'s window; see `view`.

    python -m graspline.cli.window MODEL.mjb GEOM…

It says `ready`, or why there is no window, on a line of standard output, and then a line for everything it has shown.
From standard input it takes records of float64: coordinates, then the sizes of the geoms named. Whatever becomes of the
display, only this process ends with it: X ends a process whose display has gone away, and MuJoCo's viewer renders in a
thread that may still render while Python shuts down.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import BinaryIO

import numpy as np


def main() -> None:
    """Show the frames that come on standard input until the window is closed."""
    _say(_show(sys.argv[1], [int(each) for each in sys.argv[2:]], sys.stdin.buffer))
    # No shutting down of Python beside a thread that renders.
    os._exit(0)


def _show(path: str, geoms: list[int], records: BinaryIO) -> str:
    """Show what comes until there is no more, or no window; returns what is to be said then."""
    import mujoco
    import mujoco.viewer

    if problem := _window_system():
        return problem
    try:
        model = mujoco.MjModel.from_binary_path(path)
        data = mujoco.MjData(model)
        window = mujoco.viewer.launch_passive(model, data)
    except Exception as error:
        return " ".join(str(error).split())
    _say("ready")
    size = 8 * (model.nq + 3 * len(geoms))
    while window.is_running() and len(record := records.read(size)) == size:
        values = np.frombuffer(record)
        with window.lock():
            data.qpos[:] = values[: model.nq]
            model.geom_size[geoms] = values[model.nq :].reshape(-1, 3)
            mujoco.mj_forward(model, data)
        window.sync()
        _say("shown")
    return "closed"


def _window_system() -> str:
    """What is wrong with it; MuJoCo's viewer ends the process without a word where GLFW does not start."""
    import glfw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of every error, besides returning it
        started = glfw.init()
        _, reason = glfw.get_error()
    if started:
        return ""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else reason or "GLFW does not start"


def _say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


if __name__ == "__main__":
    main()
