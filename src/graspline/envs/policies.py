"""Policies: any callable from an observation to an action, found by name, asked here or in a process of their own."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from graspline.envs.interface import Array, Interface, Observation
from graspline.envs.policy_server import LEROBOT, Unusable, find_policy, is_batched
from graspline.episodes.scenario import Scenario
from graspline.errors import InputError, nearest, suggestion
from graspline.execution.requests import Preempted
from graspline.parameters.notation import printable, shortened
from graspline.registry import Registry


class Policy(Protocol):
    """Any callable from an observation to an action: the next target of every joint.

    An observation has `agent_pos` (joints,), `pixels` by camera where there are cameras, and `task`, the instruction. A
    class is made anew for every episode, so that it may remember; a function serves all of them.

    >>> from graspline import Policy
    >>> def hold_still(observation):
    ...     return observation["agent_pos"]
    >>> policy: Policy = hold_still
    """

    def __call__(self, observation: Observation, /) -> Any:
        """The action for an observation."""
        ...


# Functions and classes that distributions register; they are imported by the process that asks them.
POLICIES: Registry[Any] = Registry("graspline.policies", "policy", "collections.abc:Callable")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySource:
    """Which policy is asked, and where it runs."""

    # `module:name`, the name of an installed policy, or `lerobot:FOLDER` with the folder that holds the weights.
    named: str
    # The interpreter of its process.
    python: str = sys.executable
    # Only for a checkpoint of LeRobot: keys of its configuration that are set otherwise, and cuda or cpu.
    settings: Mapping[str, str] = field(default_factory=dict)
    device: str = ""

    @property
    def place(self) -> str:
        """As `named`, with the place of an installed policy instead of its name."""
        return ":".join(parse_policy(self.named))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a policy is asked: what comes next in this episode."""

    # Which of all episodes that were ever played.
    episode: int
    scenario: Scenario
    observation: Observation


@dataclass(frozen=True, slots=True)
class PolicyFailed:
    """There is no action, and why."""

    error: str


# The joint target (nu,) that an action means, why there is none, or that the episode is to be stopped.
Answered = Array | PolicyFailed | Preempted


class Policies(Protocol):
    """Whatever answers for the policy of every episode: the function of a `Solve`, asked for many lanes at once."""

    def __call__(self, asked: Asked) -> Answered:
        """The actions for an episode's observation."""
        ...

    def many(self, asked: list[tuple[Asked]]) -> list[Answered]:
        """One answer for each; it never raises."""
        ...

    def forget(self, episode: int) -> None:
        """This episode has ended."""
        ...


class LocalPolicies:
    """Policies in this process; `make_policy` gives the one of an episode."""

    def __init__(self, interface: Interface, make_policy: Callable[[Scenario], Policy]) -> None:
        self._interface, self._make_policy = interface, make_policy
        self._policies: dict[int, Policy] = {}

    def __call__(self, asked: Asked) -> Answered:
        """The actions for an episode's observation."""
        try:
            if asked.episode not in self._policies:
                self._policies[asked.episode] = self._make_policy(asked.scenario)
            action = self._policies[asked.episode](asked.observation)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException:
            # A script that is used as a policy may well leave by `sys.exit`; libraries in other languages panic.
            return PolicyFailed(traceback.format_exc())
        try:
            return self._interface.target_rad(action)
        except InputError as error:
            return PolicyFailed(str(error))

    def many(self, asked: list[tuple[Asked]]) -> list[Answered]:
        """The actions for several observations, one after the other."""
        return [self(each) for (each,) in asked]

    def forget(self, episode: int) -> None:
        """The episode has ended."""
        self._policies.pop(episode, None)


def parse_policy(named: str, where: str = "--policy") -> tuple[str, str]:
    """Module and name of `module:name`, or of a policy that a distribution registers."""
    place = POLICIES.origin(named).place if named in POLICIES else named
    module_name, colon, name = place.partition(":")
    if not colon or not module_name or not name:
        expected = "expected MODULE:NAME, such as my_policy:act for act in my_policy.py, or an installed policy"
        hint = f"{suggestion(named, POLICIES)}{expected}: {', '.join(POLICIES)}"
        raise InputError(f"{where} {printable(shortened(named))}: {hint}")
    return module_name, name


def is_checkpoint(named: str) -> bool:
    """Whether a policy that was named is a checkpoint of LeRobot."""
    return named.startswith(f"{LEROBOT}:")


def unusable(named: str, text: str, known: tuple[str, ...], where: str = "--policy") -> InputError:
    """What is wrong with a policy that was named, on one line."""
    hint = f"; {nearest(named.partition(':')[2], known)}" if known else ""
    place = f" ({POLICIES.origin(named)})" if named in POLICIES else ""
    return InputError(f"{where} {printable(shortened(named))}{place}: {printable(' '.join((text + hint).split()))}")


def load_policy(named: str, where: str = "--policy") -> Callable[[], Policy]:
    """What `module:name` names, imported into this process, as something that makes the policy of one episode.

    A class is made anew for every episode, so that it may remember; a function serves all of them. Modules are looked
    for in the current directory, too. Raises an InputError that says what was not found.
    """
    module_name, name = parse_policy(named, where)
    try:
        found = find_policy(module_name, name)
    except Unusable as error:
        raise unusable(named, str(error), error.known, where) from None
    if is_batched(found) and not any("__call__" in vars(each) for each in found.__mro__):
        raise unusable(named, "its objects answer for many episodes; only a process of its own can ask them", ())
    return cast(Callable[[], Policy], found)
