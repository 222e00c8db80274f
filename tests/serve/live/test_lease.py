from __future__ import annotations

import pytest

from graspline.serve.live.lease import EXPIRY_S, Lease


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lease(clock: Clock) -> Lease:
    return Lease(clock)


def test_nobody_holds_a_new_lease(lease: Lease) -> None:
    assert lease.holder == ""
    assert lease.left_s == 0


def test_one_operator_holds_it_and_others_do_not_get_it(lease: Lease) -> None:
    assert lease.take("ann")
    assert not lease.take("bob")
    assert not lease.renew("bob")
    assert not lease.release("bob")
    assert lease.holder == "ann"


def test_it_can_be_handed_on(lease: Lease) -> None:
    assert lease.take("ann")
    assert lease.release("ann")
    assert not lease.release("ann")
    assert lease.take("bob")
    assert lease.holder == "bob"


def test_it_expires_when_it_is_not_renewed(lease: Lease, clock: Clock) -> None:
    lease.take("ann")
    clock.now_s += EXPIRY_S - 0.1
    assert lease.holder == "ann"
    assert lease.left_s == pytest.approx(0.1)
    clock.now_s += 0.1
    assert lease.holder == ""
    assert not lease.renew("ann")
    assert lease.take("bob")


def test_renewing_or_taking_it_again_keeps_it(lease: Lease, clock: Clock) -> None:
    lease.take("ann")
    for again in (lease.renew, lease.take, lease.renew):
        clock.now_s += 0.9 * EXPIRY_S
        assert again("ann")
    assert lease.holder == "ann"


def test_nobody_in_particular_cannot_hold_it(lease: Lease) -> None:
    with pytest.raises(ValueError, match="needs an id"):
        lease.take("")
    assert not lease.renew("")
    assert not lease.release("")
