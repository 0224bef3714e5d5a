from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from analysis.approximation_gap import best_partial
from analysis.cost_model import balance, ring
from analysis.errors import ModelError
from analysis.two_stage import Stages, least_pieces, r2cc_allreduce, stages, threshold
from tests.analysis import ports

LOST = [Fraction(1, 8), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(7, 8)]
THIRD = Fraction(1, 3)


@pytest.mark.parametrize(
    ("form", "printed"),
    [
        ("chain", ["1.625", "1.5", "1.4375", "1.406", "1.391", "1.375"]),
        ("helper", ["1.75", "1.5625", "1.469", "1.422", "1.398", "1.375"]),
    ],
)
def test_the_example_of_three_nodes(form, printed):
    """With n = 3, X = Y = 1/3, over T_nf, K = 1, 2, 4, 8, 16 and fine: derived by hand, to 4 digits."""
    for pieces, digits in zip([1, 2, 4, 8, 16, None], printed, strict=True):
        time = r2cc_allreduce(3, THIRD, THIRD, pieces, form) / ring(3)
        assert abs(time - Fraction(digits)) <= Fraction(5, 10_000)


def test_the_stages_of_the_example_by_hand():
    """For K = 4: T1 = 4/3 (2/3)/(2/3), T2 = 2/2 (1/3)/(1/3), T3 = 1/2 + 1/12; together 1.4375 T_nf."""
    times = stages(3, THIRD, pieces=4)
    assert times == Stages(Fraction(4, 3), Fraction(1), Fraction(7, 12))
    assert times.total == Fraction(23, 12) == Fraction("1.4375") * ring(3)


@pytest.mark.parametrize("lost", LOST)
def test_fine_overhead_of_the_papers_rule(lost):
    """At Y = X, finely pipelined, the overhead is n X / (2 (n-1) (1-X)), of which 57 % at n = 8, X = 1/2."""
    for n in range(2, 20):
        over = r2cc_allreduce(n, lost) / ring(n) - 1
        assert over == n * lost / (2 * (n - 1) * (1 - lost))
    assert r2cc_allreduce(8, Fraction(1, 2)) / ring(8) - 1 == Fraction(4, 7)


@pytest.mark.parametrize(("n", "lost"), list(product(range(2, 7), LOST)))
def test_the_chain_takes_what_its_messages_take(n, lost):
    """T3 of the chain, Y/(1-X) + (n-2) Y/K, is what a simulation of the messages takes, exactly."""
    for pieces in (1, 2, 5):
        simulated = ports.finish(ports.chain(n, 1 - lost, lost, pieces), Fraction(0))
        assert stages(n, lost, lost, pieces).return_trip == simulated


@pytest.mark.parametrize(("n", "lost"), list(product(range(2, 7), LOST)))
def test_the_helper_form_takes_what_its_messages_take(n, lost):
    """T3 of the helper, (1 + 1/K) Y/(1-X) + (n-2) Y/(K S), is what a simulation of the messages takes."""
    for pieces, sub_pieces in product((1, 2, 4), (1, 3)):
        messages = ports.helper(n, 1 - lost, lost, pieces, sub_pieces)
        time = stages(n, lost, lost, pieces, "helper", sub_pieces).return_trip
        assert time == ports.finish(messages, Fraction(0))


@pytest.mark.parametrize(("n", "lost"), list(product(range(2, 6), LOST)))
def test_stage_1_takes_what_its_rings_take(n, lost):
    """T1 and T2 are what simulations of the two rings take on the bandwidths that are theirs."""
    for partial in (lost, best_partial(n, lost)):
        times = stages(n, lost, partial)
        kept = [Fraction(1) - lost] * n
        assert times.global_ring == ports.finish(ports.ring(kept, 1 - partial), Fraction(0))
        only_healthy = [lost] * (n - 1)
        assert times.partial_ring == ports.finish(ports.ring(only_healthy, partial), Fraction(0))


def test_the_global_ring_may_use_all_bandwidth_of_healthy_nodes():
    """Its time does not change if healthy nodes have more than the degraded one: that sets the pace."""
    rates = [Fraction(1, 2), Fraction(1), Fraction(1), Fraction(1)]
    simulated = ports.finish(ports.ring(rates, Fraction(1, 2)), Fraction(0))
    assert stages(4, Fraction(1, 2)).global_ring == simulated


@pytest.mark.parametrize(("n", "lost"), list(product(range(2, 12), LOST)))
def test_thresholds_tell_who_beats_balance(n, lost):
    """Chain: K > n (1-X); helper: K > n/(n-2), with sub-pieces more. For any Y up to Y*; never at n = 2."""
    forms: list[tuple[str, int | None]] = [("chain", None), ("helper", None), ("helper", 1), ("helper", 4)]
    for form, sub_pieces in forms:
        needed = threshold(n, lost, form, sub_pieces)
        least = least_pieces(n, lost, form, sub_pieces)
        assert (needed is None) == (least is None) == (n == 2)
        for pieces, partial in product(range(1, 16), (lost / 3, lost, best_partial(n, lost))):
            faster = r2cc_allreduce(n, lost, partial, pieces, form, sub_pieces) < balance(n, lost)
            assert faster == (needed is not None and pieces > needed)
            assert faster == (least is not None and pieces >= least)


def test_thresholds_by_hand():
    """K exceeds n (1-X) = 4 x 3/4, or n/(n-2) = 4/2, which one sub-piece makes 2 (1 + 2 x 3/4)."""
    quarter = Fraction(1, 4)
    assert threshold(4, quarter) == 3
    assert least_pieces(4, quarter) == 4
    assert threshold(4, quarter, "helper") == 2
    assert least_pieces(4, quarter, "helper") == 3
    assert threshold(4, quarter, "helper", 1) == 5


@pytest.mark.parametrize(("n", "lost", "form"), list(product(range(3, 8), LOST, ["chain", "helper"])))
def test_beyond_the_threshold_the_best_share_is_the_fine_one(n, lost, form):
    """With finite K either Y = 0 or Y* is best among 60 values of Y, as the threshold says."""
    least = least_pieces(n, lost, form)
    assert least is not None
    candidates = [Fraction(step, 60) for step in range(61)]
    for pieces in range(max(1, least - 2), least + 3):
        best = min(r2cc_allreduce(n, lost, partial, pieces, form) for partial in candidates)
        chosen = best_partial(n, lost) if pieces >= least else Fraction(0)
        assert r2cc_allreduce(n, lost, chosen, pieces, form) <= best


@pytest.mark.parametrize("form", ["chain", "helper"])
def test_nothing_lost_is_the_ring(form):
    """With X = 0 there is no partial ring, and the time is that of the ring, whatever K is."""
    for n in range(2, 7):
        assert r2cc_allreduce(n, 0, pieces=2, form=form) == r2cc_allreduce(n, 0, 0) == ring(n)
        assert least_pieces(n, 0, form) is None


def test_no_partial_ring_is_balance():
    """With Y = 0 all data take the global ring on what the degraded node has left: Balance."""
    assert r2cc_allreduce(5, THIRD, partial=0, pieces=3) == balance(5, THIRD)


def test_two_nodes_gain_nothing():
    """With one healthy node there is nobody to reduce with: the time is Balance's for every Y."""
    for partial in (Fraction(0), THIRD, Fraction(1)):
        assert r2cc_allreduce(2, THIRD, partial, pieces=1) == balance(2, THIRD)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stages(1, THIRD), r"n = 1: give a whole number, at least 2"),
        (lambda: stages(4, 1), r"lost = 1: a degraded node must keep some bandwidth"),
        (lambda: stages(4, Fraction(-1, 4)), r"lost = -1/4: a degraded node"),
        (lambda: stages(4, "a quarter"), r"lost: .a quarter. is no exact number"),
        (lambda: stages(4, THIRD, 2), r"partial = 2 is no part of a whole; give a fraction from 0 to 1"),
        (lambda: stages(4, 0, THIRD), r"partial = 1/3: nothing is lost, .* give 0"),
        (lambda: stages(4, THIRD, pieces=0), r"pieces = 0: give a whole number, at least 1"),
        (lambda: stages(4, THIRD, form="tree"), r"no form of stage 2 'tree'; give one of chain, helper"),
        (lambda: stages(4, THIRD, sub_pieces=2), r"sub_pieces = 2: only form 'helper' has them"),
        (lambda: stages(4, THIRD, form="helper", sub_pieces=0), r"sub_pieces = 0: give a whole number"),
        (lambda: threshold(4, THIRD, sub_pieces=2), r"sub_pieces = 2: only form 'helper' has them"),
        (lambda: threshold(4, THIRD, "tree"), r"no form of stage 2 'tree'"),
    ],
)
def test_bad_input_is_named(call, message):
    """Each argument that is out of range is refused by name, with what would do."""
    with pytest.raises(ModelError, match=message):
        call()
