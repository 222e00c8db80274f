"""Campaigns: every fault in every state, and how episodes end then.

Recovered is an episode that succeeds after all, by the task's own verdict and by truth. Where one fault may cost one
thing of many whatever is done, as an object that is taken away, the order must allow for it: `Task.brief` does, and
each case says how near to the goal it came.
"""

from __future__ import annotations

import collections
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from graspline.campaigns.baseline import HANG_S, Calm, outcomes_of, rehearse, senseless
from graspline.engine.protocol import Engine, EngineKind
from graspline.episodes.episode import HUNG, INTERRUPTED, Episode
from graspline.episodes.playing import play_scenarios
from graspline.episodes.scenario import Scenario
from graspline.evidence import Evidence
from graspline.faults.catalogue import find_fault
from graspline.parameters import Parameters, Value, dump
from graspline.tasks.task import Task

# Undisturbed episodes are played on the CPU, at most this many at once.
_MOST_CALM = 32

Ending = Literal["recovered", "failed", "false_success", "crashed", "hung", "not_struck"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignCase:
    """One episode of a campaign: how it ended after its fault."""

    seed: int
    # As `run --fault` reads it.
    fault: str
    ending: Ending
    verdict: str
    strike_s: float | None = None
    # From the strike to the end of the first state that went otherwise than undisturbed; None if none did.
    detect_s: float | None = None
    # Why there was nothing to strike, or how it crashed.
    note: str = ""
    # How near to the goal it came by truth: an episode that recovered may have lost a little, one that failed all.
    goal: Evidence = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignCell:
    """One fault in one state: its cases, or why it has no cases."""

    fault: str
    state: str
    cases: tuple[CampaignCase, ...] = ()
    skipped: str = ""

    def count(self, ending: Ending) -> int:
        """How many cases ended like this."""
        return sum(case.ending == ending for case in self.cases)

    @property
    def struck(self) -> int:
        """In how many cases the fault was injected."""
        return len(self.cases) - self.count("not_struck")

    @property
    def failures(self) -> dict[str, int]:
        """Named failures, the most frequent first."""
        names = collections.Counter(case.verdict for case in self.cases if case.ending == "failed")
        return dict(names.most_common())

    @property
    def detect_s(self) -> tuple[float, ...]:
        """The detection times."""
        return tuple(case.detect_s for case in self.cases if case.detect_s is not None)

    @property
    def idle(self) -> str:
        """Why nothing was struck here; nothing if something was."""
        if self.struck:
            return ""
        notes = collections.Counter(case.note for case in self.cases)
        return self.skipped or (notes.most_common(1)[0][0] if notes else "interrupted")

    def as_dict(self) -> dict[str, Value]:
        """Plain values for JSON."""
        detect = self.detect_s
        return {
            "fault": self.fault,
            "state": self.state,
            "episodes": len(self.cases),
            "struck": self.struck,
            "recovered": self.count("recovered"),
            "failed": dict(self.failures),
            "false_success": self.count("false_success"),
            "crashed": self.count("crashed"),
            "hung": self.count("hung"),
            "detected": len(detect),
            "detect_s_median": _median(detect),
            "detect_s_max": max(detect, default=None),
            "skipped": self.idle,
            "cases": [
                {
                    "seed": case.seed,
                    "fault": case.fault,
                    "ending": case.ending,
                    "verdict": case.verdict,
                    "strike_s": case.strike_s,
                    "detect_s": case.detect_s,
                    "note": case.note,
                    "goal": [each.as_dict() for each in case.goal],
                }
                for case in self.cases
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """The whole matrix, fault by state."""

    task: str
    parameters: Parameters
    seed: int
    episodes: int
    faults: tuple[str, ...]
    states: tuple[str, ...]
    after: tuple[str, ...]
    engine: EngineKind = "cpu"
    cells: Mapping[tuple[str, str], CampaignCell]
    # Verdicts of the undisturbed episodes that the others are compared with.
    calm: Mapping[str, int] = field(default_factory=dict)
    # Whether it was stopped before all of its episodes had ended.
    interrupted: bool = False

    def count(self, ending: Ending) -> int:
        """How many cases ended like this."""
        return sum(cell.count(ending) for cell in self.cells.values())

    @property
    def struck(self) -> int:
        """In how many cases a fault was injected."""
        return sum(cell.struck for cell in self.cells.values())

    @property
    def clean(self) -> bool:
        """Nothing claimed falsely, nothing crashed, nothing hung."""
        return not any(self.count(ending) for ending in ("false_success", "crashed", "hung"))

    def of_fault(self, fault: str) -> CampaignCell:
        """All cases of a fault, whatever the state."""
        return self._joined(fault, "all", [cell for cell in self.cells.values() if cell.fault == fault])

    @staticmethod
    def _joined(fault: str, state: str, cells: Sequence[CampaignCell]) -> CampaignCell:
        return CampaignCell(fault=fault, state=state, cases=tuple(case for cell in cells for case in cell.cases))

    def as_dict(self) -> dict[str, Value]:
        """Plain values for JSON."""
        return {
            "task": self.task,
            "seed": self.seed,
            "engine": self.engine,
            "interrupted": self.interrupted,
            "episodes_per_cell": self.episodes,
            "parameters": dump(self.parameters),
            "after": list(self.after),
            "undisturbed": dict(self.calm),
            "faults": {name: find_fault(name).description for name in self.faults},
            "states": list(self.states),
            "struck": self.struck,
            "recovered": self.count("recovered"),
            "failed": self.count("failed"),
            "false_success": self.count("false_success"),
            "crashed": self.count("crashed"),
            "hung": self.count("hung"),
            "cells": [cell.as_dict() for cell in self.cells.values()],
        }


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a campaign plays: these faults in these states of a task, a number of seeds each."""

    task: Task[Any]
    parameters: Parameters
    faults: tuple[str, ...]
    states: tuple[str, ...]
    # Faults of every episode, the undisturbed ones too: how states are entered that only recovery leads to.
    after: tuple[str, ...] = ()
    seed: int
    episodes: int

    @property
    def seeds(self) -> range:
        """The seeds that are played."""
        return range(self.seed, self.seed + self.episodes)


def run_campaign(
    plan: Plan,
    *,
    lanes: int,
    engine: EngineKind = "cpu",
    stop: Callable[[], bool] = lambda: False,
    begin: Callable[[str, int], None] = lambda what, episodes: None,
    played: Callable[[Episode], None] = lambda episode: None,
    after_tick: Callable[[Engine], None] | None = None,
) -> Campaign:
    """Play the undisturbed episodes, then every cell that makes sense.

    `begin` is called with what is played next and how many, `played` with each episode. The seeds are the same in every
    cell; within a cell faults are spread evenly over the time the state takes in the undisturbed episode of the same
    seed.
    """
    begin("undisturbed episodes", plan.episodes)
    calms = rehearse(
        plan.task,
        plan.parameters,
        plan.seeds,
        lanes=min(lanes, _MOST_CALM),
        faults=plan.after,
        stop=stop,
        played=played,
        after_tick=after_tick,
    )
    scene, found = plan.task.scene(plan.parameters), list(calms.values())
    reasons = {(fault, state): senseless(fault, state, scene, found) for fault in plan.faults for state in plan.states}
    where: dict[Scenario, tuple[str, str]] = {}
    for (fault, state), reason in reasons.items():
        for index, seed in enumerate(plan.seeds if not reason else ()):
            if seed in calms:
                text = _fault_text(fault, state, calms[seed], (index + 0.5) / plan.episodes)
                scenario = Scenario(task=plan.task, parameters=plan.parameters, seed=seed, faults=(*plan.after, text))
                where[scenario] = fault, state
    begin("episodes with a fault", len(where))
    cases: dict[tuple[str, str], list[CampaignCase]] = {key: [] for key in reasons}
    for episode in play_scenarios(
        engine, list(where), lanes=lanes, keep_logs=False, limit_s=HANG_S, stop=stop, after_tick=after_tick
    ):
        played(episode)
        if episode.verdict != INTERRUPTED:
            cases[where[episode.scenario]].append(case_of(episode, calms[episode.scenario.seed]))
    return Campaign(
        task=plan.task.name,
        parameters=plan.parameters,
        seed=plan.seed,
        episodes=plan.episodes,
        faults=plan.faults,
        states=plan.states,
        after=plan.after,
        engine=engine,
        interrupted=stop(),
        calm=dict(collections.Counter(calm.verdict for calm in found).most_common()),
        cells={
            (fault, state): CampaignCell(
                fault=fault,
                state=state,
                skipped=reasons[fault, state],
                cases=tuple(sorted(cases[fault, state], key=lambda case: case.seed)),
            )
            for fault, state in reasons
        },
    )


def _fault_text(fault: str, state: str, calm: Calm, share: float) -> str:
    delay_s = round(share * calm.lasted_s.get(state, 0.0), 2)
    return f"{fault}@{state}" + (f"+{delay_s:g}" if delay_s else "")


def case_of(episode: Episode, calm: Calm) -> CampaignCase:
    """How an episode with a fault ended, compared with the same seed undisturbed."""
    # Others may have struck before, in the undisturbed episode too.
    fault = episode.scenario.faults[-1]
    seed, verdict = episode.scenario.seed, episode.verdict
    strikes = [each for each in episode.strikes if each.fault == fault][-1:]
    struck = [each for each in strikes if not each.missed]
    if verdict == "crashed":
        return CampaignCase(seed=seed, fault=fault, ending="crashed", verdict=verdict, note=episode.error)
    if not struck:
        note = strikes[0].missed if strikes else "the state was not entered, or ended the episode"
        ending: Ending = "false_success" if episode.false_success else "not_struck"
        return CampaignCase(seed=seed, fault=fault, ending=ending, verdict=verdict, note=note)
    return CampaignCase(
        seed=seed,
        fault=fault,
        ending=_ending(episode),
        verdict=verdict,
        strike_s=round(struck[0].t_s, 6),
        detect_s=_detect_s(episode, calm, struck[0].t_s),
        goal=episode.goal_by_truth,
    )


def _ending(episode: Episode) -> Ending:
    if episode.false_success:
        return "false_success"
    if episode.verdict == HUNG:
        return "hung"
    return "recovered" if episode.succeeded else "failed"


def _detect_s(episode: Episode, calm: Calm, strike_s: float) -> float | None:
    """Until the first state that ended otherwise than undisturbed, or until an episode that just broke off."""
    outcomes = outcomes_of(episode)
    if outcomes == calm.outcomes:
        return None
    same = sum(1 for _ in _common(outcomes, calm.outcomes))
    at_s = episode.transitions[same].t_s if same < len(outcomes) else episode.sim_time_s
    return round(at_s - strike_s, 6)


def _common(one: Sequence[object], other: Sequence[object]) -> Sequence[object]:
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return one[:index]
    return one[: min(len(one), len(other))]
