"""The search for a scene: what is refused is counted and reported, and after a number of tries the search ends."""

from __future__ import annotations

import collections
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graspline.errors import InputError

_LOG = logging.getLogger(__name__)

# The number of refusals between two progress lines of the log.
REPORT_EVERY = 200


@dataclass(frozen=True, slots=True)
class StopPoint:
    """What a search asks that plans nothing together with others: between two tries its caller may stop it."""

    @classmethod
    def answered(cls, asked: Sequence[StopPoint]) -> Sequence[None]:
        """The answers to pauses: nothing."""
        return [None] * len(asked)


class RefusalCounter:
    """Refusals of one search by the name of the check; counted, so that the same search always ends in the same way."""

    def __init__(self, what: str, tries: int, parameters: Mapping[str, str]) -> None:
        """`what` is being looked for in `tries` tries; `parameters` says for each check which ones decide it."""
        self._what, self._tries, self._parameters = what, tries, parameters
        self._reasons = collections.Counter[str]()
        self._spent = 0

    @property
    def refused(self) -> int:
        """How many tries were refused."""
        return self._reasons.total()

    def refuse(self, check: str, tries: int = 1) -> None:
        """One more was refused by this check; raises an InputError if that was the last try.

        What takes long to find out counts as several tries.
        """
        self._reasons[check] += 1
        reported, self._spent = self._spent // REPORT_EVERY, self._spent + tries
        if self._spent >= self._tries:
            raise InputError(self._message())
        if self._spent // REPORT_EVERY > reported:
            most, count = self._reasons.most_common(1)[0]
            _LOG.warning(
                "sampling the scene: %d of %d samples rejected, most by %s (%d)", self._spent, self._tries, most, count
            )

    def _message(self) -> str:
        reasons = self._reasons.most_common()
        why = ", ".join(f"{check} {count}" for check, count in reasons)
        first = reasons[0][0]
        advice = self._parameters.get(first)
        return f"no {self._what} was found in {self._tries} samples; rejected by {why}" + (
            f"; {first} depends on {advice}" if advice else ""
        )
