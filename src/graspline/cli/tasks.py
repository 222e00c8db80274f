"""`graspline tasks`: what there is to do."""

from __future__ import annotations

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
        print(f"{each.name:<{width}}  {each.summary}")
