"""What is remembered of the table from one round to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace

from graspline.perception.core.beliefs import Belief
from graspline.scenes.fittings import Fitting
from graspline.tasks.tidy.sight import TableSeen


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TakenAway:
    """A thing that was gone before the hand could have touched it, and the table as it was believed to be then."""

    thing: Belief
    table: Fitting


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableRecord:
    """What became of things, and how many there were at the most, on the table and delivered."""

    # The first look at the table, once there is one.
    at_first: TableSeen | None = None
    # Things that could not be taken, where they stood; and what something other than this robot has taken.
    given_up: tuple[Belief, ...] = ()
    taken_away: tuple[TakenAway, ...] = ()
    # Whether the robot may have touched something since the table was last looked at as a whole.
    contact_possible: bool = False
    delivered: int = 0
    most: int = 0

    @property
    def touched(self) -> NotedRecord:
        """The same once the robot has moved among things."""
        return NotedRecord(record=replace(self, contact_possible=True))

    def gone(self, thing: Belief, table: Fitting) -> NotedRecord:
        """The same with a thing taken away, unless the robot may have moved it itself."""
        more = () if self.contact_possible else (TakenAway(thing=thing, table=table),)
        return NotedRecord(record=replace(self, taken_away=(*self.taken_away, *more)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NotedRecord:
    """The record as it is now."""

    record: TableRecord
