"""Everything that is checked of a task, in the order in which a task author mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from graspline.conformance import definition, playing
from graspline.conformance.definition import Subject, what_is_wrong
from graspline.conformance.playing import CheckMonitor, Unwatched
from graspline.conformance.report import Checked, Conformance
from graspline.parameters import Parameters
from graspline.tasks.task import Task

# Without these nothing else can be checked.
_FIRST: dict[str, Callable[[Subject], Checked]] = {
    "names": definition.check_names,
    "parameters": definition.check_parameters,
    "table": definition.check_table,
    "scene": definition.check_scene,
    "sampler": definition.check_sampler,
    "inputs": definition.check_inputs,
    "workers": definition.check_processes,
}
NAMES = (*_FIRST, "goal", "claims", "bits", "faults")


def check_task(
    task: Task[Any],
    parameters: Parameters | None = None,
    *,
    episodes: int = 100,
    seed: int = 0,
    watch: CheckMonitor | None = None,
) -> Conformance:
    """Check a task and say what it breaks; `graspline check TASK` does the same.

    In a test, `check_task(STACK, episodes=20).require()` raises an `InputError` that lists every problem.

    >>> from dataclasses import replace
    >>> from graspline import check_task, find_task
    >>> copy = replace(find_task("lift-cube"), sentence="Lift the red cube.")
    >>> report = check_task(copy, episodes=1)
    >>> report.conforms, report.problems[0]
    (False, "names: name 'lift-cube' is that of another installed task")
    """
    watch = watch or Unwatched()
    subject = Subject(task=task, parameters=task.parameters() if parameters is None else parameters, seed=seed)
    found = []
    for each in _checks(subject, episodes, watch):
        if watch.stop():
            # What was cut short says nothing.
            found.append(_left_out(each.name, "interrupted"))
            break
        found.append(each)
        watch.checked(each)
    return Conformance(task=task.name, checks=tuple(found))


def _checks(subject: Subject, episodes: int, watch: CheckMonitor) -> Iterator[Checked]:
    sound = True
    for name, check in _FIRST.items():
        done = _tried(name, lambda check=check: check(subject)) if sound or name == "workers" else _left_out(name)
        sound = sound and done.kept
        yield done
    if not sound:
        yield from map(_left_out, NAMES[len(_FIRST) :])
        return
    play = playing.player(watch)
    seeds = range(subject.seed, subject.seed + episodes)
    ended = play("episodes", [subject.scenario(seed) for seed in seeds], playing.LANES[0])
    yield _tried("goal", lambda: playing.check_goal(subject, ended))
    yield _tried("claims", lambda: playing.check_claims(subject, ended))
    yield _tried("bits", lambda: playing.check_bits(subject, ended, play))
    yield _tried("faults", lambda: playing.check_faults(subject, play))


def _tried(name: str, check: Callable[[], Checked]) -> Checked:
    try:
        return check()
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:
        return Checked(name=name, note="", problems=(what_is_wrong(error),))


def _left_out(name: str, why: str = "not checked: fix the problems above first") -> Checked:
    return Checked(name=name, note=why, done=False)
