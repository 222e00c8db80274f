"""`graspline run`: play episodes and judge them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from graspline.choices import ASK_S
from graspline.cli.options import (
    Config,
    Disturb,
    EngineName,
    Lanes,
    Randomize,
    RobotName,
    Settings,
    TaskName,
    check_certify,
    check_faults,
    disturbable,
    disturbance_of,
    engine_of,
    lanes_of,
    machine_as_set,
    struck,
    task_and_parameters,
    with_robot,
)
from graspline.cli.outputs import check_name, make_folder
from graspline.cli.playing import Report, play
from graspline.cli.questions import TerminalQuestions, keyboard
from graspline.cli.run_progress import RunProgress
from graspline.cli.status_line import working
from graspline.cli.view import Viewer
from graspline.engine.cpu import CpuEngine
from graspline.engine.protocol import Engine
from graspline.episodes.episode import Episode
from graspline.episodes.films.film import SUFFIXES
from graspline.episodes.films.frames import film_view
from graspline.episodes.log_lines import Narrator
from graspline.episodes.playing import play_scenarios
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import GivenAnswer, Scenario
from graspline.errors import InputError, one_of
from graspline.faults.catalogue import fault_names
from graspline.gpu.certify import certified
from graspline.gpu.choose import open_engine

# Episodes that the CPU plays again side by side.
_CERTIFIED_AT_ONCE = 64


def run(
    task: TaskName,
    episodes: Annotated[int, typer.Option(min=1, max=1_000_000, metavar="N", help="Number of episodes.")] = 1,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the first episode; the others count up.")] = 0,
    lanes: Lanes = 0,
    threads: Annotated[
        int,
        typer.Option(min=0, max=1024, metavar="N", help="Physics threads (with a GPU: processes); 0 uses all cores."),
    ] = 0,
    engine: EngineName = "cpu",
    certify: Annotated[
        bool,
        typer.Option("--certify", help="Replay GPU episodes on the CPU, from their actions, and judge them there."),
    ] = False,
    config: Config = None,
    settings: Settings = None,
    robot: RobotName = None,
    randomize: Randomize = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME@STATE[+S]",
            help=f"Inject a fault, S seconds after a state is entered; repeatable. Faults: {', '.join(fault_names())}.",
        ),
    ] = None,
    disturb: Disturb = 0.0,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION",
            help="Answer the task's questions in advance, in order; repeatable. Without it, a single episode asks at "
            f"the terminal ({ASK_S:g} s each) and several take the defaults.",
        ),
    ] = None,
    require_success: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Exit with 1 if less than this share of episodes succeeds, such as 0.99.",
        ),
    ] = None,
    video: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.mp4",
            help="Save a film; .gif or .webp for a small one. With several episodes the seed is added to the name.",
        ),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Print events to standard error: info, or debug for every check."),
    ] = None,
    view: Annotated[bool, typer.Option("--view", help="Watch one lane in MuJoCo's viewer in real time.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per episode to standard output.")
    ] = False,
) -> None:
    """Run episodes of a task and judge them.

    The verdict is based on what the robot can measure, and is then checked against ground truth.

    \b
    Examples:
      graspline run lift-cube --episodes 100 --lanes 64
      graspline run lift-cube --seed 7 --video out/seven.mp4
      graspline run lift-cube --seed 7 --video out/seven.webp
      graspline run lift-cube --fault drop@lift+0.3 --json
      graspline run lift-cube --set perception.position_sigma_m=0.003
      graspline run oranges --randomize lighting,camera --video out/varied.mp4
      graspline run lift-cube --disturb 1 --video out/pushed.mp4
      graspline run tidy --answer single_grasp --answer handover
      graspline run lift-cube --engine auto --episodes 20
      graspline run lift-cube --engine gpu --episodes 100000 --certify
    """
    settings = with_robot(task, settings, robot)
    faults = tuple(fault or ())
    found, parameters = task_and_parameters(
        task,
        config,
        settings,
        lambda named: check_faults(named, faults, machine_as_set(named, config, settings).paths()),
        lambda _: video is None or check_name("--video", video, *SUFFIXES),
        lambda _: log is None or one_of(log, ("info", "debug"), "--log"),
        disturbable(disturb),
        lambda _: not certify or check_certify("--certify", engine),
        lambda _: not (certify and (view or log)) or _not_together(),
        randomize=randomize,
    )
    kind = engine_of(engine)
    if certify and kind == "cpu":
        _say("--certify has no effect: these episodes run on the CPU")
    lanes = lanes_of(lanes, kind, 16)
    with working("compiling the scene"):
        parameters = struck(found, parameters, faults)
        scene = found.scene(parameters)
        if video is not None:
            film_view(found, parameters, scene)
            make_folder("--video", video.parent)
    given = tuple(GivenAnswer(text=each) for each in answer or ())
    scenarios = [
        Scenario(
            task=found,
            parameters=parameters,
            seed=seed + index,
            faults=faults,
            answers=given,
            disturb=disturbance_of(disturb),
        )
        for index in range(episodes)
    ]
    narrator = (
        None
        if log is None
        else Narrator("debug" if log == "debug" else "info", _say, found.machine(parameters).vertical)
    )
    viewer = None
    if view:
        viewer = Viewer(scene)
        lanes = 1

    def after_tick(engine: Engine, progress: RunProgress) -> None:
        progress.tick(engine)
        if viewer is not None:
            viewer.show(engine)
        if narrator is not None:
            narrator.after_tick(engine)

    def played_apart(stop: Callable[[], bool]) -> Iterator[Episode]:
        episodes = play_scenarios(
            kind,
            scenarios,
            lanes=lanes,
            threads=threads,
            keep_logs=certify or video is not None,
            record_states=video is not None,
            stop=stop,
        )
        return certified(episodes, CpuEngine(scene, _CERTIFIED_AT_ONCE, threads), stop) if certify else episodes

    report = Report(
        episodes=episodes,
        seed=seed,
        scene=scene,
        as_json=as_json,
        video=video,
        require_success=require_success,
        logged=log is not None,
    )
    typing = keyboard() if episodes == 1 else None

    def person(stop: Callable[[], bool], progress: RunProgress) -> TerminalQuestions | None:
        return None if typing is None else TerminalQuestions(typing, stop=stop, quiet=progress.hidden)

    try:
        code = play(
            report,
            lambda stop, progress: (
                played_apart(stop)
                if kind == "gpu" and viewer is None and narrator is None
                else run_scenarios(
                    scenarios,
                    lanes=lanes,
                    threads=threads,
                    record_states=video is not None,
                    observers=[] if narrator is None else [narrator],
                    after_tick=functools.partial(after_tick, progress=progress),
                    stop=lambda: stop() or (viewer is not None and viewer.closed),
                    make_engine=functools.partial(open_engine, kind),
                    ask=person(stop, progress),
                )
            ),
        )
    finally:
        if viewer is not None:
            viewer.close()
    raise typer.Exit(code)


def _not_together() -> None:
    raise InputError("--certify: cannot be combined with --view or --log")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
