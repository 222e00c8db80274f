"""What a GPU reaches: episodes an hour, next to what its physics does when no lane plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graspline.engine.cpu import CpuEngine
from graspline.episodes.episode import Episode
from graspline.episodes.processes import cores
from graspline.episodes.scenario import Scenario, sample_all
from graspline.gpu.certify import certified
from graspline.gpu.choose import GPU, open_gpu_engine
from graspline.gpu.engine_server import Spent
from graspline.gpu.workers import TEAMS, play_together
from graspline.stopwatch import seconds
from graspline.tasks.catalogue import find_task
from measured.episodes import Figure, Part

_WARM_TICKS, _IDLE_TICKS = 3, 40
# Scenes that idle arms stand in, over and over: to sample one for each of thousands of lanes would take minutes.
_IDLE_SCENES = 64
_CERTIFIED_AT_ONCE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """How many play: lanes, and processes, in teams."""

    lanes: int
    processes: int
    teams: int = TEAMS
    device: str = GPU


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of a run."""

    verdicts: Counter[str]
    succeeded: int
    false_successes: int
    # Seeds that did not succeed.
    failed: tuple[int, ...]
    spent: Spent
    # Physics steps of all lanes.
    steps: int
    # Successes that the CPU certifies; None if it was not asked.
    certified: int | None

    @property
    def episodes(self) -> int:
        """How many episodes were played."""
        return self.verdicts.total()

    @property
    def episodes_an_hour(self) -> float:
        """How many episodes an hour are played."""
        return 3600 * self.episodes / self.spent.all_s

    @property
    def physics_share(self) -> float:
        """Of the wall time, that in which the device stepped."""
        return self.spent.device_s / self.spent.all_s

    @property
    def steps_a_second(self) -> float:
        """Of physics, while the device stepped."""
        return self.steps / self.spent.device_s


def idle_steps_a_second(scenarios: Sequence[Scenario], count: int, engines: int = 1, device: str = GPU) -> float:
    """Physics steps a second of arms that stand still in `count` lanes, all in one engine or in several at once."""
    scene = scenarios[0].task.scene(scenarios[0].parameters)
    scenes = sample_all(scenarios[:_IDLE_SCENES])
    samples = [scenes[lane % len(scenes)] for lane in range(count // engines)]
    opened = [open_gpu_engine(scene, len(samples), device) for _ in range(engines)]
    for engine in opened:
        for lane, sampled in enumerate(samples):
            engine.reset(lane, sampled.start, sampled.variation)
    at = np.array([[sampled.start[scene.joint_address(name)] for name in scene.robot.joints] for sampled in samples])
    lanes = np.arange(len(samples))

    def tick(times: int) -> None:
        for engine in opened:
            engine.begin_step(at, lanes)
        for time in range(times):
            for engine in opened:
                engine.end_step()
                if time + 1 < times:
                    engine.begin_step(at, lanes)

    tick(_WARM_TICKS)
    began = seconds()
    tick(_IDLE_TICKS)
    return _IDLE_TICKS * engines * len(lanes) * scene.robot.substeps / (seconds() - began)


def play(scenarios: Sequence[Scenario], crowd: Crowd, *, certify: bool = False) -> Played:
    """All of them, from the first tick to the last; certified afterwards, which is not counted."""
    spent, verdicts, wrong = Spent(), Counter[str](), 0
    kept, failed = list[Episode](), list[int]()
    for episode in play_together(
        scenarios,
        lanes=crowd.lanes,
        processes=crowd.processes,
        teams=crowd.teams,
        device=crowd.device,
        keep_logs=certify,
        spent=spent,
        clock=seconds,
    ):
        verdicts[episode.verdict] += 1
        wrong += episode.false_success
        if episode.succeeded:
            kept += [episode] if certify else []
        else:
            failed.append(episode.scenario.seed)
    scene = scenarios[0].task.scene(scenarios[0].parameters)
    again = certified(kept, CpuEngine(scene, _CERTIFIED_AT_ONCE)) if kept else ()
    return Played(
        verdicts=verdicts,
        succeeded=verdicts.total() - len(failed),
        false_successes=wrong,
        failed=tuple(sorted(failed)),
        spent=spent,
        steps=spent.lane_ticks * scene.robot.substeps,
        certified=sum(bool(episode.certified) for episode in again) if certify else None,
    )


def gpu_part(lanes: int) -> Part:
    """What there is to measure of the first GPU, with `lift-cube` in `lanes` lanes."""
    return Part(
        what=f"{3 * lanes} episodes of lift-cube in {lanes} lanes on the GPU; kernels compile the first time",
        about_s=300,
        measure=lambda say: _measure_gpu(lanes),
    )


def _measure_gpu(lanes: int) -> list[Figure]:
    task = find_task("lift-cube")
    scenarios = [Scenario(task=task, parameters=task.parameters(), seed=seed) for seed in range(3 * lanes)]
    idle = idle_steps_a_second(scenarios, lanes)
    played = play(scenarios, Crowd(lanes=lanes, processes=cores()))

    def figure(name: str, value: float, unit: str, meaning: str) -> Figure:
        return Figure(name=f"gpu_{name}", value=value, unit=unit, meaning=meaning)

    return [
        figure("episodes_an_hour", played.episodes_an_hour, "1/h", "episodes of lift-cube, without pictures"),
        figure("success", played.succeeded / played.episodes, "", "share of them that succeeded"),
        figure("false_successes", played.false_successes, "", "claims that the simulator contradicts"),
        figure("physics_share", played.physics_share, "", "physics over wall time"),
        figure("physics_over_idle", played.steps_a_second / idle, "", "steps a second over those of idle arms"),
        figure("idle_steps", idle, "1/s", "physics steps a second of idle arms, all lanes together"),
    ]
