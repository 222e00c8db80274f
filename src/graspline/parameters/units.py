"""The unit of a parameter in words, read from the end of its name."""

from __future__ import annotations

_WORDS = {
    "deg": "degrees",
    "hz": "hertz",
    "j": "joules",
    "k": "kelvin",
    "kg": "kilograms",
    "kg_m2": "kilogram square metres",
    "kg_m3": "kilograms per cubic metre",
    "m": "metres",
    "m2": "square metres",
    "m3": "cubic metres",
    "m_s": "metres per second",
    "m_s2": "metres per second squared",
    "m_s3": "metres per second cubed",
    "n": "newtons",
    "n_m": "newtons per metre",
    "n_s": "newton seconds",
    "nm": "newton metres",
    "nm_rad": "newton metres per radian",
    "nm_s_rad": "newton metre seconds per radian",
    "pa": "pascals",
    "per_m": "per metre",
    "px": "pixels",
    "rad": "radians",
    "rad_s": "radians per second",
    "rad_s2": "radians per second squared",
    "rad_s3": "radians per second cubed",
    "s": "seconds",
    "w": "watts",
}
# The longest suffix first: `speed_m_s` is not seconds.
_SUFFIXES = sorted(_WORDS, key=len, reverse=True)


def unit_of(name: str) -> str:
    """The unit of `name` in words, empty where its ending is none: `slip_m` is in metres."""
    return next((_WORDS[suffix] for suffix in _SUFFIXES if name.endswith(f"_{suffix}")), "")
