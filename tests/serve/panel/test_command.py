"""`graspline serve` as a command: what it prints, and how it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from cli.doors import call, refused, running

pytestmark = pytest.mark.slow


def test_it_prints_one_address_that_opens_the_page_and_ends_with_130(tmp_path: Path) -> None:
    with running(tmp_path, "serve", "lift-cube", "--port", "0") as server:
        server.wait_until(lambda answer: answer.out.endswith("\n"))
        address = server._so_far(0).out.strip()
        with httpx.Client(timeout=300) as browser:
            assert browser.get(address.partition("?")[0]).status_code == 401
            assert browser.get(address).status_code == 200
            page = browser.get(address.partition("?")[0])
            assert b"graspline-stop" in page.content
            assert browser.post(f"{address.partition('?')[0]}stop").json()["success"] is True
        server.interrupt(signal.SIGINT)
        answer = server.finish()
    assert answer.code == 130
    assert answer.out.count("\n") == 1
    assert answer.err.splitlines()[:-1] == [
        "loading the page and the HTTP interface",
        "starting the simulation",
        "preparing the page",
        "serving lift-cube; press Ctrl-C to stop",
    ]
    assert answer.err.splitlines()[-1] == "graspline: interrupted; the arm holds, the session is closed"
    assert "Traceback" not in answer.err


def test_a_port_that_is_taken_is_one_line_and_exit_code_3() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        answer = call("serve", "lift-cube", "--port", str(taken.getsockname()[1]))
    assert answer.code == 3
    assert [line for line in answer.err.splitlines() if line.startswith("graspline: ")] == answer.err.splitlines()[-1:]
    assert "cannot listen on" in answer.err


@pytest.mark.parametrize("missing", ["viser", "fastapi", "uvicorn"])
def test_without_the_extra_it_says_what_to_install(missing: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['graspline', 'serve', 'grab'];"
        "from graspline.cli.main import entry; entry()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 3, done.stderr
    assert done.stderr.strip() == f"graspline: serve needs {missing}: pip install 'graspline[serve]'"


def test_bad_input_is_refused_before_anything_starts(tmp_path: Path) -> None:
    assert "did you mean 'grab'" in refused("serve", "grap")[0]
    assert refused("serve", "grab", "--set", "grasp.tcp_clearance_m=7")
    assert "--address" in refused("serve", "grab", "--host", "0.0.0.0")[0]
    assert "expected NAME:PORT" in refused("serve", "grab", "--address", "nowhere")[0]
    file = tmp_path / "file"
    file.write_text("")
    assert "is a file" in refused("serve", "grab", "--record", file)[0]
