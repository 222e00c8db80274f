"""Numbers in units that people read: millimetres, degrees, grams."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from graspline.evidence import Measurement

# By SI unit: what it is shown in, and how many of those make one.
_SHOWN: Mapping[str, tuple[str, float]] = MappingProxyType(
    {
        "m": ("mm", 1e3),
        "m/s": ("mm/s", 1e3),
        "m²": ("mm²", 1e6),
        "rad": ("°", math.degrees(1.0)),
        "rad/s": ("°/s", math.degrees(1.0)),
        "kg": ("g", 1e3),
    }
)
_WORDS: Mapping[str, str] = MappingProxyType({"<=": "at most", ">=": "at least", "==": "exactly"})


def quantity(value: float, unit: str = "") -> str:
    """A value with its unit: three digits at most, nothing finer than a tenth."""
    if math.isnan(value):
        return "no data"
    shown, scale = _SHOWN.get(unit, (unit, 1.0))
    scaled = scale * value
    size = abs(scaled)
    if 0 < size < 0.05:
        text = "< 0.1"
    else:
        text = f"{scaled:.1f}" if size < 99.95 else f"{scaled:.0f}"
        text = text.removesuffix(".0").replace("-0", "0", 1) if float(text) == 0 else text.removesuffix(".0")
    space = "" if shown.startswith("°") else " "
    return f"{text}{space}{shown}".strip()


def limit(measured: Measurement) -> str:
    """What was allowed: at most 5 mm."""
    return f"{_WORDS[measured.relation]} {quantity(measured.limit, measured.unit)}"


def plain_name(name: str) -> str:
    """A name of the program's in words: weaker_pad_force is "weaker pad force"."""
    return name.replace(".", ": ").replace("_", " ")
