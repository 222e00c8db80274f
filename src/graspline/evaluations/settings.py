"""What decides an evaluation besides the number of its episodes."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mujoco

from graspline.datasets.format.settings import flat
from graspline.episodes.scenario import Scenario
from graspline.parameters import Parameters, dump, load
from graspline.registry import Origin
from graspline.tasks.catalogue import TASKS, origin_of
from graspline.tasks.task import Task
from graspline.version import VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSettings:
    """Two evaluations with equal settings play the same episodes, seed by seed."""

    task: str
    # Where the task is defined.
    origin: Origin
    parameters: dict[str, Any]
    # Of the first episode; the others count up.
    seed: int
    faults: tuple[str, ...] = ()
    # As `--policy` names it.
    policy: str
    # Every other option that decides what the policy sees and for how long it may act, by its name.
    options: dict[str, Any] = field(default_factory=dict)
    graspline: str = VERSION
    mujoco: str = mujoco.__version__

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**dataclasses.asdict(self), "faults": list(self.faults)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> EvaluationSettings:
        """Raises ValueError if it is none."""
        kinds: dict[str, type] = {
            **dict.fromkeys(("task", "policy", "graspline", "mujoco"), str),
            **dict.fromkeys(("parameters", "options", "origin"), dict),
            "seed": int,
            "faults": list,
        }
        for name, kind in kinds.items():
            if not isinstance(plain.get(name), kind) or isinstance(plain[name], bool):
                raise ValueError(f"{name} is {plain.get(name)!r}")
        same = {name: plain[name] for name in kinds if name not in ("faults", "origin")}
        return cls(**same, faults=tuple(plain["faults"]), origin=Origin.from_dict(plain["origin"]))

    def found_task(self) -> tuple[Task[Any], Parameters]:
        """The task and its parameters as a scenario takes them."""
        task = TASKS.again(self.origin)
        return task, load(task.parameters, self.parameters)

    def scenario(self, seed: int) -> Scenario:
        """The scenario of a seed."""
        task, parameters = self.found_task()
        return Scenario(task=task, parameters=parameters, seed=seed, faults=self.faults)

    def command(self, seed: int) -> str:
        """The command that plays one episode again and films it."""
        words = ["graspline", "eval", TASKS.named(self.origin), "--policy", self.policy]
        words += ["--episodes", "1", "--seed", str(seed)]
        for name, value in self.options.items():
            if isinstance(value, bool):
                words += [f"--{name.replace('_', '-')}"] if value else []
            elif isinstance(value, list):
                words += [word for each in value for word in (f"--{name.replace('_', '-')}", str(each))]
            elif value not in (None, ""):
                words += [f"--{name.replace('_', '-')}", str(value)]
        for fault in self.faults:
            words += ["--fault", fault]
        for name, value in self._set():
            words += ["--set", f"{name}={value}"]
        return shlex.join([*words, "--video", f"seed-{seed}.mp4"])

    def _set(self) -> Iterable[tuple[str, Any]]:
        """Parameters that differ from the task's defaults."""
        usual = dict(flat(dump(TASKS.again(self.origin).parameters())))
        for name, value in flat(self.parameters):
            if usual.get(name) != value:
                yield name, str(value).lower() if isinstance(value, bool) else value


def settings_of(
    task: Task[Any],
    parameters: Parameters,
    *,
    seed: int,
    policy: str,
    faults: Iterable[str] = (),
    options: Mapping[str, Any] | None = None,
) -> EvaluationSettings:
    """The settings of an evaluation."""
    return EvaluationSettings(
        task=task.name,
        origin=origin_of(task),
        parameters=dict(dump(parameters)),
        seed=seed,
        faults=tuple(faults),
        policy=policy,
        options=dict(options or {}),
    )


def differences(
    has: EvaluationSettings, other: EvaluationSettings, words: tuple[str, str], besides: Iterable[str] = ()
) -> list[str]:
    """One line for each setting in which two differ, nested ones by their dotted names; some may be left out.

    `words` say whose the values are, such as "the folder has" and "asked for".
    """
    one, two = words
    if has.task != other.task:
        # All others follow from it.
        return [f"task: {one} {has.task}, {two} {other.task}"]
    old, new = dict(flat(has.as_dict())), dict(flat(other.as_dict()))
    return [
        f"{name.removeprefix('options.')}: {one} {old.get(name, 'nothing')}, {two} {new.get(name, 'nothing')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name) and not name.startswith(tuple(besides))
    ]
