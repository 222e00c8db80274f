"""`--engine`: what is refused, said and done on a machine without a GPU."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import graspline.cli.audit
import graspline.cli.campaign
import graspline.cli.evaluate
import graspline.cli.generate
import graspline.cli.run
import graspline.gpu.choose
from graspline.datasets.format.settings import DatasetSettings
from graspline.datasets.write.generate import GenerationProgress
from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.errors import EnvironmentProblem
from graspline.gpu.dataset_pool import GpuPool

from .doors import call, refused

LACKING = "no NVIDIA driver; install one until `nvidia-smi` lists a GPU, or use the CPU"
# What each command needs besides its engine.
COMMANDS = {
    "run": ("run", "lift-cube"),
    "audit": ("audit", "lift-cube"),
    "campaign": ("campaign", "lift-cube"),
    "generate": ("generate", "lift-cube", "--episodes", "1", "--out", "set"),
    "eval": ("eval", "lift-cube", "--policy", "os.path:basename"),
}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Files that nobody asked for would be in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graspline.gpu.choose, "what_a_gpu_lacks", lambda: LACKING)


@pytest.fixture
def a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands believe that there is one."""
    monkeypatch.setattr(graspline.gpu.choose, "what_a_gpu_lacks", lambda: "")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("no_gpu")
def test_a_gpu_that_is_not_there_ends_a_command_with_what_is_missing(name: str, here: Path) -> None:
    answer = call(*COMMANDS[name], "--engine", "gpu")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err == f"graspline: --engine gpu: {LACKING}\n"
    assert list(here.iterdir()) == []


@pytest.mark.usefixtures("no_gpu")
def test_images_from_a_gpu_that_is_not_there_are_refused_with_what_is_missing(here: Path) -> None:
    answer = call("eval", "lift-cube", "--policy", "hold-still", "--renderer", "gpu")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err == f"graspline: --renderer gpu: {LACKING}\n"
    assert list(here.iterdir()) == []


@pytest.mark.usefixtures("a_gpu")
def test_images_come_from_the_gpu_while_the_cpu_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def source_for(kind: str, *_: object, **__: object) -> None:
        asked.append(kind)

    monkeypatch.setattr(graspline.cli.evaluate, "source_for", source_for)
    few = ("--cameras", "front:32x24", "--episodes", "1", "--max-seconds", "0.2", "--json")
    answer = call("eval", "lift-cube", "--policy", "hold-still", "--renderer", "gpu", *few)
    assert answer.code == 0, answer.err
    assert asked == ["gpu"]
    assert answer.lines[0]["engine"] == "cpu"


@pytest.mark.parametrize("name", COMMANDS)
def test_another_engine_is_refused_with_those_there_are(name: str) -> None:
    (said,) = refused(*COMMANDS[name], "--engine", "tpu")
    assert said == "--engine tpu: unknown choice 'tpu'; did you mean 'gpu'? known: auto, cpu, gpu"


@pytest.mark.usefixtures("no_gpu")
def test_auto_says_that_it_uses_the_cpu() -> None:
    answer = call("run", "lift-cube", "--engine", "auto", "--json")
    assert answer.code == 0
    assert answer.err.startswith(f"--engine auto uses the CPU: {LACKING}\n")
    assert json.loads(answer.out)["engine"] == "cpu"


@pytest.mark.usefixtures("no_gpu")
def test_an_audit_on_the_engine_that_is_there_says_so_and_names_it() -> None:
    words = ("--episodes", "1", "--faults-share", "0", "--lanes", "0", "--json")
    answer = call("audit", "lift-cube", "--engine", "auto", *words)
    assert answer.code == 0
    assert answer.err.startswith(f"--engine auto uses the CPU: {LACKING}\n")
    (found,) = answer.lines
    assert (found["engine"], found["episodes"]) == ("cpu", 1)
    assert json.loads(Path("out/audit/audit.json").read_text())["engine"] == "cpu"


@pytest.mark.usefixtures("no_gpu")
def test_a_dataset_on_the_engine_that_is_there_says_so_and_is_the_cpus() -> None:
    words = (*COMMANDS["generate"], "--cameras", "none", "--fps", "10", "--workers", "1", "--lanes", "0")
    answer = call(*words, "--engine", "auto")
    assert answer.code == 0
    assert answer.err.startswith(f"--engine auto uses the CPU: {LACKING}\n")
    # It goes on as one that was begun without a word about engines.
    again = call(*words)
    assert (again.code, again.err) == (0, "nothing to do: set has 1 episode, 1 requested\n")


@pytest.mark.parametrize("engine", ["gpu", "auto"])
@pytest.mark.usefixtures("no_gpu")
def test_a_cluster_and_a_gpu_exclude_each_other_before_anything_else(engine: str, here: Path) -> None:
    problems = refused(*COMMANDS["generate"], "--engine", engine, "--cluster", "local", "--fps", "25")
    assert problems[-1] == "--cluster local: a cluster runs on CPUs only; leave out --engine"
    assert problems[0].startswith("--fps: 25 does not divide"), "and with whatever else is wrong"
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "engine, lanes, wanted",
    [("cpu", "0", (16, 32, 32)), ("cpu", "5", (5, 5, 5)), ("gpu", "0", (8192, 8192, 8192)), ("gpu", "5", (5, 5, 5))],
)
@pytest.mark.usefixtures("a_gpu")
def test_no_lanes_are_as_many_as_suit_the_engine(
    engine: str, lanes: str, wanted: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []

    def note(*_: object, lanes: int, engine: str = "cpu", **options: object) -> None:
        asked.append((engine, lanes))
        raise EnvironmentProblem("that is all")

    def note_run(engine: str, *_: object, lanes: int, **options: object) -> None:
        note(engine=engine, lanes=lanes)

    monkeypatch.setattr(graspline.cli.run, "run_scenarios", note)
    monkeypatch.setattr(graspline.cli.run, "play_scenarios", note_run)
    monkeypatch.setattr(graspline.cli.audit, "run_audit", note)
    monkeypatch.setattr(graspline.cli.campaign, "run_campaign", note)
    for name in ("run", "audit", "campaign"):
        answer = call(*COMMANDS[name], "--engine", engine, "--lanes", lanes)
        assert (answer.code, answer.err) == (3, "graspline: that is all\n")
    assert asked == [(engine, each) for each in wanted]


@pytest.mark.parametrize("words, certified", [((), True), (("--no-certify",), False)])
@pytest.mark.usefixtures("a_gpu")
def test_with_a_gpu_a_dataset_is_played_drawn_and_certified_as_told(
    words: tuple[str, ...], certified: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[DatasetSettings, object]] = []

    def none(out: Path, settings: DatasetSettings, episodes: int, pool: object, **options: Any) -> GenerationProgress:
        asked.append((settings, pool))
        return GenerationProgress(wanted=episodes)

    monkeypatch.setattr(graspline.cli.generate, "generate", none)
    answer = call(*COMMANDS["generate"], "--engine", "gpu", "--cameras", "front:64x48", "--workers", "3", *words)
    assert answer.code == 0
    ((settings, pool),) = asked
    assert (settings.engine, settings.renderer, settings.certified) == ("gpu", "warp", certified)
    assert isinstance(pool, GpuPool)
    assert pool.size == 3


@pytest.mark.usefixtures("a_gpu")
def test_what_a_gpu_cannot_draw_is_drawn_on_the_cpu_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[DatasetSettings] = []

    def none(out: Path, settings: DatasetSettings, episodes: int, pool: object, **options: Any) -> GenerationProgress:
        asked.append(settings)
        return GenerationProgress(wanted=episodes)

    monkeypatch.setattr(graspline.cli.generate, "generate", none)
    answer = call(*COMMANDS["generate"], "--engine", "gpu", "--cameras", "front:64x48", "--smooth")
    assert answer.err.startswith("images are rendered on the CPU: a GPU cannot render antialiased edges\n")
    assert (asked[0].engine, asked[0].renderer in ("gl", "rays")) == ("gpu", True)


@pytest.mark.usefixtures("a_gpu")
def test_episodes_of_a_gpu_are_certified_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []

    def played(kind: str, scenarios: Any, *, keep_logs: bool, **options: Any) -> Iterator[Episode]:
        """As a GPU would, if that computed what the CPU does."""
        kept.append(keep_logs)
        for episode in run_scenarios(scenarios):
            yield dataclasses.replace(episode, engine="gpu", state_hash="of a GPU")

    monkeypatch.setattr(graspline.cli.run, "play_scenarios", played)
    words = ("run", "lift-cube", "--seed", "3", "--engine", "gpu", "--json")
    (certified,), (trusted,), (alone,) = (
        call(*each).lines for each in ((*words, "--certify"), words, ("run", "lift-cube", "--seed", "3", "--json"))
    )
    assert (certified["engine"], certified["certified"]) == ("gpu", True)
    assert certified["state_hash"] == alone["state_hash"]
    assert (trusted["state_hash"], "certified" in trusted) == ("of a GPU", False)
    assert kept == [True, False]


@pytest.mark.usefixtures("a_gpu")
def test_how_many_successes_the_cpu_certifies_is_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def played(kind: str, scenarios: Any, **options: Any) -> Iterator[Episode]:
        """The second is not what it claims to be, the third claims nothing."""
        for episode in run_scenarios(scenarios):
            log, seed = episode.log, episode.scenario.seed
            still = dataclasses.replace(log, positions=log.positions[:9], velocities=log.velocities[:9])
            changes: dict[str, Any] = {4: {"log": still}, 5: {"verdict": "hung", "succeeded": False}}.get(seed, {})
            yield dataclasses.replace(episode, engine="gpu", **changes)

    monkeypatch.setattr(graspline.cli.run, "play_scenarios", played)
    answer = call("run", "lift-cube", "--seed", "3", "--episodes", "3", "--engine", "gpu", "--certify")
    assert answer.code == 0
    assert "succeeded: 2/3" in answer.out
    assert "certified on the CPU: 1/2 = 50.0 %" in answer.out


@pytest.mark.parametrize(
    "words",
    [("run", "lift-cube", "--certify"), (*COMMANDS["generate"], "--certify"), (*COMMANDS["generate"], "--no-certify")],
)
def test_certification_is_refused_where_no_gpu_is_asked_for(words: tuple[str, ...]) -> None:
    (problem,) = refused(*words)
    assert problem.startswith(f"{words[-1]}: only for episodes run on a GPU; add --engine gpu")


@pytest.mark.parametrize("option", [("--view",), ("--log", "info")])
def test_certification_is_refused_where_it_would_be_left_out(option: tuple[str, ...]) -> None:
    (problem,) = refused("run", "lift-cube", "--engine", "auto", "--certify", *option)
    assert problem == "--certify: cannot be combined with --view or --log"


@pytest.mark.usefixtures("no_gpu")
def test_certification_that_does_nothing_is_said() -> None:
    answer = call("run", "lift-cube", "--engine", "auto", "--certify")
    assert answer.code == 0
    assert "--certify has no effect: these episodes run on the CPU" in answer.err
