"""A range of numbers, (low, high), as one parameter."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class Range(NamedTuple):
    """Two numbers with low <= high, written `[low, high]` in YAML.

    Compared with a number, a range answers for all of itself, so its field has bounds as a number's has:
    `edge_m: Range = Field(default=Range(0.02, 0.03), ge=0.005, le=0.1)`.

    >>> from graspline import Range
    >>> Range(0.02, 0.03) <= 0.1, Range(0.02, 0.03) >= 0.025
    (True, False)
    """

    low: float
    high: float

    def __ge__(self, other: Any) -> bool:
        return self.low >= other if isinstance(other, int | float) else tuple.__ge__(self, other)

    def __gt__(self, other: Any) -> bool:
        return self.low > other if isinstance(other, int | float) else tuple.__gt__(self, other)

    def __le__(self, other: Any) -> bool:
        return self.high <= other if isinstance(other, int | float) else tuple.__le__(self, other)

    def __lt__(self, other: Any) -> bool:
        return self.high < other if isinstance(other, int | float) else tuple.__lt__(self, other)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        ends = handler.generate_schema(tuple[float, float])
        return core_schema.no_info_after_validator_function(cls._ordered, ends)

    @classmethod
    def _ordered(cls, ends: tuple[float, float]) -> Range:
        low, high = ends
        if low > high:
            raise ValueError(f"its low end {low!r} is above its high end {high!r}")
        return cls(low, high)
