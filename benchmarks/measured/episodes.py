"""What `benchmarks/bench.py` measures. CPU time, not wall time; ratios within one run, since machines are noisy."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.engine.cpu import CpuEngine
from graspline.episodes.log import EpisodeLog, log_of
from graspline.episodes.scenario import Scenario
from graspline.execution.executor import Executor
from graspline.execution.requests import Motion, Reply
from graspline.kinematics import ur5e
from graspline.kinematics.numeric import NumericArm
from graspline.kinematics.so101 import PAN_X_M, STRAIGHT_DOWN_RAD, forward, solve
from graspline.kinematics.ur5e import ARM as UR5E_ARM
from graspline.motion.guards import HoldLost
from graspline.motion.joint_moves import hold
from graspline.motion.path import controls_of
from graspline.parameters import build
from graspline.robots.robot import Robot
from graspline.robots.so101 import FIXED_TIP_M, LOWER, SO101, UPPER
from graspline.robots.ur5e import UR5E
from graspline.scenes.cube_table import cube_table
from graspline.scenes.scene import Scene, new_spec
from graspline.scenes.variation import Variation
from graspline.tasks.catalogue import find_task
from graspline.tasks.task import Draw, Task
from measured.plain_mujoco import raw_ticks

Array = NDArray[np.float64]
_TOOL = np.array(FIXED_TIP_M)
ROUNDS = 7
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number with its unit and what it means."""

    name: str
    value: float | None
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some of the figures: what is measured, about how much CPU time that takes, and how to do it."""

    what: str
    about_s: float
    # Called with progress, line by line.
    measure: Callable[[Say], list[Figure]]


def parts(*, full: bool) -> list[Part]:
    """What there is to measure of episodes and kinematics, quickly or in full.

    Figures that need mink are None where it is not installed.
    """
    # An episode of oranges takes ten times as long as a cube's: fewer rounds do. In full there are twice as many as
    # lanes, so that most of the time lanes are full.
    episodes = (
        [("lift-cube", 64, 128, ROUNDS, 100), ("lift-cube", 1, 32, ROUNDS, 25), ("oranges", 32, 64, 3, 200)]
        if full
        else [("lift-cube", 64, 64, 1, 9), ("lift-cube", 1, 8, 2, 2), ("oranges", 8, 8, 1, 10)]
    )
    rounds = ROUNDS if full else 3
    return [
        *(_episode_part(*each) for each in episodes),
        Part(what="executor overhead in 1 and in 64 lanes", about_s=1, measure=lambda say: _tick_cost()),
        Part(
            what="a tick with six oranges and with three, in 32 lanes",
            about_s=12 if full else 5,
            measure=lambda say: _crowd_cost(rounds),
        ),
        Part(what="inverse kinematics of the SO-101", about_s=1, measure=_kinematics),
        Part(what="inverse kinematics of the UR5e", about_s=4, measure=_ur5e_kinematics),
    ]


def _episode_part(name: str, lanes: int, count: int, rounds: int, about_s: float) -> Part:
    return Part(
        what=f"{count} episodes of {name} in {_lanes(lanes)} on one thread, beside bare physics",
        about_s=about_s,
        measure=lambda say: _episode_cost(name, lanes, count, rounds, say),
    )


def _lanes(count: int) -> str:
    return f"{count} lane{'s' if count > 1 else ''}"


def _episode_cost(name: str, lanes: int, count: int, rounds: int, say: Say) -> list[Figure]:
    """Episodes over bare physics, in several rounds one after the other.

    The median of the rounds' ratios is the figure; the fastest rounds stand beside it, to show what noise adds.
    """
    task = find_task(name)
    parameters = task.parameters()
    task.sample(parameters, np.random.default_rng(10**6))  # everything compiled and cached
    scenarios = [Scenario(task=task, parameters=parameters, seed=seed) for seed in range(count)]
    began = time.process_time()
    samples = [task.sample(parameters, scenario.random()[0]) for scenario in scenarios]
    sampling = time.process_time() - began
    logs: list[EpisodeLog] = []
    for _ in _playing(task, scenarios, samples, lanes, logs):
        pass
    spent = []
    for at in range(rounds):
        if rounds > 1:
            say(f"round {at + 1} of {rounds}")
        spent.append(_side_by_side(_playing(task, scenarios, samples, lanes, []), _bare(task.scene(parameters), logs)))
    episode, raw = np.array(spent).T
    called = f"{name}_{_lanes(lanes)}_cpu".replace("-", "_").replace(" ", "_")
    values = [
        ("over_raw", np.median(episode / raw), "×", "episodes over bare mj_step"),
        (
            "over_raw_with_sampling",
            np.median((episode + sampling) / raw),
            "×",
            "the same with sampling and certifying the scenes",
        ),
        ("over_raw_fastest", episode.min() / raw.min(), "×", "the fastest round of each"),
        ("ms", np.median(episode) / count * 1e3, "ms", "CPU time of one episode"),
    ]
    return [
        Figure(name=f"{called}_{figure}", value=float(value), unit=unit, meaning=meaning)
        for figure, value, unit, meaning in values
    ]


def _side_by_side(playing: Iterator[int], bare: Iterator[int]) -> tuple[float, float]:
    """CPU seconds of both, a twentieth of a second of the one and as many ticks of the other in turns.

    What else the machine does comes and goes over seconds; so it slows both alike.
    """
    spent, ticks, going = [0.0, 0.0], 0, True
    while going:
        began = time.process_time()
        while going and time.process_time() - began < 0.05:
            played = next(playing, None)
            going = played is not None
            ticks += played or 0
        turned = time.process_time()
        ticks -= sum(itertools.islice(bare, ticks if going else None))
        spent[0] += turned - began
        spent[1] += time.process_time() - turned
    return spent[0], spent[1]


def _bare(scene: Scene, logs: Sequence[EpisodeLog]) -> Iterator[int]:
    """The logs' controls through bare physics, tick by tick."""
    for log in logs:
        controls = controls_of(SO101, log.positions, log.velocities)
        yield from (1 for _ in raw_ticks(scene, log.start, log.variation, controls))


def _playing(
    task: Task[Any],
    scenarios: Sequence[Scenario],
    samples: Sequence[Draw],
    lanes: int,
    logs: list[EpisodeLog],
) -> Iterator[int]:
    """Play all scenarios into `logs`; after every tick how many lanes it advanced."""
    parameters = scenarios[0].parameters
    machine = task.machine(parameters)
    executor = Executor(CpuEngine(task.scene(parameters), lanes, 1), allow_truth=True)
    waiting = list(zip(scenarios, samples, strict=True))[::-1]
    idle = list(range(lanes))
    while waiting or executor.busy:
        while idle and waiting and executor.on_beat:
            scenario, sampled = waiting.pop()
            given = task.inputs(scenario.parameters, sampled, scenario.random()[1])
            executor.start(
                idle.pop(),
                lambda reply, given=given: machine.run(SO101, reply, given),
                sampled.start,
                sampled.variation,
            )
        advanced = lanes - len(idle)
        finished = executor.tick()
        if finished:
            logs += [log_of(track) for _, track in finished.values()]
            idle += finished
        yield advanced


def _tick_cost() -> list[Figure]:
    """What executor and guards add to a tick of standing still with the hold guarded."""
    figures = []
    for lanes in (1, 64):
        engine = _TimedEngine(cube_table(), lanes, 1)
        executor = Executor(engine)
        ticks = 1200 // (1 if lanes == 1 else 10)

        start = cube_table().start({"cube": (np.array([0.25, 0, 0.015]), np.array([1.0, 0, 0, 0]))})
        for lane in range(lanes):
            executor.start(lane, _standing(ticks), start, Variation())
        executor.tick()
        executor.tick()
        engine.spent_s = 0.0
        playing = _ticking_s(executor, ticks)
        overhead = (playing - engine.spent_s) / ticks / lanes * 1e6
        figures.append(
            Figure(
                name=f"executor_us_per_lane_tick_{_lanes(lanes).replace(' ', '_')}",
                value=overhead,
                unit="µs",
                meaning="executor and one guard, besides the engine",
            )
        )
    return figures


class _TimedEngine(CpuEngine):
    """Knows how long it was stepping: the difference of two long runs would be all noise."""

    spent_s = 0.0

    def step(self, controls: Array, lanes: NDArray[np.intp]) -> bool:
        began = time.process_time()
        diverged = super().step(controls, lanes)
        self.spent_s += time.process_time() - began
        return diverged


def _crowd_cost(rounds: int, lanes: int = 32, ticks: int = 120) -> list[Figure]:
    """What three more oranges on the table add to a tick of standing still with the hold guarded."""
    task = find_task("oranges")
    executors = []
    for count in (6, 3):
        parameters = build(task.parameters, None, [f"oranges.count={count}"])
        samples = [task.sample(parameters, np.random.default_rng(seed)) for seed in range(8)]
        executor = Executor(CpuEngine(task.scene(parameters), lanes, 1))
        for lane in range(lanes):
            sampled = samples[lane % len(samples)]
            executor.start(lane, _standing(rounds * ticks), sampled.start, sampled.variation)
        executor.tick()
        executor.tick()
        executors.append(executor)
    ratios = []
    for _ in range(rounds):
        six, three = (_ticking_s(executor, ticks) for executor in executors)
        ratios.append(six / three)
    return [
        Figure(
            name="tick_six_over_three_oranges",
            value=float(np.median(ratios)),
            unit="×",
            meaning="a control tick with six oranges over one with three",
        )
    ]


def _standing(ticks: int) -> Callable[[Reply], Any]:
    """A driver that stands still for so long and a little longer, one guard watching."""

    def stand(reply: Reply) -> Any:
        path = hold(SO101, reply.command, (ticks + 10) * SO101.dt_s)
        yield Motion("stand", path, guards=(HoldLost(least_jaw_rad=-9.0, force_n=-1.0),))

    return stand


def _ticking_s(executor: Executor, ticks: int) -> float:
    began = time.process_time()
    for _ in range(ticks):
        executor.tick()
    return time.process_time() - began


def _kinematics(say: Say) -> list[Figure]:
    """Closed form alone and in batches, and mink on the same targets: positions straight down with any heading."""
    positions, yaws, poses = _targets(10_000)
    solutions = solve(positions, STRAIGHT_DOWN_RAD, yaws, _TOOL)
    began = time.process_time()
    for _ in range(10):
        solutions = solve(positions, STRAIGHT_DOWN_RAD, yaws, _TOOL)
    batch_us = (time.process_time() - began) / 10 / len(positions) * 1e6
    joints, reached = solutions.best()
    error_m = np.abs(forward(joints[reached], _TOOL)[0] - positions[reached]).max()
    alone_us = float(np.median([_alone_us(positions[at::ROUNDS], yaws[at::ROUNDS]) for at in range(ROUNDS)]))
    peer_us, peer_share = _mink(cube_table().model, SO101, poses[:200], say)
    return [
        Figure(name="ik_us_alone", value=alone_us, unit="µs", meaning="closed form, one target per call"),
        Figure(name="ik_us_in_10000", value=batch_us, unit="µs", meaning="closed form, per target in one call"),
        Figure(
            name="ik_share_solved",
            value=float(reached.mean()),
            unit="",
            meaning="of reachable targets, closed form",
        ),
        Figure(name="ik_worst_error_um", value=float(error_m * 1e6), unit="µm", meaning="where it claims success"),
        Figure(name="mink_us", value=peer_us, unit="µs", meaning="mink on the same targets, per target"),
        Figure(name="mink_share_solved", value=peer_share, unit="", meaning="to 0.1 mm and 0.01 rad, from home"),
    ]


def _alone_us(positions: Array, yaws: Array) -> float:
    """CPU time of one target in a call of its own, over the first few hundred."""
    count = 300
    began = time.process_time()
    for index in range(count):
        solve(positions[index : index + 1], STRAIGHT_DOWN_RAD, yaws[index : index + 1], _TOOL)
    return (time.process_time() - began) / count * 1e6


def _targets(count: int) -> tuple[Array, Array, Array]:
    """Reachable straight-down poses: tool positions, headings, and the joint angles they were made from."""
    random = np.random.default_rng(0)
    found = []
    total = 0
    while total < count:
        joints = random.uniform(LOWER[:5], UPPER[:5], (count * 4, 5))
        joints[:, 3] = STRAIGHT_DOWN_RAD - joints[:, 1] - joints[:, 2]
        inside = (joints[:, 3] > LOWER[3]) & (joints[:, 3] < UPPER[3])
        position = forward(joints, _TOOL)[0]
        # Within a centimetre or two of the pan axis lies the robot's own base.
        clear = np.hypot(position[:, 0] - PAN_X_M, position[:, 1]) > 0.02
        found.append(joints[inside & clear])
        total += len(found[-1])
    joints = np.concatenate(found)[:count]
    position, rotation = forward(joints, _TOOL)
    return position, np.arctan2(rotation[:, 1, 2], rotation[:, 0, 2]), joints


def _mink(model: mujoco.MjModel, robot: Robot, poses: Array, say: Say) -> tuple[float | None, float | None]:
    try:
        import mink  # pyright: ignore[reportMissingImports]
    except ImportError:
        say("mink is not installed (pip install mink); its figures are left out")
        return None, None
    configuration = mink.Configuration(model)
    task = mink.FrameTask(frame_name="tool", frame_type="site", position_cost=1.0, orientation_cost=0.1)
    limits = [mink.ConfigurationLimit(model)]
    home = np.array(model.qpos0)
    for name, angle in zip(robot.joints, robot.home, strict=True):
        home[model.joint(name).qposadr[0]] = angle
    arm = [int(model.joint(name).qposadr[0]) for name in robot.joints[robot.arm]]
    solved, began = 0, time.process_time()
    for pose in poses:
        goal = home.copy()
        goal[arm] = pose
        configuration.update(goal)
        target = configuration.get_transform_frame_to_world("tool", "site")
        task.set_target(target)
        configuration.update(home)
        for _ in range(100):
            velocity = mink.solve_ik(configuration, [task], 1.0, "daqp", damping=1e-6, limits=limits)
            configuration.integrate_inplace(velocity, 1.0)
            error = task.compute_error(configuration)
            if np.linalg.norm(error[:3]) < 1e-4 and np.linalg.norm(error[3:]) < 1e-2:
                solved += 1
                break
    return (time.process_time() - began) / len(poses) * 1e6, solved / len(poses)


def _ur5e_kinematics(say: Say) -> list[Figure]:
    """All eight branches of random reachable poses, alone and in batches; mink on the same ones; the numerical arm."""
    random = np.random.default_rng(0)
    joints = random.uniform(-np.pi, np.pi, (10_000, 6))
    positions, rotations = ur5e.forward(joints)
    solutions, spent = ur5e.solve(positions, rotations), []
    for _ in range(ROUNDS):
        began = time.process_time()
        solutions = ur5e.solve(positions, rotations)
        spent.append((time.process_time() - began) / len(positions) * 1e6)
    reached = solutions.reached
    there, turned = ur5e.forward(solutions.joints_rad)
    error_m = np.abs(there - positions[:, None])[reached].max()
    error = np.abs(turned - rotations[:, None])[reached].max()
    alone_us = float(np.median([_ur5e_alone_us(positions[at::ROUNDS], rotations[at::ROUNDS]) for at in range(ROUNDS)]))
    numeric = _numeric()
    peer_us, peer_share = _mink(_ur5e_model(), UR5E, joints[:200], say)
    values: list[tuple[str, float | None, str, str]] = [
        ("ur5e_ik_us_alone", alone_us, "µs", "closed form, eight branches of one target per call"),
        ("ur5e_ik_us_in_10000", float(np.median(spent)), "µs", "closed form, eight branches, per target in one call"),
        ("ur5e_ik_share_solved", float(reached.any(axis=1).mean()), "", "of reachable poses, closed form"),
        ("ur5e_ik_worst_error_um", float(error_m * 1e6), "µm", "of all branches that claim success"),
        ("ur5e_ik_worst_turn_urad", float(error * 1e6), "µrad", "of all branches that claim success"),
        ("ur5e_numeric_us", numeric[0], "µs", "numerical arm, per target that leans up to 0.5 rad"),
        ("ur5e_numeric_share_solved", numeric[1], "", "of such targets that the closed form solves"),
        ("ur5e_mink_us", peer_us, "µs", "mink on the same poses, per target"),
        ("ur5e_mink_share_solved", peer_share, "", "to 0.1 mm and 0.01 rad, from home"),
    ]
    return [Figure(name=name, value=value, unit=unit, meaning=meaning) for name, value, unit, meaning in values]


def _ur5e_alone_us(positions: Array, rotations: Array) -> float:
    count = 300
    began = time.process_time()
    for index in range(count):
        ur5e.solve(positions[index : index + 1], rotations[index : index + 1])
    return (time.process_time() - began) / count * 1e6


def _ur5e_model() -> mujoco.MjModel:
    spec = new_spec()
    UR5E.add_to(spec)
    return spec.compile()


def _numeric() -> tuple[float, float]:
    """CPU time per target of the numerical arm, and the share of those it solves that the closed form does."""
    arm, random = NumericArm(replace(UR5E, closed_form="")), np.random.default_rng(0)
    radius, azimuth = random.uniform(0.3, 0.8, 1000), random.uniform(-np.pi, np.pi, 1000)
    positions = np.column_stack([radius * np.cos(azimuth), radius * np.sin(azimuth), random.uniform(0.0, 0.3, 1000)])
    tilts, yaws = random.uniform(0.0, 0.5, 1000), random.uniform(-np.pi, np.pi, 1000)
    targets = positions, STRAIGHT_DOWN_RAD - tilts, yaws, np.zeros(3)
    known = UR5E_ARM.solve(*targets).reached
    began = time.process_time()
    found = arm.solve(*targets).reached
    spent_us = (time.process_time() - began) / len(positions) * 1e6
    return spent_us, float(found[known.any(axis=1)].any(axis=1).mean())
