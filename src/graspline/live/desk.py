"""The seam to a task that offers more than running: objects to choose from, variables, checks, previews, grasps."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Protocol

from graspline.execution.requests import Reply
from graspline.live.commands import PostObject, Result
from graspline.live.snapshot import ObjectListed, Plain
from graspline.perception.estimates import Estimate

# A command at work: a generator over the requests of `execution`, which ends with how it went. The arm is at rest when
# it begins, and it may be stopped wherever it yields.
Play = Generator[Any, Any, Result]


class Desk(Protocol):
    """What a person does at the bench of one task. All of it runs in the session's thread, one call at a time.

    What needs the world (`refresh` and all below it) is a generator that gets the reply that was current when it began:
    it looks with `Look`, plans with `Solve` and moves with `Motion`, exactly as a state does. The rest answers at once.
    """

    @property
    def selected(self) -> str: ...

    @property
    def variables(self) -> Mapping[str, Plain]: ...

    @property
    def objects(self) -> tuple[ObjectListed, ...]:
        """As last seen."""
        ...

    @property
    def believed(self) -> tuple[Estimate, ...]:
        """The same with everything else that was seen, for those who keep clear of it."""
        ...

    def forget(self) -> None:
        """The scene was reset: nothing that was seen is so any more."""
        ...

    def age(self, now_s: float) -> None:
        """It is this late, in simulated time."""
        ...

    def post(self, posted: PostObject) -> Result:
        """Believe in what an outside detector has seen."""
        ...

    def withdraw(self, name: str | None) -> Result:
        """Forget what was posted, one object or all."""
        ...

    def select(self, name: str) -> Result: ...

    def set_variables(self, values: Mapping[str, Plain]) -> Result: ...

    def refresh(self, last: Reply) -> Play: ...

    def check(self, last: Reply) -> Play: ...

    def preview(self, last: Reply) -> Play: ...

    def move(self, last: Reply) -> Play: ...

    def pick(self, last: Reply, place_m: tuple[float, float] | None) -> Play: ...

    def open(self, last: Reply) -> Play: ...

    def close(self, last: Reply) -> Play: ...
