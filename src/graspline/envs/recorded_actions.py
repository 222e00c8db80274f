"""Recorded actions as a policy: what following them blindly achieves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.envs.evaluation import PolicyPilot
from graspline.envs.interface import Interface, Observation
from graspline.envs.policies import LocalPolicies, Policy
from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario

Actions = NDArray[np.float32]

# An episode that succeeds on its last tick must still be seen to have succeeded.
_AFTER_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedActions:
    """The scene of an episode and the actions (F, nu) that a dataset holds of it.

    Events are not played again: it should be an episode that no fault has struck.
    """

    scenario: Scenario
    actions: Actions


def thinned(actions: Actions, every: int) -> Actions:
    """The actions (F, nu) at a rate lower by this factor: an action is where joints are to be at the end of its frame.

    The last frame may reach past the end, where the reference holds.
    """
    ends = np.arange(every, len(actions) + every, every) - 1
    return actions[np.minimum(ends, len(actions) - 1)]


def recited(actions: Actions) -> Policy:
    """A policy that looks at nothing, says these actions (F, nu) one after the other, and then repeats the last."""
    said = iter(actions)

    def policy(observation: Observation) -> Actions:
        return next(said, actions[-1])

    return policy


def reproduce(
    recordings: Sequence[RecordedActions], interface: Interface, *, lanes: int = 1, shift: int = 0
) -> Iterator[Episode]:
    """Play episodes again from their scenes by nothing but recorded actions, judged like any policy.

    The actions come at the interface's rate and in its units. With a `shift` each scene gets those of an episode so
    many further on, which should come to nothing.
    """
    count = len(recordings)
    actions = {each.scenario.seed: recordings[(i + shift) % count].actions for i, each in enumerate(recordings)}

    def make_policy(scenario: Scenario) -> Policy:
        return recited(actions[scenario.seed])

    longest_s = max((len(each.actions) for each in recordings), default=0) / interface.fps
    pilot = PolicyPilot(
        interface=interface, policies=LocalPolicies(interface, make_policy), max_seconds=longest_s + _AFTER_S
    )
    return run_scenarios([each.scenario for each in recordings], lanes=lanes, pilot=pilot)
