"""Robot pick-and-place in simulation that is verified, recovers, and turns into training data.

The program in the README uses these names; everything else is found in the rooms of the package, see
docs/architecture.md.
"""

from graspline.episodes.run import Episode, run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.tasks.catalogue import TASKS, find_task
from graspline.version import VERSION as __version__

__all__ = ["TASKS", "Episode", "Scenario", "__version__", "find_task", "run_scenarios"]
