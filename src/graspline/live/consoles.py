"""The console of a session's task, where the task offers one."""

from __future__ import annotations

from typing import Any

import numpy as np

from graspline.parameters import Parameters
from graspline.tasks.console import Console
from graspline.tasks.task import Task


def console_for(task: Task[Any], parameters: Parameters, seed: int) -> Console | None:
    """A new console with randomness of this seed; None where a task offers nothing but running."""
    return None if task.console is None else task.console(parameters, np.random.default_rng(seed))
