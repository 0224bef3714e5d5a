from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import verify
from algorithms.balance import balance_mapping
from algorithms.collective import Collective
from algorithms.columns import GRID_LIMIT
from algorithms.nic import Hop
from algorithms.ring import ring_allreduce
from algorithms.schedule import ScheduleBuilder, ScheduleError
from algorithms.stripes import healthy_mapping
from tests.algorithms.hops import dead_nics, one_transfer, parts_of, rates_with_dead


def test_without_failures_it_is_the_healthy_mapping():
    """Equal rates give the same stripes at the same places as `healthy_mapping`, whatever the unit."""
    schedule = ring_allreduce(5)
    for unit in (Fraction(1), Fraction(1, 3), Fraction(7)):
        assert parts_of(balance_mapping(schedule, [[unit] * 3] * 5)) == parts_of(healthy_mapping(schedule, 3))


def test_three_rails_of_different_rates_by_hand():
    """Rates 1, 1/2, 1/4 against 1, 1, 1/8: the hop has 1, 1/2, 1/8, so 8, 4 and 1 thirteenths."""
    rates = [[Fraction(1), Fraction(1, 2), Fraction(1, 4)], [Fraction(1), Fraction(1), Fraction(1, 8)]]
    assert parts_of(balance_mapping(one_transfer(), rates)) == [
        (0, 0, Fraction(8, 13), (Hop(0, 1),)),
        (1, Fraction(8, 13), Fraction(12, 13), (Hop(1, 1),)),
        (2, Fraction(12, 13), 1, (Hop(2, 1),)),
    ]


@given(
    st.lists(st.integers(1, 10**6), min_size=2, max_size=6),
    st.sampled_from([7, 1000, 2**29 + 1, GRID_LIMIT - 1]),
    st.data(),
)
def test_rounded_shares_are_off_by_less_than_a_grid_step(weights, grid, data):
    """Where exact shares need too fine a grid, each rail is off by less than one step, and none is lost."""
    low = data.draw(st.integers(0, grid - 1))
    schedule = one_transfer(grid, low, data.draw(st.integers(low + 1, grid)))
    rates = [[Fraction(weight) for weight in weights]] * 2
    stripes = balance_mapping(schedule, rates)
    verify.check_stripes(stripes)
    assert stripes.grid < GRID_LIMIT
    length = schedule[0].source_region[1] - low
    got = dict.fromkeys(range(len(weights)), Fraction(0))
    for one in stripes:
        got[one.home] += one.source_region[1] - one.source_region[0]
    for rail, weight in enumerate(weights):
        exact = Fraction(weight * length * (stripes.grid // grid), sum(weights))
        assert abs(got[rail] - exact) < 1
        assert got[rail] == exact or stripes.grid > GRID_LIMIT // 2 - grid


def test_rates_beyond_any_grid_still_give_a_mapping():
    """Measured rates have huge denominators: a rail of 10^-12 of the rate gets no stripe at all."""
    rates = [[Fraction(1, 10**12), Fraction(1)], [Fraction(0.3), Fraction(0.1)]]
    stripes = balance_mapping(one_transfer(), rates)
    verify.check_stripes(stripes)
    assert [one.home for one in stripes] == [1]


def test_transfers_of_several_lengths_and_places():
    """Each transfer is cut by itself, also where it writes another place than it reads."""
    builder = ScheduleBuilder(3, 30)
    builder.step(
        stage="a", source=[0, 1], target=[1, 2], lo=[0, 4], hi=[3, 11], target_lo=[20, 4], reduce=True
    )
    builder.step(stage="b", source=[0, 0], target=[1, 2], lo=[5, 0], hi=[10, 30], reduce=False, rails=[0, 1])
    schedule = builder.build(Collective("any", (), ()))
    rates = rates_with_dead(3, 3, (1, 1))
    stripes = balance_mapping(schedule, rates)
    verify.check_stripes(stripes, dead_nics(rates))
    homes = [[one.home for one in stripes if one.transfer.index == index] for index in range(4)]
    assert homes == [[0, 2], [0, 2], [0], [0, 1]]
    scale = stripes.grid // 30
    assert [(one.source_region, one.target_region) for one in stripes if one.transfer.index == 0] == [
        ((0, 3 * scale // 2), (20 * scale, 20 * scale + 3 * scale // 2)),
        ((3 * scale // 2, 3 * scale), (20 * scale + 3 * scale // 2, 23 * scale)),
    ]


def test_a_schedule_without_transfers_has_no_stripes():
    """A single node's ring maps to nothing."""
    stripes = balance_mapping(ring_allreduce(1), [[Fraction(1)] * 2])
    assert (len(stripes), stripes.rails) == (0, 2)
    verify.check_stripes(stripes)


@pytest.mark.parametrize(
    ("rates", "complaint"),
    [
        ([[1]] * 2, "rates of 2 nodes with .* give 3 nodes"),
        ([[1], [1, 1], [1]], "rates of 3 nodes with .*1, 2.* rails"),
        ([[], [], []], "equally many rails"),
        ([[1, 1], [1, -1], [1, 1]], "node 1 rail 1: a rate below zero"),
        ([[0, 1], [1, 0], [1, 0]], "separate the nodes into 0 | 1, 2"),
    ],
)
def test_rates_that_make_no_sense_are_refused(rates, complaint):
    """A table of the wrong shape, a negative rate and nodes that are cut off raise and are named."""
    with pytest.raises(ScheduleError, match=complaint.replace("|", r"\|")):
        balance_mapping(ring_allreduce(3), rates)


def test_a_rail_that_does_not_exist_is_refused():
    """A transfer that asks for rail 5 of 2 is named."""
    with pytest.raises(ScheduleError, match=r"^transfer 0 .*there is no rail 5, only 0\.\.1"):
        balance_mapping(one_transfer(rails=[5]), rates_with_dead(2, 2))
