"""Simulated pick-and-place demonstrations you can trust, checked against ground truth and saved as LeRobot datasets.

The names below are the public API: what else the package has is private and may change with any version. Names of
`graspline.stages` and `graspline.faults` are public, too. All are imported when first used, so that the command line
starts quickly.

>>> import graspline
>>> task = graspline.find_task("lift-cube")
>>> scenario = graspline.Scenario(task=task, parameters=task.parameters(), seed=7)
>>> [episode] = graspline.run_scenarios([scenario])
>>> episode.verdict, episode.succeeded
('success', True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graspline.lazy_names import imported_when_used
from graspline.registration import register_environments
from graspline.version import VERSION as __version__

if TYPE_CHECKING:
    from graspline import faults
    from graspline.conformance.kit import check_task
    from graspline.datasets.loading import load
    from graspline.envs.evaluation import PolicyPilot
    from graspline.envs.policies import Policy
    from graspline.episodes.episode import Episode
    from graspline.episodes.run import run_scenarios
    from graspline.episodes.scenario import Scenario
    from graspline.errors import EnvironmentProblem, GrasplineError, InputError
    from graspline.evidence import Evidence, Measurement, at_least, at_most, passes
    from graspline.faults.catalogue import FAULTS
    from graspline.faults.hints import FaultHints
    from graspline.faults.kind import FaultKind
    from graspline.machine.machine import Machine
    from graspline.machine.outcome import Outcome
    from graspline.machine.table import End, Retry
    from graspline.parameters.model import Parameters
    from graspline.parameters.ranges import Range
    from graspline.robots.catalogue import ROBOTS
    from graspline.robots.description import RobotDescription
    from graspline.robots.mjcf import robot_from_file, robot_from_mjcf
    from graspline.scenes.scene import Scene
    from graspline.scenes.table import Box, table_with
    from graspline.tasks import stages
    from graspline.tasks.catalogue import TASKS, find_task
    from graspline.tasks.task import Claim, Claims, Draw, Instruction, PolicyRules, Snapshot, Task

__all__ = [
    "FAULTS",
    "ROBOTS",
    "TASKS",
    "Box",
    "Claim",
    "Claims",
    "Draw",
    "End",
    "EnvironmentProblem",
    "Episode",
    "Evidence",
    "FaultHints",
    "FaultKind",
    "GrasplineError",
    "InputError",
    "Instruction",
    "Machine",
    "Measurement",
    "Outcome",
    "Parameters",
    "Policy",
    "PolicyPilot",
    "PolicyRules",
    "Range",
    "Retry",
    "RobotDescription",
    "Scenario",
    "Scene",
    "Snapshot",
    "Task",
    "__version__",
    "at_least",
    "at_most",
    "check_task",
    "faults",
    "find_task",
    "load",
    "passes",
    "robot_from_file",
    "robot_from_mjcf",
    "run_scenarios",
    "stages",
    "table_with",
]

_HOMES = {
    "faults": "graspline.faults",
    "check_task": "graspline.conformance.kit:check_task",
    "load": "graspline.datasets.loading:load",
    "PolicyPilot": "graspline.envs.evaluation:PolicyPilot",
    "Policy": "graspline.envs.policies:Policy",
    "Episode": "graspline.episodes.episode:Episode",
    "run_scenarios": "graspline.episodes.run:run_scenarios",
    "Scenario": "graspline.episodes.scenario:Scenario",
    "EnvironmentProblem": "graspline.errors:EnvironmentProblem",
    "GrasplineError": "graspline.errors:GrasplineError",
    "InputError": "graspline.errors:InputError",
    "Evidence": "graspline.evidence:Evidence",
    "Measurement": "graspline.evidence:Measurement",
    "at_least": "graspline.evidence:at_least",
    "at_most": "graspline.evidence:at_most",
    "passes": "graspline.evidence:passes",
    "FAULTS": "graspline.faults.catalogue:FAULTS",
    "FaultHints": "graspline.faults.hints:FaultHints",
    "FaultKind": "graspline.faults.kind:FaultKind",
    "Machine": "graspline.machine.machine:Machine",
    "Outcome": "graspline.machine.outcome:Outcome",
    "End": "graspline.machine.table:End",
    "Retry": "graspline.machine.table:Retry",
    "Parameters": "graspline.parameters.model:Parameters",
    "Range": "graspline.parameters.ranges:Range",
    "ROBOTS": "graspline.robots.catalogue:ROBOTS",
    "RobotDescription": "graspline.robots.description:RobotDescription",
    "robot_from_file": "graspline.robots.mjcf:robot_from_file",
    "robot_from_mjcf": "graspline.robots.mjcf:robot_from_mjcf",
    "Scene": "graspline.scenes.scene:Scene",
    "Box": "graspline.scenes.table:Box",
    "table_with": "graspline.scenes.table:table_with",
    "stages": "graspline.tasks.stages",
    "TASKS": "graspline.tasks.catalogue:TASKS",
    "find_task": "graspline.tasks.catalogue:find_task",
    "Claim": "graspline.tasks.task:Claim",
    "Claims": "graspline.tasks.task:Claims",
    "Draw": "graspline.tasks.task:Draw",
    "Instruction": "graspline.tasks.task:Instruction",
    "PolicyRules": "graspline.tasks.task:PolicyRules",
    "Snapshot": "graspline.tasks.task:Snapshot",
    "Task": "graspline.tasks.task:Task",
}

if not TYPE_CHECKING:
    # Hidden from type checkers, so that they report names that do not exist.
    __getattr__, __dir__ = imported_when_used(__name__, _HOMES)

register_environments()
