"""Playing scenarios on whichever engine was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from graspline.engine.protocol import Engine, EngineKind
from graspline.episodes.episode import Episode
from graspline.episodes.observers import NotingObserver
from graspline.episodes.processes import cores
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario


def play_scenarios(
    engine: EngineKind,
    scenarios: Sequence[Scenario],
    *,
    lanes: int,
    threads: int = 0,
    keep_logs: bool = True,
    record_states: bool = False,
    limit_s: float = float("inf"),
    witness: NotingObserver | None = None,
    stop: Callable[[], bool] = lambda: False,
    after_tick: Callable[[Engine], None] | None = None,
) -> Iterator[Episode]:
    """Play scenarios of one task in `lanes` lanes, and yield each when it is finished.

    The CPU steps lanes on `threads` threads; for a GPU as many processes play, and `after_tick` is not called. 0 takes
    all cores.
    """
    if engine == "gpu":
        from graspline.gpu.workers import play_together

        return play_together(
            scenarios,
            lanes=lanes,
            processes=threads or cores(),
            keep_logs=keep_logs,
            record_states=record_states,
            limit_s=limit_s,
            witness=witness,
            stop=stop,
        )
    return run_scenarios(
        scenarios,
        lanes=lanes,
        threads=threads,
        record_states=record_states,
        limit_s=limit_s,
        witness=witness,
        stop=stop,
        after_tick=after_tick,
    )
