"""An episode's own reference as the actions of a policy: what following recorded actions comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from graspline.envs.evaluation import PolicyPilot
from graspline.envs.interface import Interface, Observation
from graspline.envs.policies import Policy
from graspline.episodes.log import EpisodeLog
from graspline.episodes.run import Episode, run_scenarios
from graspline.episodes.scenario import Scenario

# An episode that succeeds on its last tick must still be seen to have succeeded.
_AFTER_S = 1.0


def recorded_actions(log: EpisodeLog, interface: Interface) -> NDArray[np.float32]:
    """(F, nu): where the reference stands at the end of each frame, as a dataset's `action` has it.

    The last frame may reach past the end, where the reference holds.
    """
    step = interface.ticks_per_frame
    ends = np.minimum(np.arange(step, log.ticks + step, step), log.ticks)
    return interface.units.outward(log.positions[ends]).astype(np.float32)


def recited(actions: NDArray[np.float32]) -> Policy:
    """A policy that looks at nothing, says these actions (F, nu) one after the other, and then repeats the last."""
    said = iter(actions)

    def policy(observation: Observation) -> NDArray[np.float32]:
        return next(said, actions[-1])

    return policy


def reproduce(
    episodes: Sequence[Episode], interface: Interface, *, lanes: int = 1, shift: int = 0
) -> Iterator[Episode]:
    """Play episodes again from their scenes by nothing but recorded actions, judged like any policy.

    Events are not played again: these should be episodes that no fault has struck. With a `shift` each scene gets the
    actions of an episode so many further on, which should come to nothing.
    """
    recordings = [recorded_actions(each.log, interface) for each in episodes]
    actions = {each.scenario.seed: recordings[(index + shift) % len(episodes)] for index, each in enumerate(episodes)}

    def make_policy(scenario: Scenario) -> Policy:
        return recited(actions[scenario.seed])

    longest_s = max((each.sim_time_s for each in episodes), default=0.0)
    pilot = PolicyPilot(interface=interface, make_policy=make_policy, max_seconds=longest_s + _AFTER_S)
    return run_scenarios([each.scenario for each in episodes], lanes=lanes, pilot=pilot)
