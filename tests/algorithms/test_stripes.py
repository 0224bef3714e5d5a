from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import verify
from algorithms.collective import allreduce
from algorithms.nic import Hop, Nic
from algorithms.ring import ring_allreduce
from algorithms.schedule import Region, ScheduleBuilder, ScheduleError
from algorithms.stripes import healthy_mapping
from tests.algorithms.replay import Replay

nodes_and_rails = given(st.integers(2, 9), st.integers(1, 8))


def one_transfer(rails, *, grid=4, target_lo=None):
    """A schedule of one transfer, node 0 to node 1, region [1, 3)."""
    builder = ScheduleBuilder(2, grid)
    builder.step(stage="test", source=0, target=1, lo=1, hi=3, reduce=False, rails=rails, target_lo=target_lo)
    return builder.build(allreduce(2, grid))


def test_a_transfer_is_cut_evenly_over_its_rails():
    """The stripes of [1, 3) on three rails, by hand: the grid becomes three times finer."""
    stripes = healthy_mapping(one_transfer(None), 3)
    assert stripes.grid == 12
    assert [(s.home, s.source_region, s.target_region, s.route) for s in stripes] == [
        (0, (3, 5), (3, 5), (Hop(0, 1),)),
        (1, (5, 7), (5, 7), (Hop(1, 1),)),
        (2, (7, 9), (7, 9), (Hop(2, 1),)),
    ]


def test_only_allowed_rails_get_a_stripe():
    """A transfer bound to some rails is cut for those, in their order; shifted regions are cut alike."""
    stripes = healthy_mapping(one_transfer([3, 1], target_lo=2), 4)
    assert [(s.home, s.source_region, s.target_region) for s in stripes] == [
        (1, (4, 8), (8, 12)),
        (3, (8, 12), (12, 16)),
    ]
    verify.check_stripes(stripes)


def test_different_rail_sets_share_a_grid_fine_enough_for_all():
    """Transfers over two and over three rails are both cut exactly."""
    builder = ScheduleBuilder(2, 1)
    for rails in ([0, 1], [0, 1, 2], [2]):
        builder.step(stage="test", source=0, target=1, lo=0, hi=1, reduce=True, rails=rails)
    stripes = healthy_mapping(builder.build(allreduce(2, 1)), 3)
    assert stripes.grid == 6
    assert [stripe.source_region for stripe in stripes] == [(0, 3), (3, 6), (0, 2), (2, 4), (4, 6), (0, 6)]
    assert [stripe.home for stripe in stripes] == [0, 1, 0, 1, 2, 2]
    verify.check_stripes(stripes)


@nodes_and_rails
def test_rails_of_a_healthy_ring_are_loaded_evenly(n, g):
    """Every NIC sends and receives exactly 2 (n-1)/(n g) of the data."""
    loads = healthy_mapping(ring_allreduce(n), g).rail_loads()
    assert loads == {
        Nic(node, rail): (Fraction(2 * (n - 1), n * g),) * 2 for node in range(n) for rail in range(g)
    }


@nodes_and_rails
def test_every_rail_runs_a_ring_of_its_own(n, g):
    """A section is cut alike in every step: what a rail carries never meets another rail's data."""
    stripes = healthy_mapping(ring_allreduce(n), g)
    regions: list[set[Region]] = [set() for _ in range(g)]
    for stripe in stripes:
        regions[stripe.home].add(stripe.source_region)
    assert [len(of_rail) for of_rail in regions] == [n] * g
    assert sorted(set.union(*regions)) == [(piece, piece + 1) for piece in range(n * g)]


@nodes_and_rails
def test_stripes_do_what_their_schedule_does(n, g):
    """The mapping passes the oracle, and running the stripes on numbers gives the right result."""
    schedule = ring_allreduce(n)
    stripes = healthy_mapping(schedule, g)
    verify.check_stripes(stripes)
    assert Replay(schedule, 5 * n + 1, seed=g).run_stripes(stripes).is_right()


def test_no_transfers_give_no_stripes():
    """A single node has an empty mapping in which no NIC carries anything."""
    stripes = healthy_mapping(ring_allreduce(1), 2)
    assert len(stripes) == 0
    assert stripes.rail_loads() == dict.fromkeys([Nic(0, 0), Nic(0, 1)], (Fraction(0), Fraction(0)))
    verify.check_stripes(stripes)


def test_a_stripe_prints_what_a_reader_needs():
    """The text of a stripe names its transfer, region, home rail and route."""
    stripes = healthy_mapping(one_transfer(None, target_lo=0), 2)
    assert str(stripes[-1]) == (
        "stripe 1 of transfer 0 (test): node 0 -> node 1, copy [1, 3) to [0, 2): "
        "[4, 6) to [2, 4), home rail 1, route node 0 -(rail 1)-> node 1"
    )
    with pytest.raises(IndexError, match="no stripe 2"):
        stripes[2]


def test_mappings_that_do_not_exist_are_refused():
    """Rails that do not exist, no rails at all and grids beyond 32 bits raise and say so."""
    with pytest.raises(ScheduleError, match=r"^transfer 0 .*there is no rail 3, only 0\.\.2"):
        healthy_mapping(one_transfer([0, 3]), 3)
    with pytest.raises(ScheduleError, match="at least one"):
        healthy_mapping(one_transfer(None), 0)
    with pytest.raises(ScheduleError, match="too fine"):
        healthy_mapping(one_transfer(None, grid=2**30), 2)


def test_columns_cannot_be_changed():
    """The arrays of a mapping are read-only 32-bit integers."""
    stripes = healthy_mapping(ring_allreduce(3), 2)
    names = ("transfer", "source_lo", "source_hi", "target_lo", "target_hi", "home", "route")
    assert {str(getattr(stripes, name).dtype) for name in names} == {"int32"}
    assert not any(getattr(stripes, name).flags.writeable for name in names)
