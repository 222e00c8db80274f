"""`graspline tasks`: what there is to do."""

from __future__ import annotations

import sys

from graspline.cli.outputs import wrapped
from graspline.tasks.catalogue import listed


def tasks() -> None:
    """List the tasks.

    \b
    Example:
      graspline tasks
    """
    found = listed()
    width = max((len(each.name) for each in found), default=0)
    for each in found:
        line = f"{each.name:<{width}}  {each.summary}"
        # A program that reads the list gets a line for each task.
        print(*(wrapped(line, indent=width + 2) if sys.stdout.isatty() else [line]), sep="\n")
