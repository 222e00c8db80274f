"""`graspline eval`: any policy, closed loop, judged like a run."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from graspline.cli.options import (
    Config,
    EngineName,
    Randomize,
    Settings,
    TaskName,
    engine_of,
    struck,
    task_and_parameters,
)
from graspline.cli.outputs import check_name, make_folder
from graspline.cli.playing import Report, play
from graspline.engine.choose import open_engine
from graspline.engine.cpu import CpuEngine
from graspline.envs.certify import certified_by_frames
from graspline.envs.evaluation import FOLLOW, PolicyPilot
from graspline.envs.interface import interface_of
from graspline.envs.pictures import source_for
from graspline.envs.policy_process import TIMEOUT_S, PolicyProcess, ServedPolicies
from graspline.episodes.faults import FAULTS, parse_faults
from graspline.episodes.film_frames import film_view
from graspline.episodes.run import Episode, run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.episodes.views import DEFAULT_VIEWS
from graspline.errors import InputError
from graspline.parameters import Parameters
from graspline.tasks.task import Task

# Worlds at once if it is not said how many.
_CPU_LANES, _GPU_LANES = 16, 512
# Episodes that the CPU plays again side by side.
_CERTIFIED_AT_ONCE = 64


def evaluate(
    task: TaskName,
    policy: Annotated[
        str, typer.Option(metavar="MODULE:NAME", help="A function from observation to action, or a class of such.")
    ],
    episodes: Annotated[int, typer.Option(min=1, max=1_000_000, metavar="N", help="How many episodes.")] = 10,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the first; the next ones count up.")] = 0,
    lanes: Annotated[
        int,
        typer.Option(
            min=0,
            max=4096,
            metavar="N",
            help=f"Worlds at once; 0 takes {_CPU_LANES}, on a GPU {_GPU_LANES}. Results do not depend on it.",
        ),
    ] = 0,
    engine: EngineName = "cpu",
    certify: Annotated[
        bool,
        typer.Option("--certify", help="Play every episode again on the CPU, from its actions, and judge it there."),
    ] = False,
    fps: Annotated[int, typer.Option(metavar="HZ", help="Actions a second; must divide the control rate, 60.")] = 30,
    cameras: Annotated[
        str, typer.Option(metavar="NAME:WxH,…", help="Cameras and sizes, or none for joints alone.")
    ] = DEFAULT_VIEWS,
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Antialias the pictures, as those of a dataset made with --smooth.")
    ] = False,
    units: Annotated[
        str, typer.Option(metavar="UNITS", help="degrees, or normalized for joints from -100 to 100.")
    ] = "degrees",
    max_seconds: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=3600,
            metavar="S",
            help="Simulated time after which an episode is over; left out, about three times what the task's own "
            "machine takes.",
        ),
    ] = None,
    policy_timeout: Annotated[
        float,
        typer.Option(min=0.1, max=86_400, metavar="S", help="Seconds the policy may take for one answer."),
    ] = TIMEOUT_S,
    config: Config = None,
    settings: Settings = None,
    randomize: Randomize = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar=f"NAME@{FOLLOW}[+S]",
            help=f"Let a fault ({', '.join(FAULTS)}) strike, S seconds into the episode; repeatable.",
        ),
    ] = None,
    require_success: Annotated[
        float | None,
        typer.Option(metavar="SHARE", min=0, max=1, help="Exit with 1 if fewer succeed, such as 0.9."),
    ] = None,
    video: Annotated[
        Path | None,
        typer.Option(metavar="FILE.mp4", help="Film; with several episodes the seed joins the name."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per episode on standard output.")] = False,
) -> None:
    """Let a policy do a task, closed loop, and judge it by truth.

    A policy is any function from an observation, {"pixels": {camera: uint8 (H, W, 3)}, "agent_pos": float32 (nu,),
    "task": a sentence}, to a target for each of the robot's nu joints in the same units, as datasets hold them. A class
    is made anew for every episode. Episodes end as success, out_of_time or policy_error; with the last one the exit
    code is 2. A policy runs in a process of its own.

    \b
    Examples:
      graspline eval lift-cube --policy my_policy:Policy --episodes 50
      graspline eval oranges --policy my_policy:Policy --cameras front:320x240 --require-success 0.8
      graspline eval lift-cube --policy my_policy:Policy --cameras none --fault drop@follow+3 --json
      graspline eval tidy --policy my_policy:Policy --cameras head:320x240,hand:320x240
      graspline eval lift-cube --policy my_policy:Policy --engine gpu --episodes 500 --certify
    """
    faults = tuple(fault or ())
    with ExitStack() as stack:
        processes: list[PolicyProcess] = []
        found, parameters = task_and_parameters(
            task,
            config,
            settings,
            lambda _: processes.append(stack.enter_context(PolicyProcess(policy, policy_timeout))),
            lambda named: interface_of(
                named.scene(named.parameters()), fps=fps, cameras=cameras, units=units, named=lambda name: f"--{name}"
            ),
            lambda _: parse_faults(faults, (FOLLOW,)),
            lambda _: video is None or check_name("--video", video, ".mp4"),
            randomize=randomize,
        )
        _judgeable(found, parameters)
        kind = engine_of(engine)
        parameters = struck(found, parameters, faults)
        limit_s = found.time_limit_s(parameters) if max_seconds is None else max_seconds
        scene = found.scene(parameters)
        if video is not None:
            film_view(found, parameters, scene)
            make_folder("--video", video.parent)
        interface = interface_of(scene, fps=fps, cameras=cameras, units=units)
        scenarios = [
            Scenario(task=found, parameters=parameters, seed=seed + index, faults=faults) for index in range(episodes)
        ]
        report = Report(
            episodes=episodes,
            seed=seed,
            scene=scene,
            as_json=as_json,
            video=video,
            require_success=require_success,
            by_machine=False,
        )

        def played(stop: Callable[[], bool], _: object) -> Iterator[Episode]:
            policies = ServedPolicies(processes[0], interface, stop)
            stack.callback(policies.close)
            pilot = PolicyPilot(interface=interface, policies=policies, max_seconds=limit_s, smooth=smooth)
            episodes = run_scenarios(
                scenarios,
                lanes=lanes or (_GPU_LANES if kind == "gpu" else _CPU_LANES),
                record_states=video is not None,
                stop=stop,
                pilot=pilot,
                make_engine=functools.partial(open_engine, kind),
                open_source=source_for(kind, scene, interface, smooth=smooth, say=_say),
            )
            if not certify:
                return episodes
            return certified_by_frames(episodes, CpuEngine(scene, _CERTIFIED_AT_ONCE), interface, stop)

        code = play(report, played)
    raise typer.Exit(code)


def _judgeable(task: Task[Any], parameters: Parameters) -> None:
    problems = task.policy_problems(parameters)
    if problems:
        raise InputError(problems)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
