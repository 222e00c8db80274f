"""The application: routes, sockets and the panel's page, all of them behind the guard."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NoReturn

from fastapi import Depends, FastAPI, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route

from graspline.errors import InputError
from graspline.serve.http.access import Door
from graspline.serve.http.access_middleware import Guard, Limits
from graspline.serve.http.drive_routes import drive_routes
from graspline.serve.http.films import DEFAULT_SIZE, Films, SizeQuery, camera_routes
from graspline.serve.http.operator_commands import Orders
from graspline.serve.http.response_models import CallProblem
from graspline.serve.http.routes import arm_routes, lease_routes, object_routes, task_routes
from graspline.serve.http.so_arm101_services import seed_services
from graspline.serve.http.streams import SnapshotPublisher
from graspline.serve.live.server_context import Bench
from graspline.version import VERSION

if TYPE_CHECKING:
    from graspline.serve.http.viser_front import ViserFront


def guarded_app(bench: Bench, door: Door, *, front: ViserFront | None = None, limits: Limits | None = None) -> Guard:
    """Everything we serve; with a viser front, its page is the one at `/`."""
    return Guard(_application(bench, front), door, limits)


def description() -> dict[str, Any]:
    """Every route as OpenAPI describes it; needs no session."""

    def no_session() -> NoReturn:
        raise RuntimeError("a description needs no session")

    return _application(Bench(session=no_session), None).openapi()


def _application(bench: Bench, front: ViserFront | None) -> FastAPI:
    watch, films = SnapshotPublisher(bench), Films(bench)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watch.start()
        films.warm_up()
        yield
        watch.close()
        await films.close()

    # The pages that FastAPI would make of the description load scripts from elsewhere.
    app = FastAPI(
        title="graspline", version=VERSION, lifespan=lifespan, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    orders = Orders(bench)
    routers = (
        seed_services(orders),
        arm_routes(orders),
        drive_routes(orders),
        task_routes(orders),
        object_routes(orders),
        lease_routes(orders),
        camera_routes(films),
    )
    for router in routers:
        # The guard asks for the token; this only documents it in the description.
        app.include_router(router, dependencies=[Depends(HTTPBearer(auto_error=False))])
    _add_sockets(app, watch, films)
    # The application does not list the routes of its routers.
    routes = [each for router in routers for each in router.routes]
    _add_page(app, front, routes)
    _add_problems(app, front, routes)
    return app


def _add_sockets(app: FastAPI, watch: SnapshotPublisher, films: Films) -> None:
    @app.websocket("/ws/state")
    async def states(socket: WebSocket) -> None:
        await watch.states.show(socket)

    @app.websocket("/ws/evidence")
    async def transitions(socket: WebSocket) -> None:
        await watch.transitions.show(socket)

    @app.websocket("/ws/camera/{name}")
    async def pictures(socket: WebSocket, name: str, size: SizeQuery = DEFAULT_SIZE) -> None:
        if name not in films.cameras:
            message = f"no such camera; known: {', '.join(films.cameras) or 'none'}"
            body = CallProblem(message=message).model_dump()
            await socket.send_denial_response(JSONResponse(body, HTTPStatus.NOT_FOUND))
            return
        await films.show(socket, name, size)


def _add_page(app: FastAPI, front: ViserFront | None, routes: Sequence[BaseRoute]) -> None:
    if front is None:

        @app.get("/", include_in_schema=False)
        async def plain_page() -> Response:
            return Response("graspline: see /openapi.json for what can be called here\n", media_type="text/plain")

        return

    @app.get("/{path:path}", include_in_schema=False)
    async def page(path: str, request: Request) -> Response:
        found = front.page(f"/{path}", request.headers["host"])
        return found or _not_here(request, routes)

    @app.websocket("/")
    async def panel(socket: WebSocket) -> None:
        await front.relay(socket)


def _add_problems(app: FastAPI, front: ViserFront | None, routes: Sequence[BaseRoute]) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        # FastAPI would send back what it was given, and fails where that is not a number.
        found = [f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in error.errors()]
        return _problem("; ".join(found), HTTPStatus.UNPROCESSABLE_ENTITY)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            has_page = request.url.path == "/" if front is None else request.url.path in front.files
            return _not_here(request, [*routes, *app.routes] if has_page else routes)
        return _problem(str(error.detail), HTTPStatus(error.status_code))

    @app.exception_handler(InputError)
    async def mistaken(_: Request, error: InputError) -> Response:
        return _problem(str(error), HTTPStatus.UNPROCESSABLE_ENTITY)


def _not_here(request: Request, routes: Sequence[BaseRoute]) -> Response:
    """That another method is meant, where one of these routes has the path; else that nothing is here."""
    # Starlette knows the methods of the first route of a path only.
    matching = [each for each in routes if isinstance(each, Route) and each.matches(request.scope)[0] != Match.NONE]
    allowed = {method for route in matching for method in route.methods or ()}
    if not allowed:
        return _problem("nothing is here", HTTPStatus.NOT_FOUND)
    headers = {"Allow": ", ".join(sorted(allowed))}
    return _problem("no such method here", HTTPStatus.METHOD_NOT_ALLOWED, headers)


def _problem(message: str, status: HTTPStatus, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(CallProblem(message=message).model_dump(), status, headers)
