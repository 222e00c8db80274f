"""The audit: every verdict, and every claim on the way to it, compared with what the simulator knows.

A false accept says yes where truth says no; a false reject says no where truth says yes. A false success is the worst
bug there can be, so most of the code here only looks for one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from graspline.campaigns.baseline import HANG_S, Calm, leaf_states, rehearse, senseless
from graspline.engine.protocol import Engine, EngineKind
from graspline.episodes.episode import HUNG, INTERRUPTED, Episode
from graspline.episodes.observers import Instant
from graspline.episodes.playing import play_scenarios
from graspline.episodes.scenario import Scenario
from graspline.episodes.statistics import wilson
from graspline.evidence import Evidence, Measurement, failures, passes
from graspline.execution.notifications import Ended, Happening
from graspline.faults.catalogue import own_fault_names
from graspline.parameters import Parameters, Value, dump
from graspline.tasks.task import Task

EPISODE = "episode"
# Verdicts that claim nothing about the goal.
SILENT = (INTERRUPTED, HUNG, "physics_diverged", "crashed")
# Undisturbed episodes that say where faults make sense; the same ones for every audit, so that an episode's fault
# depends on its seed and nothing else.
_REHEARSED = range(8)
# Keeps the choice of faults apart from the other randomness of a seed.
_FAULT_STREAM = 0xFA17

Mistake = Literal["false_accept", "false_reject"]
# What people call them.
MISTAKES: dict[Mistake, str] = {"false_accept": "false positive", "false_reject": "false negative"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What was said, and that instant's truth about it."""

    kind: str
    seed: int
    # As `run --fault` reads it; empty if there was none.
    fault: str
    t_s: float
    # The state and its outcome, or the verdict of the episode.
    said: str
    about: str
    # By truth.
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed(Statement):
    """What a state has said: that something is so, or that it is not."""

    asserted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong(Statement):
    """One claim that truth contradicts."""

    mistake: Mistake

    @property
    def excess(self) -> float:
        """How far truth is from what was said: by the worst measurement that failed, as a share of its limit."""
        return max((_excess(each) for each in failures(self.evidence)), default=0.0)

    def as_dict(self) -> dict[str, Value]:
        """Plain values for JSON."""
        return {
            "kind": self.kind,
            "mistake": self.mistake,
            "seed": self.seed,
            "fault": self.fault,
            "t_s": round(self.t_s, 6),
            "said": self.said,
            "about": self.about,
            "evidence": [each.as_dict() for each in self.evidence],
        }


def _excess(measurement: Measurement) -> float:
    if measurement.absent:
        return float("inf")
    return abs(measurement.value - measurement.limit) / max(abs(measurement.limit), 1e-9)


@dataclass(slots=True, kw_only=True)
class ClaimTally:
    """Claims of one kind against truth: how many there were, and how many of them were wrong."""

    kind: str
    asserted: int = 0
    denied: int = 0
    false_accepts: int = 0
    false_rejects: int = 0

    @property
    def truly(self) -> int:
        """Claims about something that was so, whatever was said."""
        return self.asserted - self.false_accepts + self.false_rejects

    def add(self, *, asserted: bool, true: bool) -> Mistake | None:
        """Count one claim; says how it was wrong, if it was."""
        if asserted:
            self.asserted += 1
            self.false_accepts += not true
            return None if true else "false_accept"
        self.denied += 1
        self.false_rejects += true
        return "false_reject" if true else None

    def as_dict(self) -> dict[str, Value]:
        """Plain values for JSON."""
        return {
            "kind": self.kind,
            "asserted": self.asserted,
            "denied": self.denied,
            "truly": self.truly,
            "false_accepts": self.false_accepts,
            "false_accept_interval": [round(end, 6) for end in wilson(self.false_accepts, self.asserted)],
            "false_rejects": self.false_rejects,
            "false_reject_interval": [round(end, 6) for end in wilson(self.false_rejects, self.truly)],
        }


@dataclass(slots=True, kw_only=True)
class Audit:
    """Tallies by kind, whole episodes first, and every mistake."""

    task: str
    parameters: Parameters
    seed: int
    engine: EngineKind = "cpu"
    # Whether it was stopped before all of its episodes had ended.
    interrupted: bool = False
    episodes: int = 0
    faulty: int = 0
    struck: int = 0
    # Verdicts that claim nothing, which no tally counts.
    silent: dict[str, int] = field(default_factory=dict)
    tallies: dict[str, ClaimTally] = field(default_factory=dict)
    mistakes: list[Wrong] = field(default_factory=list)

    def tally(self, kind: str) -> ClaimTally:
        """The counts for one kind of statement."""
        return self.tallies.setdefault(kind, ClaimTally(kind=kind))

    @property
    def false_successes(self) -> int:
        """How many successes ground truth contradicts."""
        return self.tally(EPISODE).false_accepts

    def worst(self) -> list[Wrong]:
        """False accepts before false rejects, episodes before claims, and then the furthest from truth first."""
        return sorted(
            self.mistakes, key=lambda each: (each.mistake, each.kind != EPISODE, -each.excess, each.seed, each.t_s)
        )

    def as_dict(self) -> dict[str, Value]:
        """Plain values for JSON."""
        return {
            "task": self.task,
            "seed": self.seed,
            "engine": self.engine,
            "interrupted": self.interrupted,
            "parameters": dump(self.parameters),
            "episodes": self.episodes,
            "with_faults": self.faulty,
            "struck": self.struck,
            "claiming_nothing": dict(sorted(self.silent.items())),
            "kinds": [tally.as_dict() for tally in self.tallies.values()],
            "mistakes": [each.as_dict() for each in self.worst()],
        }


def run_audit(
    task: Task[Any],
    parameters: Parameters,
    *,
    seed: int,
    episodes: int,
    faults_share: float,
    faults: Sequence[str] | None = None,
    lanes: int,
    engine: EngineKind = "cpu",
    stop: Callable[[], bool] = lambda: False,
    begin: Callable[[str, int], None] = lambda what, episodes: None,
    played: Callable[[Episode], None] = lambda episode: None,
    after_tick: Callable[[Engine], None] | None = None,
) -> Audit:
    """Play episodes, a share of them with a random fault at a random moment, and compare claims with ground truth.

    Without `faults` they are those that come with graspline, so that what else is installed changes no audit. `begin`
    is called with what is played next and how many, `played` with each episode.
    """
    audit = Audit(task=task.name, parameters=parameters, seed=seed, engine=engine)
    for kind in (EPISODE, *(claim.name for claim in task.claims.outcomes.values())):
        audit.tally(kind)
    calms: dict[int, Calm] = {}
    if faults_share > 0:
        begin("undisturbed episodes", len(_REHEARSED))
        calms = rehearse(
            task,
            parameters,
            _REHEARSED,
            lanes=len(_REHEARSED),
            stop=stop,
            played=played,
            after_tick=after_tick,
        )
    cells = fault_cells(task, parameters, own_fault_names() if faults is None else faults, list(calms.values()))
    scenarios = [
        Scenario(task=task, parameters=parameters, seed=each, faults=sample_fault(each, faults_share, cells))
        for each in range(seed, seed + episodes)
    ]
    begin("episodes", episodes)
    for episode in play_scenarios(
        engine,
        scenarios,
        lanes=lanes,
        keep_logs=False,
        limit_s=HANG_S,
        witness=see_claim,
        stop=stop,
        after_tick=after_tick,
    ):
        played(episode)
        for claimed in episode.notes:
            check_claim(audit, claimed)
        check_verdict(audit, episode)
    audit.interrupted = stop()
    return audit


Cells = Sequence[tuple[str, str, float]]


def fault_cells(task: Task[Any], parameters: Parameters, faults: Sequence[str], calms: Sequence[Calm]) -> Cells:
    """Every fault and state that make sense together, with how long the state takes."""
    scene, found = task.scene(parameters), []
    for state in leaf_states(task.machine(parameters)) if calms else ():
        lasted = [calm.lasted_s[state] for calm in calms if state in calm.lasted_s]
        found += [
            (fault, state, float(np.mean(lasted))) for fault in faults if not senseless(fault, state, scene, calms)
        ]
    return found


def sample_fault(seed: int, share: float, cells: Cells) -> tuple[str, ...]:
    """The fault of an episode, if it gets one: at a random moment of a random state.

    One more fault or state takes its share of the seeds; all other seeds keep the fault that they have.
    """
    random = np.random.default_rng((seed, _FAULT_STREAM))
    if not cells or random.random() >= share:
        return ()
    fault, state, lasts_s = max(cells, key=lambda cell: _score(seed, cell[0], cell[1]))
    delay_s = round(random.uniform(0.0, lasts_s), 2)
    return (f"{fault}@{state}" + (f"+{delay_s:g}" if delay_s else ""),)


def _score(seed: int, fault: str, state: str) -> bytes:
    """A number that decides between faults (rendezvous hashing): it depends on nothing but these three."""
    return hashlib.blake2b(f"{seed} {fault}@{state}".encode(), digest_size=8).digest()


def see_claim(instant: Instant, notification: Happening) -> Claimed | None:
    """Hold what a state has just said against this instant's truth."""
    if not isinstance(notification, Ended):
        return None
    scenario, task = instant.scenario, instant.scenario.task
    claim = task.claims.outcomes.get((notification.state, notification.outcome))
    if claim is None:
        return None
    return Claimed(
        kind=claim.name,
        asserted=claim.asserted,
        seed=scenario.seed,
        fault=", ".join(scenario.faults),
        t_s=instant.time_s,
        said=f"{notification.state}: {notification.outcome}",
        about=str(notification.about),
        evidence=task.claims.check(scenario.parameters, claim.name, notification.about, instant.snapshot()),
    )


def check_claim(audit: Audit, claimed: Claimed) -> None:
    """Count a claim, and keep it if truth contradicts it."""
    mistake = audit.tally(claimed.kind).add(asserted=claimed.asserted, true=passes(claimed.evidence))
    if mistake is not None:
        statement = {each.name: getattr(claimed, each.name) for each in fields(Statement)}
        audit.mistakes.append(Wrong(mistake=mistake, **statement))


def check_verdict(audit: Audit, episode: Episode) -> None:
    """Hold an episode's verdict against the goal by truth."""
    if episode.verdict == INTERRUPTED:
        return
    audit.episodes += 1
    audit.faulty += bool(episode.scenario.faults)
    audit.struck += any(not strike.missed for strike in episode.strikes)
    # A rejected order says nothing about where the thing lies, which may be where it was to go.
    if episode.verdict in SILENT or episode.declined:
        audit.silent[episode.verdict] = audit.silent.get(episode.verdict, 0) + 1
        return
    mistake = audit.tally(EPISODE).add(asserted=episode.succeeded, true=passes(episode.goal_by_truth))
    if mistake is not None:
        audit.mistakes.append(
            Wrong(
                kind=EPISODE,
                mistake=mistake,
                seed=episode.scenario.seed,
                fault=", ".join(episode.scenario.faults),
                t_s=episode.sim_time_s,
                said=episode.verdict,
                about="",
                evidence=episode.goal_by_truth,
            )
        )
