"""How a command explains its arguments: usage lines, and what a missing one may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperOption

from graspline.errors import InputError

_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
_UNBROKEN = "\N{NON-BREAKING HYPHEN}"


class Command(TyperCommand):
    """A command whose arguments are shown by name alone, and whose missing arguments come with what to choose from."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for each in self.params:
            if isinstance(each, TyperArgument):
                # Otherwise the type is listed beside the name, as in `TASK <str>`; typer has no option for it.
                each.display_type_rich = _nothing

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def get_help(self, ctx: Any) -> str:
        """The help, in which no name such as `move-plate` is split at its hyphen at the end of a line."""
        kept = {each: each.help for each in self.params if isinstance(each, TyperOption) and each.help}
        try:
            for each, text in kept.items():
                each.help = _HYPHEN.sub(_UNBROKEN, text)
            return super().get_help(ctx).replace(_UNBROKEN, "-")
        finally:
            for each, text in kept.items():
                each.help = text

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # By its name: typer has a copy of click of its own in some versions and not in others.
            if type(error).__name__ != "MissingParameter":
                raise
            raise InputError([_missing(getattr(error, "param", None)), *self._usage(ctx)]) from None

    def _usage(self, ctx: Any) -> list[str]:
        return [" ".join(["usage:", ctx.command_path, *self.collect_usage_pieces(ctx)])]


def _missing(parameter: Any) -> str:
    """What is missing, and what it may be."""
    if not isinstance(parameter, TyperArgument):
        name = max(parameter.opts, key=len)
        return f"{name} is missing: {_in_a_sentence(parameter.help)}"
    name = parameter.metavar or str(parameter.name).upper()
    choices = _CHOICES.get(name)
    what = _in_a_sentence(parameter.help) if choices is None else f"choose {either(choices())}"
    return f"{name} is missing: {what}"


def _in_a_sentence(help_text: str | None) -> str:
    text = (help_text or "").rstrip(".")
    return text[:1].lower() + text[1:]


def either(words: Sequence[str]) -> str:
    """`a, b or c`."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _tasks() -> Sequence[str]:
    from graspline.tasks.catalogue import TASKS

    return tuple(TASKS)


def _robots() -> Sequence[str]:
    from graspline.robots.catalogue import ROBOTS

    return tuple(ROBOTS)


def _nothing(ctx: Any) -> str:
    return ""


# Imported when they are needed: listing the commands needs neither.
_CHOICES: dict[str, Callable[[], Sequence[str]]] = {"TASK": _tasks, "ROBOT": _robots}
