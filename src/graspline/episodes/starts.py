"""When scenarios start, and what is computed for them in time to spare.

Sampling a scene is planning. It is done ahead of time, a little on every tick. Where an engine steps lanes elsewhere,
such as on a GPU, there is time for that, and for the plans of paused lanes, while it steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graspline.engine.protocol import Elsewhere, Engine
from graspline.episodes.scenario import Scenario
from graspline.episodes.scene_queue import Draws
from graspline.execution.deferred_solves import Thinking
from graspline.execution.executor import Executor
from graspline.tasks.task import Draw

# One scenario is sampled ahead for every eight lanes: a tick brings a question of each nearer to its answer, and a
# sample has dozens of questions where an episode has hundreds of ticks.
_LANES_AHEAD = 8


class ScenarioQueue:
    """Scenarios of one task in their order, taken as lanes become free."""

    def __init__(self, scenarios: Sequence[Scenario], engine: Engine, *, spread_ticks: int) -> None:
        """First starts are spread over `spread_ticks` ticks."""
        self._queue = Draws(scenarios, ahead=engine.count // _LANES_AHEAD)
        self._lanes, self._spread_ticks, self._closed = engine.count, spread_ticks, False
        # What computes for paused lanes; None where a tick leaves no time for it, and lanes are never paused.
        self.thinking: Thinking | None = None
        if isinstance(engine, Elsewhere):
            self.thinking, engine.meanwhile = Thinking(), self._while_stepping
        if spread_ticks:
            # Lanes that have not started may be stepped along; in a scene as it is compiled things overlap.
            first = scenarios[0].sample()
            for lane in range(engine.count):
                engine.reset(lane, first.start, first.variation)

    def take(self, executor: Executor, tick: int, stop: Callable[[], bool]) -> list[tuple[int, Scenario, Draw]]:
        """What starts now: the lane, the scenario, and what was sampled for it; nothing if `stop` turns true."""
        if self._closed or not self._queue or not executor.on_beat:
            return []
        idle = [lane for lane in executor.idle_lanes() if lane * self._spread_ticks <= tick * self._lanes]
        taken = self._queue.take(len(idle), stop)
        return [(lane, scenario, sampled) for lane, (scenario, sampled) in zip(idle, taken, strict=False)]

    def close(self) -> None:
        """Nothing starts any more."""
        self._closed = True

    def before_tick(self) -> None:
        """Sample ahead, unless there is time for it during the tick."""
        if self.thinking is None:
            self._sample_ahead()

    def _sample_ahead(self) -> bool:
        return not self._closed and self._queue.go_on()

    def _while_stepping(self, stepping: Callable[[], bool]) -> None:
        assert self.thinking is not None
        # At least one round: paused lanes must get on however short a tick is.
        while any([self.thinking.go_on(), self._sample_ahead()]) and stepping():
            pass
