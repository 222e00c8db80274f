"""What a dataset is made of: everything that decides its contents but the number of episodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

import mujoco

from graspline.engine.protocol import EngineKind
from graspline.episodes.camera_views import View, ticks_per_frame, view_of
from graspline.episodes.scenario import Scenario
from graspline.episodes.units import CONVENTIONS, Convention
from graspline.execution.disturbance import Disturbance
from graspline.parameters import Parameters, dump, load
from graspline.registry import Origin
from graspline.robots.digest import digest_of
from graspline.tasks.catalogue import TASKS, origin_of
from graspline.tasks.task import Task
from graspline.version import VERSION

Keep = Literal["success", "all", "takeover"]
# Which frames of an episode: all of them, or those from the takeover on.
Record = Literal["episode", "intervention"]
RendererKind = Literal["gl", "rays", "warp"]

# What a file of settings holds; the rest is checked where it is used.
_KINDS: dict[str, type] = {
    "task": str,
    "origin": dict,
    "parameters": dict,
    "seed": int,
    "fps": int,
    "views": list,
    "keep": str,
    "units": str,
    "faults": list,
    "robot_type": str,
    "robot_digest": str,
    "renderer": str,
    "smooth": bool,
    "numbered": bool,
    "engine": str,
    "certify": bool,
    "disturb": dict,
    "from_policy": dict,
    "record": str,
    "graspline": str,
    "mujoco": str,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSettings:
    """Two runs with equal settings write the same dataset, episode by episode, unless a GPU plays."""

    task: str
    # Where the task is defined.
    origin: Origin
    parameters: dict[str, Any]
    seed: int
    fps: int
    views: tuple[View, ...]
    keep: Keep
    units: Convention
    faults: tuple[str, ...] = ()
    robot_type: str
    # Of a robot from a description file, see `digest_of`; datasets of older versions have none.
    robot_digest: str = ""
    # Which renderer renders the images.
    renderer: RendererKind = "gl"
    # Whether edges are antialiased.
    smooth: bool = False
    # Whether every frame carries its number, for tests of readers.
    numbered: bool = False
    # Which engine plays attempts, and whether what a GPU played must also work on the CPU, which then is what is kept.
    engine: EngineKind = "cpu"
    certify: bool = True
    # How the arm is pushed off its paths, as `Disturbance` dumps it; empty if it is not.
    disturb: dict[str, Any] = field(default_factory=dict)
    # The policy that plays until the expert takes over: its name, a digest of its files, and when. Empty if none does.
    from_policy: dict[str, Any] = field(default_factory=dict)
    record: Record = "episode"
    graspline: str = VERSION
    mujoco: str = mujoco.__version__

    @property
    def certified(self) -> bool:
        """Whether episodes come from a GPU and are certified by the CPU."""
        return self.engine == "gpu" and self.certify

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = dataclasses.asdict(self)
        return {**plain, "views": [str(view) for view in self.views], "faults": list(self.faults)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> DatasetSettings:
        """The settings that `as_dict` gave."""
        older = {"engine": "cpu", "certify": True, "disturb": {}, "from_policy": {}, "record": "episode"}
        plain = {**older, "robot_digest": "", **plain}
        for name, kind in _KINDS.items():
            if not isinstance(plain[name], kind) or (kind is int and isinstance(plain[name], bool)):
                raise ValueError(f"{name} is {plain[name]!r}")
        if plain["record"] not in get_args(Record):
            raise ValueError(f"record is {plain['record']!r}")
        if plain["keep"] not in get_args(Keep) or plain["units"] not in CONVENTIONS:
            raise ValueError(f"keep is {plain['keep']!r}, units are {plain['units']!r}")
        if plain["engine"] not in get_args(EngineKind):
            raise ValueError(f"engine is {plain['engine']!r}")
        if plain["renderer"] not in get_args(RendererKind) or not all(type(each) is str for each in plain["faults"]):
            raise ValueError(f"renderer is {plain['renderer']!r}, faults are {plain['faults']!r}")
        views = tuple(view_of(str(text)) for text in plain["views"])
        origin = Origin.from_dict(plain["origin"])
        if origin.name != plain["task"]:
            raise ValueError(f"task is {plain['task']!r}, its origin is that of {origin.name!r}")
        return cls(**{**plain, "origin": origin, "views": views, "faults": tuple(plain["faults"])})

    def found_task(self) -> tuple[Task[Any], Parameters]:
        """The task and its parameters as a scenario takes them."""
        task = TASKS.again(self.origin)
        return task, load(task.parameters, self.parameters)

    def scenario(self, seed: int) -> Scenario:
        """The scenario of a seed."""
        task, parameters = self.found_task()
        disturb = load(Disturbance, self.disturb) if self.disturb else None
        return Scenario(task=task, parameters=parameters, seed=seed, faults=self.faults, disturb=disturb)


def settings_of(
    task: Task[Any],
    parameters: Parameters,
    *,
    seed: int = 0,
    fps: int = 30,
    views: Sequence[View] = (),
    keep: Keep = "success",
    units: Convention = "degrees",
    faults: Sequence[str] = (),
    robot_type: str = "",
    renderer: RendererKind = "gl",
    smooth: bool = False,
    numbered: bool = False,
    engine: EngineKind = "cpu",
    certify: bool = True,
    disturb: Disturbance | None = None,
    from_policy: Mapping[str, Any] = MappingProxyType({}),
    record: Record = "episode",
) -> DatasetSettings:
    """Without a `robot_type` the robot is called as others call it."""
    robot = task.scene(parameters).robot
    ticks_per_frame(fps, robot.control_hz)
    return DatasetSettings(
        task=task.name,
        origin=origin_of(task),
        parameters=dict(dump(parameters)),
        seed=seed,
        fps=fps,
        views=tuple(views),
        keep=keep,
        units=units,
        faults=tuple(faults),
        robot_type=robot_type or robot.lerobot_name or robot.name,
        robot_digest=digest_of(str(getattr(parameters, "robot", ""))),
        renderer=renderer,
        smooth=smooth,
        numbered=numbered,
        engine=engine,
        certify=certify,
        disturb={} if disturb is None else dict(dump(disturb)),
        from_policy=dict(from_policy),
        record=record,
    )


CHANGED_ROBOT = "its description or model is not what it was when the dataset was begun"

# Settings that one option of `generate` sets, and that option.
_OPTIONS = {"views": "cameras", "fps": "fps", "seed": "seed", "units": "units"}


def differences(has: DatasetSettings, asked: DatasetSettings) -> list[str]:
    """One line for each setting in which two differ, nested parameters by their dotted names."""
    return [
        f"robot: {CHANGED_ROBOT}"
        if name == "robot_digest"
        else f"{_OPTIONS.get(name, name)}: the dataset has {old}, asked for {new}"
        for name, (old, new) in _differing(has, asked).items()
    ]


def options_to_continue(has: DatasetSettings, asked: DatasetSettings) -> str:
    """Options of `generate` that remove every difference; empty where anything else differs."""
    differing = _differing(has, asked)
    if not differing.keys() <= _OPTIONS.keys():
        return ""
    return " ".join(
        f"--{_OPTIONS[name]} {(','.join(old) or 'none') if name == 'views' else old}"
        for name, (old, _) in differing.items()
    )


def _differing(has: DatasetSettings, asked: DatasetSettings) -> dict[str, tuple[Any, Any]]:
    """Settings in which two differ, by name: what the dataset has, and what is asked for."""
    if has.task != asked.task:
        # All others follow from it.
        return {"task": (has.task, asked.task)}
    old, new = dict(flat(has.as_dict())), dict(flat(asked.as_dict()))
    if not has.disturb or not asked.disturb:
        # Its strength says enough where the other one has none.
        old, new = ({name: each[name] for name in each if not _is_detail(name)} for each in (old, new))
    if not has.robot_digest or not asked.robot_digest:
        del old["robot_digest"], new["robot_digest"]
    return {
        name: (old.get(name, "nothing"), new.get(name, "nothing"))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }


def _is_detail(name: str) -> bool:
    return name.startswith("disturb.") and name != "disturb.strength"


def flat(plain: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted name."""
    for name, value in plain.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
