"""Whether every parameter of every task changes something, at both ends of what is allowed.

    python benchmarks/parameter_sweep.py --out benchmarks/parameter_sweep.md

Each end is compared with the default: what it changes before anything is played (`parameter_ends.py`), and if that is
nothing, short episodes in the order of `CASES`, until one of them differs in its states' bits, its verdict, the times
and outcomes of its states, or a limit in its evidence.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from parameter_ends import BRIEF, End, change_before_play, ends_of

from graspline import Scenario, find_task, run_scenarios
from graspline.episodes.episode import Episode
from graspline.errors import InputError
from graspline.evidence import Evidence
from graspline.parameters import build

SEEDS = (1, 2, 3)
# An episode that takes longer than this in simulated time is not waited for.
_LIMIT_S = 150.0
_LANES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A kind of short episode in which parameters may show."""

    seed: int = 1
    settings: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    # Only for parameters like this.
    only: str = "*"

    def __str__(self) -> str:
        return " ".join((*self.settings, *self.faults, f"seed {self.seed}"))


CASES: dict[str, tuple[Case, ...]] = {
    "lift-cube": (
        Case(),
        Case(seed=2),
        Case(seed=3),
        Case(faults=("drop@lift",)),
        Case(faults=("drop@hold",)),
        Case(faults=("slippery@lift",)),
        Case(faults=("jam@approach",)),
        Case(faults=("jam@descend",)),
        Case(faults=("remove@seat",)),
        Case(faults=("shove@descend",)),
        Case(settings=("perception.position_sigma_m=0.004",)),
        Case(settings=("perception.yaw_sigma_rad=0.1",)),
        *(Case(seed=seed) for seed in range(4, 20)),
    ),
    "oranges": (
        Case(),
        Case(seed=2, settings=("oranges.count=3",)),
        Case(faults=("drop@lift",)),
        Case(faults=("drop@transport",)),
        Case(faults=("slippery@transport",)),
        Case(faults=("move-plate@transport",)),
        Case(faults=("move-plate@release",)),
        Case(faults=("jam@approach",)),
        Case(faults=("jam@descend",)),
        Case(settings=("oranges.count=2",), faults=("shove@lower",)),
        Case(settings=("perception.source=camera",)),
        Case(settings=("perception.source=camera",), faults=("blackout@release",)),
        Case(settings=("perception.position_sigma_m=0.003", "oranges.distractors=2")),
        Case(seed=3, settings=("oranges.count=3", "carry.strategy=retreat")),
        Case(seed=4, settings=("oranges.count=6",)),
        *(Case(seed=seed, settings=("oranges.count=4",)) for seed in range(5, 9)),
    ),
    "grab": (
        Case(seed=7000),
        Case(seed=7001),
        Case(seed=7002),
        Case(seed=7000, faults=("drop@lift",)),
        Case(seed=7000, faults=("drop@hold",)),
        Case(seed=7001, faults=("drop@lift",)),
        Case(seed=7001, settings=("close.lost_n=0.000001",), faults=("remove@lift+0.2",)),
        Case(seed=7000, faults=("slippery@lift",)),
        Case(seed=7000, faults=("jam@move",)),
        Case(seed=7000, faults=("shove@hold",)),
        Case(seed=7000, settings=("perception.source=camera",)),
        *(
            Case(seed=seed, settings=("perception.source=camera",), faults=("drop@lift",), only="perception.camera_*")
            for seed in (7001, 7002)
        ),
        Case(seed=7000, settings=("perception.position_sigma_m=0.003", "perception.yaw_sigma_rad=0.05")),
        *(Case(seed=seed) for seed in range(7003, 7012)),
    ),
    "sort": (
        Case(),
        Case(seed=2),
        Case(seed=3, settings=("belt.blocks=6", "belt.density_per_m=8")),
        Case(faults=("drop@carry",)),
        Case(seed=4, settings=("belt.blocks=8", "belt.density_per_m=10", "belt.speed_m_s=0.15")),
    ),
    "tidy": (
        Case(seed=7001),
        Case(seed=7002),
        Case(seed=7001, settings=("then=handover",)),
        Case(seed=7001, settings=("then=handover",), faults=("no-person@single_grasp.handover.offer",)),
        Case(seed=7003, settings=("table.shelved=[3,3]", "placing.area=one_board"), only="placing.*"),
        Case(seed=7001, faults=("drop@single_grasp.execute_grasp.leave",), only="grasp.*"),
        Case(seed=7004, settings=("table.objects=[mug]",)),
    ),
}


@dataclass(slots=True, kw_only=True)
class Row:
    """One end, and what it has been found to change."""

    end: End
    change: str = ""
    # Played to no difference.
    tried: list[str] = field(default_factory=list)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, help="write the table there")
    options.add_argument("--limit-s", type=float, default=3600.0, help="no further episodes are begun after so long")
    options.add_argument("--only", default="*", help="a pattern of parameters, such as hold.*")
    options.add_argument("tasks", nargs="*", default=list(BRIEF))
    given = options.parse_args()
    until, rows = time.monotonic() + given.limit_s, list[Row]()
    for name in given.tasks:
        ends = [end for end in ends_of(find_task(name)) if fnmatch(end.path, given.only)]
        found = [Row(end=end, change=change_before_play(end, SEEDS)) for end in ends]
        print(f"{name}: {len(found)} ends, {sum(not row.change for row in found)} to be played", flush=True)
        for case in CASES[name]:
            open_rows = [row for row in found if not row.change and fnmatch(row.end.path, case.only)]
            if open_rows and time.monotonic() < until:
                play(open_rows, case)
                print(f"{name}: {case}: {sum(not row.change for row in open_rows)} still the same", flush=True)
        rows += found
        if given.out is not None:
            given.out.write_text(report(rows))
    print(report(rows))


def play(rows: Sequence[Row], case: Case) -> None:
    """Play both sides of each in this case, and note what differs."""
    befores = {row.end.settings: _scenario(row.end, case, ()) for row in rows}
    afters = [(row, _scenario(row.end, case, (row.end.assignment,))) for row in rows]
    told = _played([*befores.values(), *(after for _, after in afters)])
    for row, after in afters:
        before = befores[row.end.settings]
        if before is None:
            continue
        if after is None:
            row.change = f"refused ({case})"
        elif told[id(before)] != told[id(after)]:
            row.change = f"{_difference(told[id(before)], told[id(after)])} ({case})"
        else:
            row.tried.append(str(case))


def _scenario(end: End, case: Case, more: tuple[str, ...]) -> Scenario | None:
    """None if such an episode is refused."""
    task = end.task
    parameters = build(task.parameters, assignments=[*end.settings, *_besides(case, end), *more])
    scenario = Scenario(task=task, parameters=parameters, seed=case.seed, faults=case.faults)
    try:
        if task.problems(parameters):
            return None
        scenario.sample()
    except InputError:
        return None
    return scenario


def _besides(case: Case, end: End) -> Iterable[str]:
    """The case's settings but those of the parameter itself and of what it is compared under."""
    taken = {each.partition("=")[0] for each in end.settings[len(BRIEF[end.task.name]) :]} | {end.path}
    return (each for each in case.settings if each.partition("=")[0] not in taken)


def _played(scenarios: Iterable[Scenario | None]) -> dict[int, tuple[object, ...]]:
    """What became of each; those that share a scene are played side by side."""
    groups: dict[object, list[Scenario]] = {}
    for each in scenarios:
        if each is not None:
            truth = each.task.uses_truth(each.parameters)
            groups.setdefault((each.task.scene(each.parameters), truth), []).append(each)
    told: dict[int, tuple[object, ...]] = {}
    for group in groups.values():
        for episode in run_scenarios(group, lanes=_LANES, limit_s=_LIMIT_S):
            told[id(episode.scenario)] = _told(episode)
    return told


_TOLD = ("verdict", "states", "limits", "bits")


def _told(episode: Episode) -> tuple[object, ...]:
    limits = [_limits(each.evidence) for each in episode.transitions]
    return (
        episode.verdict,
        [(each.t_s, each.state, each.outcome) for each in episode.transitions],
        [*limits, _limits(episode.evidence), _limits(episode.goal_by_truth)],
        episode.state_hash,
    )


def _limits(evidence: Evidence) -> list[tuple[str, float]]:
    return [(each.name, each.limit) for each in evidence]


def _difference(before: tuple[object, ...], after: tuple[object, ...]) -> str:
    return next(name for name, was, now in zip(_TOLD, before, after, strict=True) if was != now)


def report(rows: Sequence[Row]) -> str:
    """A table with a line for each parameter, and the parameters of which no end changes anything."""
    lines = ["| task | parameter | end | what changes |", "|---|---|---|---|"]
    named: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        named.setdefault((row.end.task.name, row.end.path), []).append(row)
        change = row.change or f"nothing in {len(row.tried)} kinds of episodes"
        lines.append(f"| {row.end.task.name} | `{row.end.path}` | {row.end.value} | {change} |")
    dead = [f"{task} {path}" for (task, path), found in named.items() if not any(row.change for row in found)]
    half = sum(not row.change for row in rows)
    head = f"{len(named)} parameters, {len(rows)} ends; {half} ends and {len(dead)} parameters change nothing."
    return "\n".join([head, "", *(f"- {each}" for each in dead), "", *lines, ""])


if __name__ == "__main__":
    main()
