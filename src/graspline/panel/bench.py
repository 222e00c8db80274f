"""What the panel needs of whoever started it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from graspline.live.commands import ReplayEpisode, Result
from graspline.live.session import Session


class Bench(Protocol):
    """`session` is asked for at every use, for another task means another session."""

    @property
    def session(self) -> Callable[[], Session]: ...

    @property
    def tasks(self) -> Mapping[str, str]:
        """What this robot can do, by name, each with a sentence about it."""
        ...

    @property
    def change_task(self) -> Callable[[str], Result]: ...

    @property
    def faults(self) -> Mapping[str, str]:
        """Names of faults, each with a sentence about it."""
        ...

    @property
    def episodes(self) -> Callable[[], Mapping[str, Callable[[], ReplayEpisode]]]:
        """Episodes that can be replayed, by name; the call reads the one that is asked for."""
        ...

    @property
    def recording(self) -> str:
        """What people call the place that recordings go to; empty if there is none."""
        ...
