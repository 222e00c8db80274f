"""Simulated pick-and-place demonstrations you can trust, checked against ground truth and saved as LeRobot datasets.

The program in the README uses the names below; everything else is found in the rooms of the package, see
docs/architecture.md. They are imported when first used, so that the command line starts quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from graspline.registration import register_environments
from graspline.version import VERSION as __version__

if TYPE_CHECKING:
    from graspline.datasets.loading import load
    from graspline.episodes.run import Episode, run_scenarios
    from graspline.episodes.scenario import Scenario
    from graspline.tasks.catalogue import TASKS, find_task

__all__ = ["TASKS", "Episode", "Scenario", "__version__", "find_task", "load", "run_scenarios"]

_HOMES = {
    "Episode": "graspline.episodes.run",
    "run_scenarios": "graspline.episodes.run",
    "Scenario": "graspline.episodes.scenario",
    "TASKS": "graspline.tasks.catalogue",
    "find_task": "graspline.tasks.catalogue",
    "load": "graspline.datasets.loading",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'graspline' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


register_environments()
