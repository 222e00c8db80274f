"""Checkpoints as `lerobot-train` writes them: where the files are, and what the policy in them sees and moves.

Only JSON is read here; lerobot itself is imported in the policy's own process (`policy_lerobot`).
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graspline.choices import DEFAULT_VIEWS
from graspline.envs.interface import Interface
from graspline.envs.policies import PolicySource, is_checkpoint, parse_policy
from graspline.envs.policy_server import LEROBOT
from graspline.episodes.camera_views import View
from graspline.episodes.units import CONVENTIONS, joint_names
from graspline.errors import InputError, nearest
from graspline.parameters.notation import printable, shortened

_FILES = ("config.json", "model.safetensors", "policy_preprocessor.json", "policy_postprocessor.json")
_IMAGES, _STATE, _ACTION = "observation.images.", "observation.state", "action"
# Pictures that a policy makes up itself.
_EMPTY = re.compile(r"empty_camera_\d+")
# Configuration keys of policies that bring pictures of any size to their own.
_RESIZE = ("resize_imgs_with_padding", "image_resolution", "resize_shape")
_FPS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One trained policy on disk."""

    folder: Path
    kind: str
    # Pictures it wants, by the names that cameras have here.
    views: tuple[View, ...]
    any_size: bool
    # Numbers in its state (0 if it wants none) and in its action.
    state_size: int
    action_size: int
    # Inputs that no task here gives.
    unknown: tuple[str, ...]
    # Of the data it was trained on, if that is known: rate, units, antialiasing, names of joints.
    fps: int | None
    units: str | None
    smooth: bool
    joints: tuple[str, ...]
    # What its configuration holds.
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """How a policy is asked if the command line does not say."""

    cameras: str = DEFAULT_VIEWS
    fps: int = _FPS
    units: str = CONVENTIONS[0]
    smooth: bool = False


def find_checkpoint(named: str, where: str = "--policy") -> Checkpoint:
    """The checkpoint that `lerobot:FOLDER` names: the folder itself, or the last one of a training run in it."""
    given = Path(named.removeprefix(f"{LEROBOT}:")).expanduser()
    shown = f"{where} {printable(shortened(named))}"
    try:
        folder = _weights_folder(given, shown)
        missing = [name for name in _needed(folder) if not (folder / name).is_file()]
        if missing:
            there = ", ".join(sorted(each.name for each in folder.iterdir())[:20]) or "nothing"
            raise InputError(f"{shown}: {folder} lacks {', '.join(missing)}; there: {there}")
        return _read(folder)
    except (OSError, UnicodeError) as error:
        raise InputError(f"{shown}: cannot be read: {printable(str(error))}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        lacks = f"key {error} is missing" if isinstance(error, KeyError) else printable(str(error))
        raise InputError(f"{shown}: not a checkpoint as lerobot-train writes it: {lacks}") from None


def defaults_of(named: str) -> Defaults:
    """What a checkpoint says about how it wants to be asked; for other policies, or a broken one, the usual."""
    if not is_checkpoint(named):
        return Defaults()
    try:
        found = find_checkpoint(named)
    except InputError:
        return Defaults()
    return Defaults(
        cameras=",".join(map(str, found.views)) or "none",
        fps=found.fps or _FPS,
        units=found.units or CONVENTIONS[0],
        smooth=found.smooth,
    )


def check_fits(checkpoint: Checkpoint, interface: Interface, where: str = "--policy") -> None:
    """Refuse a policy for another robot, other cameras or other sizes: all that does not fit, with what is there."""
    problems = [f"it wants {name}, which no task gives" for name in checkpoint.unknown]
    seen = {view.camera: view for view in interface.views}
    cameras = ", ".join(map(str, interface.views)) or "none"
    for view in checkpoint.views:
        if view.camera not in seen:
            problems.append(f"it wants pictures {view}, and the cameras here are {cameras} (--cameras)")
        elif view != seen[view.camera] and not checkpoint.any_size:
            problems.append(f"it wants pictures {view}, and --cameras gives {seen[view.camera]}")
    names = joint_names(interface.robot)
    sizes = {"a state": checkpoint.state_size or len(names), "an action": checkpoint.action_size}
    for what, size in sizes.items():
        if size != len(names):
            problems.append(f"it has {what} of {size} numbers, and the robot has {len(names)}: {', '.join(names)}")
    if checkpoint.joints and checkpoint.joints != names and not problems:
        problems.append(f"it moves {', '.join(checkpoint.joints)}, and the robot has {', '.join(names)}")
    if problems:
        raise InputError([f"{where} {LEROBOT}:{checkpoint.folder}: {problem}" for problem in problems])


def policy_source(
    named: str, python: Path | None = None, settings: Iterable[str] = (), device: str | None = None
) -> PolicySource:
    """What `--policy`, `--policy-python`, `--policy-set` and `--policy-device` name; all that is wrong with them."""
    parse_policy(named)
    problems: list[str] = []
    interpreter = sys.executable if python is None else shutil.which(str(python.expanduser()))
    if interpreter is None:
        problems.append(f"--policy-python {printable(str(python))}: no such program; expected a Python interpreter")
    chosen: dict[str, str] = {}
    if is_checkpoint(named):
        try:
            checkpoint = find_checkpoint(named)
            chosen = policy_settings(settings, checkpoint)
            named = f"{LEROBOT}:{checkpoint.folder}"
        except InputError as error:
            problems += error.problems
        if device is not None and not re.fullmatch(r"cpu|mps|xpu|cuda(:\d+)?", device):
            problems.append(f"--policy-device {printable(shortened(device))}: expected cuda, cuda:1 or cpu")
    else:
        given = [f"--policy-set {printable(shortened(each))}" for each in settings]
        given += [f"--policy-device {printable(shortened(device))}"] if device is not None else []
        problems += [f"{each}: only for --policy {LEROBOT}:DIR" for each in given]
    if problems:
        raise InputError(problems)
    return PolicySource(named=named, python=interpreter or "", settings=chosen, device=device or "")


def policy_settings(given: Iterable[str], checkpoint: Checkpoint, where: str = "--policy-set") -> dict[str, str]:
    """Assignments such as n_action_steps=25 to keys that the checkpoint's configuration has."""
    settings: dict[str, str] = {}
    problems = []
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not value:
            problems.append(f"{where} {printable(shortened(text))}: expected KEY=VALUE, such as n_action_steps=25")
        elif key not in checkpoint.keys:
            problems.append(f"{where} {printable(shortened(key))}: unknown; {nearest(key, checkpoint.keys)}")
        else:
            settings[key] = value
    if problems:
        raise InputError(problems)
    if settings.get("temporal_ensemble_coeff", "null") != "null":
        # Ensembling asks the network on every frame; lerobot refuses any other number.
        settings.setdefault("n_action_steps", "1")
    return settings


def _weights_folder(given: Path, shown: str) -> Path:
    if not given.is_dir():
        raise InputError(f"{shown}: no such folder; expected one with {', '.join(_FILES)}")
    steps = sorted(
        (each for around in (given, given / "checkpoints") for each in around.glob("[0-9]*/pretrained_model")),
        key=lambda each: int(re.sub(r"\D", "", each.parent.name)),
    )
    last = [around / "last" / "pretrained_model" for around in (given, given / "checkpoints")]
    for folder in (given, given / "pretrained_model", *last, *reversed(steps)):
        if (folder / "config.json").is_file():
            return folder.resolve()
    raise InputError(
        f"{shown}: no config.json in it, nor in pretrained_model, nor in checkpoints/last/pretrained_model; expected "
        f"a folder with {', '.join(_FILES)}"
    )


def _needed(folder: Path) -> list[str]:
    """All files of it, with those that its processors name."""
    names: list[str] = [*_FILES]
    for name in _FILES[2:]:
        if (folder / name).is_file():
            names += [each["state_file"] for each in _json(folder / name)["steps"] if each.get("state_file")]
    return names


def _read(folder: Path) -> Checkpoint:
    config, data = _json(folder / "config.json"), _data(folder)
    # Names by which the policy knows what the dataset calls otherwise.
    renamed = {new: old for old, new in _renames(folder).items()}
    shapes: dict[str, tuple[int, ...]] = {}
    for key, each in (config["input_features"] or {}).items():
        shapes[renamed.get(key) or key] = tuple(each["shape"])
    any_size = any(config.get(key) for key in _RESIZE)
    views, unknown = [], []
    for key, shape in shapes.items():
        camera = key.removeprefix(_IMAGES)
        if camera != key and not _EMPTY.fullmatch(camera):
            height, width = (data["sizes"].get(key) if any_size else None) or shape[1:]
            views.append(View(camera, int(width), int(height)))
        elif camera == key and key != _STATE:
            unknown.append(f"{key} {shape}")
    return Checkpoint(
        folder=folder,
        kind=str(config["type"]),
        views=tuple(views),
        any_size=any_size,
        state_size=int(shapes[_STATE][0]) if _STATE in shapes else 0,
        action_size=int(config["output_features"][_ACTION]["shape"][0]),
        unknown=tuple(unknown),
        fps=data["fps"],
        units=data["units"],
        smooth=data["smooth"],
        joints=data["joints"],
        keys=tuple(key for key in config if key != "type"),
    )


def _renames(folder: Path) -> dict[str, str]:
    steps = _json(folder / "policy_preprocessor.json")["steps"]
    return {old: new for each in steps for old, new in ((each.get("config") or {}).get("rename_map") or {}).items()}


def _data(folder: Path) -> dict[str, Any]:
    """What is known of the dataset: from the training's configuration, and from the dataset if it is still there."""
    known: dict[str, Any] = {"fps": None, "units": None, "smooth": False, "sizes": {}, "joints": ()}
    config = folder / "train_config.json"
    dataset = (_json(config).get("dataset") or {}) if config.is_file() else {}
    info, settings = (_json_at(dataset.get("root"), name) for name in ("info.json", "graspline.json"))
    features: Mapping[str, Any] = info.get("features", {})
    settings = settings.get("settings", {})
    known["fps"] = dataset.get("fps") or info.get("fps")
    known["units"] = dataset.get("units") or settings.get("units")
    known["smooth"] = bool(dataset.get("smooth") or settings.get("smooth"))
    known["sizes"] = {key: tuple(each["shape"][:2]) for key, each in features.items() if key.startswith(_IMAGES)}
    known["joints"] = tuple(dataset.get("joints") or features.get(_ACTION, {}).get("names") or ())
    return known


def _json_at(root: object, name: str) -> dict[str, Any]:
    path = Path(str(root)) / "meta" / name
    return _json(path) if root and path.is_file() else {}


class _Contents(dict[str, Any]):
    """What a JSON file holds; a missing key is an error that names the file."""

    def __init__(self, name: str, found: dict[str, Any]) -> None:
        super().__init__(found)
        self._name = name

    def __missing__(self, key: str) -> Any:
        raise ValueError(f"{self._name} has no {key!r}")


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path.name} is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} holds no object")
    return _Contents(path.name, found)
