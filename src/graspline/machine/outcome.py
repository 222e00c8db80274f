"""What a state returns, and the types a state's signature is written with."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Generic, TypeVar

from graspline.evidence import Evidence
from graspline.execution.requests import Reply, Request

O = TypeVar("O", bound=str, covariant=True)  # noqa: E741
D = TypeVar("D", covariant=True)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[O]):
    """What a state returns: a named past fact with the measurements that prove it.

    The literal in the return type of a state names every outcome that it can have.

    >>> from typing import Literal
    >>> from graspline import Outcome, at_least
    >>> def check(raised_m: float) -> Outcome[Literal["lifted", "dropped"]]:
    ...     raised = at_least("raised", raised_m, 0.05, "m")
    ...     return Outcome("lifted" if raised.passed else "dropped", (raised,))
    >>> check(0.06).name
    'lifted'
    """

    name: O
    evidence: Evidence = ()
    # The name of the object that it is about, or a value of the task's own, for the checks of claims against truth.
    # Records keep its text.
    about: object = ""


@dataclass(frozen=True, slots=True)
class Gives(Generic[O, D]):
    """An outcome that hands on data: the fields of the dataclass `data` become inputs of later states."""

    name: O
    data: D
    evidence: Evidence = ()
    about: object = ""


# A state that asks for things and ends with one of these outcomes: `Stage[Literal["lifted", "dropped"]]`.
Stage = Generator[Request, Reply, Outcome[O]]
# The same with data: `Producing[Gives[Literal["planned"], Plan] | Outcome[Literal["unreachable"]]]`.
Producing = Generator[Request, Reply, R]

TIMED_OUT = "timed_out"
