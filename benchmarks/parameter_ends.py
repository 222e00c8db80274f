"""Every parameter of every task at both ends of what is allowed, and what that changes before anything is played.

Sections of parameters that a machine is merely given prove nothing, for nobody may read them; what counts is a refusal,
another scene, another sample, another instruction, another machine, or an input that was computed.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

import numpy as np

from graspline.episodes.scenario import Scenario
from graspline.errors import InputError
from graspline.machine.machine import Machine
from graspline.parameters import Parameters, Range, build
from graspline.parameters.allowed import Allowed, allowed_in
from graspline.perception.core.beliefs import Belief
from graspline.tasks.task import Task

_POSES = [0.6, 0.0, 0.75, 0.0, 1.0, 0.0, 0.0, 0.06]
_BOX = [0.6, 0.0, 0.75, 0.0, 0.03, 0.03, 0.05]
_EXECUTE = ("program=execute_grasp", f"alone.grasp_poses={_POSES}", f"alone.grasp_object_bb={_BOX}")
# Settings under which a parameter matters at all, by patterns of task and parameter; the first that fits.
SETTINGS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("oranges", "plate.virtual_*", ("plate.present=false",)),
    ("oranges", "carry.retreat_share", ("carry.strategy=retreat",)),
    ("oranges", "carry.least_radius_m", ("carry.strategy=retreat", "carry.retreat_share=0.9")),
    ("oranges", "closing.end_percent", ("closing.by=percent",)),
    ("oranges", "posture.creep_m", ("posture.tilt_error_rad=0.0001",)),
    ("oranges", "posture.floor_m", ("posture.tilt_error_rad=0.0001",)),
    ("oranges", "home.*", ("home.x_m=0.2", "home.y_m=0", "home.z_m=0.2")),
    ("oranges", "perception.camera_watch_hz", ("perception.source=camera",)),
    ("oranges", "perception.width", ("perception.source=camera",)),
    ("oranges", "perception.height", ("perception.source=camera",)),
    # The fruit always moves a little in the hand; it is watched often enough that two sightings take less than this.
    ("oranges", "hold.sure_s", ("hold.slip_m=0.0005", "perception.watch_hz=60")),
    ("oranges", "targets.*", ("oranges.count=3", "targets.choose=3,1")),
    ("oranges", "spots.tries", ("spots.strategy=center_to_edge", "oranges.count=3")),
    ("oranges", "spots.*", ("oranges.count=3",)),
    ("oranges", "rest.displaced_m", ("oranges.count=2",)),
    ("oranges", "retries.*", ("oranges.count=1",)),
    ("grab", "perception.camera_watch_hz", ("perception.source=camera",)),
    ("grab", "perception.width", ("perception.source=camera",)),
    ("grab", "perception.height", ("perception.source=camera",)),
    ("grab", "grasp.tcp", ("order.variables=given", "grasp.tcp_offset=false")),
    ("grab", "grasp.*", ("order.variables=given",)),
    ("sort", "belt.least_gap_m", ("belt.spacing=random",)),
    ("sort", "rules.unknown", ("blocks.unknown_share=1",)),
    ("tidy", "alone.grasp_*", _EXECUTE),
    ("tidy", "alone.*", ("program=placement",)),
    ("tidy", "handover.*", ("then=handover",)),
    ("tidy", "rules.shelf", ("program=clear_table", "table.objects=[mug]")),
    ("tidy", "retries.rounds", ("program=clear_table",)),
    ("tidy", "placing.area", ("table.objects=[apple]",)),
    ("tidy", "table.gap_m", ("table.count=[5,5]",)),
    ("grab", "things.apart_m", ("things.count=[7,7]",)),
    ("oranges", "oranges.apart_m", ("oranges.count=2",)),
    ("*", "jaw.error_sigmas", ("perception.position_sigma_m=0.002",)),
)
# Values of parameters that have no ends.
VALUES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("oranges", "targets.choose"): ("nearest:1", "2"),
    ("grab", "order.target"): ("white_can",),
    ("tidy", "object_to_grasp"): ("apple",),
    ("tidy", "table.objects"): ("[mug]",),
    ("tidy", "placing.areas_file"): ("no_such_file.yaml",),
    ("tidy", "placing.area"): ("one_board",),
    ("tidy", "rules.shelf"): ("[mug]",),
    ("tidy", "alone.object"): ("mug",),
    ("tidy", "alone.grasp_poses"): (str([0.61, *_POSES[1:]]),),
    ("tidy", "alone.grasp_object_bb"): (str([0.61, *_BOX[1:]]),),
    ("tidy", "alone.placement_surface_to_wrist"): ("[0.02, 0.0, -0.05, 0.7071, 0.0, -0.7071, 0.0]",),
    ("tidy", "handover.force_thresh"): ("2", "50"),
}
# What keeps samples and episodes short; a parameter that says otherwise wins.
BRIEF: Mapping[str, tuple[str, ...]] = {
    "lift-cube": (),
    "oranges": ("oranges.count=1",),
    "grab": (),
    "sort": ("belt.blocks=3",),
    "tidy": ("table.count=[1,1]", "table.shelved=[1,1]"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One parameter of a task set to one value, and the settings it is compared under."""

    task: Task[Any]
    path: str
    settings: tuple[str, ...]
    value: str

    @property
    def assignment(self) -> str:
        return f"{self.path}={self.value}"


def leaves(model: type[Parameters], prefix: str = "") -> Iterator[tuple[str, Allowed, object]]:
    """Path, what is allowed, and the model's own default of every parameter."""
    for name, allowed in allowed_in(model).items():
        if allowed.section is not None:
            assert issubclass(allowed.section, Parameters)
            yield from leaves(allowed.section, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", allowed, model.model_fields[name].default


def settings_for(task: str, path: str) -> tuple[str, ...]:
    """The settings under which a parameter matters, on top of what keeps things short."""
    parts = path.split(".")
    on = (f"randomize.{parts[1]}.on=true",) if parts[0] == "randomize" and parts[2] != "on" else ()
    more = next((found for named, pattern, found in SETTINGS if fnmatch(task, named) and fnmatch(path, pattern)), ())
    return (*BRIEF[task], *on, *more)


def ends_of(task: Task[Any]) -> Iterator[End]:
    """Both ends of every number and range, every other value of what has few; each that is not the default."""
    for path, allowed, _ in leaves(task.parameters):
        settings = settings_for(task.name, path)
        now = _at(build(task.parameters, assignments=list(settings)), path)
        for value in VALUES.get((task.name, path)) or _values(allowed, now):
            yield End(task=task, path=path, settings=settings, value=value)


def _at(parameters: Parameters, path: str) -> Any:
    value: Any = parameters
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _values(allowed: Allowed, now: Any) -> list[str]:
    match allowed.kind:
        case "flag":
            return [str(not now).lower()]
        case "choice":
            return [str(each) for each in allowed.choices if each != now]
        case "range":
            low, high = _bounds(allowed)
            return [f"[{each!r}, {each!r}]" for each in (low, high) if now != Range(each, each)]
        case "integer":
            return [str(int(each)) for each in _bounds(allowed) if each != now]
        case "number":
            return [repr(each) for each in _bounds(allowed) if each != now]
        case _:
            return []


def _bounds(allowed: Allowed) -> tuple[float, float]:
    """The least and the greatest value; a hair inside of bounds that are not allowed themselves."""
    bounds = allowed.bounds
    high = bounds.le if bounds.le is not None else math.nan
    low = bounds.ge if bounds.ge is not None else math.nan
    if bounds.gt is not None:
        low = bounds.gt + 1e-6 * (high - bounds.gt)
    return float(low), float(high)


def change_before_play(end: End, seeds: Iterable[int] = (1,)) -> str:
    """What a parameter's end changes before anything moves; empty if nothing does."""
    before = build(end.task.parameters, assignments=list(end.settings))
    try:
        after = build(end.task.parameters, assignments=[*end.settings, end.assignment])
    except InputError:
        return "refused"
    if set(end.task.problems(after)) - set(end.task.problems(before)):
        return "refused"
    if end.task.scene(after) != end.task.scene(before):
        return "scene"
    if _machine(end.task.machine(after)) != _machine(end.task.machine(before)):
        return "machine"
    for seed in seeds:
        was = _rendered(end.task, before, seed)
        try:
            found = _rendered(end.task, after, seed)
        except InputError:
            return "no scene found"
        for what, told in found.items():
            if told != was[what]:
                return what
    return ""


_RENDERED: dict[tuple[str, str, int], dict[str, object]] = {}


def _rendered(task: Task[Any], parameters: Parameters, seed: int) -> dict[str, object]:
    """A sample and what follows from it, in things that can be compared."""
    key = (task.name, parameters.model_dump_json(), seed)
    if key not in _RENDERED:
        scenario = Scenario(task=task, parameters=parameters, seed=seed)
        draw = scenario.sample()
        inputs = task.inputs(parameters, draw, scenario.stream("perception"))
        actor = task.actor(parameters, draw, scenario.stream("world"))
        _RENDERED[key] = {
            "sample": (draw.start.tobytes(), draw.variation),
            "instruction": task.instruct(parameters, draw, {}),
            "inputs": {name: _comparable(value) for name, value in inputs.items()},
            # The belt's feeder goes by the sample and by how the belt is set, which the sample shows.
            "world": repr(actor) if task.name == "tidy" else "",
        }
    return _RENDERED[key]


def _comparable(value: object) -> object:
    """A computed input as bytes; nothing of what only carries parameters, plain numbers among them."""
    if isinstance(value, Parameters | int | float) or hasattr(value, "perception") or hasattr(value, "settings"):
        return None
    if isinstance(value, str | tuple | np.ndarray | Belief):
        return pickle.dumps(value)
    return None


def _machine(machine: Machine) -> object:
    """Everything about a machine that its parameters may decide, nested machines included."""
    nested = {name: _machine(state) for name, state in machine.states.items() if isinstance(state, Machine)}
    return (
        machine.start,
        {state: dict(row) for state, row in machine.table.items()},
        dict(machine.budgets),
        dict(machine.limits_s),
        nested,
    )
