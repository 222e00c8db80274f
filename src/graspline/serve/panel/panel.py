"""Keeps every open page up to date with the session, thirty times a second."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable

import viser

from graspline.machine.machine import Machine
from graspline.robots.robot import Robot
from graspline.serve.live.pace import now_s
from graspline.serve.live.server_context import Bench
from graspline.serve.live.session import Session
from graspline.serve.panel.operator_client import Helm
from graspline.serve.panel.page import Page
from graspline.serve.panel.plan_cache import PlanCache
from graspline.serve.panel.scene_view import SceneView3D

_LOG = logging.getLogger(__name__)
UPDATES_HZ = 30.0
# Words and numbers change once in this number of updates.
_WORDS_EVERY = 3
# Where a page looks from at a robot that does not say it, and at what: shares of its reach.
_FROM, _AT = (1.4, -1.0, 0.85), (0.25, 0.0, 0.15)
# A longer lens than viser's: less floor, and upright things stay upright.
FOV_RAD = math.radians(45.0)
_WIDTH_PX = 400.0


def viewpoint(robot: Robot) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Where a page looks from, and at what, in W."""
    if robot.seen_from_m is not None:
        return robot.seen_from_m, robot.seen_at_m
    reach_m = float(robot.levers_m[0])
    (x, y, z), (at_x, at_y, at_z) = _FROM, _AT
    return (x * reach_m, y * reach_m, z * reach_m), (at_x * reach_m, at_y * reach_m, at_z * reach_m)


class Panel:
    """A viser server's scene and its clients' pages. `machine` is that of the session's task."""

    def __init__(self, server: viser.ViserServer, bench: Bench, machine: Callable[[], Machine]) -> None:
        self._server, self._bench, self._machine = server, bench, machine
        self._lock = threading.Lock()
        self._clients: dict[int, tuple[viser.ClientHandle, Helm]] = {}
        self._pages: dict[int, Page] = {}
        self._over = threading.Event()
        # Updates of the scene that were sent while a page was open.
        self.updates = 0
        server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(24, 100, 171))
        server.gui.set_panel_label("graspline")
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(_WIDTH_PX)
        camera = server.initial_camera
        camera.position, camera.look_at = viewpoint(bench.session().scene.robot)
        camera.fov = FOV_RAD
        self._adopt(bench.session())
        server.on_client_connect(self._connected)
        server.on_client_disconnect(self._disconnected)
        self._thread = threading.Thread(target=self._run, name="graspline-panel", daemon=True)

    def start(self) -> None:
        """Start the panel's thread."""
        self._thread.start()

    def close(self) -> None:
        """Pages are sent nothing any more."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _adopt(self, session: Session) -> None:
        """Another session: its scene, and new pages for all clients."""
        self._session = session
        self._world = SceneView3D(self._server, session.scene, self._clicked)
        self._board = PlanCache(self._world)
        self._world.show(session.snapshot)
        with self._lock:
            known = list(self._clients.values())
        for client, operator in known:
            self._open(client, operator)

    # Clients, in viser's threads

    def _connected(self, client: viser.ClientHandle) -> None:
        operator = Helm(self._bench, f"panel-{client.client_id}")
        with self._lock:
            self._clients[client.client_id] = client, operator
        self._open(client, operator)

    def _open(self, client: viser.ClientHandle, operator: Helm) -> None:
        with self._lock:
            before = self._pages.pop(client.client_id, None)
        if before is not None:
            before.drive.close()
        page = Page(client, operator, self._bench, self._board, self._machine())
        page.show(self._session.snapshot)
        with self._lock:
            if client.client_id in self._clients:
                self._pages[client.client_id] = page

    def _disconnected(self, client: viser.ClientHandle) -> None:
        with self._lock:
            _, operator = self._clients.pop(client.client_id, (None, None))
            self._pages.pop(client.client_id, None)
        if operator is not None:
            operator.leave()

    def _clicked(self, client_id: int, name: str, spot_m: tuple[float, float]) -> None:
        with self._lock:
            page = self._pages.get(client_id)
        if page is not None:
            page.clicked(name, spot_m)

    # In its own thread

    def _run(self) -> None:
        due_s, count = now_s(), 0
        while not self._over.wait(max(0.0, due_s - now_s())):
            # Updates that are late are left out, not made up for.
            due_s = max(due_s + 1 / UPDATES_HZ, now_s())
            count += 1
            try:
                self._update(words=count % _WORDS_EVERY == 0)
            except Exception:
                # One page that fails, because its browser has just gone, must not take the others along.
                _LOG.exception("the panel missed an update")

    def _update(self, *, words: bool) -> None:
        session = self._bench.session()
        if session is not self._session:
            self._adopt(session)
        with self._lock:
            pages = list(self._pages.values())
        if not pages:
            return
        snapshot = session.snapshot
        self._world.show(snapshot)
        self._board.show(snapshot)
        self.updates += 1
        for page in pages:
            page.drive.show(snapshot, words=words)
        if words:
            for page in pages:
                page.show(snapshot)
