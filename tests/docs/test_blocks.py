"""Every command and program in README and on the site works as printed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.request import urlopen

import pytest

from cli.distributions import installed
from graspline import find_task
from graspline.cli.commands import COMMANDS, command_of
from graspline.cli.new import new_task
from graspline.episodes.fault_injection import parse_faults
from graspline.execution.drivers import FOLLOW
from graspline.parameters import build

from .blocks import NOT_RUN, PAGES, ROOT, SHOWN, Block, blocks_of, run_page
from .blocks import RUN as LANGUAGES_RUN
from .not_run import PARSED_ONLY

# A whole line: an episode is played, and no file but a film is written.
RUN_ONCE = re.compile(r"graspline run [^\\]*")
RUN = [page for page in PAGES if any(block.is_run for block in blocks_of(page))]
SERVED = sorted({line for page in PAGES for each in blocks_of(page) if each.is_server for line in each.commands()})
# The page about a task of one's own, and the distribution that it installs.
TUTORIAL = "docs/start/first-task.md"
STACK = ROOT / "examples" / "stack"
# Tasks that pages install.
FOREIGN = ("stack", "stack-two")
# Long enough for any machine; it is there after about five seconds.
_PATIENCE_S = 300


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_the_blocks_of_a_page_run_as_printed_in_an_empty_folder(page: str, tmp_path: Path) -> None:
    if page == "docs/service.md":
        pytest.importorskip("fastapi", reason="the serve extra is not installed")
        if shutil.which("curl") is None:
            pytest.skip("curl is not installed")
    found = installed(STACK, tmp_path / "site") if page == TUTORIAL else {}
    printed = run_page(page, tmp_path, run_on_earlier_pages(page), found)
    if page == "docs/service.md":
        answers = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        assert len(answers) >= 10
        assert [each for each in answers if not each.get("success", True)] == []


def test_the_code_of_the_tutorial_works_below_the_imports_of_a_new_task(tmp_path: Path) -> None:
    folder = tmp_path / "stack-two"
    new_task("stack-two", folder)
    (line,) = re.findall(r"write `(stack = .*?)`", (ROOT / TUTORIAL).read_text())
    project, module = folder / "pyproject.toml", folder / "src" / "graspline_stack_two" / "task.py"
    project.write_text(re.sub(r"(?m)^stack-two = .*", line, project.read_text()))
    imports = module.read_text().partition("from pydantic")[0]
    module.write_text("\n\n".join([imports, *(each.text for each in blocks_of(TUTORIAL) if each.language == "python")]))
    words = [sys.executable, "-m", "graspline", "run", "stack", "--require-success", "1"]
    environment = {**os.environ, **installed(folder, tmp_path / "site")}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def run_on_earlier_pages(page: str) -> set[str]:
    """Commands that leave nothing for later blocks, and that the test of an earlier page runs."""
    earlier = [block for each in RUN[: RUN.index(page)] for block in blocks_of(each) if block.language == "bash"]
    return {line for block in earlier if block.is_run for line in block.text.splitlines() if RUN_ONCE.fullmatch(line)}


@pytest.mark.slow
@pytest.mark.parametrize("command", SERVED)
def test_a_command_that_serves_prints_its_address_and_ends_with_ctrl_c(command: str, tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="the serve extra is not installed")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", 8765))
        except OSError:
            pytest.skip("another program has port 8765")
    words = [sys.executable, "-m", *shlex.split(command)]
    environment = {**os.environ, **installed(STACK, tmp_path / "site")}
    complaints = tmp_path / "stderr.txt"
    with (
        complaints.open("w") as stderr,
        subprocess.Popen(
            words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as server,
    ):
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:8765/?token="), complaints.read_text()
            with urlopen(address, timeout=_PATIENCE_S) as answer:
                assert answer.status == 200
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(_PATIENCE_S) == 130


@pytest.mark.parametrize("page", PAGES)
def test_every_command_on_a_page_is_one_that_graspline_accepts(page: str) -> None:
    refused = [problem for block in blocks_of(page) for line in block.commands() if (problem := _parse(block, line))]
    assert not refused


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_named_in_sentences_exist(page: str) -> None:
    for words in re.findall(r"`graspline ([a-z][^`]*)`", (ROOT / page).read_text()):
        name, rest = _command_and_rest(words.split())
        assert name in COMMANDS, f"{page}: graspline {words}"
        known = {option for parameter in command_of(name).params for option in parameter.opts}
        options = set(re.findall(r"--[a-z-]+", " ".join(rest)))
        assert options <= known | {"--help"}, f"{page}: graspline {words}"


@pytest.mark.parametrize("page", PAGES)
def test_what_is_not_run_has_a_reason_and_every_reason_a_block(page: str) -> None:
    reasons = PARSED_ONLY.get(page, {})
    begun = [block.first_line for block in blocks_of(page) if block.language in NOT_RUN and not block.is_server]
    without = [line for line in begun if not line.startswith(tuple(reasons))]
    assert not without, "give a reason in tests/docs/not_run.py, or make it bash or python"
    assert not [reason for reason in reasons if not any(line.startswith(reason) for line in begun)]


def test_reasons_are_for_pages_that_exist() -> None:
    assert set(PARSED_ONLY) <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_has_a_language_that_says_whether_it_is_run(page: str) -> None:
    for block in blocks_of(page):
        assert block.language in (*LANGUAGES_RUN, *NOT_RUN, *SHOWN), f"{block}: {block.language}"
        assert block.language not in SHOWN or not block.commands(), f"{block}: commands in a block of output"


def test_extras_named_on_pages_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for page in PAGES:
        for named in re.findall(r"graspline\[([\w,]+)\]", (ROOT / page).read_text()):
            assert set(named.split(",")) <= set(extras), f"{page}: graspline[{named}]"


def _parse(block: Block, line: str) -> str:
    """What the command line would refuse: commands, options, values, settings, faults; empty if nothing."""
    words = shlex.split(line)[1:]
    if words[0] in ("--help", "-h", "--version"):
        return ""
    name, rest = _command_and_rest(words)
    if name not in COMMANDS:
        return f"{block}: {line}: no such command"
    if "--help" in words or rest[:1] == ["COMMAND"]:
        return ""
    try:
        values = command_of(name).make_context(name, rest).params
        _check_task(values, words)
    except Exception as error:
        return f"{block}: {line}: {error}"
    return ""


def _command_and_rest(words: list[str]) -> tuple[str, list[str]]:
    """The name of a command, of one word or two, and its arguments."""
    count = 2 if " ".join(words[:2]) in COMMANDS else 1
    return " ".join(words[:count]), words[count:]


def _check_task(values: dict[str, object], words: list[str]) -> None:
    if values.get("task") in (None, *FOREIGN):
        return
    task = find_task(str(values["task"]))
    given = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    # What reads a file that another block of the page writes is tried where that is run.
    given = [each for each in given if not each.startswith(("things.meshes=", "posted.file="))]
    parameters = build(task.parameters, assignments=given)
    # So is a fault by its place.
    faults = [words[at + 1] for at, word in enumerate(words) if word == "--fault" and ":" not in words[at + 1]]
    parse_faults(faults, (FOLLOW, *task.machine(parameters).paths()))
