from __future__ import annotations

import random
from fractions import Fraction

import pytest

from algorithms import verify
from algorithms.nested_optcc import nested_optcc
from algorithms.nic import Nic
from algorithms.optcc_mapping import optcc_mapping
from algorithms.ring import ring_allreduce
from algorithms.schedule import ScheduleError
from analysis import lower_bound
from analysis.rail_rates import RailRates
from tests.algorithms.mutants import MUTANTS
from tests.algorithms.replay import Replay


def mixture(bandwidths):
    """The rings and shares that meet the node-level bound."""
    return [(ring.members, ring.share) for ring in lower_bound.nested_mixture(bandwidths)]


def random_bandwidths(generator, most=8):
    """Two to `most` nodes with up to 8 eighths of the full bandwidth."""
    return [Fraction(generator.randint(1, 8), 8) for _ in range(generator.randint(2, most))]


@pytest.mark.parametrize("seed", range(20))
def test_any_bandwidths_are_exactly_once_with_water_filling_loads(seed):
    """Node i sends and receives 1 + (p-2) w_i, together 2 (p-1), and none is busy longer than the bound."""
    generator = random.Random(seed)
    bandwidths = random_bandwidths(generator)
    p = len(bandwidths)
    schedule = nested_optcc(p, mixture(bandwidths), generator.randint(1, 4))
    weights = lower_bound.water_filling(bandwidths)
    loads = verify.check(schedule).loads
    assert loads == [(1 + (p - 2) * weight,) * 2 for weight in weights]
    assert sum(sent for sent, _ in loads) == 2 * (p - 1)
    time = max(sent / bandwidth for (sent, _), bandwidth in zip(loads, bandwidths, strict=True))
    assert time == lower_bound.allreduce(bandwidths)
    assert Replay(schedule, 13, seed=seed).run_transfers().is_right()


def test_one_ring_of_all_is_the_plain_ring():
    """Equal bandwidths: no leaves, only S1 and S4, the loads of the ring."""
    schedule = nested_optcc(5, mixture([1] * 5), 2)
    assert set(schedule.stages) == {"S1", "S4"}
    assert verify.check(schedule).loads == ring_allreduce(5).loads()


def test_one_member_is_a_star():
    """The hub takes everybody's data and gives the sum: its load is p-1, no ring stage is left."""
    schedule = nested_optcc(4, [([2], Fraction(1))], 1)
    assert [str(one).split(" ", 2)[2] for one in schedule] == [
        "(S3): node 0 -> node 2, reduce [0, 1)",
        "(S3): node 1 -> node 2, reduce [0, 1)",
        "(S3): node 3 -> node 2, reduce [0, 1)",
        "(S2): node 2 -> node 0, copy [0, 1)",
        "(S2): node 2 -> node 1, copy [0, 1)",
        "(S2): node 2 -> node 3, copy [0, 1)",
    ]
    verify.check(schedule)


def test_a_single_node_has_nothing_to_do():
    """Its allreduce is an empty schedule."""
    assert len(nested_optcc(1, [([0], Fraction(1))])) == 0


@pytest.mark.parametrize("p", [*range(3, 10), 16, 25])
def test_every_ring_size_and_order(p):
    """Rings of any members in any order, with all others as leaves, are exactly once."""
    generator = random.Random(p)
    for size in range(1, p + 1):
        members = generator.sample(range(p), size)
        verify.check(nested_optcc(p, [(members, Fraction(1))], 2))


def test_live_sets_that_nest_map_to_rails():
    """Two levels of degraded nodes: every byte on a live rail, and within 10 % of the node-level bound."""
    dead = [Nic(3, 0), Nic(4, 0), Nic(4, 1)]
    rates = RailRates.of(5, 4, dead)
    stripes = optcc_mapping(nested_optcc(5, mixture(rates.bandwidths()), 3), rates.rates)
    verify.check_stripes(stripes, dead)
    loads = stripes.rail_loads()
    busiest = max(max(load) / rates.rate(nic) for nic, load in loads.items() if rates.rate(nic))
    bound = lower_bound.allreduce(rates.bandwidths())
    assert bound <= busiest < bound * Fraction(11, 10)


def test_the_oracle_misses_no_planted_error():
    """Of 150 single errors most spoil a replay on numbers; the oracle catches all of those."""
    generator = random.Random(3)
    wrong = 0
    for number in range(150):
        bandwidths = random_bandwidths(generator, most=5)
        if len(bandwidths) < 3:
            continue
        schedule = nested_optcc(len(bandwidths), mixture(bandwidths), 2)
        error, row = generator.choice(MUTANTS), generator.randrange(len(schedule))
        spoilt = error(schedule, row, generator.randint(1, max(1, schedule.grid - 1)))
        if Replay(spoilt, spoilt.grid, seed=number).run_transfers().is_right():
            continue
        wrong += 1
        with pytest.raises(ScheduleError):
            verify.check(spoilt)
    assert wrong > 70


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((0, [([0], 1)]), "0 nodes"),
        ((3, [([0], 1)], 0), "0 segments"),
        ((3, [([0, 3], 1)]), r"ring of \[0, 3\] .* distinct nodes of 0..2"),
        ((3, [([0, 0], 1)]), r"ring of \[0, 0\]"),
        ((3, [([0, 1], -1), ([0], 2)]), "-1 of the data"),
        ((3, [([0, 1], Fraction(1, 2))]), "sum up to 1/2"),
        ((3, []), "sum up to 0"),
        ((3, [([], 1)]), r"ring of \[\]"),
    ],
)
def test_mixtures_that_make_no_sense_are_refused(arguments, complaint):
    """Nodes that do not exist or occur twice, no members, and shares that are not the whole are named."""
    with pytest.raises(ScheduleError, match=complaint):
        nested_optcc(*arguments)
