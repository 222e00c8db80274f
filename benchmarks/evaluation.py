"""What closed-loop evaluation of a policy costs over rendering and physics alone.

    python benchmarks/evaluation.py                                      lift-cube on all cores, an idle policy
    python benchmarks/evaluation.py --tasks grab tidy --lanes 8
    python benchmarks/evaluation.py --engine gpu --episodes 500          on a machine with a GPU

On the CPU a policy that stands still is evaluated as `graspline eval` does it: in a process of its own, with two
cameras of 320×240. Every turn of some frames is followed by what these frames need at the least: their controls through
physics on all cores, and then their pictures from as many processes as there are cores, in one batch. So whatever
else the machine does slows both alike. The first turn, in which renderers open, does not count.
`over_alone` is the speed of the loop over that of rendering and physics by wall time, `cpu_over_alone` the same by CPU
time of all processes, which other work on the machine hardly changes; `serial_…` are both if this process renders,
one picture after the other. One JSON object tells the figures.

With a GPU, every episode runs to its time limit or to its success, and the time counts from the first tick on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.engine.cpu import CpuEngine
from graspline.engine.protocol import Engine
from graspline.envs.evaluation import PolicyPilot
from graspline.envs.interface import Interface, interface_of
from graspline.envs.pictures import source_for
from graspline.envs.policy_process import PolicyProcess, ServedPolicies
from graspline.episodes.processes import cores
from graspline.episodes.render_pool import RenderPool
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.gpu.choose import open_engine
from graspline.rendering.batches import OpenSource, PictureJob
from graspline.scenes.scene import Scene
from graspline.tasks.catalogue import find_task

SEED = 500
IDLE = """
class Idle:
    def __init__(self):
        self.stand = None

    def __call__(self, observation):
        if self.stand is None:
            self.stand = observation["agent_pos"].copy()
        return self.stand
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=["lift-cube"])
    parser.add_argument("--cameras", default="")
    parser.add_argument("--lanes", type=int, default=16)
    parser.add_argument("--frames", type=int, default=10, help="frames of a turn")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--engine", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--episodes", type=int, default=500)
    parser.add_argument("--policy", default="", help="MODULE:NAME instead of one that stands still; with a GPU")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "idle_policy.py").write_text(IDLE)
        # Policies are looked for in the current directory.
        with contextlib.chdir("." if options.policy else folder):
            measured = {name: _measure(name, options) for name in options.tasks}
    print(json.dumps(measured, indent=2))


def _measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    scene = find_task(name).scene(find_task(name).parameters())
    usual = "head:320x240,hand:320x240" if "head" in scene.cameras else "front:320x240,wrist:320x240"
    interface = interface_of(scene, fps=30, cameras=options.cameras or usual, units="degrees")
    if options.engine == "gpu":
        return on_gpu(name, interface, options.episodes, options.policy or "idle_policy:Idle")
    shared_out = turns(name, interface, options, source_for("cpu", scene, interface, smooth=False, say=print))
    serial = turns(name, interface, options, None)
    return {**shared_out, **{f"serial_{key}": serial[key] for key in ("over_alone", "cpu_over_alone")}}


def turns(
    name: str, interface: Interface, options: argparse.Namespace, open_source: OpenSource | None
) -> dict[str, Any]:
    """Evaluate for some frames and do what they need alone, in turns."""
    task, lanes, ticks = find_task(name), options.lanes, interface.ticks_per_frame
    parameters = task.parameters()
    scenarios = [Scenario(task=task, parameters=parameters, seed=SEED + index) for index in range(lanes)]
    draws = [each.sample() for each in scenarios]
    scene = task.scene(parameters)
    alone = CpuEngine(scene, lanes, cores())
    for lane, draw in enumerate(draws):
        alone.reset(lane, draw.start, draw.variation)
    states: list[NDArray[np.float64]] = []
    loop_s, physics_s, render_s = list[Spent](), list[Spent](), list[Spent]()
    began = now()
    per_turn = options.frames * ticks

    def after_tick(engine: Engine) -> None:
        nonlocal began
        states.append(engine.qpos.copy())
        if len(states) < per_turn:
            return
        loop_s.append(since(began))
        physics_s.append(_physics_alone(alone, per_turn))
        render_s.append(_rendering_alone(pool, interface, states[ticks - 1 :: ticks], draws))
        states.clear()
        began = now()

    with PolicyProcess("idle_policy:Idle") as process:
        pool = RenderPool(scene, cores())
        pilot = PolicyPilot(
            interface=interface,
            policies=ServedPolicies(process, interface),
            max_seconds=((options.turns + 1) * options.frames + 0.5) / interface.fps,
        )
        played = run_scenarios(scenarios, lanes=lanes, pilot=pilot, after_tick=after_tick, open_source=open_source)
        count = sum(1 for _ in played)
        pool.close()
    frames = count * options.frames
    loop, physics, render = (np.array(each[1 : options.turns + 1]) for each in (loop_s, physics_s, render_s))
    wall, cpu = np.median((physics + render) / loop, axis=0).tolist()
    return {
        "lanes": lanes,
        "frames_per_second": round(float(frames / np.median(loop[:, 0])), 1),
        "physics_cpu_ms_per_frame": round(1e3 * float(np.median(physics[:, 1])) / frames, 3),
        "rendering_cpu_ms_per_frame": round(1e3 * float(np.median(render[:, 1])) / frames, 3),
        "loop_cpu_ms_per_frame": round(1e3 * float(np.median(loop[:, 1])) / frames, 3),
        "over_alone": round(wall, 3),
        "cpu_over_alone": round(cpu, 3),
    }


# Seconds by the clock, and of CPU time.
Spent = tuple[float, float]


def now() -> Spent:
    """The clock, and the CPU time of this process and of all that it has started and that run."""
    children = (path.read_text().split() for path in Path("/proc/self/task").glob("*/children"))
    stats = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for each in children for pid in each)
    ticks = sum(int(stat[11]) + int(stat[12]) for stat in stats)
    return time.perf_counter(), time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def since(before: Spent) -> Spent:
    wall, cpu = now()
    return wall - before[0], cpu - before[1]


def _physics_alone(engine: CpuEngine, ticks: int) -> Spent:
    controls = np.tile(engine.scene.robot.home, (engine.count, 1))
    lanes, began = np.arange(engine.count), now()
    for _ in range(ticks):
        engine.step(controls, lanes)
    return since(began)


def _rendering_alone(
    pool: RenderPool, interface: Interface, states: list[NDArray[np.float64]], draws: list[Any]
) -> Spent:
    """Episode by episode, as a dataset's pictures are rendered."""
    jobs = [
        PictureJob(qpos=qpos[lane], variation=draw.variation, camera=view.camera, width=view.width, height=view.height)
        for lane, draw in enumerate(draws)
        for view in interface.views
        for qpos in states
    ]
    began = now()
    pool.pictures(jobs)
    return since(began)


def on_gpu(name: str, interface: Interface, episodes: int, policy: str) -> dict[str, Any]:
    """Seconds from the first tick to the last verdict, all episodes side by side."""
    task = find_task(name)
    parameters = task.parameters()
    scenarios = [Scenario(task=task, parameters=parameters, seed=SEED + index) for index in range(episodes)]
    began = 0.0

    def engine_of(scene: Scene, count: int, threads: int) -> Engine:
        return open_engine("gpu", scene, count, threads)

    def after_tick(engine: Engine) -> None:
        nonlocal began
        began = began or time.perf_counter()

    def played(pilot: PolicyPilot) -> Iterator[Any]:
        source = source_for("gpu", task.scene(parameters), interface, smooth=False, say=print)
        return run_scenarios(
            scenarios, lanes=episodes, pilot=pilot, after_tick=after_tick, make_engine=engine_of, open_source=source
        )

    started = time.perf_counter()
    with PolicyProcess(policy) as process:
        limit_s = task.policy.time_limit_s(parameters)
        policies = ServedPolicies(process, interface)
        ended = list(played(PolicyPilot(interface=interface, policies=policies, max_seconds=limit_s)))
    over = time.perf_counter()
    simulated_s = sum(each.sim_time_s for each in ended)
    return {
        "episodes": len(ended),
        "succeeded": sum(each.succeeded for each in ended),
        "simulated_s": round(simulated_s, 1),
        "start_s": round(began - started, 1),
        "seconds": round(over - began, 1),
        "frames_per_second": round(simulated_s * interface.fps / (over - began), 1),
    }


if __name__ == "__main__":
    main()
