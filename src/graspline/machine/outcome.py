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
    """A named past fact with the measurements that prove it."""

    name: O
    evidence: Evidence = ()
    # The object it is about, for those who hold claims against truth.
    about: str = ""


@dataclass(frozen=True, slots=True)
class Gives(Generic[O, D]):
    """An outcome that hands on data: the fields of the dataclass `data` become inputs of later states."""

    name: O
    data: D
    evidence: Evidence = ()
    about: str = ""


# A state that asks for things and ends with one of these outcomes: `Stage[Literal["lifted", "dropped"]]`.
Stage = Generator[Request, Reply, Outcome[O]]
# The same with data: `Producing[Gives[Literal["planned"], Plan] | Outcome[Literal["unreachable"]]]`.
Producing = Generator[Request, Reply, R]

TIMED_OUT = "timed_out"
