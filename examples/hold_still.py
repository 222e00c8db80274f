"""The smallest policy there is: stay where you are. `graspline eval lift-cube --policy examples.hold_still:act`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def act(observation: dict[str, Any]) -> NDArray[np.float32]:
    """`agent_pos` are the joints in degrees, the gripper in percent; an action says where they should be next."""
    return observation["agent_pos"]
