"""What the robot of `tidy` touches: in every tick of every episode, whatever meets that was not meant to.

    python benchmarks/tidy_contacts.py --runs 200 --seed 9620000

Meant are: the robot on the floor; things on table, boards and floor; fingers and palm at what is being taken or is
held; and what is held at the table it leaves and at the board it is put on. Everything else is unplanned: the robot at
furniture, at itself or at other things, and what is held at other things or at furniture it does not stand on.
"""

from __future__ import annotations

import argparse
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from graspline import Scenario, find_task, run_scenarios
from graspline.episodes.episode import Episode
from graspline.parameters import build
from graspline.scenes.scene import Scene
from graspline.scenes.variation import apply_to_model
from graspline.tasks.tidy.parameters import Tidy

# Shallower than this nothing has met.
_DEEP_M = 1e-5
# Two touches of the same pair that are less apart are one.
_GAP_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """Two that met, from when on, and where the machine was."""

    robot_part: str
    other: str
    t_s: float
    state: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=9620000)
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    task = find_task("tidy")
    parameters = build(Tidy, None, arguments.set)
    seeds = range(arguments.seed, arguments.seed + arguments.runs)
    scenarios = [Scenario(task=task, parameters=parameters, seed=seed) for seed in seeds]
    scene, found, succeeded, wrong = task.scene(parameters), Counter[str](), 0, 0
    for episode in run_scenarios(scenarios, lanes=arguments.lanes, record_states=True):
        succeeded += episode.succeeded
        wrong += episode.false_success
        touches = list(unplanned(scene, episode))
        for touch in touches:
            found[f"{touch.robot_part} at {touch.other}"] += 1
            print(
                f"seed {episode.scenario.seed} ({episode.verdict}): {touch.robot_part} at {touch.other}, "
                f"{touch.t_s:.2f} s, {touch.state}",
                flush=True,
            )
    print(f"{succeeded} of {len(scenarios)} succeeded, {wrong} falsely; {sum(found.values())} unplanned contacts")
    for what, count in found.most_common():
        print(f"  {count} {what}")


def unplanned(scene: Scene, episode: Episode) -> Iterator[Touch]:
    """Contacts nobody meant, each once when it begins."""
    model = copy.copy(scene.model)
    apply_to_model(model, episode.log.variation)
    data, bodies, dt = mujoco.MjData(model), _Bodies(scene, model), scene.robot.dt_s
    last: dict[tuple[str, str], float] = {}
    for tick, qpos in enumerate(episode.log.states):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        now = tick * dt
        for pair in bodies.unplanned(data, _target(episode, now)):
            if now - last.get(pair, -np.inf) > _GAP_S:
                yield Touch(robot_part=pair[0], other=pair[1], t_s=now, state=_state(episode, now))
            last[pair] = now


def _state(episode: Episode, now: float) -> str:
    return next((each.state for each in episode.transitions if each.t_s >= now), episode.verdict)


def _target(episode: Episode, now: float) -> str:
    """What the machine spoke of last."""
    spoken = [each.about for each in episode.transitions if each.t_s <= now and each.about]
    return spoken[-1] if spoken else ""


class _Bodies:
    """Which geoms belong to whom."""

    def __init__(self, scene: Scene, model: mujoco.MjModel) -> None:
        self._model = model
        things = {model.body(name).id: name for name in scene.object_names}
        hand = int(model.site("tool").bodyid[0])
        root = _root(model, hand)
        self._owner, self._name = list[str](), list[str]()
        for geom in range(model.ngeom):
            body = int(model.geom_bodyid[geom])
            self._name.append(model.geom(geom).name or model.body(body).name)
            if body in things:
                self._owner.append(things[body])
            elif _root(model, body) == root and root:
                self._owner.append("hand" if _hangs_on(model, body, hand) else "robot")
            else:
                self._owner.append("")

    def unplanned(self, data: mujoco.MjData, target: str) -> Iterator[tuple[str, str]]:
        for (first, second), distance in zip(data.contact.geom.tolist(), data.contact.dist.tolist(), strict=True):
            if distance > -_DEEP_M:
                continue
            for one, other in ((first, second), (second, first)):
                if self._counts(one, other, target):
                    yield self._name[one], self._name[other]

    def _counts(self, one: int, other: int, target: str) -> bool:
        owner, others = self._owner[one], self._owner[other]
        if owner not in ("robot", "hand"):
            # Of what is held: walls are no place to stand on.
            return bool(owner) and not others and self._is_wall(other)
        if "floor" in self._name[other]:
            return False
        if others in ("robot", "hand"):
            return one < other and {owner, others} != {"hand"}
        return not (owner == "hand" and others and _may_be(others, target))

    def _is_wall(self, geom: int) -> bool:
        name = self._name[geom]
        return not any(part in name for part in ("board", "table", "floor", "bottom"))


def _may_be(name: str, target: str) -> bool:
    return name == target or (target == "unknown" and name.startswith("unknown"))


def _root(model: mujoco.MjModel, body: int) -> int:
    while body and model.body_parentid[body]:
        body = int(model.body_parentid[body])
    return body


def _hangs_on(model: mujoco.MjModel, body: int, carrier: int) -> bool:
    while body and body != carrier:
        body = int(model.body_parentid[body])
    return body == carrier


if __name__ == "__main__":
    main()
