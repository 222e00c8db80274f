"""What a server serves: a session, and what goes with it that only the one who started the server knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from graspline.live.commands import ReplayEpisode
from graspline.live.session import Session
from graspline.tasks.console import Refused, Result


def _only_task(name: str) -> Result:
    return Refused(reason=f"this server was started for one task; start another for {name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """`session` is asked for at every call, for another task means another session.

    Clients name episodes and places to record to by what is listed here; they never name files.
    """

    session: Callable[[], Session]
    # What this robot can do, by name, each with a sentence about it.
    tasks: Mapping[str, str] = field(default_factory=dict)
    change_task: Callable[[str], Result] = _only_task
    # Names of faults, each with a sentence about it.
    faults: Mapping[str, str] = field(default_factory=dict)
    # Recorded episodes by name; the call reads the one that is asked for.
    episodes: Callable[[], Mapping[str, Callable[[], ReplayEpisode]]] = dict
    # What people call the place that recordings go to; empty if there is none.
    recording: str = ""
