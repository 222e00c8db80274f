"""How `tidy` hands things over: released on pulls, and on nothing else.

    python benchmarks/handover.py --runs 200 --seed 9400000

Pulls are of 5 to 20 N; what counts is how long after the pull has passed the threshold the hand is told to open. The
others only bump into the thing (up to 20 N for 20 ms, any way), push it towards the robot (up to 10 N), or shake the
robot (its odometry frame steps, with more than 2.5 m/s²).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from graspline import Scenario, find_task, run_scenarios
from graspline.engine.actors import Account, LaneView
from graspline.engine.events import Change, Event, Push
from graspline.episodes.episode import Episode
from graspline.parameters import build
from graspline.robots.hsr import SLIPS
from graspline.scenes.variation import held_at
from graspline.tasks.tidy.handover import DEFAULT_THRESH_N
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.person import TAKEN_AT_M

# From when on a thing is disturbed after it is held out, how often, and how long a bump and a push last.
_AFTER_S, _EVERY_S, _BUMP_S, _PUSH_S = 0.8, 0.6, 0.02, 0.4
_SHAKE_M = 0.014


@dataclass(slots=True)
class Nuisance:
    """Somebody who does anything but take what is held out."""

    name: str
    random: np.random.Generator
    # One physics control tick at a time: bumps are short.
    period_s: float = 1 / 120
    _since_s: float = np.inf
    _next_s: float = np.inf
    _until_s: float = np.inf
    _last: np.ndarray = field(default_factory=lambda: np.full(3, np.nan))

    def act(self, world: LaneView) -> Sequence[Event]:
        at = world.position_m(self.name)
        still = np.linalg.norm(at - self._last) < 1e-4
        self._last = at
        if not np.isfinite(self._since_s):
            if still and np.linalg.norm(at - TAKEN_AT_M) < 0.35:
                self._since_s, self._next_s = world.time_s, world.time_s + _AFTER_S
            return ()
        if world.time_s >= self._until_s:
            self._until_s = np.inf
            return (Push(body=self.name, force_n=(0.0, 0.0, 0.0)),)
        if world.time_s >= self._next_s:
            self._next_s = world.time_s + _EVERY_S
            return self._disturb(world)
        return ()

    def _disturb(self, world: LaneView) -> Sequence[Event]:
        kind = int(self.random.integers(3))
        if kind == 2:
            slip = str(self.random.choice(SLIPS[:2]))
            to = float(world.number("eq_data", slip)[0]) + self.random.uniform(-1, 1) * _SHAKE_M
            return (Change(edits=(held_at(slip, float(to)),)),)
        way = self.random.normal(size=3)
        force = way / np.linalg.norm(way) * self.random.uniform(5, 20)
        if kind == 1:
            force = np.array([0.0, self.random.uniform(2, 10), 0.0])
        self._until_s = world.time_s + (_PUSH_S if kind == 1 else _BUMP_S)
        x, y, z = force.tolist()
        return (Push(body=self.name, force_n=(x, y, z)),)

    def accounts(self, world: LaneView) -> tuple[Account, ...]:
        return ()


def pulled_after_s(episode: Episode) -> float | None:
    """From when the pull had passed the threshold until it was noticed."""
    noticed = next(
        (each.t_s for each in episode.transitions if each.state == "offer" and each.outcome == "pulled"), None
    )
    control_hz = 120
    for tick, event in episode.log.events:
        if isinstance(event, Push) and np.linalg.norm(event.force_n) >= DEFAULT_THRESH_N:
            return None if noticed is None else noticed - tick / control_hz
    return None


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    task = find_task("tidy")
    names = ("soup_can", "juice_can", "sugar_box", "mug", "tea_box", "water_bottle")

    def scenarios(one: object, settings: Sequence[str]) -> list[Scenario]:
        return [
            Scenario(
                task=one,  # pyright: ignore[reportArgumentType]
                parameters=build(Tidy, None, ["program=handover", f"alone.object={names[k % len(names)]}", *settings]),
                seed=given.seed + k,
            )
            for k in range(given.runs)
        ]

    verdicts, after = Counter[str](), list[float]()
    for episode in run_scenarios(scenarios(task, ()), lanes=2):
        verdicts[episode.verdict] += 1
        late = pulled_after_s(episode)
        if late is not None:
            after.append(late)
    within = np.array(after)
    print(f"pulls of 5 to 20 N, {given.runs} runs: {dict(verdicts)}")
    if len(within):
        share = (within <= 0.5).sum() / given.runs
        quick, late = np.median(within), np.quantile(within, 0.9)
        print(f"noticed after {quick:.3f} s (p90 {late:.3f}, latest {within.max():.3f}); in 0.5 s {share:.1%}")
    nuisance = replace(
        task, actor=lambda parameters, draw, random: Nuisance(name=parameters.alone.object, random=random)
    )
    verdicts = Counter(each.verdict for each in run_scenarios(scenarios(nuisance, ["handover.wait_s=8"]), lanes=2))
    print(f"bumps, pushes and shakes only, {given.runs} runs: {dict(verdicts)}; released {verdicts['succeeded']}")


if __name__ == "__main__":
    main()
