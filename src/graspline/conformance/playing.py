"""What shows only when a task is played: verdicts and claims against truth, bits, and faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from graspline.campaigns.audit import (
    EPISODE,
    MISTAKES,
    Audit,
    Wrong,
    check_claim,
    check_verdict,
    fault_cells,
    see_claim,
)
from graspline.campaigns.baseline import HANG_S, rehearse
from graspline.conformance.definition import Subject
from graspline.conformance.report import Checked
from graspline.engine.cpu import CpuEngine
from graspline.engine.protocol import Engine
from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.episodes.snapshots import snapshot_of
from graspline.episodes.statistics import rate_text
from graspline.evidence import passes
from graspline.faults.catalogue import fault_kinds

# How many lanes play at once; the bits are those of an episode alone.
LANES = (32, 7, 1)
_ALONE = 4
_REHEARSED = 8
_SHOWN = 5
Play = Callable[[str, Sequence[Scenario], int], list[Episode]]


class CheckMonitor(Protocol):
    """What is called while a task is checked."""

    def stop(self) -> bool:
        """Whether to end now."""
        ...

    def begin(self, what: str, episodes: int) -> None:
        """This is played next."""
        ...

    def tick(self, engine: Engine) -> None:
        """Every lane has played another tick."""
        ...

    def played(self, episode: Episode) -> None:
        """An episode is done."""
        ...

    def checked(self, each: Checked) -> None:
        """A check is done."""
        ...


class Unwatched:
    """Nothing is reported, and nothing stops the checks."""

    def stop(self) -> bool:
        """Never."""
        return False

    def begin(self, what: str, episodes: int) -> None:
        """A part of the checks begins."""

    def tick(self, engine: Engine) -> None:
        """A control step is done."""

    def played(self, episode: Episode) -> None:
        """An episode is done."""

    def checked(self, each: Checked) -> None:
        """A check is done."""


def player(watch: CheckMonitor) -> Play:
    """Plays scenarios in this many lanes and notes what their states claim."""

    def play(what: str, scenarios: Sequence[Scenario], lanes: int) -> list[Episode]:
        found = []
        watch.begin(what, len(scenarios))
        for episode in run_scenarios(
            scenarios, lanes=lanes, witness=see_claim, limit_s=HANG_S, stop=watch.stop, after_tick=watch.tick
        ):
            watch.played(episode)
            found.append(episode)
        return sorted(found, key=lambda each: (each.scenario.seed, each.scenario.faults))

    return play


def check_goal(subject: Subject, episodes: Sequence[Episode]) -> Checked:
    """Verdicts agree with the goal by truth, every episode ends, and the goal is not fulfilled from the start."""
    audit = _audited(subject, episodes)
    problems = [*_no_verdict(subject, episodes), *_mistakes(audit, whole_episodes=True)]
    starting = [each for each in episodes[:_SHOWN] if _done_already(subject, each)]
    if starting:
        seeds = ", ".join(str(each.scenario.seed) for each in starting)
        problems.append(f"the goal is met before anything has moved (seeds {seeds}), so it does not test the task")
    won = sum(each.succeeded for each in episodes)
    if not won:
        problems.append("no episode succeeds")
    return Checked(name="goal", note=f"succeeded: {rate_text(won, len(episodes))}", problems=tuple(problems))


def check_claims(subject: Subject, episodes: Sequence[Episode]) -> Checked:
    """No claim of the episodes is contradicted by ground truth."""
    audit = _audited(subject, episodes)
    count = sum(len(each.notes) for each in episodes)
    note = f"{count} claims checked against ground truth" if subject.task.claims.outcomes else "the task declares none"
    return Checked(name="claims", note=note, problems=tuple(_mistakes(audit, whole_episodes=False)))


def check_bits(subject: Subject, episodes: Sequence[Episode], play: Play) -> Checked:
    """The same scenario gives the same bits whatever the lanes."""
    known = {each.scenario.seed: each.state_hash for each in episodes[: LANES[0]]}
    problems = []
    for lanes in LANES[1:]:
        seeds = list(known)[: len(known) if lanes > 1 else _ALONE]
        others = play(f"the same in {lanes} lanes", [subject.scenario(seed) for seed in seeds], lanes)
        differing = [each.scenario.seed for each in others if each.state_hash != known[each.scenario.seed]]
        if differing:
            seeds = ", ".join(map(str, differing[:_SHOWN]))
            problems.append(f"episodes differ between {lanes} lanes and {LANES[0]}: seeds {seeds}")
    return Checked(name="bits", note=f"{len(known)}, {min(len(known), LANES[1])} and 1 lanes", problems=tuple(problems))


def check_faults(subject: Subject, play: Play) -> Checked:
    """Every fault, in every state where it makes sense, ends in an outcome with a name and never in a false success."""
    task = subject.task
    seeds = range(subject.seed, subject.seed + _REHEARSED)
    calms = rehearse(task, subject.parameters, seeds, lanes=_REHEARSED)
    cells = fault_cells(task, subject.parameters, tuple(fault_kinds()), list(calms.values()))
    scenarios = [
        subject.scenario(subject.seed + index % _REHEARSED, f"{fault}@{state}")
        for index, (fault, state, _) in enumerate(cells)
    ]
    episodes = play("episodes with a fault", scenarios, LANES[0])
    audit = _audited(subject, episodes)
    false = [each for each in audit.mistakes if each.kind == EPISODE and each.mistake == "false_accept"]
    problems = [*_no_verdict(subject, episodes), *map(_message, false[:_SHOWN])]
    won = sum(each.succeeded for each in episodes)
    note = f"{len({fault for fault, _, _ in cells})} faults in {len(scenarios)} episodes, {won} recovered"
    return Checked(name="faults", note=note, problems=tuple(problems))


def _audited(subject: Subject, episodes: Sequence[Episode]) -> Audit:
    audit = Audit(task=subject.task.name, parameters=subject.parameters, seed=subject.seed)
    for episode in episodes:
        for claimed in episode.notes:
            check_claim(audit, claimed)
        check_verdict(audit, episode)
    return audit


def _mistakes(audit: Audit, *, whole_episodes: bool) -> list[str]:
    found = [each for each in audit.worst() if (each.kind == EPISODE) == whole_episodes]
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return [*map(_message, found[:_SHOWN]), *more]


def _message(wrong: Wrong) -> str:
    fault = f" with --fault {wrong.fault}" if wrong.fault else ""
    measured = "; ".join(map(str, wrong.evidence))
    return f"{MISTAKES[wrong.mistake]} ({wrong.kind}) in seed {wrong.seed}{fault}: {wrong.said}, truth: {measured}"


def _no_verdict(subject: Subject, episodes: Sequence[Episode]) -> list[str]:
    """Episodes that ended in no outcome of the machine."""
    outcomes = subject.task.machine(subject.parameters).outcomes
    odd = [each for each in episodes if each.verdict not in outcomes and each.verdict != "physics_diverged"]
    messages = []
    for verdict, count in Counter(each.verdict for each in odd).items():
        first = next(each for each in odd if each.verdict == verdict)
        fault = f" with --fault {first.scenario.faults[0]}" if first.scenario.faults else ""
        why = f": {first.error.strip().splitlines()[-1]}" if first.error.strip() else ""
        messages.append(f"{count} episodes end {verdict}, such as seed {first.scenario.seed}{fault}{why}")
    return messages


def _done_already(subject: Subject, episode: Episode) -> bool:
    """Whether the goal holds in the scene as it was sampled."""
    engine = CpuEngine(subject.task.scene(subject.parameters), 1, 1)
    engine.reset(0, episode.sampled.start, episode.sampled.variation)
    snapshot = snapshot_of(engine, 0, episode.sampled, 0.0, None, ())
    return passes(subject.task.goal(subject.parameters, episode.sampled, snapshot))
