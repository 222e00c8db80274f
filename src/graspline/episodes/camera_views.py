"""Which cameras are seen through, at which size and how often: read from text or a mapping, refused in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from graspline.choices import DEFAULT_VIEWS
from graspline.errors import InputError, suggestion
from graspline.parameters.notation import shown
from graspline.scenes.scene import Scene

_SIZE = re.compile(r"([0-9]{1,5})x([0-9]{1,5})")
_LEAST_PX, _MOST_PX = 16, 4096
_NONE = "none"


@dataclass(frozen=True, slots=True, order=True)
class View:
    """One camera's pictures, and their size."""

    camera: str
    width: int
    height: int

    @property
    def key(self) -> str:
        """The name of a dataset's feature that holds them."""
        return f"observation.images.{self.camera}"

    def __str__(self) -> str:
        return f"{self.camera}:{self.width}x{self.height}"


def views_of(scene: Scene, given: str | Mapping[str, object], where: str = "--cameras") -> tuple[View, ...]:
    """Views of a scene; `DEFAULT_VIEWS` stands for those that the scene usually has."""
    return parse_views(_usual(scene) if given == DEFAULT_VIEWS else given, scene.cameras, where)


def _usual(scene: Scene) -> str:
    """What the scene says, or else the front view and the robot's own cameras, whatever they are called."""
    if scene.usual_views != DEFAULT_VIEWS:
        return scene.usual_views
    own, size = scene.robot.cameras, DEFAULT_VIEWS.rpartition(":")[2]
    return ",".join([DEFAULT_VIEWS.partition(",")[0], *(f"{camera}:{size}" for camera in own)])


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
            hint = suggestion(camera, (*cameras, _NONE))
            problems.append(f"{where}: no camera {shown(camera)}; {hint}known: {', '.join(cameras)}")
        elif any(view.camera == camera for view in views):
            problems.append(f"{where}: {camera} is named twice")
        elif any(pixels % 2 or not _LEAST_PX <= pixels <= _MOST_PX for pixels in (width, height)):
            # Videos store colour at half resolution, so sizes are even; environments show what datasets can.
            problems.append(
                f"{where}: {camera}: expected a size such as 640x480, even and {_LEAST_PX} to {_MOST_PX} pixels; "
                f"got {size!r}"
            )
        else:
            views.append(View(camera, width, height))
    if problems:
        raise InputError(problems)
    return tuple(views)


def view_of(text: str) -> View:
    """A view from how it prints; ValueError if it is none."""
    camera, _, size = text.partition(":")
    width, height = _size(size)
    if not (camera and width and height):
        raise ValueError(f"{text!r} is not a view")
    return View(camera, width, height)


def _entries(given: str | Mapping[str, object]) -> list[tuple[str, object]]:
    if not isinstance(given, str):
        return [(str(camera), size) for camera, size in given.items()]
    if given.strip() in ("", _NONE):
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
