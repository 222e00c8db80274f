"""What all pages show alike besides the snapshot: whether the selected object can be reached, and its preview."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from graspline.serve.live.commands import CheckReachable, Preview
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.serve.panel.operator_client import Helm
from graspline.serve.panel.scene_view import SceneView3D
from graspline.tasks.console import Done, Plain, Refused, Result

Array = NDArray[np.float64]

# An answer holds no longer once the object is farther than this from where it was.
_MOVED_M = 0.005
# What an answer was about: scene, object and variables.
_Key = tuple[int, int, str, tuple[tuple[str, Plain], ...]]


class PlanCache:
    """Answers of planning, each shown as long as what was asked has not changed."""

    def __init__(self, world: SceneView3D) -> None:
        self._world = world
        self._lock = threading.Lock()
        self._reach: tuple[_Key, Array, Result] | None = None
        # What the ghosts are about, and where the arm stood: once it moves, they have served.
        self._preview: tuple[_Key, Array] | None = None

    def reach(self, snapshot: SessionSnapshot) -> Result | None:
        """The answer, if it is about what is selected now."""
        with self._lock:
            if self._reach is None or self._reach[0] != _key(snapshot):
                return None
            _, lay_m, result = self._reach
        return result if np.linalg.norm(_place_m(snapshot) - lay_m) < _MOVED_M else None

    def ask(self, operator: Helm, command: CheckReachable | Preview) -> None:
        """Have it planned; the answer appears when it is there."""
        session = operator.session

        def answered(result: Result) -> None:
            if isinstance(result, Refused) and result.reason.startswith("busy"):
                return
            now = session.snapshot
            key = _key(now)
            with self._lock:
                self._reach = key, _place_m(now), result
                if isinstance(command, Preview):
                    self._preview = key, now.command_rad
            if isinstance(command, Preview):
                stages = result.data["stages"] if isinstance(result, Done) else ()
                self._world.preview([each["joints_rad"] for each in stages])

        operator.give(command).then(answered)

    def show(self, snapshot: SessionSnapshot) -> None:
        """Take away a preview of what is no longer asked, or is being done."""
        with self._lock:
            over = self._preview is not None and not (
                self._preview[0] == _key(snapshot) and np.array_equal(self._preview[1], snapshot.command_rad)
            )
            if over:
                self._preview = None
        if over:
            self._world.preview([])


def _place_m(snapshot: SessionSnapshot) -> Array:
    """Where the selected object was last seen."""
    found = (each.position_m for each in snapshot.objects if each.name == snapshot.selected)
    return next(found, np.zeros(3))


def _key(snapshot: SessionSnapshot) -> _Key:
    return snapshot.seed, snapshot.episodes, snapshot.selected, tuple(snapshot.variables.items())
