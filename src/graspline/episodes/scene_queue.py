"""What scenarios start from, sampled ahead of time.

Sampling a scene is planning, and most of what beginning an episode takes. Done when a lane is free, all lanes wait for
it; done a question at a time, scenes of several scenarios together, it is spread evenly over the ticks before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graspline.episodes.scenario import Scenario, randomized_sample, sample_all
from graspline.planning.batched_planning import Rounds, Together
from graspline.tasks.task import Draw

# A scene mostly takes fewer questions than this; a longer search checks whether to stop.
_LONG_SEARCH = 32


class Draws:
    """Scenarios of one task in their order, each with what it starts from.

    At most `ahead` of them are sampled, or being sampled, before they are taken; where the task's sampler asks no
    questions, or with 0, each is sampled when it is taken.
    """

    def __init__(self, scenarios: Sequence[Scenario], *, ahead: int) -> None:
        self._scenarios, self._ahead = scenarios, ahead
        # How many have been taken, and how many have been begun.
        self._taken = self._begun = 0
        self._rounds = Rounds[int, Draw]()
        sample = scenarios[0].task.sample
        self._steps = sample.steps if isinstance(sample, Together) else None

    def __len__(self) -> int:
        """How many have not been taken yet."""
        return len(self._scenarios) - self._taken

    def go_on(self) -> bool:
        """One question of each that is being sampled; whether there was any."""
        self._begin(self._taken + self._ahead)
        if not self._rounds.under_way:
            return False
        self._rounds.go_on()
        return True

    def take(self, count: int, stop: Callable[[], bool] = lambda: False) -> list[tuple[Scenario, Draw]]:
        """The next `count`, or as many as there are left; none if a stop is requested before they are sampled."""
        first, self._taken = self._taken, min(self._taken + count, len(self._scenarios))
        taken = self._scenarios[first : self._taken]
        if self._steps is None:
            return list(zip(taken, sample_all(taken), strict=True))
        self._begin(self._taken)
        wanted, rounds = range(first, self._taken), 0
        while any(index not in self._rounds.found for index in wanted):
            for index in self._rounds.raised.keys() & set(wanted):
                raise self._rounds.raised[index]
            rounds += 1
            if rounds % _LONG_SEARCH == 0 and stop():
                return []
            self._rounds.go_on()
        scenes = [self._rounds.found.pop(index) for index in wanted]
        return [
            (scenario, randomized_sample(scenario, sampled)) for scenario, sampled in zip(taken, scenes, strict=True)
        ]

    def _begin(self, end: int) -> None:
        """Begin with all scenarios before this one."""
        if self._steps is None:
            return
        for index in range(self._begun, min(end, len(self._scenarios))):
            scenario = self._scenarios[index]
            self._rounds.begin(index, self._steps(scenario.parameters, scenario.stream("scene")))
            self._begun = index + 1
