"""What `sort` is measured by besides rates: cycle times, limits, torques, contacts, and what its camera sees.

    python benchmarks/sort.py --episodes 13 --seed 8000000
    python benchmarks/sort.py --fast --episodes 2

A cycle goes from one confirmed grip to the next, without a visit home. Its bound is ruckig's from the grasp to the drop
and from there to the next grasp, rest to rest at the robot's own limits, and the time that the jaw takes.
"""

from __future__ import annotations

import argparse
from collections import Counter

import mujoco
import numpy as np

from graspline import Scenario, find_task, run_scenarios
from graspline.engine.protocol import Engine
from graspline.episodes.episode import Episode
from graspline.motion.joint_moves import jaw_move, joint_move
from graspline.motion.path import Path, at_rest, check_path
from graspline.parameters import build
from graspline.perception.belt.blocks import see_blocks
from graspline.rendering.choose import open_renderer
from graspline.scenes.scene import Scene
from graspline.tasks.sort.parameters import CATALOGUE, Sort
from graspline.tasks.sort.sight import SURFACE, BeltEye

CYCLE = [
    ("grip", "gripped"),
    ("carry", "carried"),
    ("drop", "released"),
    ("choose", "planned"),
    ("check", ""),
    ("travel", "met"),
    ("grip", "gripped"),
]
FAST = ["motion.velocity_rad_s=3.14", "motion.acceleration_rad_s2=40", "motion.jerk_rad_s3=1600"]
PICTURES_PER_S = 2


def cycles_of(episode: Episode, scene: Scene, settings: Sort) -> list[tuple[float, float]]:
    """(cycle, bound) in seconds of every pick that followed another directly."""
    robot, positions, found = scene.robot, episode.log.positions, []
    steps = [(each.t_s, each.state, each.outcome) for each in episode.transitions]
    jaw_s = jaw_time_s(scene, settings)
    for first in range(len(steps) - len(CYCLE) + 1):
        mine = steps[first : first + len(CYCLE)]
        wanted = zip(mine, CYCLE, strict=True)
        if not all(state == name and outcome.startswith(how) for (_, state, outcome), (name, how) in wanted):
            continue
        rows = [positions[round(t_s * robot.control_hz)].copy() for t_s, _, _ in mine]
        gripped, carried, met = rows[0], rows[1], rows[-2]
        bound = jaw_s
        for begin, end in ((gripped, carried), (carried, met)):
            begin[robot.jaw] = end[robot.jaw]
            bound += joint_move(robot, at_rest(begin), end).duration_s
        found.append((mine[-1][0] - mine[0][0], bound))
    return found


def jaw_time_s(scene: Scene, settings: Sort) -> float:
    """To open from a grip and to close to one, for a block of middling width, until it counts."""
    robot, width = scene.robot, 0.036
    shut, wide = (float(robot.jaw_law.angle_rad(width + extra)) for extra in (0.0, 2 * settings.grip.slack_m))
    speed = 0.95 * float(robot.limits.velocity[robot.jaw])

    def takes(begin: float, end: float) -> float:
        joints = robot.home.copy()
        joints[robot.jaw] = begin
        return jaw_move(robot, at_rest(joints), end, speed_rad_s=speed).duration_s

    return takes(shut - settings.grip.squeeze_rad, wide) + takes(wide, shut) + settings.grip.touch_s


def contacts_of(episode: Episode, scene: Scene) -> Counter[str]:
    """Ticks at which the arm touches furniture, by what touches what."""
    model, data = scene.model, mujoco.MjData(scene.model)
    blocks = {model.body(name).id for name in scene.object_names}
    found: Counter[str] = Counter()
    for state in episode.log.states:
        data.qpos[:] = state
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        for first, second in data.contact.geom[: data.ncon]:
            bodies = int(model.geom_bodyid[first]), int(model.geom_bodyid[second])
            if 0 in bodies and not blocks & set(bodies) and bodies != (0, 0):
                found[f"{model.geom(int(first)).name} {model.geom(int(second)).name}"] += 1
    return found


def sightings_of(episode: Episode, scene: Scene, camera: str) -> list[tuple[float, float, float, float, bool]]:
    """Of whole blocks in pictures: how far off place and heading are, each with its sigma; is the colour right."""
    model, eye, found = scene.model, BeltEye(camera=camera), []
    with open_renderer(scene, 640, 480) as renderer:
        for tick in range(0, len(episode.log.states), scene.robot.control_hz // PICTURES_PER_S):
            state = episode.log.states[tick]
            picture = renderer.render(state, episode.log.seen_at(tick), camera)
            for seen in see_blocks(picture, CATALOGUE, SURFACE, eye.hidden(picture, holding=True)):
                if not seen.whole:
                    continue
                rows = np.array([state[scene.joint_address(name) :][:7] for name in scene.object_names])
                off = np.hypot(rows[:, 0] - seen.x_m, rows[:, 1] - seen.y_m)
                nearest = int(off.argmin())
                yaw = 2 * np.arctan2(rows[nearest, 6], rows[nearest, 3])
                period = np.pi / 2 if seen.size_m[0] == seen.size_m[1] else np.pi
                turn = abs((seen.yaw_rad - yaw + period / 2) % period - period / 2)
                name = scene.object_names[nearest]
                rgba = episode.log.variation.values(model, "geom_rgba", name)
                paint = next((each.name for each in CATALOGUE.paints if each.rgb == rgba[:3]), "unknown")
                found.append((float(off[nearest]), seen.sigma_m, float(turn), seen.yaw_sigma_rad, paint == seen.colour))
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--episodes", type=int, default=2)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--fast", action="store_true", help="3.14 rad/s and 40 rad/s²")
    options.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    given = options.parse_args()
    task = find_task("sort")
    settings = build(Sort, None, ["belt.density_per_m=12", *(FAST if given.fast else []), *given.settings])
    scene = task.scene(settings)
    robot, torque = scene.robot, np.zeros(len(scene.robot.joints))
    cycles, contacts, seen, picks, refused = [], Counter(), [], [], 0

    def after_tick(engine: Engine) -> None:
        load = np.abs(engine.readings[:, engine.layout.readings["joint_load"]]).max(axis=0)
        np.maximum(torque, load, out=torque)

    scenarios = [Scenario(task=task, parameters=settings, seed=given.seed + index) for index in range(given.episodes)]
    for episode in run_scenarios(scenarios, lanes=2, record_states=True, after_tick=after_tick):
        told = {each.name: each.value for each in episode.evidence}
        picks.append((told.get("picks_per_min", 0.0), told.get("sorted", 0.0)))
        cycles += cycles_of(episode, scene, settings)
        contacts += contacts_of(episode, scene)
        seen += sightings_of(episode, scene, settings.sight.camera)
        log = episode.log
        path = Path(positions=log.positions, velocities=log.velocities, dt_s=robot.dt_s)
        refused += check_path(path, robot) is not None
        print(f"seed {episode.scenario.seed}: {episode.verdict}, {picks[-1][0]:.1f} picks a minute", flush=True)
    taken, bound = np.array(cycles).T
    off, sigma, turn, turn_sigma, right = np.array(seen).T
    print(f"sorted {sum(each for _, each in picks):.0f}; picks a minute {np.mean([each for each, _ in picks]):.1f}")
    ratio = taken.mean() / bound.mean()
    print(f"cycle {taken.mean():.3f} s, bound {bound.mean():.3f} s, ratio {ratio:.3f}, {len(taken)} cycles")
    print(f"episodes with a sample beyond a limit: {refused}; arm on furniture, ticks: {dict(contacts)}")
    shares = zip(robot.joints, 100 * torque / robot.servo.force, strict=True)
    print("greatest share of each torque: " + ", ".join(f"{name} {share:.0f} %" for name, share in shares))
    print(
        f"{len(off)} sightings: off {1e3 * np.median(off):.2f} mm (p95 {1e3 * np.quantile(off, 0.95):.2f}) and "
        f"{np.degrees(np.median(turn)):.2f}° (p95 {np.degrees(np.quantile(turn, 0.95)):.2f}); within 2σ "
        f"{100 * (off <= 2 * np.sqrt(2) * sigma).mean():.1f} % and {100 * (turn <= 2 * turn_sigma).mean():.1f} %; "
        f"colour right {100 * right.mean():.2f} %"
    )


if __name__ == "__main__":
    main()
