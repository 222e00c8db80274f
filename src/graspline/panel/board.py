"""What all pages show alike besides the snapshot: whether the selected object can be reached, and its preview."""

from __future__ import annotations

import threading

from graspline.live.commands import CheckReachable, Done, Preview, Refused, Result
from graspline.live.snapshot import Plain, Snapshot
from graspline.panel.helm import Helm
from graspline.panel.world import World

# What an answer was about: scene, object and variables.
_Key = tuple[int, int, str, tuple[tuple[str, Plain], ...]]


class Board:
    """Answers of planning, each shown as long as what was asked has not changed."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.Lock()
        self._reach: tuple[_Key, Result] | None = None
        self._preview: _Key | None = None

    def reach(self, snapshot: Snapshot) -> Result | None:
        """The answer, if it is about what is selected now."""
        with self._lock:
            return self._reach[1] if self._reach is not None and self._reach[0] == _key(snapshot) else None

    def ask(self, helm: Helm, command: CheckReachable | Preview) -> None:
        """Have it planned; the answer appears when it is there."""
        session = helm.session

        def answered(result: Result) -> None:
            if isinstance(result, Refused) and result.reason.startswith("busy"):
                return
            key = _key(session.snapshot)
            with self._lock:
                self._reach = key, result
                if isinstance(command, Preview):
                    self._preview = key
            if isinstance(command, Preview):
                stages = result.data["stages"] if isinstance(result, Done) else ()
                self._world.preview({each["name"]: each["joints_rad"] for each in stages})

        helm.give(command).then(answered)

    def show(self, snapshot: Snapshot) -> None:
        """Take away a preview of what is no longer asked."""
        with self._lock:
            over = self._preview is not None and (
                self._preview != _key(snapshot) or snapshot.mode in ("task", "replaying")
            )
            if over:
                self._preview = None
        if over:
            self._world.preview({})


def _key(snapshot: Snapshot) -> _Key:
    return snapshot.seed, snapshot.episodes, snapshot.selected, tuple(snapshot.variables.items())
