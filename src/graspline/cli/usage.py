"""How a command explains its arguments: usage lines and help."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperOption

from graspline.cli.option_errors import in_our_words

_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
_UNBROKEN = "\N{NON-BREAKING HYPHEN}"
_EXPLAINED = (TyperArgument, TyperOption)


class CliCommand(TyperCommand):
    """A command whose arguments are shown by name alone, and whose missing arguments come with what to choose from."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for each in self.params:
            if isinstance(each, TyperArgument):
                # Otherwise the type is listed beside the name, as in `TASK <str>`; typer has no option for it.
                each.display_type_rich = _nothing

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The usage line without braces."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def get_help(self, ctx: Any) -> str:
        """The help, in which no name such as `move-plate` is split at its hyphen at the end of a line."""
        kept = {each: each.help for each in self.params if isinstance(each, _EXPLAINED) and each.help}
        try:
            for each, text in kept.items():
                each.help = _HYPHEN.sub(_UNBROKEN, text)
            return super().get_help(ctx).replace(_UNBROKEN, "-")
        finally:
            for each, text in kept.items():
                each.help = text

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, with errors in our words."""
        with in_our_words(ctx, self.params, self._usage(ctx)):
            return super().parse_args(ctx, args)

    def _usage(self, ctx: Any) -> list[str]:
        return [" ".join(["usage:", ctx.command_path, *self.collect_usage_pieces(ctx)])]


def _nothing(ctx: Any) -> str:
    return ""
