"""What can be said of a task without playing it: names, parameters, table, scene, sampler and inputs."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graspline.conformance.report import Checked
from graspline.episodes.scenario import Scenario
from graspline.errors import GrasplineError
from graspline.machine.machine import Machine
from graspline.parameters import Parameters, dump, load
from graspline.tasks.catalogue import TASK_NAME, TASKS, origin_of
from graspline.tasks.task import Draw, Task
from graspline.wording import counted

# A sampler that rejects more scenes than this before it finds a good one makes datasets slow to generate.
_MOST_REFUSED = 1000
_SAMPLES = 16
# How long another process may take to import the task.
_IMPORT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The task that is checked, as it is set."""

    task: Task[Any]
    parameters: Parameters
    seed: int

    def scenario(self, seed: int, *faults: str) -> Scenario:
        """The scenario of a seed, with faults."""
        return Scenario(task=self.task, parameters=self.parameters, seed=seed, faults=faults)


def what_is_wrong(error: BaseException) -> str:
    """An error of the task's own code, on one line with where it was raised."""
    if isinstance(error, GrasplineError):
        return str(error)
    last, where = error.__traceback__, ""
    while last is not None:
        where, last = f"{last.tb_frame.f_code.co_filename}:{last.tb_lineno}", last.tb_next
    return f"{type(error).__name__}: {error} ({where})"


def check_names(subject: Subject) -> Checked:
    """The task's names are valid and free."""
    task = subject.task
    problems = []
    if not TASK_NAME.fullmatch(task.name):
        problems.append(f"name {task.name!r}: expected lower-case words joined by hyphens, such as stack-two")
    if task.name in TASKS and TASKS[task.name] is not task:
        problems.append(f"name {task.name!r} is that of another installed task")
    if not task.summary.strip():
        problems.append("summary is empty; lists of tasks show it")
    return Checked(name="names", note=task.name, problems=tuple(problems))


def check_parameters(subject: Subject) -> Checked:
    """The defaults are valid and survive being written and read."""
    problems = list(subject.task.problems(subject.parameters))
    again = load(type(subject.parameters), dump(subject.parameters))
    if again != subject.parameters:
        problems.append("parameters change when they are written to a file and read again")
    return Checked(name="parameters", note="written, read again, and feasible", problems=tuple(problems))


def check_table(subject: Subject) -> Checked:
    """The table is total, every state can be reached, and claims name states that exist."""
    machine = subject.task.machine(subject.parameters)
    problems = [*_unreachable(machine), *_strange_claims(subject.task, machine)]
    note = f"{len(machine.paths())} states, {len(machine.outcomes)} endings"
    return Checked(name="table", note=note, problems=tuple(problems))


def _unreachable(machine: Machine) -> Iterator[str]:
    for each in machine.successes:
        if each not in machine.outcomes:
            yield f"no state leads to the success {each!r}"


def _strange_claims(task: Task[Any], machine: Machine) -> Iterator[str]:
    paths = machine.paths()
    for state, outcome in task.claims.outcomes:
        if state not in paths:
            yield f"claims: {state!r} is no state"
            continue
        nested, _, name = state.rpartition(".")
        if outcome not in machine.nested(nested).table[name]:
            yield f"claims: {state!r} has no outcome {outcome!r}"


def check_scene(subject: Subject) -> Checked:
    """The scene compiles and has what the task names."""
    scene = subject.task.scene(subject.parameters)
    problems = []
    if scene is not subject.task.scene(subject.parameters):
        problems.append("scene() builds another scene each time; decorate it with functools.cache")
    if not scene.object_names:
        problems.append("the scene has no object")
    note = f"{scene.robot.name}, {counted(len(scene.object_names), 'object')}, {counted(len(scene.cameras), 'camera')}"
    return Checked(name="scene", note=note, problems=tuple(problems))


def check_sampler(subject: Subject) -> Checked:
    """The same seed samples the same scene, other seeds other ones, with few refusals."""
    samples = [subject.scenario(seed).sample() for seed in range(subject.seed, subject.seed + _SAMPLES)]
    problems = []
    if any(
        bits_of(one) != bits_of(subject.scenario(subject.seed + index).sample()) for index, one in enumerate(samples)
    ):
        problems.append("the same seed gives another scene the second time")
    if len({bits_of(each) for each in samples}) == 1:
        problems.append(f"{_SAMPLES} seeds give the same scene")
    worst = max(each.refused for each in samples)
    if worst > _MOST_REFUSED:
        problems.append(f"{worst} scenes were refused before one was good; at most {_MOST_REFUSED} is expected")
    mean = sum(each.refused for each in samples) / len(samples)
    return Checked(name="sampler", note=f"{mean:.1f} scenes rejected per usable scene", problems=tuple(problems))


def bits_of(sampled: Draw) -> bytes:
    """The bytes that equal sampled scenes share."""
    return pickle.dumps((sampled.start, sampled.variation))


def check_inputs(subject: Subject) -> Checked:
    """The machine gets every input that its states ask for."""
    scenario = subject.scenario(subject.seed)
    given = subject.task.inputs(subject.parameters, scenario.sample(), scenario.stream("perception"))
    machine = subject.task.machine(subject.parameters)
    problems = [f"the machine's input {name!r} is not given" for name in machine.inputs if name not in given]
    return Checked(name="inputs", note=", ".join(machine.inputs) or "none", problems=tuple(problems))


def check_processes(subject: Subject) -> Checked:
    """Whether a worker process can import the task."""
    origin = origin_of(subject.task)
    program = "import pickle, sys\nprint(pickle.load(sys.stdin.buffer).task.name)"
    try:
        packed = pickle.dumps(subject.scenario(subject.seed))
    except Exception as error:
        return Checked(name="workers", note=str(origin), problems=(what_is_wrong(error),))
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.path[:] = {sys.path!r}\n{program}"],
        input=packed,
        capture_output=True,
        timeout=_IMPORT_S,
        check=False,
    )
    problems = ()
    if done.returncode or done.stdout.decode().strip() != subject.task.name:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        problems = (f"another process cannot import it: {' '.join(last)}",)
    return Checked(name="workers", note=str(origin), problems=problems)
