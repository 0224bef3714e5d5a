from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from r2cc_mpi.netdev.draining import LOOK_S, STILL_BYTES, Draining
from r2cc_mpi.netdev.netlink import KernelBytes


def draining_of(carried):
    """Look at an interface that has sent what a test says."""
    link: Any = SimpleNamespace(carried=lambda: KernelBytes(carried.sent, 0))
    return Draining(link)


@pytest.mark.parametrize(("per_look", "goes_on"), [(0, False), (STILL_BYTES, False), (STILL_BYTES + 1, True)])
def test_a_link_drains_while_much_is_sent(per_look, goes_on):
    """The first look says nothing yet; from the second one on it matters what was sent since the last."""
    carried = SimpleNamespace(sent=10**9)
    draining = draining_of(carried)
    assert draining.goes_on(5.0)
    for look in range(1, 4):
        assert draining.goes_on(5.0 + (look - 0.5) * LOOK_S)  # too early for another look
        carried.sent += per_look
        assert draining.goes_on(5.0 + look * LOOK_S + 1e-6) is goes_on


def test_a_link_that_falls_silent_has_drained():
    """What was sent long before does not count."""
    carried = SimpleNamespace(sent=0)
    draining = draining_of(carried)
    assert draining.goes_on(0.0)
    carried.sent = 10**6
    assert draining.goes_on(2 * LOOK_S)
    assert not draining.goes_on(4 * LOOK_S)
