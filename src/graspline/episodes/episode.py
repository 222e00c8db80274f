"""A finished episode: its verdict and evidence, the states it went through, its log, and how it is displayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graspline.engine.protocol import EngineKind
from graspline.episodes.failures import Failure
from graspline.episodes.fault_injection import Strike
from graspline.episodes.log import EpisodeLog
from graspline.episodes.notebook_card import episode_card, episode_line
from graspline.episodes.scenario import Scenario
from graspline.evidence import Evidence, EvidenceTable, passes
from graspline.execution.notifications import Answered, Then
from graspline.tasks.task import Draw, Instruction

if TYPE_CHECKING:
    from graspline.episodes.films.inline import InlineFilm
    from graspline.machine.diagram import Diagram

# Verdicts of episodes that were stopped from outside: by the caller, or for taking too long.
INTERRUPTED = "interrupted"
HUNG = "hung"
# Verdict of an episode that a policy could not go on with.
POLICY_ERROR = "policy_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A state that ended: when, which, how, where that led, and what was measured."""

    t_s: float
    state: str
    outcome: str
    then: Then
    evidence: Evidence = ()
    # What the outcome is about, in words: mostly the name of an object; empty if it is about none.
    about: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As logs keep it."""
        return {
            "t_s": self.t_s,
            "state": self.state,
            "outcome": self.outcome,
            "then": str(self.then),
            "evidence": [each.as_dict() for each in self.evidence],
            "about": self.about,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A finished episode: its verdict with evidence, what the simulator says of it, and its log.

    `verdict` is what the task says about itself; `succeeded` is true only if ground truth agrees.

    >>> from graspline import Scenario, find_task, run_scenarios
    >>> task = find_task("lift-cube")
    >>> [episode] = run_scenarios([Scenario(task=task, parameters=task.parameters(), seed=7)])
    >>> episode.verdict, episode.succeeded, episode.false_success
    ('success', True, False)
    >>> [each.state for each in episode.transitions][:3]
    ['look', 'plan', 'approach']
    """

    scenario: Scenario
    sampled: Draw
    verdict: str
    succeeded: bool
    retries: int
    sim_time_s: float
    state_hash: str
    transitions: tuple[Transition, ...]
    # (time, state) of every entry, for captions.
    entries: tuple[tuple[float, str], ...]
    evidence: Evidence
    truth: Mapping[str, Any]
    goal_by_truth: Evidence
    log: EpisodeLog
    # Objects the task worked on, in the order it first turned to them.
    targets: tuple[str, ...] = ()
    # Faults that struck, or found nothing to strike.
    strikes: tuple[Strike, ...] = ()
    error: str = ""
    engine: EngineKind = "cpu"
    # Whether the CPU agrees with the verdict of what a GPU played; None if it was not asked.
    certified: bool | None = None
    # What a witness noted on the way.
    notes: tuple[Any, ...] = ()
    # What the task hands on, by name, as plain values.
    outputs: Mapping[str, Any] = field(default_factory=dict)
    # Questions of the task and what each was answered, with the time.
    answers: tuple[tuple[float, Answered], ...] = ()
    # Of a policy's episode that failed: how, by truth.
    failure: Failure | None = None

    def __post_init__(self) -> None:
        # The same measurements, as tuples that show themselves.
        object.__setattr__(self, "evidence", EvidenceTable(self.evidence))
        object.__setattr__(self, "goal_by_truth", EvidenceTable(self.goal_by_truth))

    def __repr__(self) -> str:
        return episode_line(self)

    def _repr_html_(self) -> str:
        return str(episode_card(self))

    def diagram(self, *, compact: bool = False) -> Diagram:
        """The task's machine with how often each outcome occurred; what did not happen is pale."""
        # Only notebooks need it.
        from graspline.machine.diagram import Diagram

        machine = self.scenario.task.machine(self.scenario.parameters)
        taken = Counter((each.state, each.outcome, each.then) for each in self.transitions)
        return Diagram(machine=machine, taken=taken, compact=compact)

    def film(self) -> InlineFilm:
        """A film that plays in a notebook and can be saved. Without recorded states the log is replayed first."""
        # Films are made of episodes; only this method needs the reverse.
        from graspline.episodes.films.inline import filmed

        return filmed(self)

    @property
    def declined(self) -> bool:
        """Whether the order was turned down before anything moved, which is no failure at it."""
        return self.verdict in self.scenario.task.rejections.verdicts and not self.retries

    @property
    def false_success(self) -> bool:
        """Claimed, but not so by the simulator: the worst thing that can happen."""
        return self.succeeded and not passes(self.goal_by_truth)

    @property
    def instruction(self) -> Instruction:
        """Its instruction, by its scene and by what a person answered on the way."""
        outcomes = {each.state: each.outcome for each in self.transitions}
        return self.scenario.task.instruct(self.scenario.parameters, self.sampled, outcomes)

    def _variation(self) -> dict[str, Any]:
        """What was sampled, if anything is randomised on top of the task's own scene."""
        settings = self.scenario.task.randomization(self.scenario.parameters)
        return {"variation": dict(self.sampled.variation.described)} if settings.any_on else {}

    def _answers(self) -> dict[str, Any]:
        """What the task's questions were answered, if it asked any."""
        answers = [
            {"t_s": round(t_s, 6), "question": each.question, "answer": each.answer, "by": each.by}
            for t_s, each in self.answers
        ]
        return {"answers": answers} if answers else {}

    def as_dict(self) -> dict[str, Any]:
        """What `run --json` prints."""
        return {
            "task": self.scenario.task.name,
            "seed": self.scenario.seed,
            "instruction": self.instruction.sentence,
            "verdict": self.verdict,
            "succeeded": self.succeeded,
            "retries": self.retries,
            "sim_time_s": round(self.sim_time_s, 6),
            "state_hash": self.state_hash,
            "engine": self.engine,
            **({} if self.certified is None else {"certified": self.certified}),
            "transitions": [
                {
                    "t_s": round(each.t_s, 6),
                    "state": each.state,
                    "outcome": each.outcome,
                    "about": each.about,
                    "evidence": [measurement.as_dict() for measurement in each.evidence],
                }
                for each in self.transitions
            ],
            "evidence": [measurement.as_dict() for measurement in self.evidence],
            **({"outputs": dict(self.outputs)} if self.outputs else {}),
            **self._answers(),
            "truth": self.truth,
            **({} if self.failure is None else {"failure": self.failure.as_dict()}),
            **self._variation(),
            **({"error": self.error} if self.error else {}),
        }
