"""Camera pictures: rendered and encoded once for all clients of the same camera and size."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response, WebSocket
from fastapi.responses import JSONResponse

from graspline.errors import EnvironmentProblem
from graspline.serve.http.response_models import GUARDED, CallProblem, problems
from graspline.serve.http.streams import Stream, empty_into
from graspline.serve.live.server_context import Bench

# A renderer is kept for each size, so there are few of them.
Size = Literal["160x120", "320x240", "640x480"]
SizeQuery = Annotated[Size, Query(description="Width and height in pixels.")]
CameraName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
DEFAULT_SIZE: Size = "320x240"
PICTURE_S = 5.0


class Films:
    """Streams of pictures, each with a task that asks for the next one as long as a client watches."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._streams: dict[tuple[str, Size], Stream[bytes]] = {}
        self._tasks: dict[tuple[str, Size], asyncio.Task[None]] = {}
        # Pictures may take their time; they must not take the threads that other calls need.
        self._threads = ThreadPoolExecutor(8, thread_name_prefix="pictures")

    @property
    def cameras(self) -> tuple[str, ...]:
        """The names of the cameras."""
        return self._bench.session().cameras

    async def picture(self, camera: str, size: Size, newer_than: int = -1) -> tuple[int, bytes]:
        """The newest image of a camera as JPEG, with its number."""
        width, height = _pixels(size)
        session = self._bench.session()
        return await asyncio.get_running_loop().run_in_executor(
            self._threads,
            lambda: session.picture(camera, width, height, newer_than=newer_than, timeout_s=PICTURE_S),
        )

    def warm_up(self) -> None:
        """Render a first picture that is not shown: opening a renderer delays the simulation, which is harmless now."""
        for camera in self.cameras[:1]:
            session, (width, height) = self._bench.session(), _pixels(DEFAULT_SIZE)
            self._threads.submit(session.picture, camera, width, height)

    async def show(self, socket: WebSocket, camera: str, size: Size) -> None:
        """Send a camera's images to a client until it leaves."""
        stream = self._streams.setdefault((camera, size), Stream(1))
        with stream.mailbox() as box:
            if (camera, size) not in self._tasks or self._tasks[camera, size].done():
                self._tasks[camera, size] = asyncio.create_task(self._roll(stream, camera, size))
            await empty_into(socket, box)

    async def _roll(self, stream: Stream[bytes], camera: str, size: Size) -> None:
        number = -1
        try:
            while stream.watched and camera in self.cameras:
                with contextlib.suppress(TimeoutError):
                    number, jpeg = await self.picture(camera, size, number)
                    stream.publish(jpeg)
        finally:
            stream.end()

    async def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)


def _pixels(size: Size) -> tuple[int, int]:
    width, height = size.split("x")
    return int(width), int(height)


def camera_routes(films: Films) -> APIRouter:
    """The routes that stream camera images."""
    router = APIRouter(tags=["cameras"], responses=GUARDED)

    @router.get("/cameras", response_model=list[str], summary="The cameras of this scene")
    async def cameras() -> JSONResponse:
        return JSONResponse(list(films.cameras))

    @router.get(
        "/camera/{name}.jpg",
        summary="What a camera sees",
        response_class=Response,
        responses={
            HTTPStatus.OK.value: {"content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}},
            **problems(HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE),
        },
    )
    async def picture(name: CameraName, size: SizeQuery = DEFAULT_SIZE) -> Response:
        if name not in films.cameras:
            return _no_camera(films)
        try:
            _, jpeg = await films.picture(name, size)
        except (TimeoutError, EnvironmentProblem) as error:
            return _problem(f"no picture of {name}: {error}", HTTPStatus.SERVICE_UNAVAILABLE)
        return Response(jpeg, media_type="image/jpeg")

    return router


def _no_camera(films: Films) -> JSONResponse:
    return _problem(f"no such camera; known: {', '.join(films.cameras) or 'none'}", HTTPStatus.NOT_FOUND)


def _problem(message: str, status: HTTPStatus) -> JSONResponse:
    return JSONResponse(CallProblem(message=message).model_dump(), status)
