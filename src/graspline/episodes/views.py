"""Which cameras are seen through, at which size and how often: read from text or a mapping, refused in words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from graspline.errors import InputError, nearest
from graspline.parameters.notation import shown
from graspline.rendering.picture import View

DEFAULT_VIEWS = "front:640x480,wrist:320x240"
_SIZE = re.compile(r"([0-9]{1,5})x([0-9]{1,5})")
_LEAST_PX, _MOST_PX = 16, 4096


def parse_views(
    given: str | Mapping[str, object], cameras: tuple[str, ...], where: str = "--cameras"
) -> tuple[View, ...]:
    """Views such as `front:640x480,wrist:320x240`, or a mapping from cameras to (width, height) in pixels.

    The word none, an empty text and an empty mapping give no view. `where` is how messages name them.
    """
    views, problems = [], []
    for camera, size in _entries(given):
        width, height = _size(size)
        if camera not in cameras:
            problems.append(f"{where}: no camera {shown(camera)}; {nearest(camera, cameras)}")
        elif any(view.camera == camera for view in views):
            problems.append(f"{where}: {camera} is named twice")
        elif not (_LEAST_PX <= width <= _MOST_PX and _LEAST_PX <= height <= _MOST_PX):
            problems.append(
                f"{where}: {camera}: expected a size such as 640x480, {_LEAST_PX} to {_MOST_PX} pixels; got {size!r}"
            )
        else:
            views.append(View(camera=camera, width=width, height=height))
    if problems:
        raise InputError(problems)
    return tuple(views)


def _entries(given: str | Mapping[str, object]) -> list[tuple[str, object]]:
    if not isinstance(given, str):
        return [(str(camera), size) for camera, size in given.items()]
    if given.strip() in ("", "none"):
        return []
    parts = (part.strip().partition(":") for part in given.split(","))
    return [(camera, size) for camera, _, size in parts]


def _size(size: object) -> tuple[int, int]:
    """Width and height; zeros for what is no size."""
    match = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if match is not None:
        return int(match[1]), int(match[2])
    if isinstance(size, tuple | list) and len(size) == 2 and all(type(each) is int for each in size):
        return size[0], size[1]
    return 0, 0


def ticks_per_frame(fps: object, control_hz: int, where: str = "--fps") -> int:
    """How many control ticks a frame lasts, for a rate whose frames fall on ticks."""
    if type(fps) is not int or fps < 1 or control_hz % fps:
        good = ", ".join(str(rate) for rate in range(control_hz, 0, -1) if control_hz % rate == 0)
        raise InputError(f"{where}: {fps!r} does not divide the control rate of {control_hz} Hz; use {good}")
    return control_hz // fps
