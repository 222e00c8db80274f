"""Options that commands share, and how they become parameters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from graspline.choices import ASPECTS, EngineChoice
from graspline.cli.status_line import working
from graspline.engine.protocol import EngineKind
from graspline.episodes.fault_injection import faults_in, parse_faults
from graspline.errors import InputError, WiringError, nearest, together
from graspline.execution.disturbance import Disturbance
from graspline.faults.catalogue import find_fault
from graspline.gpu.choose import chosen
from graspline.machine.machine import Machine
from graspline.parameters import Parameters, build, load_yaml
from graspline.parameters.notation import printable
from graspline.tasks.catalogue import TASKS, find_task, origin_of
from graspline.tasks.on_robot import able_robot
from graspline.tasks.task import Task

TaskName = Annotated[str, typer.Argument(metavar="TASK", help=f"A task: {', '.join(TASKS)}, or MODULE:NAME.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the dataset.", show_default=False)]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="YAML file with parameters, as `graspline config` prints them."),
]
EngineName = Annotated[
    EngineChoice,
    typer.Option(
        "--engine",
        help="Physics engine. cpu: bit-identical every time. gpu: thousands of lanes in single precision, slightly "
        "different from run to run. auto: a GPU if there is one.",
    ),
]
PolicyTimeout = Annotated[
    float,
    typer.Option(min=0.1, max=86_400, metavar="S", help="Longest time the policy may take for one action, in seconds."),
]
PolicyPython = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Python interpreter that runs the policy, such as one that has lerobot."),
]
PolicySet = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="With lerobot:DIR: override a value of its config.json, such as n_action_steps=25; repeatable.",
    ),
]
PolicyDevice = Annotated[
    str | None,
    typer.Option(metavar="DEVICE", help="With lerobot:DIR: cuda or cpu, instead of the device in its config.json."),
]
# How many simulations side by side, unless --lanes says otherwise: enough to fill a device.
_GPU_LANES = 8192
Lanes = Annotated[
    int,
    typer.Option(
        min=0,
        max=65_536,
        metavar="N",
        help=f"Parallel simulations; 0 chooses what suits the engine ({_GPU_LANES} on a GPU). Results do not "
        "depend on it.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a parameter, such as jaw.standoff_m=0.04; repeatable."),
]


RobotName = Annotated[
    str | None,
    typer.Option(
        "--robot",
        metavar="ROBOT",
        help="Robot that does the task, where the task leaves it open: a registered name, MODULE:NAME, or a "
        "description file (.yaml).",
    ),
]


Randomize = Annotated[
    str | None,
    typer.Option(
        "--randomize",
        metavar="ASPECTS",
        help="Randomize these in every episode: all, or a list such as lighting,camera. Aspects: "
        f"{', '.join(ASPECTS)}.",
    ),
]


Disturb = Annotated[
    float,
    typer.Option(
        "--disturb",
        min=0,
        max=2,
        metavar="STRENGTH",
        help="Push the arm off its path as it moves and let it correct itself: 1 means 1 to 4 cm, 0.5 half of that, 0 "
        "none.",
    ),
]


def disturbance_of(strength: float) -> Disturbance | None:
    """How the arm is pushed off its paths at this strength; None for no push."""
    return Disturbance(strength=strength) if strength else None


def disturbable(strength: float) -> Callable[[Task[Any]], None]:
    """A check that a task says where its arm may be pushed; tasks that do are listed."""

    def check(task: Task[Any]) -> None:
        if strength and not task.disturbable:
            able = ", ".join(name for name, each in TASKS.usable().items() if each.disturbable)
            raise InputError(f"--disturb {strength:g}: {task.name} has no motions that may be disturbed; choose {able}")

    return check


def with_robot(name: str, settings: list[str] | None, robot: str | None) -> list[str] | None:
    """The settings of a command with `--robot`, which is a setting of tasks that leave their robot open."""
    if robot is None:
        return settings
    task = find_task(name)
    if "robot" not in task.parameters.model_fields:
        able = [each.name for each in TASKS.usable().values() if "robot" in each.parameters.model_fields]
        raise InputError(
            f"--robot {printable(robot)}: {task.name} is done by one robot"
            f"{f', {task.robot}' if task.robot else ''}; choose one of {', '.join(able)}"
        )
    # Here what is wrong with it takes a line for each problem.
    able_robot(robot)
    return [*(settings or ()), f"robot={robot}"]


def task_and_parameters(
    name: str,
    config: Path | None,
    settings: list[str] | None,
    *checks: Callable[[Task[Any]], object],
    randomize: str | None = None,
    wired: bool = True,
) -> tuple[Task[Any], Parameters]:
    """The task by name, and its parameters from defaults, file, `--randomize` and `--set`, later ones winning.

    Problems that `checks` find in other options are raised together with those of the parameters. Unless `wired` is
    false, a task whose machine cannot be built is bad input, too: it may be another distribution's.
    """
    task = find_task(name)

    def built() -> Parameters:
        document = load_yaml(config) if config is not None else None
        return _feasible(task, build(task.parameters, document, [*randomizing(task, randomize), *(settings or ())]))

    with working("checking the settings"):
        parameters, *_ = together(
            built,
            *(lambda check=check: check(task) for check in checks),
        )
        if wired:
            _machine(task, parameters)
    return task, parameters


def is_installed(named: str) -> bool:
    """Whether a task's name is registered; a place says nothing before it is looked up."""
    return ":" not in named and named in TASKS


def _machine(task: Task[Any], parameters: Parameters) -> Machine:
    try:
        return task.machine(parameters)
    except WiringError as error:
        raise InputError(f"task {task.name!r} ({origin_of(task)}): {error}") from error


def offering(command: str, capability: Literal["region", "feed"]) -> Callable[[Task[Any]], None]:
    """A check that a task has what a command needs; tasks that have are listed."""

    def check(task: Task[Any]) -> None:
        if getattr(task, capability) is None:
            able = ", ".join(name for name, each in TASKS.usable().items() if getattr(each, capability) is not None)
            raise InputError(f"{command} does not work with {task.name}; choose {able}")

    return check


def randomizing(task: Task[Any], aspects: str | None) -> list[str]:
    """`--randomize lighting,camera` as assignments that turn these on; `all` is what the task offers."""
    if aspects is None:
        return []
    offered = task.randomization(task.parameters()).aspects
    named = offered if aspects.strip() == "all" else tuple(each.strip() for each in aspects.split(","))
    problems = [
        f"--randomize {printable(each)}: "
        + (f"{task.name} has none" if each in ASPECTS else "unknown aspect")
        + f"; {nearest(each, ('all', *offered))}"
        for each in named
        if each not in offered
    ]
    if problems:
        raise InputError(problems)
    return [f"randomize.{each}.on=true" for each in named]


def machine_as_set(task: Task[Any], config: Path | None, settings: Iterable[str] | None) -> Machine:
    """The machine that these settings make; where they are wrong, which is reported elsewhere, that of the defaults."""
    try:
        parameters = build(task.parameters, load_yaml(config) if config is not None else None, list(settings or ()))
    except InputError:
        parameters = task.parameters()
    return _machine(task, parameters)


def check_faults(task: Task[Any], texts: Iterable[str], states: Iterable[str], option: str = "--fault") -> None:
    """Refuse faults that cannot be read; an unknown name gets those that the task knows."""
    parse_faults(texts, states, option, offered=lambda: faults_of(task))


def faults_of(task: Task[Any]) -> tuple[str, ...]:
    """Names of the faults that can strike in a task's scene."""
    return faults_in(task.scene(task.fault_hints.equipped(task.parameters())))


def equipped(task: Task[Any], parameters: Parameters, faults: Iterable[str]) -> Parameters:
    """Parameters of a scene in which these faults find what they need."""
    everything = task.fault_hints.equipped(parameters)
    if everything == parameters:
        return parameters
    without, with_all = task.scene(parameters), task.scene(everything)
    lacking = [each for each in map(find_fault, faults) if each.missing_in(without) and not each.missing_in(with_all)]
    return everything if lacking else parameters


def struck(task: Task[Any], parameters: Parameters, faults: Iterable[str]) -> Parameters:
    """The same for faults with their states, `NAME@STATE`; one that could never be injected is refused."""
    names = {fault: fault.partition("@")[0] for fault in faults}
    parameters = equipped(task, parameters, names.values())
    missing = {fault: find_fault(name).missing_in(task.scene(parameters)) for fault, name in names.items()}
    problems = [f"--fault {fault}: does not apply to {task.name}: {why}" for fault, why in missing.items() if why]
    if problems:
        raise InputError(problems)
    return parameters


def _feasible(task: Task[Any], parameters: Parameters) -> Parameters:
    problems = task.problems(parameters)
    if problems:
        raise InputError(problems)
    return parameters


def engine_of(choice: EngineChoice) -> EngineKind:
    """The engine that is asked for; where `auto` means the CPU, a line says why."""
    return chosen(choice, lambda line: print(line, file=sys.stderr, flush=True))


def check_certify(option: str, engine: EngineChoice) -> None:
    """Refuse an option about certification where no GPU is asked for."""
    if engine == "cpu":
        raise InputError(f"{option}: only for episodes run on a GPU; add --engine gpu, or leave it out")


def lanes_of(lanes: int, engine: EngineKind, on_cpu: int) -> int:
    """How many simulations side by side: what was asked for, or what suits the engine."""
    return lanes or (_GPU_LANES if engine == "gpu" else on_cpu)
