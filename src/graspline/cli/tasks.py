"""`graspline tasks`: what there is to do."""

from __future__ import annotations

from graspline.tasks.catalogue import LISTED


def tasks() -> None:
    """List the tasks.

    \b
    Example:
      graspline tasks
    """
    width = max(len(name) for name in LISTED)
    for name, each in LISTED.items():
        print(f"{name:<{width}}  {each.summary}")
