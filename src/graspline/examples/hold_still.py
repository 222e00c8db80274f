"""The smallest policy there is: stay where you are.

Try it, then copy this file and let `act` do something:

    graspline eval lift-cube --policy graspline.examples.hold_still:act --cameras none
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def act(observation: dict[str, Any]) -> NDArray[np.float32]:
    """The next target of every joint, (joints,), as `agent_pos` has them: degrees, and the gripper in percent."""
    return observation["agent_pos"]
