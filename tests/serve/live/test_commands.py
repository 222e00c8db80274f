from __future__ import annotations

import pytest

from graspline.serve.live.commands import Home, MoveToGrab, Ticket, refused
from graspline.serve.live.operator import Order
from graspline.tasks.console import Done, Refused, Result


def test_a_ticket_is_delivered_after_it_is_settled() -> None:
    ticket, noted, told = Ticket(), list[Result](), list[Result]()
    ticket.note(noted.append)
    ticket.then(told.append)
    assert not ticket.deliver()
    ticket.settle(Done(text="there"))
    assert noted == [Done(text="there")]
    assert not ticket.done
    with pytest.raises(TimeoutError):
        ticket.result(0.01)
    assert ticket.deliver()
    assert ticket.done
    assert ticket.result(0) == Done(text="there") == told[0]


def test_what_was_said_first_counts() -> None:
    ticket = Ticket()
    ticket.settle(Done())
    ticket.settle(Refused(reason="too late"))
    assert ticket.deliver()
    assert ticket.deliver()
    assert ticket.result(0) == Done()


def test_a_refusal_can_be_delivered_at_once() -> None:
    assert refused(Ticket(), "closed").result(0) == Refused(reason="closed")


def test_orders_have_names_for_people() -> None:
    assert Order(MoveToGrab()).name == "move to grab"
    assert Order(Home()).name == "home"
