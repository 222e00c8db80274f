"""Numbers as people read them: millimetres, degrees, seconds, few digits, and counts in singular or plural.

For text only. Files and interfaces for programs hold raw SI numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

# Significant digits of a number; digits before the point are never cut.
_DIGITS = 3
# More of them are shown where a measurement would look the same as its limit.
_MOST_DIGITS = 7


class _DisplayUnit(NamedTuple):
    """The unit in which a quantity is shown: its name, how many of it make one SI unit, and the least number shown."""

    unit: str
    per_si: float
    least: float


# By SI unit: the first is for 1 of it and more, the last for less.
_UNITS: dict[str, tuple[_DisplayUnit, ...]] = {
    "m": (_DisplayUnit(" m", 1.0, 0.001), _DisplayUnit(" mm", 1e3, 0.1)),
    "m²": (_DisplayUnit(" m²", 1.0, 0.001), _DisplayUnit(" mm²", 1e6, 0.01)),
    "m/s": (_DisplayUnit(" m/s", 1.0, 0.001), _DisplayUnit(" mm/s", 1e3, 1.0)),
    "m/s²": (_DisplayUnit(" m/s²", 1.0, 0.01),),
    "s": (_DisplayUnit(" s", 1.0, 0.01), _DisplayUnit(" ms", 1e3, 0.1)),
    "rad": (_DisplayUnit("°", math.degrees(1.0), 0.1),),
    "rad/s": (_DisplayUnit("°/s", math.degrees(1.0), 0.1),),
    "rad/s²": (_DisplayUnit("°/s²", math.degrees(1.0), 1.0),),
    "kg": (_DisplayUnit(" kg", 1.0, 0.001), _DisplayUnit(" g", 1e3, 0.1)),
    "N": (_DisplayUnit(" N", 1.0, 0.01),),
}
# Seconds stay seconds down to here.
_FROM = {"s": 0.1}


def counted(number: int, one: str, many: str = "") -> str:
    """`1 episode`, `2 episodes`; `many` where an s does not make the plural."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def quantity(value: float, si_unit: str = "") -> str:
    """A quantity in the unit that suits it: `quantity(0.0123, "m")` is `12.3 mm`."""
    return _text(value, _shown_in(si_unit, value), _DIGITS)


def duration(seconds: float) -> str:
    """A time that may be long: `20 s`, `3.5 min`, `1.2 h`."""
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3570 else f"{seconds / 3600:.1f} h"


def beside(value: float, limit: float, si_unit: str = "") -> tuple[str, str]:
    """A measurement and its limit, both in the unit that suits the larger one, and different if they differ."""
    shown = _shown_in(si_unit, value, limit)
    fine = abs(limit) * shown.per_si / 10
    if 0 < fine < shown.least:
        shown = shown._replace(least=10.0 ** math.floor(math.log10(fine)))
    digits = _DIGITS
    while True:
        measured, beside_it = _text(value, shown, digits), _text(limit, shown._replace(least=0.0), digits)
        if measured != beside_it or value == limit:
            return measured, beside_it
        if digits == _MOST_DIGITS:
            return (f"> -{_plain(shown.least, 1)}{shown.unit}" if value < limit == 0 else measured), beside_it
        digits += 1


def _shown_in(si_unit: str, *values: float) -> _DisplayUnit:
    choices = _UNITS.get(si_unit, (_DisplayUnit(f" {si_unit}" if si_unit else "", 1.0, 0.001),))
    largest = max((abs(each) for each in values if math.isfinite(each)), default=math.inf)
    # A hair less, so that rounding does not decide on the unit.
    return choices[0 if largest >= (1 - 1e-9) * _FROM.get(si_unit, 1.0) else -1]


def _text(value: float, shown: _DisplayUnit, digits: int) -> str:
    value *= shown.per_si
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else ("∞" if value > 0 else "-∞") + shown.unit
    if abs(value) < shown.least:
        return f"{f'< {_plain(shown.least, 1)}' if value > 0 else '0'}{shown.unit}"
    return f"{_plain(value, digits)}{shown.unit}"


def _plain(value: float, digits: int) -> str:
    """Without exponent, without zeros at the end, and never as -0."""
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:z.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
