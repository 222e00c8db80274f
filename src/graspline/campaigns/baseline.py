"""Undisturbed episodes, and what they say about faults: which states are entered, how long, with what in the hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from graspline.engine.events import Place
from graspline.engine.protocol import Engine
from graspline.episodes.episode import INTERRUPTED, Episode
from graspline.episodes.observers import Instant
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.execution.notifications import Applied, Ended, Entered, Happening, Looked
from graspline.faults.catalogue import find_fault
from graspline.faults.context import pads_press
from graspline.faults.kind import Rehearsed
from graspline.machine.machine import Machine
from graspline.parameters import Parameters
from graspline.scenes.scene import Scene
from graspline.tasks.task import Task

# No episode of any task takes as long as this in simulated time; what does has hung.
HANG_S = 900.0
Story = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calm:
    """One episode in which nothing was done to the world."""

    verdict: str
    # Every state with its outcome, in order.
    outcomes: Story
    # How long the first visit of each state took.
    lasted_s: dict[str, float]
    # States at whose beginning or end both pads pressed on something.
    gripping: frozenset[str]
    looked: bool
    # Whether a person has come for something.
    met: bool = False


@dataclass(slots=True)
class _Notes:
    entered_s: dict[str, float] = field(default_factory=dict)
    lasted_s: dict[str, float] = field(default_factory=dict)
    gripping: set[str] = field(default_factory=set)
    looked: bool = False
    met: bool = False


def rehearse(
    task: Task[Any],
    parameters: Parameters,
    seeds: Iterable[int],
    *,
    lanes: int,
    faults: tuple[str, ...] = (),
    stop: Callable[[], bool] = lambda: False,
    played: Callable[[Episode], None] = lambda episode: None,
    after_tick: Callable[[Engine], None] | None = None,
) -> dict[int, Calm]:
    """Play these seeds, without a fault unless some are named; `played` is called with each episode."""
    notes: dict[int, _Notes] = {}

    def onlook(instant: Instant, notification: Happening) -> None:
        mine = notes.setdefault(instant.scenario.seed, _Notes())
        if isinstance(notification, Entered):
            mine.entered_s.setdefault(notification.state, instant.time_s)
        elif isinstance(notification, Ended):
            mine.lasted_s.setdefault(notification.state, instant.time_s - mine.entered_s[notification.state])
        mine.looked |= isinstance(notification, Looked)
        event = notification.event if isinstance(notification, Applied) else None
        mine.met |= isinstance(event, Place) and event.body in instant.engine.scene.people
        if isinstance(notification, Entered | Ended) and pads_press(instant.engine, instant.lane):
            mine.gripping.add(notification.state)

    scenarios = [Scenario(task=task, parameters=parameters, seed=seed, faults=faults) for seed in seeds]
    found: dict[int, Calm] = {}
    for episode in run_scenarios(
        scenarios, lanes=lanes, onlookers=[onlook], limit_s=HANG_S, stop=stop, after_tick=after_tick
    ):
        played(episode)
        mine = notes[episode.scenario.seed]
        if episode.verdict != INTERRUPTED:
            found[episode.scenario.seed] = Calm(
                verdict=episode.verdict,
                outcomes=outcomes_of(episode),
                lasted_s=mine.lasted_s,
                gripping=frozenset(mine.gripping),
                looked=mine.looked,
                met=mine.met,
            )
    # In an order that does not depend on which lane was done first.
    return {seed: found[seed] for seed in sorted(found)}


def outcomes_of(episode: Episode) -> Story:
    """The sequence of states with their outcomes."""
    return tuple((each.state, each.outcome) for each in episode.transitions)


def leaf_states(machine: Machine) -> tuple[str, ...]:
    """States in which something is done: not those that are machines themselves."""
    paths = machine.paths()
    return tuple(path for path in paths if not any(other.startswith(f"{path}.") for other in paths))


def senseless(fault: str, state: str, scene: Scene, calms: Sequence[Calm]) -> str:
    """Why a fault in a state makes no sense, by the scene and by undisturbed episodes; nothing if it does."""
    kind = find_fault(fault)
    visits = [calm for calm in calms if state in calm.lasted_s]
    if missing := kind.missing_in(scene):
        return missing
    if not visits:
        return "never entered in an undisturbed episode"
    rehearsed = Rehearsed(
        ever_gripping=any(state in calm.gripping for calm in calms),
        always_gripping=all(state in calm.gripping for calm in visits),
        looked=any(calm.looked for calm in calms),
        met=any(calm.met for calm in calms),
    )
    return kind.senseless_in(rehearsed)
