"""What was put where, and whether it stayed."""

from __future__ import annotations

from dataclasses import dataclass

from graspline.placement.plate import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacementRecord:
    """One attempt to place a fruit: where it came to lie, (3,) in the world, and whether that was verified."""

    name: str
    position_m: Array
    succeeded: bool
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementBook:
    """All attempts so far, in the order they were made."""

    records: tuple[PlacementRecord, ...] = ()

    def with_(self, record: PlacementRecord) -> PlacementBook:
        return PlacementBook(records=(*self.records, record))

    def latest(self) -> dict[str, PlacementRecord]:
        """The last attempt with each fruit; only that one counts, because a placed fruit can be lost again."""
        return {record.name: record for record in self.records}

    def placed(self) -> tuple[str, ...]:
        """Names of the fruits that lie on the plate, in the order they were first tried."""
        return tuple(name for name, record in self.latest().items() if record.succeeded)
