"""Gymnasium environments of the tasks, and policies that are judged in them.

Importing this registers the environments. They see, move and judge as datasets do; see docs/evaluation.md.
"""

from __future__ import annotations

import gymnasium

ENVIRONMENTS = {
    "graspline/Oranges-v0": "oranges",
    "graspline/LiftCube-v0": "lift-cube",
    "graspline/Sort-v0": "sort",
}

for _name, _task in ENVIRONMENTS.items():
    gymnasium.register(id=_name, entry_point="graspline.envs.environment:TaskEnv", kwargs={"task": _task})
