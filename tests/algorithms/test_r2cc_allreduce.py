from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import verify
from algorithms.balance import balance_mapping
from algorithms.nic import Nic
from algorithms.r2cc_allreduce import FORMS, r2cc_allreduce
from algorithms.schedule import ScheduleError
from algorithms.stripes import healthy_mapping
from analysis import approximation_gap, loads, rail_loads
from analysis.rail_rates import RailRates
from tests.algorithms.replay import Replay


def expected_loads(n, share):
    """Count the load of the degraded node and of a healthy one, as the docstring of the algorithm does."""
    around = Fraction(2 * (n - 1), n) * (1 - share)
    return around + share, around + Fraction(2 * (n - 2), n - 1) * share + share


def check_everything(n, g, degraded, lost, **options):
    """Prove one schedule and its mapping right, and compare its loads with the theory, as exact fractions."""
    schedule = r2cc_allreduce(n, g, degraded, lost, **options)
    share = options.get("partial")
    share = Fraction(len(lost), g) if share is None else share
    report = verify.check(schedule)
    of_degraded, of_healthy = expected_loads(n, share)
    for node, load in enumerate(report.loads):
        assert load == ((of_degraded,) * 2 if node == degraded else (of_healthy,) * 2)

    dead = [Nic(degraded, rail) for rail in lost]
    rates = RailRates.of(n, g, dead=dead)
    for stripes in (healthy_mapping(schedule, g), balance_mapping(schedule, rates.rates)):
        verify.check_stripes(stripes, dead)
        assert stripes.rail_loads() == expected_rail_loads(n, g, degraded, lost, share, options.get("order"))
    return schedule


def expected_rail_loads(n, g, degraded, lost, share, order):
    """Take the model's loads, which are for node 0 without its first rails, to the node and rails at hand."""
    order = list(order or range(n))
    place = order.index(degraded)
    ring = [*order[place:], *order[:place]]
    rails = [*sorted(lost), *sorted(set(range(g)) - set(lost))]
    model = rail_loads.r2cc_allreduce(n, g, len(lost), share)
    return {Nic(ring[nic.node], rails[nic.rail]): load for nic, load in model.items()}


def some_losses(g, seed=0):
    """Choose sets of rails to lose: each end, half of them, all but one, and two at random."""
    generator = random.Random(seed)
    chosen = {(0,), (g - 1,), tuple(range(g // 2)), tuple(range(1, g))}
    chosen |= {tuple(sorted(generator.sample(range(g), generator.randint(1, g - 1)))) for _ in range(2)}
    return sorted(lost for lost in chosen if 0 < len(lost) < g)


def test_figure_6():
    """4 nodes, X = Y = 1/4: node A carries 11/8 D (the figure counts 7/4, for many nodes), Balance 3/2 D."""
    schedule = check_everything(4, 4, 0, [3])
    assert schedule.loads()[0] == (Fraction(11, 8),) * 2
    assert schedule.loads()[1:] == [(Fraction(41, 24),) * 2] * 3
    assert schedule.loads()[0][0] == loads.r2cc_allreduce(4, Fraction(1, 4)).degraded
    # The paper: "a global AllReduce with all 4 nodes on 3/4 D and a partial AllReduce with 3 nodes on 1/4 D".
    for name, share, members in (("global", Fraction(3, 4), 4), ("partial", Fraction(1, 4), 3)):
        ring = [one for one in schedule if one.stage.startswith(name)]
        regions = {one.source_region for one in ring}
        assert sum(high - low for low, high in regions) == share * schedule.grid
        assert len({one.source for one in ring} | {one.target for one in ring}) == members
    assert all(0 not in (one.source, one.target) for one in schedule if one.stage.startswith("partial"))


def test_three_nodes_by_hand():
    """Node 1 lost rail 0 of 2, one piece: the schedule in full; nodes 2 and 0 are the chain."""
    assert [str(transfer) for transfer in r2cc_allreduce(3, 2, 1, [0], pieces=1)] == [
        # both rings, step by step; the global one is one of three on half the data
        "transfer 0 (global reduce-scatter): node 0 -> node 1, reduce [0, 2), rails [1]",
        "transfer 1 (global reduce-scatter): node 1 -> node 2, reduce [2, 4), rails [1]",
        "transfer 2 (global reduce-scatter): node 2 -> node 0, reduce [4, 6), rails [1]",
        "transfer 3 (partial reduce-scatter): node 2 -> node 0, reduce [6, 9), rails [0]",
        "transfer 4 (partial reduce-scatter): node 0 -> node 2, reduce [9, 12), rails [0]",
        "transfer 5 (global reduce-scatter): node 0 -> node 1, reduce [4, 6), rails [1]",
        "transfer 6 (global reduce-scatter): node 1 -> node 2, reduce [0, 2), rails [1]",
        "transfer 7 (global reduce-scatter): node 2 -> node 0, reduce [2, 4), rails [1]",
        "transfer 8 (partial all-gather): node 2 -> node 0, copy [9, 12), rails [0]",
        "transfer 9 (partial all-gather): node 0 -> node 2, copy [6, 9), rails [0]",
        "transfer 10 (global all-gather): node 0 -> node 1, copy [2, 4), rails [1]",
        "transfer 11 (global all-gather): node 1 -> node 2, copy [4, 6), rails [1]",
        "transfer 12 (global all-gather): node 2 -> node 0, copy [0, 2), rails [1]",
        "transfer 13 (global all-gather): node 0 -> node 1, copy [0, 2), rails [1]",
        "transfer 14 (global all-gather): node 1 -> node 2, copy [2, 4), rails [1]",
        "transfer 15 (global all-gather): node 2 -> node 0, copy [4, 6), rails [1]",
        # stage 2: node 1 gives its own half, gets the sum of the others, and the full sum goes on
        "transfer 16 (own data in): node 1 -> node 2, reduce [6, 12), rails [1]",
        "transfer 17 (healthy sum back): node 0 -> node 1, reduce [6, 12), rails [1]",
        "transfer 18 (full sum along the chain): node 2 -> node 0, copy [6, 12)",
    ]


def test_the_helper_form_by_hand():
    """Four nodes, two pieces of two sub-pieces: each is reduced once, then broadcast, to the loser last."""
    schedule = r2cc_allreduce(4, 2, 3, [1], pieces=2, form="helper", sub_pieces=2)
    second = [one for one in schedule if not one.stage.startswith(("global", "partial"))]
    low, high = schedule.grid // 2, schedule.grid
    quarter = (high - low) // 4
    expected: list[tuple[object, ...]] = []
    for piece in (low, low + 2 * quarter):
        expected.append((3, 0, (piece, piece + 2 * quarter), True, frozenset({0})))
        for part in ((piece, piece + quarter), (piece + quarter, piece + 2 * quarter)):
            expected += [(0, 1, part, False, None), (1, 2, part, False, None)]
            expected.append((2, 3, part, False, frozenset({0})))
    assert [(one.source, one.target, one.source_region, one.reduce, one.rails) for one in second] == expected


@pytest.mark.parametrize("n", range(3, 10))
def test_every_degraded_node_is_served(n):
    """Every node in turn, up to 8 rails, each time other losses, K, Y and forms: loads as in theory."""
    generator = random.Random(n)
    for g in range(2, 9):
        for degraded in range(n):
            lost = generator.choice(some_losses(g, seed=degraded))
            best = approximation_gap.best_partial(n, Fraction(len(lost), g))
            check_everything(
                n,
                g,
                degraded,
                lost,
                pieces=generator.choice([1, 2, 3, 7]),
                partial=generator.choice([None, None, best, Fraction(2, 5), Fraction(0), Fraction(1)]),
                **generator.choice([{}, {"form": "helper", "sub_pieces": generator.choice([1, 4])}]),
            )


@given(st.integers(3, 7), st.integers(2, 5), st.data())
def test_numbers_agree_with_the_oracle(n, g, data):
    """A replay of the stripes on random numbers gives the sum at every node, in any order of the ring."""
    degraded = data.draw(st.integers(0, n - 1))
    lost = data.draw(st.sets(st.integers(0, g - 1), min_size=1, max_size=g - 1))
    form = data.draw(st.sampled_from(FORMS))
    schedule = check_everything(
        n,
        g,
        degraded,
        lost,
        pieces=data.draw(st.integers(1, 5)),
        partial=data.draw(st.none() | st.fractions(0, 1, max_denominator=9)),
        form=form,
        sub_pieces=data.draw(st.integers(1, 3)) if form == "helper" else 1,
        order=data.draw(st.permutations(range(n))),
    )
    dead = frozenset(Nic(degraded, rail) for rail in lost)
    stripes = healthy_mapping(schedule, g)
    assert Replay(schedule, data.draw(st.integers(0, 50)), seed=n).run_stripes(stripes, dead).is_right()


def test_rails_of_a_node_are_evenly_busy():
    """4 x 4, one rail lost: within a stage all rails that a hop may use carry the same, to the last atom."""
    schedule = r2cc_allreduce(4, 4, 2, [1], pieces=3)
    loads_of = healthy_mapping(schedule, 4).rail_loads()
    degraded = {rail: loads_of[Nic(2, rail)] for rail in range(4)}
    assert [degraded[rail] for rail in range(4)] == [(Fraction(load, 24),) * 2 for load in (11, 0, 11, 11)]
    # A node in the middle of the chain: 3/8 of the data in the global ring on three rails, 1/3 in the
    # partial one on the fourth, and 1/16 on every rail in stage 2.
    assert loads_of[Nic(0, 0)] == (Fraction(3, 8) + Fraction(1, 16),) * 2
    assert loads_of[Nic(0, 1)] == (Fraction(1, 3) + Fraction(1, 16),) * 2


def test_both_rings_begin_and_end_side_by_side():
    """In program order the steps of the two rings alternate, so that neither waits behind the other."""
    schedule = r2cc_allreduce(5, 4, 0, [0])
    names = [one.stage.split()[0] for one in schedule if one.stage.startswith(("global", "partial"))]
    steps = [name for name, before in zip(names, [None, *names], strict=False) if name != before]
    assert steps == ["global", "partial"] * 6 + ["global"]


def test_stages_follow_each_other_only_where_they_must():
    """Longest chains: 2 (n-1) ring steps; partial ring, then each piece enters and walks down the chain."""
    for n, pieces in ((3, 1), (4, 2), (6, 4)):
        for form in FORMS:
            report = verify.check(r2cc_allreduce(n, 2, 0, [0], pieces=pieces, form=form))
            # in, down the n-2 hops of the chain, for the helper one more back to the degraded node
            stage_2 = 1 + (n - 2) + (form == "helper")
            assert report.steps == max(2 * (n - 1), 2 * (n - 2) + stage_2)


@pytest.mark.parametrize(
    ("arguments", "options", "complaint"),
    [
        ((2, 2, 0, [0]), {}, "on 2 nodes: a partial allreduce needs two healthy nodes"),
        ((1, 2, 0, [0]), {}, "on 1 nodes"),
        ((3, 1, 0, [0]), {}, "at least one lost and one left"),
        ((3, 2, 0, []), {}, "at least one lost and one left"),
        ((3, 2, 0, [0, 1]), {}, "at least one lost and one left"),
        ((3, 2, 0, [2]), {}, r"lost rails \[2\] of 0\.\.1"),
        ((3, 0, 0, [0]), {}, "at least one lost and one left"),
        ((3, 2, 3, [0]), {}, "there is no node 3 among 3 nodes"),
        ((3, 2, 0, [0]), {"pieces": 0}, "0 pieces of 1 sub-pieces"),
        ((3, 2, 0, [0]), {"partial": Fraction(4, 3)}, "partial share 4/3: give a fraction from 0 to 1"),
        ((3, 2, 0, [0]), {"partial": Fraction(-1, 3)}, "partial share -1/3"),
        ((3, 2, 0, [0]), {"form": "tree"}, "no form 'tree': use chain or helper"),
        ((3, 2, 0, [0]), {"sub_pieces": 2}, "only the helper form has them"),
        ((3, 2, 0, [0]), {"form": "helper", "sub_pieces": 0}, "4 pieces of 0 sub-pieces"),
        ((3, 2, 0, [0]), {"order": [0, 1]}, r"order \[0, 1\] does not name each of the nodes 0\.\.2 once"),
        ((3, 2, 0, [0]), {"pieces": 2**31}, "needs too fine a grid, take fewer pieces"),
    ],
)
def test_what_it_does_not_handle_is_refused(arguments, options, complaint):
    """Fewer than three nodes, nothing lost or nothing left, and options out of range raise and say why."""
    with pytest.raises(ScheduleError, match=complaint):
        r2cc_allreduce(*arguments, **options)


@pytest.mark.slow
@pytest.mark.parametrize("n", range(3, 10))
def test_every_layout_up_to_nine_nodes_and_eight_rails(n):
    """Every degraded node, all sorts of losses, several K and Y, both forms: right, loads as in theory."""
    for g, degraded in product(range(2, 9), range(n)):
        for lost in some_losses(g, seed=degraded):
            best = approximation_gap.best_partial(n, Fraction(len(lost), g))
            for pieces, partial in ((1, None), (4, None), (3, best), (2, Fraction(1, 2))):
                check_everything(n, g, degraded, lost, pieces=pieces, partial=partial)
                check_everything(
                    n, g, degraded, lost, pieces=pieces, partial=partial, form="helper", sub_pieces=2
                )
