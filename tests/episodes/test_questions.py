"""What questions are answered with, and by whom."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from graspline.episodes.questions import Questions
from graspline.episodes.scenario import GivenAnswer
from graspline.errors import InputError
from graspline.execution.notifications import Answered
from graspline.execution.requests import Ask, Preempted

from .playing import scenario

ASK = Ask(question="red or green?", options=("red", "green"), default="green")


def test_nobody_asked_means_the_default() -> None:
    questions = Questions(None)
    questions.begin(0, ())
    answered = questions.answer(0, ASK, 1.0)
    assert answered == Answered(question="red or green?", answer="green", by="default")
    assert not questions.attended


def test_what_a_scenario_brings_comes_first_and_no_earlier_than_it_was_given() -> None:
    questions = Questions(lambda lane, ask: Answered(question=ask.question, answer="green", by="person"))
    questions.begin(0, (GivenAnswer(text="red", t_s=2.0),))
    questions.begin(1, ())
    assert questions.answer(0, ASK, 1.0) is None
    told = [questions.answer(lane, ASK, 2.0) for lane in (1, 0, 0)]
    assert [each.by for each in told if each is not None] == ["person", "scenario", "person"]


def test_an_answer_that_is_no_option_stops_the_lane_and_says_what_there_is() -> None:
    questions = Questions(None)
    questions.begin(0, (GivenAnswer(text="rad"),))
    with pytest.raises(Preempted):
        questions.answer(0, ASK, 0.0)
    assert isinstance(questions.problem, InputError)
    assert "'red or green?' has no answer 'rad'; did you mean 'red'?" in str(questions.problem)


def test_answers_travel_with_their_scenario() -> None:
    given = replace(scenario(3), answers=(GivenAnswer(text="red", t_s=0.5),))
    assert pickle.loads(pickle.dumps(given)).answers == given.answers
    assert given.as_dict()["answers"] == [{"t_s": 0.5, "text": "red"}]
    assert "answers" not in scenario(3).as_dict()
