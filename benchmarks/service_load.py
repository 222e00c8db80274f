"""Many watch, one commands: how far the simulation falls behind, how soon calls are answered, how soon the arm holds.

    python benchmarks/service_load.py                          a minute of everything below, on lift-cube
    python benchmarks/service_load.py --seconds 10 --sockets 10

This process serves a task in real time and lets it play again and again. Another process opens sockets that watch the
state and sockets that watch a 320×240 camera at 10 Hz, and asks for the state at a steady rate. In the second half of
the time the arm is jogged and stopped, again and again: from the request until the arm holds.
One JSON object tells the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from typing import Any

import httpx
import numpy as np
from websockets.asyncio.client import connect

from graspline.serve.http.access import Door
from graspline.serve.http.app import guarded_app
from graspline.serve.http.server import serve
from graspline.serve.live.commands import RunTask
from graspline.serve.live.server_context import Bench
from graspline.serve.live.session import Session
from graspline.tasks.catalogue import find_task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="lift-cube")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--sockets", type=int, default=50)
    parser.add_argument("--cameras", type=int, default=4)
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--watch", metavar="ADDRESS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.watch is not None:
        print(json.dumps(asyncio.run(load(options.watch, os.environ["TOKEN"], options))))
        return
    print(json.dumps(measure(options), indent=2))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Serve here, load from another process, and put both sides' figures together."""
    task = find_task(options.task)
    door = Door()
    behind_s: list[float] = []
    over = threading.Event()
    with Session(task, task.parameters(), 1) as session:
        with serve(guarded_app(Bench(session=lambda: session), door)) as served:
            watching = threading.Thread(target=keep_busy, args=(session, behind_s, over))
            watching.start()
            # First without anybody watching, to compare with, once what starting took is caught up with.
            while session.snapshot.behind_s > 0.02:
                over.wait(0.1)
            settled = len(behind_s)
            over.wait(options.seconds / 4)
            alone = len(behind_s)
            began_s, used_s = time.perf_counter(), time.process_time()
            command = [sys.executable, __file__, "--watch", served.address, *sys.argv[1:]]
            child = subprocess.run(
                command, env={**os.environ, "TOKEN": door.token}, capture_output=True, text=True, check=False
            )
            took_s, used_s = time.perf_counter() - began_s, time.process_time() - used_s
            over.set()
            watching.join()
        played = session.snapshot.episodes
    if child.returncode != 0:
        raise SystemExit(child.stderr)
    lag = np.array(behind_s[alone:])
    return {
        "task": options.task,
        "episodes": played,
        "snapshots": len(lag),
        "behind_alone_max_s": round(max(behind_s[settled:alone]), 4),
        "behind_max_s": round(float(lag.max()), 4),
        "behind_p99_s": round(float(np.percentile(lag, 99)), 4),
        "server_cores_used": round(used_s / took_s, 2),
        **json.loads(child.stdout),
    }


def keep_busy(session: Session, behind_s: list[float], over: threading.Event) -> None:
    """Run the task whenever nothing happens, and note at every snapshot how far behind the clock it is."""
    number = -1
    seed = 1
    idle_since = 0
    while not over.is_set():
        snapshot = session.wait(number, 1.0)
        number = snapshot.number
        behind_s.append(snapshot.behind_s)
        idle_since = idle_since + 1 if snapshot.mode == "idle" else 0
        # Somebody else may be about to command; a second of quiet, then the next episode.
        if idle_since > 60 and not session.lease.holder:
            session.submit(RunTask(seed))
            seed, idle_since = seed + 1, 0


async def load(address: str, token: str, options: argparse.Namespace) -> dict[str, Any]:
    """What the other process does."""
    headers = {"Authorization": f"Bearer {token}"}
    ws = address.replace("http://", "ws://")
    states, pictures = [0] * options.sockets, [0] * options.cameras
    tasks = [
        *(asyncio.create_task(count(f"{ws}/ws/state", headers, states, i)) for i in range(options.sockets)),
        *(asyncio.create_task(count(f"{ws}/ws/camera/front", headers, pictures, i)) for i in range(options.cameras)),
    ]
    limits = httpx.Limits(max_connections=20, max_keepalive_connections=20)
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=20, limits=limits) as client:
        await client.get("/state")
        began, used_s = time.perf_counter(), time.process_time()
        asked, stopped = await asyncio.gather(
            ask(client, options.rate, options.seconds), stop_often(client, options.seconds)
        )
        took_s, used_s = time.perf_counter() - began, time.process_time() - used_s
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    milliseconds = 1000 * np.array(asked)
    return {
        "client_cores_used": round(used_s / took_s, 2),
        "requests": len(asked),
        "requests_per_s": round(len(asked) / took_s, 1),
        "status_p50_ms": round(float(np.percentile(milliseconds, 50)), 2),
        "status_p99_ms": round(float(np.percentile(milliseconds, 99)), 2),
        "status_max_ms": round(float(milliseconds.max()), 2),
        "states_per_s_per_socket": [round(min(states) / took_s, 1), round(max(states) / took_s, 1)],
        "pictures_per_s_per_watcher": [round(each / took_s, 1) for each in pictures],
        "stops": len(stopped),
        "stop_to_hold_max_s": round(max(stopped), 3),
        "stop_to_hold_median_s": round(float(np.median(stopped)), 3),
    }


async def count(url: str, headers: dict[str, str], counts: list[int], index: int) -> None:
    async with connect(url, additional_headers=headers, compression=None) as client:
        async for _ in client:
            counts[index] += 1


async def ask(client: httpx.AsyncClient, rate: float, seconds: float) -> list[float]:
    """Ask at a steady rate, answered or not; how long each answer took, counted from when the request was due."""
    took: list[float] = []

    async def once(due: float) -> None:
        response = await client.get("/state")
        assert response.status_code == 200, response.text
        took.append(time.perf_counter() - due)

    began = time.perf_counter()
    asking = []
    for index in range(int(rate * seconds)):
        due = began + index / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        asking.append(asyncio.create_task(once(due)))
    await asyncio.gather(*asking)
    return took


async def stop_often(client: httpx.AsyncClient, seconds: float) -> list[float]:
    """Jog across the range and stop in the middle, again and again."""
    await asyncio.sleep(seconds / 2)
    took: list[float] = []
    until = time.perf_counter() + seconds / 2 - 2.0
    goal = 0.6
    await client.post("/stop")
    await client.post("/home", params={"wait_s": 20})
    while time.perf_counter() < until or not took:
        joints = (await client.get("/state")).json()["joints_rad"]
        joints[0] = goal = -goal
        await client.post("/jog", json={"joints_rad": joints})
        await asyncio.sleep(0.4)
        took.append(await stop_once(client))
    await client.post("/lease/release")
    return took


async def stop_once(client: httpx.AsyncClient) -> float:
    """Seconds until the call is answered, which it is when the arm holds; two states later it must still be there."""
    moving = (await client.get("/state")).json()
    assert moving["mode"] == "jogging", moving["mode"]
    began = time.perf_counter()
    answer = (await client.post("/stop")).json()
    held_s = time.perf_counter() - began
    assert answer["success"], answer
    first = (await client.get("/state")).json()["command_rad"]
    await asyncio.sleep(0.1)
    assert (await client.get("/state")).json()["command_rad"] == first
    return held_s


if __name__ == "__main__":
    main()
