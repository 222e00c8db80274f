"""Episodes of `lift-cube` by its machine, and environments without pictures, for the tests of this folder."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from graspline.envs.environment import TaskEnv
from graspline.envs.interface import Interface, interface_of
from graspline.envs.recorded_actions import Actions, thinned
from graspline.episodes.episode import Episode
from graspline.episodes.log import EpisodeLog
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.scenes.cube_table import cube_table
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

PARAMETERS = LiftCube()
SEED = 7


def scenario(seed: int = SEED, *faults: str) -> Scenario:
    return Scenario(task=LIFT_CUBE, parameters=PARAMETERS, seed=seed, faults=faults)


@functools.cache
def recorded() -> Episode:
    """One cube lifted by the machine, with its states."""
    (episode,) = run_scenarios([scenario()], record_states=True)
    assert episode.succeeded
    return episode


def interface(fps: int = 30, cameras: str = "none", units: str = "degrees") -> Interface:
    return interface_of(cube_table(), fps=fps, cameras=cameras, units=units)


def blind_env(**arguments: Any) -> TaskEnv:
    return TaskEnv("lift-cube", cameras="none", **arguments)


def recorded_actions(log: EpisodeLog, interface: Interface) -> Actions:
    """(F, nu): where the reference stands at the end of each frame, as a dataset's `action` has it."""
    return thinned(interface.units.outward(log.positions[1:]).astype(np.float32), interface.ticks_per_frame)


def save_checkpoint(
    folder: Path,
    *,
    sizes: dict[str, tuple[int, int]],
    joints: int = 6,
    renames: dict[str, str] | None = None,
    dataset: dict[str, Any] | None = None,
    **config: Any,
) -> Path:
    """A folder that looks as `lerobot-train` leaves it, with weights that are none."""
    inputs = {
        f"observation.images.{camera}": {"type": "VISUAL", "shape": [3, height, width]}
        for camera, (width, height) in sizes.items()
    }
    inputs["observation.state"] = {"type": "STATE", "shape": [joints]}
    normal = {"registry_name": "normalizer_processor", "config": {}, "state_file": "before.safetensors"}
    rename = {"registry_name": "rename_observations_processor", "config": {"rename_map": renames or {}}}
    files = {
        "config.json": {
            "type": "act",
            "input_features": inputs,
            "output_features": {"action": {"type": "ACTION", "shape": [joints]}},
            "n_action_steps": 10,
            "temporal_ensemble_coeff": None,
            **config,
        },
        "policy_preprocessor.json": {"name": "policy_preprocessor", "steps": [rename, normal]},
        "policy_postprocessor.json": {"name": "policy_postprocessor", "steps": []},
        "train_config.json": {"dataset": dataset or {}},
    }
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    for name in ("model.safetensors", "before.safetensors"):
        (folder / name).touch()
    return folder
