"""`graspline eval`: any policy, closed loop, judged like a run."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from graspline.choices import DEFAULT_VIEWS, POLICY_TIMEOUT_S
from graspline.cli.evaluations import check_installed, finish, open_evaluation
from graspline.cli.interrupts import stopping
from graspline.cli.options import (
    Config,
    EngineName,
    PolicyDevice,
    PolicyPython,
    PolicySet,
    PolicyTimeout,
    Randomize,
    RobotName,
    Settings,
    TaskName,
    check_faults,
    engine_of,
    struck,
    task_and_parameters,
    with_robot,
)
from graspline.cli.outputs import check_name, make_folder
from graspline.cli.playing import Report, play
from graspline.cli.run_progress import RunProgress
from graspline.cli.status_line import working
from graspline.engine.cpu import CpuEngine
from graspline.engine.protocol import Engine, EngineKind
from graspline.envs.checkpoints import check_fits, defaults_of, find_checkpoint, policy_source
from graspline.envs.evaluation import PolicyPilot
from graspline.envs.interface import Interface, interface_of
from graspline.envs.pictures import source_for
from graspline.envs.policies import PolicySource, is_checkpoint
from graspline.envs.policy_process import PolicyProcess, ServedPolicies, play_lost_again
from graspline.episodes.episode import Episode
from graspline.episodes.films.film import SUFFIXES
from graspline.episodes.films.frames import film_view
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.errors import InputError
from graspline.evaluations.settings import settings_of
from graspline.execution.drivers import FOLLOW
from graspline.faults.catalogue import fault_names
from graspline.gpu.certify_policies import certified_by_frames
from graspline.gpu.choose import check_gpu, open_engine
from graspline.parameters import Parameters
from graspline.scenes.scene import Scene
from graspline.tasks.task import Task

# Worlds at once if it is not said how many.
_CPU_LANES, _GPU_LANES = 16, 512
# Episodes that the CPU plays again side by side.
_CERTIFIED_AT_ONCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _EpisodePlayer:
    """How episodes are played and certified."""

    scene: Scene
    interface: Interface
    engine: EngineKind
    renderer: EngineKind
    lanes: int
    max_seconds: float
    smooth: bool
    certify: bool
    record_states: bool

    def play(
        self,
        scenarios: Sequence[Scenario],
        policies: ServedPolicies,
        stop: Callable[[], bool],
        after_tick: Callable[[Engine], None],
    ) -> Iterator[Episode]:
        pilot = PolicyPilot(
            interface=self.interface, policies=policies, max_seconds=self.max_seconds, smooth=self.smooth
        )

        def run(left: Sequence[Scenario]) -> Iterator[Episode]:
            return run_scenarios(
                left,
                lanes=self.lanes or (_GPU_LANES if self.engine == "gpu" else _CPU_LANES),
                record_states=self.record_states,
                stop=stop,
                after_tick=after_tick,
                pilot=pilot,
                make_engine=functools.partial(open_engine, self.engine),
                open_source=source_for(self.renderer, self.scene, self.interface, smooth=self.smooth, say=_say),
            )

        episodes = play_lost_again(scenarios, policies, run, stop)
        if not self.certify:
            return episodes
        return certified_by_frames(episodes, CpuEngine(self.scene, _CERTIFIED_AT_ONCE), self.interface, stop)


def evaluate(
    task: TaskName,
    policy: Annotated[
        str,
        typer.Option(
            metavar="MODULE:NAME|lerobot:DIR",
            help="A function from observation to action, a class whose instances are such functions, or a "
            "lerobot-train checkpoint.",
        ),
    ],
    episodes: Annotated[int, typer.Option(min=1, max=1_000_000, metavar="N", help="Number of episodes.")] = 10,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="S",
            help="Seed of the first episode; the others count up. `generate` starts at 0 too: for held-out scenes use "
            "a high one, such as 1000000.",
        ),
    ] = 0,
    lanes: Annotated[
        int,
        typer.Option(
            min=0,
            max=4096,
            metavar="N",
            help=f"Number of parallel simulations; 0 means {_CPU_LANES} ({_GPU_LANES} on a GPU). Results do not depend "
            "on it.",
        ),
    ] = 0,
    engine: EngineName = "cpu",
    renderer: Annotated[
        Literal["auto", "cpu", "gpu"],
        typer.Option(
            help="What renders images. gpu: one GPU for all lanes, also for --engine cpu, whose episodes then stay "
            "bit-identical for the same actions. auto: what --engine uses."
        ),
    ] = "auto",
    certify: Annotated[
        bool,
        typer.Option("--certify", help="Replay every episode on the CPU, from its actions, and judge it there."),
    ] = False,
    fps: Annotated[
        int | None,
        typer.Option(
            metavar="HZ",
            help="Actions per second; must divide the control rate, 60. Default: the checkpoint's, else 30.",
        ),
    ] = None,
    cameras: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:WxH,…",
            help=f"Cameras and image sizes, or none for joints only. Default: the checkpoint's, else {DEFAULT_VIEWS}.",
        ),
    ] = None,
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Antialias images, as in a dataset generated with --smooth.")
    ] = False,
    units: Annotated[
        str | None,
        typer.Option(
            metavar="UNITS",
            help="degrees, or normalized (joints from -100 to 100). Default: those of the checkpoint's data, "
            "else degrees.",
        ),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=3600,
            metavar="S",
            help="Simulated time limit of an episode. Default: about three times what the scripted expert takes.",
        ),
    ] = None,
    policy_timeout: PolicyTimeout = POLICY_TIMEOUT_S,
    policy_python: PolicyPython = None,
    policy_set: PolicySet = None,
    policy_device: PolicyDevice = None,
    config: Config = None,
    settings: Settings = None,
    robot: RobotName = None,
    randomize: Randomize = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME@follow[+S]",
            help=f"Inject a fault, S seconds into the episode; repeatable. Faults: {', '.join(fault_names())}.",
        ),
    ] = None,
    require_success: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", min=0, max=1, help="Exit with 1 if less than this share of episodes succeeds, such as 0.9."
        ),
    ] = None,
    video: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.mp4",
            help="Save a film; .gif or .webp for a small one. With several episodes the seed is added to the name.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Save everything there: evaluation.json, episodes.jsonl, logs of failures, report.html. If it is "
            "interrupted, the same command continues.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per episode to standard output.")
    ] = False,
) -> None:
    """Evaluate a policy in closed loop against ground truth.

    A policy is any function from an observation, {"pixels": {camera: uint8 (H, W, 3)}, "agent_pos": float32 (nu,),
    "task": a sentence}, to a target for each of the robot's nu joints, in the units of the datasets. A class is
    instantiated for every episode. Episodes end with success, out_of_time or policy_error (exit code 2). The policy
    runs in a process of its own, which may use another Python. A checkpoint sets the cameras, image sizes and rate.

    \b
    Examples:
      graspline eval lift-cube --policy hold-still --cameras none
      graspline eval lift-cube --policy my_policy:Policy --episodes 50
      graspline eval oranges --policy my_policy:Policy --cameras front:320x240 --require-success 0.8
      graspline eval lift-cube --policy my_policy:Policy --cameras none --fault drop@follow+3 --json
      graspline eval lift-cube --policy my_policy:Policy --episodes 500 --out out/eval
      graspline eval lift-cube --policy lerobot:out/train --policy-python ~/lerobot/bin/python --episodes 500
      graspline eval lift-cube --policy lerobot:out/train --policy-set n_action_steps=25 --policy-device cuda
      graspline eval tidy --policy my_policy:Policy --cameras head:320x240,hand:320x240
      graspline eval lift-cube --policy my_policy:Policy --renderer gpu --lanes 500 --episodes 500
      graspline eval lift-cube --policy my_policy:Policy --engine gpu --episodes 500 --certify
    """
    settings = with_robot(task, settings, robot)
    faults, defaults = tuple(fault or ()), defaults_of(policy)
    given = {"fps": fps, "cameras": cameras, "units": units}
    fps, cameras, units = fps or defaults.fps, cameras or defaults.cameras, units or defaults.units
    smooth = smooth or defaults.smooth

    def option(name: str) -> str:
        return f"--policy {policy}: its {name}" if is_checkpoint(policy) and given[name] is None else f"--{name}"

    if out is not None:
        check_installed(task, out)
    with ExitStack() as stack:
        processes: list[PolicyProcess] = []
        sources: list[PolicySource] = []

        def start() -> None:
            processes.append(stack.enter_context(PolicyProcess(sources[0], policy_timeout)))

        def check_policy() -> None:
            sources.append(policy_source(policy, policy_python, policy_set or (), policy_device))
            if not is_checkpoint(policy):
                start()

        found, parameters = task_and_parameters(
            task,
            config,
            settings,
            lambda _: check_policy(),
            lambda named: interface_of(
                named.scene(named.parameters()), fps=fps, cameras=cameras, units=units, named=option
            ),
            lambda named: check_faults(named, faults, (FOLLOW,)),
            lambda _: video is None or check_name("--video", video, *SUFFIXES),
            randomize=randomize,
        )
        _judgeable(found, parameters)
        kind = engine_of(engine)
        renders = kind if renderer == "auto" else renderer
        if renders != kind and renders == "gpu":
            check_gpu("--renderer gpu")
        with working("compiling the scene"):
            parameters = struck(found, parameters, faults)
            limit_s = found.policy.time_limit_s(parameters) if max_seconds is None else max_seconds
            scene = found.scene(parameters)
            interface = interface_of(scene, fps=fps, cameras=cameras, units=units)
        if is_checkpoint(policy):
            check_fits(find_checkpoint(policy), interface)
            # Loading takes seconds: not before everything else is known to be right.
            with working("loading the policy"):
                start()
        if video is not None:
            film_view(found, parameters, scene)
            make_folder("--video", video.parent)
        kept = None
        if out is not None:
            options = {
                "fps": fps,
                "cameras": ",".join(map(str, interface.views)) or "none",
                "smooth": smooth,
                "units": units,
                "max_seconds": limit_s,
                "engine": kind,
                "renderer": renders,
                "certify": certify,
                "policy_python": None if policy_python is None else str(policy_python),
                "policy_set": sorted(policy_set or ()),
                "policy_device": policy_device,
            }
            asked = settings_of(found, parameters, seed=seed, policy=policy, faults=faults, options=options)
            kept = open_evaluation(out, asked, stack)
        recorded = {} if kept is None else dict(kept.lines)
        player = _EpisodePlayer(
            scene=scene,
            interface=interface,
            engine=kind,
            renderer=renders,
            lanes=lanes,
            max_seconds=limit_s,
            smooth=smooth,
            certify=certify,
            record_states=video is not None,
        )
        scenarios = [
            Scenario(task=found, parameters=parameters, seed=each, faults=faults)
            for each in range(seed, seed + episodes)
            if each not in recorded
        ]
        report = Report(
            episodes=episodes,
            seed=seed,
            scene=scene,
            as_json=as_json,
            video=video,
            require_success=require_success,
            by_machine=False,
            recorded=tuple(recorded.values()),
        )

        def played(stop: Callable[[], bool], progress: RunProgress) -> Iterator[Episode]:
            policies = ServedPolicies(processes[0], interface, stop)
            stack.callback(policies.close)
            for episode in player.play(scenarios, policies, stop, progress.tick):
                if kept is not None:
                    kept.add(episode, scene)
                yield episode

        code = play(report, played)
        if kept is not None:
            with stopping() as stop:
                finish(kept, lambda: stop() or code == 130, report.say)
    raise typer.Exit(code)


def _judgeable(task: Task[Any], parameters: Parameters) -> None:
    problems = task.policy.problems(parameters)
    if problems:
        raise InputError(problems)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
