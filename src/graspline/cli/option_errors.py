"""Wrong options and wrong values, in the words of all our other errors: what was given, what is allowed, what is near.

Errors are recognised by the names of their classes: typer has a copy of click of its own in some versions and not in
others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, get_args

from typer.core import TyperArgument

from graspline.errors import InputError, either, nearest, suggestion

_EXTRA = re.compile(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)
# Larger limits are those of the machine, not of what the option means.
_LARGEST_SHOWN = 10**12
_LONGEST_SHOWN = 60


@contextmanager
def in_our_words(ctx: Any, parameters: Sequence[Any], usage: Sequence[str]) -> Iterator[None]:
    """Turn what typer raises about the words of a command line into an InputError."""
    try:
        yield
    except Exception as error:
        names = {each.__name__ for each in type(error).__mro__}
        if "UsageError" not in names or "NoArgsIsHelpError" in names:
            raise
        raise InputError(_problems(error, ctx, parameters, usage)) from None


def _problems(error: Any, ctx: Any, parameters: Sequence[Any], usage: Sequence[str]) -> list[str]:
    match type(error).__name__:
        case "MissingParameter" if error.param is not None:
            return [_missing(error.param), *usage]
        case "NoSuchOption":
            names = [name for each in parameters for name in (*each.opts, *each.secondary_opts) if name[:2] == "--"]
            # Without the dashes, which make any two options alike.
            hint = suggestion(error.option_name.lstrip("-"), [each[2:] for each in names]).replace("'", "'--", 1)
            named = repr(error.option_name)
            return [f"no such option {named}; {hint}`{ctx.command_path} --help` lists the options"]
        case "BadOptionUsage":
            return [_bad_use(error, parameters)]
        case "BadParameter" if error.param is not None:
            return [_bad_value(error)]
    extra = _EXTRA.search(error.message)
    return [f"unexpected argument {extra[1]!r}", *usage] if extra else [_in_a_sentence(error.format_message())]


def _bad_use(error: Any, parameters: Sequence[Any]) -> str:
    """An option without the value it needs, or with one that it does not take."""
    if "does not take" in error.message:
        return f"{error.option_name} takes no value"
    meant = next((each for each in parameters if error.option_name in each.opts), None)
    return f"{error.option_name} needs a value: {_in_a_sentence(getattr(meant, 'help', None))}"


def _bad_value(error: Any) -> str:
    """A value that is not what an option or argument takes."""
    name, why = name_of(error.param), _in_a_sentence(error.message.removeprefix("Value error, "))
    found = getattr(error.__cause__, "errors", None)
    if found is None:
        return f"{name}: {why}"
    first = found()[0]
    given, kind = _short(str(first["input"])), str(first["type"])
    choices = get_args(_annotation(error.param))
    if kind == "value_error" and choices and all(isinstance(each, str) for each in choices):
        return f"{name} {given}: unknown choice {given!r}; {nearest(given, choices)}"
    return f"{name} {given}: {_wrong_number(given, kind, error.param) or why}"


def _wrong_number(given: str, kind: str, parameter: Any) -> str:
    limits = _limits(parameter)
    if given.strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return f"{given} is not a finite number{limits}"
    match kind:
        case "greater_than_equal":
            return f"{given} is below {_plain(parameter.min)}{limits}"
        case "less_than_equal":
            return f"{given} is above {_plain(parameter.max)}{limits}"
        case _ if kind.startswith("int_"):
            return f"{given!r} is not a whole number{limits}"
        case _ if kind.startswith("float_"):
            return f"{given!r} is not a number{limits}"
    return ""


def _limits(parameter: Any) -> str:
    least, most = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if least is None:
        return "" if most is None else f" (allowed up to {_plain(most)})"
    if most is None or most > _LARGEST_SHOWN:
        return f" (allowed {_plain(least)} or more)"
    return f" (allowed {_plain(least)} to {_plain(most)})"


def _plain(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)


def _annotation(parameter: Any) -> Any:
    return getattr(getattr(parameter, "type_descriptor", None), "annotation", None)


def name_of(parameter: Any) -> str:
    """An argument or option as the user writes it: TASK, --episodes."""
    if isinstance(parameter, TyperArgument):
        return parameter.metavar or str(parameter.name).upper()
    return max(parameter.opts, key=len)


def _missing(parameter: Any) -> str:
    """What is missing, and what it may be."""
    name = name_of(parameter)
    choices = choices_of(name)
    what = f"choose {either(choices)}" if choices else _in_a_sentence(parameter.help)
    return f"{name} is missing: {what}"


def _short(text: str) -> str:
    """On one line that any terminal takes."""
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _in_a_sentence(text: str | None) -> str:
    text = (text or "").rstrip(".")
    return text[:1].lower() + text[1:]


def _tasks() -> Sequence[str]:
    from graspline.tasks.catalogue import TASKS

    return tuple(TASKS)


def _robots() -> Sequence[str]:
    from graspline.robots.catalogue import ROBOTS

    return tuple(ROBOTS)


def choices_of(argument: str) -> Sequence[str]:
    """What an argument may be, by its name; nothing for one that takes any text."""
    return _CHOICES[argument]() if argument in _CHOICES else ()


# Imported when they are needed: listing the commands needs neither.
_CHOICES: dict[str, Callable[[], Sequence[str]]] = {"TASK": _tasks, "ROBOT": _robots}
