"""A measurement beside its limit. Verdicts, refusals and guards all carry these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from graspline.notebook import Html, badge, table
from graspline.wording import beside, counted

Relation = Literal["<=", ">=", "=="]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One named number, the limit it was held against, and whether it passed.

    A signal without data is `absent`: its value is NaN and it never passes.

    >>> from graspline import at_most
    >>> speed = at_most("speed", 0.03, 0.02, "m/s")
    >>> print(speed)
    speed 30 mm/s (limit <= 20 mm/s)
    >>> speed.passed
    False
    """

    name: str
    value: float
    relation: Relation
    limit: float
    unit: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """An episode that goes to another process carries hundreds; by default each field would be looked up twice."""
        return _measurement, (self.name, self.value, self.relation, self.limit, self.unit)

    @property
    def absent(self) -> bool:
        """Whether there was nothing to measure: the value is NaN."""
        return math.isnan(self.value)

    @property
    def passed(self) -> bool:
        """Whether the value is within its limit; NaN never is."""
        if self.relation == "<=":
            return self.value <= self.limit
        if self.relation == ">=":
            return self.value >= self.limit
        return self.value == self.limit

    def __str__(self) -> str:
        return f"{self.name} {self.value_text} (limit {self.relation} {self.limit_text})"

    def _repr_html_(self) -> str:
        return str(evidence_html((self,)))

    @property
    def value_text(self) -> str:
        """The value as people read it, with its unit."""
        return "absent" if self.absent else beside(self.value, self.limit, self.unit)[0]

    @property
    def limit_text(self) -> str:
        """The limit as people read it, in the unit of the value."""
        return beside(self.limit if self.absent else self.value, self.limit, self.unit)[1]

    @staticmethod
    def read(plain: Mapping[str, Any]) -> Measurement:
        """A measurement from what `as_dict` returned."""
        value = math.nan if plain["value"] is None else plain["value"]
        return _measurement(plain["name"], value, plain["relation"], plain["limit"], plain.get("unit", ""))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "value": self.value if math.isfinite(self.value) else None,
            "relation": self.relation,
            "limit": self.limit,
            "unit": self.unit,
            "passed": self.passed,
        }


def _measurement(name: str, value: float, relation: Relation, limit: float, unit: str) -> Measurement:
    return Measurement(name=name, value=value, relation=relation, limit=limit, unit=unit)


Evidence = tuple[Measurement, ...]
"""What a verdict, a rejection or the end of a motion was decided by: every measurement beside its limit.

>>> from graspline import Evidence, at_least, at_most
>>> evidence: Evidence = (at_least("raised", 0.06, 0.05, "m"), at_most("speed", 0.0, 0.02, "m/s"))
>>> [each.passed for each in evidence]
[True, True]
"""


class EvidenceTable(tuple[Measurement, ...]):
    """Evidence that shows itself: as a table in a notebook, as one line per measurement in a terminal."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(f"{'✓' if each.passed else '✗'} {each}" for each in self) or "no evidence"

    def _repr_html_(self) -> str:
        return str(evidence_html(self))


def evidence_html(evidence: Iterable[Measurement]) -> Html:
    """A table of what was measured beside its limit, in units that people read."""
    rows = [_row(each) for each in evidence]
    if not rows:
        return Html("no evidence")
    failed = sum(not each.passed for each in evidence)
    caption = f"{counted(failed, 'measurement')} outside the limit" if failed else ""
    return table(("", "measured", "value", "limit"), rows, caption=caption)


def _row(each: Measurement) -> tuple[str | Html, ...]:
    value, limit = beside(each.value, each.limit, each.unit)
    mark = badge("✓", "good") if each.passed else badge("✗", "bad")
    words = {"<=": "at most", ">=": "at least", "==": "exactly"}[each.relation]
    return mark, each.name.replace("_", " "), "no data" if each.absent else value, f"{words} {limit}"


def at_most(name: str, value: float, limit: float, unit: str = "") -> Measurement:
    """A measurement that passes if its value is not above the limit.

    >>> from graspline import at_most
    >>> at_most("off_spot", 0.004, 0.01, "m").passed
    True
    """
    return Measurement(name=name, value=float(value), relation="<=", limit=float(limit), unit=unit)


def at_least(name: str, value: float, limit: float, unit: str = "") -> Measurement:
    """A measurement that passes if its value is not below the limit; NaN, a signal without data, never passes.

    >>> from graspline import at_least
    >>> at_least("raised", float("nan"), 0.05, "m").passed
    False
    """
    return Measurement(name=name, value=float(value), relation=">=", limit=float(limit), unit=unit)


def passes(evidence: Evidence) -> bool:
    """Whether every measurement passed; no measurement at all proves nothing.

    >>> from graspline import at_least, passes
    >>> passes((at_least("raised", 0.06, 0.05, "m"),)), passes(())
    (True, False)
    """
    return bool(evidence) and all(measurement.passed for measurement in evidence)


def failures(evidence: Evidence) -> Evidence:
    """The measurements that did not pass."""
    return tuple(measurement for measurement in evidence if not measurement.passed)
