"""Pictures of the newest snapshot for all clients, rendered and encoded once, in a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from graspline.episodes.camera_views import View
from graspline.errors import EnvironmentProblem, InputError, nearest
from graspline.rendering.choose import Renderer, RendererKind, open_renderer
from graspline.rendering.picture import Pixels
from graspline.scenes.scene import Scene
from graspline.serve.live.pace import now_s
from graspline.serve.live.snapshot import SessionSnapshot

# Of one camera at one size at most one picture in this time.
_PERIOD_S = 0.1
# A client that asked this long ago is not waiting for the next one.
_FORGET_S = 2.0
# Renderers kept open at a time; each is of one size.
_SIZES = 4
LARGEST_PX = 1280, 960
_QUALITY = (int(cv2.IMWRITE_JPEG_QUALITY), 85)


@dataclass(slots=True)
class _Wanted:
    asked_s: float
    rendered_s: float = -np.inf
    number: int = -1
    jpeg: bytes = b""
    # How often it was rendered, and how many clients wait for it.
    renderings: int = 0
    waiting: int = 0


class Pictures:
    """Renders views while clients ask for them. Graphics contexts live and die in its thread."""

    def __init__(
        self,
        scene: Scene,
        newest: Callable[[], SessionSnapshot],
        kind: RendererKind = "auto",
        clock: Callable[[], float] = now_s,
        sizes: tuple[tuple[int, int], ...] = (),
    ) -> None:
        """`sizes` (width, height) are ready once it has started: opening a renderer holds up all of Python."""
        self._scene, self._newest, self._clock = scene, newest, clock
        self._kind: RendererKind = kind
        self._sizes = sizes
        self._ready = threading.Event()
        self._changed = threading.Condition()
        self._views: dict[View, _Wanted] = {}
        self._problem = ""
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="graspline-pictures", daemon=True)

    def start(self) -> None:
        """Start the rendering thread."""
        self._thread.start()
        self._ready.wait()

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def get(self, view: View, newer_than: int, timeout_s: float) -> tuple[int, bytes]:
        """The number of the snapshot that is seen, and the picture as JPEG; waits for one that is new enough.

        Raises `InputError` for a view that cannot be, `EnvironmentProblem` where rendering fails and `TimeoutError`.
        """
        self._check(view)
        with self._changed:
            wanted = self._views.get(view)
            if wanted is None:
                wanted = self._views[view] = _Wanted(asked_s=self._clock())
            wanted.asked_s, before = self._clock(), wanted.renderings
            self._changed.notify_all()

            def there() -> bool:
                recent = self._clock() - wanted.rendered_s <= 2 * _PERIOD_S or wanted.number == self._newest().number
                # On a busy machine this thread may wake up later than that; what was rendered meanwhile is new enough.
                fresh = recent or wanted.renderings > before
                return bool(self._problem or self._closing or (fresh and wanted.number > newer_than))

            wanted.waiting += 1
            try:
                if not self._changed.wait_for(there, timeout_s):
                    raise TimeoutError(f"no picture of camera {view.camera!r} within {timeout_s} s")
            finally:
                wanted.waiting -= 1
            if self._problem or self._closing:
                raise EnvironmentProblem(self._problem or "the session is closed")
            return wanted.number, wanted.jpeg

    def _check(self, view: View) -> None:
        problems = []
        if view.camera not in self._scene.cameras:
            problems.append(f"no camera {view.camera!r}; {nearest(view.camera, self._scene.cameras)}")
        for name, pixels, most in zip(("width", "height"), (view.width, view.height), LARGEST_PX, strict=True):
            if not 16 <= pixels <= most:
                problems.append(f"{name} must be 16 to {most} pixels, got {pixels}")
        if problems:
            raise InputError(problems)

    # In its own thread

    def _run(self) -> None:
        renderers: dict[tuple[int, int], Renderer] = {}
        try:
            for size in self._sizes:
                # Whatever it shows, the first picture takes the longest.
                self._opened(size, renderers).render(
                    self._newest().qpos, self._newest().variation, self._scene.cameras[0]
                )
            self._ready.set()
            while (view := self._next()) is not None:
                self._render(view, renderers)
        except Exception as error:
            with self._changed:
                self._problem = f"pictures cannot be rendered: {type(error).__name__}: {error}"
                self._changed.notify_all()
        finally:
            self._ready.set()
            for renderer in renderers.values():
                renderer.close()

    def _next(self) -> View | None:
        """Wait for the view that is most overdue; None when closing."""
        with self._changed:
            while not self._closing:
                at_s = self._clock()
                old = [view for view, each in self._views.items() if at_s - each.asked_s > _FORGET_S]
                for view in old:
                    # A client that has waited for long gets its picture all the same.
                    if not self._views[view].waiting:
                        del self._views[view]
                stale = {view: each for view, each in self._views.items() if each.number != self._newest().number}
                due = min(stale, key=lambda view: stale[view].rendered_s, default=None)
                if due is not None and at_s - stale[due].rendered_s >= _PERIOD_S:
                    # On time on the average, although it wakes up a little late.
                    stale[due].rendered_s = max(stale[due].rendered_s + _PERIOD_S, at_s - _PERIOD_S)
                    return due
                # While nothing is wanted it sleeps until a client asks.
                self._changed.wait(_PERIOD_S / 10 if self._views else None)
            return None

    def _render(self, view: View, renderers: dict[tuple[int, int], Renderer]) -> None:
        renderer = self._opened((view.width, view.height), renderers)
        snapshot = self._newest()
        jpeg = encoded(_seen(snapshot, view, renderer))
        with self._changed:
            wanted = self._views.get(view)
            if wanted is not None:
                wanted.number, wanted.jpeg = snapshot.number, jpeg
                wanted.renderings += 1
            self._changed.notify_all()

    def _opened(self, size: tuple[int, int], renderers: dict[tuple[int, int], Renderer]) -> Renderer:
        if size not in renderers:
            while len(renderers) >= _SIZES:
                renderers.pop(next(iter(renderers))).close()
            renderers[size] = open_renderer(self._scene, *size, self._kind, smooth=False)
        # The one used last is closed last.
        renderer = renderers[size] = renderers.pop(size)
        return renderer


def _seen(snapshot: SessionSnapshot, view: View, renderer: Renderer) -> Pixels:
    """The scene as this camera has it: black or as it was where it is blind."""
    blind = snapshot.blind
    qpos = blind.get(view.camera, blind.get("", snapshot.qpos))
    if qpos is None:
        return np.zeros((view.height, view.width, 3), np.uint8)
    return renderer.render(qpos, snapshot.variation, view.camera).rgb


def encoded(rgb: Pixels) -> bytes:
    """A picture as JPEG."""
    done, data = cv2.imencode(".jpg", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), _QUALITY)
    if not done:
        raise RuntimeError("OpenCV did not encode a picture")
    return data.tobytes()
