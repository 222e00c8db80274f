"""Whatever is typed, the answer is a run or a refusal: never a traceback."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from .doors import Answer, call

# Function-scoped fixtures are meant to hold for all examples here: nothing moves in any of them.
many = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

# What a shell lets through: any character but NUL, and bytes that are no text as lone surrogates.
words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]) | st.sampled_from("\udc80\udcff"))
keys = st.sampled_from(["reach.lift_m", "cube.edge_m", "cube", "retries.grasps", "perception.source", "state_limit_s"])
yaml_bits = st.sampled_from(
    [
        *("cube:", "reach:", "lift_m", "edge_m", ": ", "0.08", "[0.02, 0.03]", "\n", "\n  ", "- ", "{", "}", "[", "]"),
        *(",", "&a ", "*a", "!!int ", "'", '"', "\\U99999999", "---\n", "...\n", "%YAML 9.9\n", "# ", "? ", "<<: *a"),
        *("null", "true", ".nan", "1e999", "|\n", ">-\n", "\t", "@", "`", "\ufeff", "\u2028"),
    ]
)
yaml_texts = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(yaml_bits, max_size=30).map("".join)


def check(answer: Answer, *, codes: tuple[int, ...] = (0, 2)) -> None:
    assert answer.code in codes, answer
    assert "Traceback" not in answer.err
    if answer.code:
        assert answer.out == ""
        assert answer.err.strip()


@many
@given(words)
@example("--")
@example("-h")
@example("")
def test_any_task_name(task: str) -> None:
    check(call("config", task))


@many
@given(words | st.builds("{}={}".format, keys, words))
@example("cube.edge_m=[0.02, 0.03]")
@example("cube.edge_m=" + "9" * 5000)
@example("a" * 100_000)
def test_any_setting(setting: str) -> None:
    check(call("config", "lift-cube", f"--set={setting}"))


@many
@given(words | st.builds("{}@{}".format, st.sampled_from(["drop", "shove"]), words | st.just("lift")))
@example("drop@lift+00000000000000000000.3")
@pytest.mark.usefixtures("nothing_moves")
def test_any_fault(fault: str) -> None:
    check(call("run", "lift-cube", f"--fault={fault}"))


@many
@given(name=words | st.builds("{}.mp4".format, st.text("abc .é\n\udcff", min_size=1)))
@example(name="_")
@example(name="~.mp4")
@example(name="x" * 10_000 + ".mp4")
@pytest.mark.usefixtures("nothing_moves")
def test_any_name_of_a_film(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    # A name may be longer than the disk takes, which is not the user's mistake.
    check(call("run", "lift-cube", f"--video={folder}/{name.replace('/', '_')}"), codes=(0, 2, 3))


@many
@given(text=yaml_texts)
@example(text="? [a]\n: 1")
@example(text="a: !<tag:yaml.org,2002:python/name:os.system> x")
def test_any_file(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_text(text, encoding="utf-8", newline="")
    check(call("config", "lift-cube", "--config", file))


@many
@given(content=st.binary(max_size=200))
def test_any_bytes_in_a_file(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "bytes.yaml"
    file.write_bytes(content)
    check(call("config", "lift-cube", "--config", file))


@many
@given(st.lists(words, max_size=4))
@pytest.mark.usefixtures("nothing_moves")
def test_any_command_line(line: list[str]) -> None:
    check(call(*line))
