"""Names, places and distributions: what is found, and what is said where something is not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graspline import registry
from graspline.errors import EnvironmentProblem, InputError
from graspline.registry import Origin, Registry
from graspline.tasks.catalogue import TASKS, find_task, listed, origin_of

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a distribution whose one module has this source, in a folder of its own."""
    modules: list[str] = []

    def add(distribution: str, source: str, group: str = "graspline.words", **entries: str) -> None:
        root = tmp_path / distribution
        info = root / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        rows = "\n".join(f"{name} = {place}" for name, place in entries.items())
        (info / "entry_points.txt").write_text(f"[{group}]\n{rows}\n")
        modules.append(distribution.replace("-", "_"))
        (root / f"{modules[-1]}.py").write_text(source)
        monkeypatch.syspath_prepend(str(root))
        registry.refresh()

    yield add
    monkeypatch.undo()
    registry.refresh()
    for name in modules:
        sys.modules.pop(name, None)


@pytest.fixture
def words() -> Registry[str]:
    return Registry("graspline.words", "word", "builtins:str")


def test_an_entry_point_of_any_distribution_is_found_by_name(install: Install, words: Registry[str]) -> None:
    install("good-words", "HELLO = 'hello'", hello="good_words:HELLO")
    assert words["hello"] == words.find("hello") == words.find("good_words:HELLO") == "hello"
    assert list(words) == ["hello"]
    assert words.origin("hello") == Origin("hello", "good_words:HELLO", "good-words", "1.0")


def test_listing_names_imports_nothing(install: Install, words: Registry[str]) -> None:
    install("loud-words", "raise RuntimeError('imported')", loud="loud_words:LOUD")
    assert "loud" in words
    assert list(words) == ["loud"]
    assert "loud_words" not in sys.modules


def test_an_entry_point_that_raises_names_its_distribution_and_the_error(
    install: Install, words: Registry[str]
) -> None:
    install("broken-words", "1 / 0", broken="broken_words:BROKEN")
    with pytest.raises(InputError, match=r"broken_words:BROKEN of broken-words 1\.0.*ZeroDivisionError"):
        words.find("broken")


def test_an_entry_point_that_lacks_a_module_is_a_problem_of_this_machine(
    install: Install, words: Registry[str]
) -> None:
    install("poor-words", "import not_installed_anywhere", poor="poor_words:POOR")
    with pytest.raises(EnvironmentProblem, match=r"poor-words 1\.0.*No module named 'not_installed_anywhere'"):
        words.find("poor")


def test_one_broken_distribution_does_not_hide_the_others(install: Install, words: Registry[str]) -> None:
    install("broken-words", "1 / 0", broken="broken_words:BROKEN")
    install("good-words", "HELLO = 'hello'", hello="good_words:HELLO")
    assert words["hello"] == "hello"


def test_two_distributions_with_one_name_are_both_named(install: Install, words: Registry[str]) -> None:
    install("one-words", "HELLO = 'one'", hello="one_words:HELLO")
    install("two-words", "HELLO = 'two'", hello="two_words:HELLO")
    with pytest.raises(InputError, match=r"registered more than once: .*one-words 1\.0") as raised:
        words.find("hello")
    assert "two-words 1.0 has two_words:HELLO" in str(raised.value)
    assert words.find("two_words:HELLO") == "two"


def test_an_entry_point_without_its_object_lists_what_its_module_has(install: Install, words: Registry[str]) -> None:
    install("odd-words", "HELLO = 'hello'", helo="odd_words:HELO", number="odd_words:__builtins__")
    with pytest.raises(InputError, match=r"HELO is missing; in odd_words, did you mean 'HELLO'"):
        words.find("helo")
    with pytest.raises(InputError, match="is no str, its type is dict"):
        words.find("number")


def test_an_unknown_name_comes_with_the_nearest_and_the_way_to_give_a_place() -> None:
    with pytest.raises(InputError, match=r"did you mean 'lift-cube'.*MODULE:NAME"):
        find_task("lift-cub")


@pytest.mark.parametrize("place", ["nowhere_at_all:TASK", "nowhere.at.all:TASK"])
def test_a_place_in_no_module_says_so(place: str) -> None:
    with pytest.raises(InputError, match="there is no module 'nowhere"):
        find_task(place)


@pytest.mark.parametrize("place", [":TASK", "module:"])
def test_half_a_place_says_what_is_expected(place: str) -> None:
    with pytest.raises(InputError, match="expected a name or MODULE:NAME"):
        find_task(place)


def test_a_place_in_the_current_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: Registry[str]
) -> None:
    (tmp_path / "local_words.py").write_text("HELLO = 'hello'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    try:
        assert words.find("local_words:HELLO") == "hello"
    finally:
        sys.modules.pop("local_words", None)


def test_what_is_not_installed_any_more_says_what_to_install(words: Registry[str]) -> None:
    gone = Origin("hello", "gone_words:HELLO", "gone-words", "1.2")
    with pytest.raises(EnvironmentProblem, match=r"gone_words:HELLO of gone-words 1\.2; pip install gone-words"):
        words.again(gone)
    with pytest.raises(EnvironmentProblem, match="add the folder to PYTHONPATH"):
        words.again(Origin("hello", "gone_words:HELLO"))


def test_a_name_that_others_have_too_is_found_again_in_its_own_distribution(
    install: Install, words: Registry[str]
) -> None:
    install("one-words", "HELLO = 'one'", hello="one_words:HELLO")
    install("two-words", "HELLO = 'two'", hello="two_words:HELLO")
    assert words.again(Origin("hello", "one_words:HELLO", "one-words", "1.0")) == "one"
    assert words.again(Origin("hello", "two_words:HELLO", "two-words", "1.0")) == "two"


def test_what_can_be_used_and_what_cannot_are_told_apart(install: Install, words: Registry[str]) -> None:
    install("good-words", "HELLO = 'hello'", hello="good_words:HELLO")
    install("broken-words", "1 / 0", broken="broken_words:BROKEN")
    assert words.usable() == {"hello": "hello"}
    assert list(words.broken()) == ["broken"]
    assert "ZeroDivisionError" in words.broken()["broken"]


def test_a_distribution_may_move_its_modules(install: Install, words: Registry[str]) -> None:
    install("good-words", "HELLO = 'hello'", hello="good_words:HELLO")
    assert words.again(Origin("hello", "good_words.old_home:HELLO", "good-words", "0.9")) == "hello"


def test_an_origin_survives_being_stored() -> None:
    origin = origin_of(find_task("lift-cube"))
    assert Origin.from_dict(origin.as_dict()) == origin
    assert origin.distribution == "graspline"
    for bad in ({}, {"name": "x"}, {**origin.as_dict(), "version": 1}, "lift-cube"):
        with pytest.raises(ValueError, match="origin is"):
            Origin.from_dict(bad)


def test_a_name_is_what_a_command_line_shows_unless_it_leads_elsewhere() -> None:
    assert TASKS.named(origin_of(find_task("oranges"))) == "oranges"
    assert TASKS.named(Origin("oranges", "my_lab:ORANGES")) == "my_lab:ORANGES"


def test_a_broken_task_is_listed_with_what_is_wrong(install: Install) -> None:
    install("bad-task", "1 / 0", "graspline.tasks", bad="bad_task:BAD")
    shown = {each.name: each.summary for each in listed()}
    assert "ZeroDivisionError" in shown["bad"]
    assert shown["lift-cube"] == find_task("lift-cube").summary
