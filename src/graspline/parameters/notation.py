"""How a value is written: in YAML, where it must read back as itself, and in messages, where it is short.

Words follow YAML 1.2. PyYAML follows 1.1, where `1e-3` is text, `no` is false and `1:30` is ninety.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"
KeyPath: TypeAlias = tuple[str | int, ...]

_WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SAFE_UNQUOTED = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*")

# Past this many digits int() may refuse; as a float the number is infinite, which validation refuses.
_MOST_DIGITS = 300
_LONGEST_SHOWN = 60
_MOST_ITEMS_SHOWN = 6


def resolve(word: str) -> bool | int | float | str | None:
    """The value of an unquoted YAML word."""
    if word in _WORDS:
        return _WORDS[word]
    if _INTEGER.fullmatch(word) and len(word) <= _MOST_DIGITS:
        return int(word)
    return float(word) if _FLOAT.fullmatch(word) else word


def write(value: object) -> str:
    """The value on one line of YAML; read back, it is equal."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            return ".nan" if math.isnan(value) else (".inf" if value > 0 else "-.inf")
        case int() | float():
            return repr(value)
        case str() if _SAFE_UNQUOTED.fullmatch(value) and isinstance(resolve(value), str):
            return value
        case str():
            return '"' + "".join(map(_escaped, value)) + '"'
        case list() | tuple():
            return "[" + ", ".join(map(write, value)) + "]"
        case Mapping():
            return "{" + ", ".join(f"{write(key)}: {write(each)}" for key, each in value.items()) + "}"
    raise TypeError(f"{type(value).__name__} has no YAML notation here")


def shown(value: object) -> str:
    """The value in a message: one line, short, quotes around text."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value)
        case int():
            # str() refuses integers of more than 4300 digits.
            return str(value) if value.bit_length() < 200 else "a huge whole number"
        case str():
            return repr(shortened(value))
        case Mapping():
            return "a section"
        case Sequence() if isinstance(value, list | tuple):
            items = ["[…]" if isinstance(item, list | tuple) else shown(item) for item in value[:_MOST_ITEMS_SHOWN]]
            return "[" + ", ".join(items + ["…"] * (len(value) > _MOST_ITEMS_SHOWN)) + "]"
    return f"an object of type {type(value).__name__}"


def number(value: float) -> str:
    """A bound in words, exactly: 0.1, 3, 1e-05."""
    return repr(value).removesuffix(".0")


def dotted(path: KeyPath) -> str:
    """A key path as it is written in `--set`, with positions in brackets: `scene.cube.edge_m[1]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{printable(part)}"
    return text.removeprefix(".")


def printable(text: str) -> str:
    """The text on one line that any terminal takes: a shell lets newlines and half characters in."""
    return text if text.isprintable() else repr(text)[1:-1]


def shortened(text: str) -> str:
    """A text, cut where it is too long to show."""
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08x}"
