from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest

from algorithms import verify
from algorithms.collective import Collective
from algorithms.hot_repair import hot_repair_mapping
from algorithms.list_schedule import list_scheduled
from algorithms.nic import Nic
from algorithms.optcc import optcc_allreduce
from algorithms.optcc_mapping import optcc_mapping
from algorithms.optcc_mixture import optcc_mixture
from algorithms.optcc_overlay import optcc_overlay
from algorithms.ring import ring_allreduce
from algorithms.schedule import ScheduleBuilder, ScheduleError
from algorithms.stripes import healthy_mapping
from analysis.rail_rates import RailRates
from tests.algorithms.mutants import with_entry
from tests.algorithms.replay import Replay

CLUSTER = RailRates.of(4, 3, [Nic(1, 0)])


def mapped(form):
    """A form of OptCC for node 1 of 4, which lost rail 0 of 3, on its planned rails."""
    return optcc_mapping(form(4, 1, 4, rails=3, lost_rails=[0]), CLUSTER.rates)


def what(stripes):
    """Count the stripes by all they are, but their place."""
    return Counter(
        (one.transfer.source, one.transfer.target, one.transfer.reduce, one.source_region, one.route)
        for one in stripes
    )


def test_two_rails_by_hand():
    """A slow rail makes its ring late: rail 1 runs through, and rail 0's second step comes after it."""
    rates = [[Fraction(1, 4), Fraction(1)]] * 2
    scheduled = list_scheduled(healthy_mapping(ring_allreduce(2), 2), rates)
    assert [(one.transfer.stage, one.transfer.source, one.home) for one in scheduled] == [
        ("reduce-scatter", 0, 0),
        ("reduce-scatter", 0, 1),
        ("reduce-scatter", 1, 0),
        ("reduce-scatter", 1, 1),
        ("all-gather", 0, 1),
        ("all-gather", 1, 1),
        ("all-gather", 0, 0),
        ("all-gather", 1, 0),
    ]


def test_a_busy_port_takes_the_lowest_index_first():
    """Node 0 has three things to send; node 1 can take the last one only when its port is free again."""
    builder = ScheduleBuilder(3, 6)
    builder.step(stage="long", source=2, target=1, lo=0, hi=4, reduce=True)
    builder.step(stage="waits", source=0, target=1, lo=4, hi=5, reduce=True)
    builder.step(stage="goes", source=0, target=2, lo=5, hi=6, reduce=True)
    scheduled = list_scheduled(
        healthy_mapping(builder.build(Collective("any", (), ())), 1), [[Fraction(1)]] * 3
    )
    assert [one.transfer.stage for one in scheduled] == ["long", "goes", "waits"]


@pytest.mark.parametrize("form", [optcc_allreduce, optcc_overlay, optcc_mixture])
def test_nothing_but_the_order_changes(form):
    """The same stripes over the same routes, still exactly once, right on numbers, and off the dead NIC."""
    before = mapped(form)
    after = list_scheduled(before, CLUSTER.rates)
    assert what(after) == what(before)
    assert len(after) == len(after.schedule) == len(before)
    assert after.rail_loads() == before.rail_loads()
    assert after.schedule.loads() == before.schedule.loads()
    verify.check(after.schedule)
    verify.check_stripes(after, CLUSTER.dead())
    for count in (5, after.grid):
        assert Replay(after.schedule, count, seed=1).run_stripes(after, frozenset(CLUSTER.dead())).is_right()


def test_any_unit_of_the_rates_will_do():
    """Rates a thousand times as high give the same order."""
    before = mapped(optcc_overlay)
    faster = [[rate * 1000 for rate in of_node] for of_node in CLUSTER.rates]
    assert list(map(str, list_scheduled(before, faster))) == list(
        map(str, list_scheduled(before, CLUSTER.rates))
    )


def test_a_planted_error_does_not_get_lost():
    """A wrong schedule stays wrong when it is put in another order."""
    wrong = with_entry(optcc_allreduce(4, 1, 2, rails=3, lost_rails=[0]), 3, reduce=False)
    with pytest.raises(ScheduleError):
        verify.check(list_scheduled(optcc_mapping(wrong, CLUSTER.rates), CLUSTER.rates).schedule)


def test_detours_and_dead_rails_are_refused():
    """A stripe that a relay passes on, or one on a dead NIC, is named."""
    dead = [Nic(0, 0), Nic(1, 1)]
    relayed = hot_repair_mapping(ring_allreduce(3), 2, dead)
    with pytest.raises(ScheduleError, match=r"stripe .* takes a detour"):
        list_scheduled(relayed, RailRates.of(3, 2).rates)
    healthy = healthy_mapping(ring_allreduce(3), 2)
    with pytest.raises(ScheduleError, match=r"stripe .* goes through a dead NIC"):
        list_scheduled(healthy, RailRates.of(3, 2, dead).rates)


def test_stripes_that_are_moved_elsewhere_keep_their_targets():
    """A transfer may write another region than it reads; both come along."""
    builder = ScheduleBuilder(2, 4)
    builder.step(stage="moves", source=0, target=1, lo=0, hi=2, target_lo=2, reduce=False)
    stripes = healthy_mapping(builder.build(Collective("any", (), ())), 2)
    scheduled = list_scheduled(stripes, [[Fraction(1)] * 2] * 2)
    assert [(one.transfer.source_region, one.transfer.target_region) for one in scheduled] == [
        ((0, 2), (4, 6)),
        ((2, 4), (6, 8)),
    ]
    verify.check_stripes(scheduled)
    with pytest.raises(ScheduleError, match="arrives at another place"):
        verify.check_stripes(replace(scheduled, target_lo=scheduled.source_lo, target_hi=scheduled.source_hi))
