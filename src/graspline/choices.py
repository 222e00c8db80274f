"""Names and defaults that options and their help show. Nothing heavy is imported here, so help is quick.

The rooms that give them their meaning use these; tests hold names to what there is.
"""

from __future__ import annotations

from typing import Literal

# What steps physics, as `--engine` takes it.
EngineChoice = Literal["cpu", "gpu", "auto"]
# Every aspect that the randomization of some task has.
ASPECTS = (
    "lighting",
    "camera",
    "colours",
    "friction",
    "masses",
    "gains",
    "latency",
    "textures",
    "distractors",
)
# What `demo` plays, in words too, and the task that help suggests to begin with.
DEMO_TASK = "oranges"
DEMO_GOAL = "Put three oranges on a plate"
FIRST_TASK = "lift-cube"
# Cameras and sizes of a dataset and of an environment.
DEFAULT_VIEWS = "front:640x480,wrist:320x240"
# How long a person is waited for before a question gets its default.
ASK_S = 30.0
# How long a policy may take for one answer.
POLICY_TIMEOUT_S = 60.0
