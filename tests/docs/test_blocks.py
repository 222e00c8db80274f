"""Every command and program in README and on the site works as printed."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from graspline import TASKS
from graspline.cli.commands import COMMANDS, command_of
from graspline.episodes.faults import parse_faults
from graspline.execution.drivers import FOLLOW
from graspline.parameters import build

from .blocks import PAGES, ROOT, Block, blocks_of, run
from .not_run import PARSED_ONLY, TALKS_TO_A_SERVER

RUN = [page for page in PAGES if page not in TALKS_TO_A_SERVER and any(block.is_run for block in blocks_of(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_the_blocks_of_a_page_run_as_printed_in_an_empty_folder(page: str, tmp_path: Path) -> None:
    for block in blocks_of(page):
        if block.is_run:
            assert not (problem := run(block, tmp_path)), problem


@pytest.mark.parametrize("page", PAGES)
def test_every_command_on_a_page_is_one_that_graspline_accepts(page: str) -> None:
    refused = [problem for block in blocks_of(page) for line in block.commands() if (problem := _parse(block, line))]
    assert not refused


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_named_in_sentences_exist(page: str) -> None:
    for named in re.findall(r"`graspline ([a-z]+)([^`]*)`", (ROOT / page).read_text()):
        name, rest = named
        assert name in COMMANDS, f"{page}: graspline {name}"
        known = {option for parameter in command_of(name).params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known | {"--help"}, f"{page}: graspline {name}{rest}"


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_not_run_have_a_reason(page: str) -> None:
    left_out = [str(block) for block in blocks_of(page) if block.commands() and not block.is_run]
    assert not left_out or page in PARSED_ONLY, f"give a reason in tests/docs/not_run.py, or make them bash: {left_out}"


@pytest.mark.parametrize("page", sorted(TALKS_TO_A_SERVER))
def test_requests_on_a_page_go_to_routes_that_a_server_has(page: str) -> None:
    pytest.importorskip("fastapi", reason="the serve extra is not installed")
    from graspline.service.app import description

    routes = {(method.upper(), path) for path, methods in description()["paths"].items() for method in methods}
    text = "".join(block.text for block in blocks_of(page) if block.language == "bash")
    requests = re.findall(r"^arm (?:-X (\w+) +)?\"?\$ARM(/[^\s\"?]*)", text, flags=re.MULTILINE)
    assert requests
    for method, path in requests:
        assert (method or "GET", path) in routes, f"{page}: {method} {path}"


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
    if words[0] not in COMMANDS:
        return f"{block}: {line}: no such command"
    if "--help" in words or words[1:2] == ["COMMAND"]:
        return ""
    try:
        values = command_of(words[0]).make_context(words[0], words[1:]).params
        _check_task(values, words)
    except Exception as error:
        return f"{block}: {line}: {error}"
    return ""


def _check_task(values: dict[str, object], words: list[str]) -> None:
    if "task" not in values:
        return
    task = TASKS[str(values["task"])]
    given = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    parameters = build(task.parameters, assignments=given)
    faults = [words[at + 1] for at, word in enumerate(words) if word == "--fault"]
    parse_faults(faults, (FOLLOW, *task.machine(parameters).paths()))
