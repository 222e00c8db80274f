"""Cases made by schemathesis from the OpenAPI description, sent to a real server: none fails, none is undeclared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from graspline.serve.http.access import Door
from graspline.serve.http.access_middleware import Limits
from graspline.serve.http.app import guarded_app
from graspline.serve.http.server import serve
from graspline.serve.live.lease import Lease

from .stand_in import PATIENCE_S, StandIn, bench_of


def cases(session: StandIn, folder: Path, phases: str, examples: int) -> int:
    """How many cases were sent; all of them must have passed all checks."""
    door = Door()
    # Whoever calls may command: with names made up for every case, hardly any call would get further than the lease.
    session.lease = Lease(time.monotonic, expiry_s=0.0)
    limits = Limits(requests_per_s=1e6, burst=1_000_000)
    bench = bench_of(session, tasks={"grab": ""}, faults={"drop": ""}, recording="today")
    with serve(guarded_app(bench, door, limits=limits)) as served:
        command = [Path(sys.executable).with_name("st"), "run", f"{served.address}/openapi.json", "--no-color"]
        options = ["--phases", phases, "--max-examples", str(examples), "--checks", "all", "--seed", "1"]
        token = ["-H", f"Authorization: Bearer {door.token}"]
        run = subprocess.run(
            [*command, *options, *token], cwd=folder, env=os.environ, capture_output=True, text=True, check=False
        )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    found = re.search(r"(\d+) generated, \d+ passed", run.stdout)
    assert found, run.stdout[-2000:]
    return int(found[1])


def test_some_hundred_cases_all_pass(session: StandIn, tmp_path: Path) -> None:
    assert cases(session, tmp_path, "fuzzing", 4) >= 200


@pytest.mark.slow
def test_two_thousand_cases_all_pass(session: StandIn, tmp_path: Path) -> None:
    # Cases at the limits of what each operation takes; the test above adds random ones.
    assert cases(session, tmp_path, "coverage", 1) >= 2000


def test_every_operation_says_what_the_guard_may_answer(session: StandIn) -> None:
    door = Door()
    with serve(guarded_app(bench_of(session), door)) as served:
        described = httpx.get(f"{served.address}/openapi.json", params={"token": door.token}, timeout=PATIENCE_S).json()
    operations = [each for path in described["paths"].values() for each in path.values()]
    assert len(operations) >= 50
    for operation in operations:
        assert {"401", "403", "413", "422", "429"} <= set(operation["responses"]), operation["operationId"]
        assert operation["security"]
