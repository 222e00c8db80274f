"""Evaluations made of plain lines, without physics, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graspline.evaluations.settings import EvaluationSettings, settings_of
from graspline.evaluations.store import Evaluation
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube


def settings(**others: Any) -> EvaluationSettings:
    options = {"fps": 30, "cameras": "none", "max_seconds": 8.0}
    return settings_of(LIFT_CUBE, LiftCube(), **{"seed": 0, "policy": "my_policy:Policy", "options": options, **others})


def line(seed: int, mode: str = "", **others: Any) -> dict[str, Any]:
    """An episode that succeeded, or failed so."""
    failure = {"mode": mode, "about": "cube", "t_s": 1.0, "moment": "closest", "evidence": [], "wanted": ["cube"]}
    x_m, y_m = 0.1 + 0.02 * (seed % 10), -0.1 + 0.01 * (seed % 7)
    return {
        "seed": seed,
        "verdict": "out_of_time" if mode else "success",
        "succeeded": not mode,
        "sim_time_s": 2.0,
        "instruction": "Lift the cube and hold it still.",
        "state_hash": "0",
        "evidence": [],
        **({"failure": {**failure, "done": []}} if mode else {}),
        "wanted": ["cube"],
        "factors": {"cube.x_m": x_m, "cube.y_m": y_m},
        "log": None,
        **others,
    }


def evaluation(folder: Path, lines: Iterable[dict[str, Any]], **others: Any) -> Evaluation:
    """One on disk."""
    folder.mkdir(parents=True, exist_ok=True)
    found = Evaluation.begin(folder, settings(**others))
    found.lines = {each["seed"]: each for each in lines}
    found.save({})
    return found
