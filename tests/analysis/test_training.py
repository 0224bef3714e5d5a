from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from analysis import training
from analysis.errors import ModelError
from analysis.training import exposed_share_for, iteration_overhead, iteration_overhead_with_overlap

SHARES = [Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1)]
OVERHEADS = [Fraction(0), Fraction(1, 21), Fraction(1, 7), Fraction(1), Fraction(3)]


def iteration(compute: Fraction, hiding: Fraction, communication: Fraction) -> Fraction:
    """Length of an iteration that hides communication behind at most `hiding` of its compute."""
    return compute + max(Fraction(0), communication - hiding)


def test_exposed_communication_grows_in_proportion():
    """Compute plus exposed communication, made longer by hand: the product of overhead and share."""
    for overhead, exposed in product(OVERHEADS, SHARES):
        longer = (1 - exposed) + exposed * (1 + overhead)
        assert iteration_overhead(overhead, exposed) == longer - 1


def test_the_share_for_a_target_reaches_it():
    """The inverse: with that share the iteration has exactly the target; None where a share of 1 has less."""
    for overhead, target in product(OVERHEADS, [Fraction(11, 1000), Fraction(1, 10)]):
        exposed = exposed_share_for(target, overhead)
        if exposed is None:
            assert iteration_overhead(overhead, 1) < target
        else:
            assert 0 <= exposed <= 1
            assert iteration_overhead(overhead, exposed) == target


def test_enough_to_spare_leaves_the_exposed_part():
    """What was hidden stays hidden: the proportional model for the exposed share c (1-h)."""
    for overhead, hidden in product(OVERHEADS, SHARES):
        share = Fraction(1, 5)
        exposed = share * (1 - hidden)
        spare = Fraction(4, 5)
        assert iteration_overhead_with_overlap(overhead, share, hidden, spare) == iteration_overhead(
            overhead, exposed
        )


def test_nothing_to_spare_exposes_all_that_is_added():
    """An iteration that hides all it can, made longer by hand: the overhead is c o."""
    for overhead, hidden in product(OVERHEADS, SHARES):
        share = Fraction(1, 5)
        compute, hiding = 1 - share * (1 - hidden), share * hidden
        assert iteration(compute, hiding, share) == 1
        longer = iteration(compute, hiding, share * (1 + overhead)) - 1
        assert iteration_overhead_with_overlap(overhead, share, hidden) == longer


def test_more_to_spare_is_never_worse():
    """Between the two extremes the overhead falls with what is to spare, one for one, then stays."""
    overheads = [
        iteration_overhead_with_overlap(1, Fraction(1, 5), Fraction(1, 2), Fraction(step, 20))
        for step in range(5)
    ]
    assert overheads == [Fraction(4, 20), Fraction(3, 20), Fraction(2, 20), Fraction(2, 20), Fraction(2, 20)]


def test_the_table_of_paper_1s_servers():
    """One NIC of eight, four nodes: which exposed share makes 1.1 % of 100 %, 1/7, 2/21, 1/9 and 1/31.

    The overheads follow from the closed forms by hand: X/(1-X) = 1/7; 4 X / (6 (1-X)) = 2/21;
    (5/3)/(3/2) - 1; (6/(3 + 7/8)) / (3/2) - 1.
    """
    rows = {row.scheme: (row.allreduce_overhead, row.exposed_share) for row in training.table()}
    assert rows == {
        "HotRepair": (1, Fraction("0.011")),
        "Balance": (Fraction(1, 7), Fraction("0.077")),
        "R2CC-AllReduce": (Fraction(2, 21), Fraction("0.1155")),
        "OptCC, four stages": (Fraction(1, 9), Fraction("0.099")),
        "OptCC, mixture": (Fraction(1, 31), Fraction("0.341")),
    }


def test_a_target_out_of_reach_has_no_share():
    """50 % more is beyond all but HotRepair with one NIC of eight."""
    reachable = {row.scheme for row in training.table(target=Fraction(1, 2)) if row.exposed_share is not None}
    assert reachable == {"HotRepair"}


def test_neighbouring_failures_pile_up_on_one_backup():
    """Two dead rails side by side: HotRepair three times the ring (counted by hand), Balance 8/6."""
    rows = {row.scheme: row.allreduce_overhead for row in training.table(failed=2)}
    assert rows["HotRepair"] == 2
    assert rows["Balance"] == Fraction(1, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: iteration_overhead(-1, 0), r"allreduce_overhead = -1 is below zero; give 0 or more"),
        (lambda: iteration_overhead(1, 2), r"exposed_share = 2 is no part of a whole"),
        (lambda: exposed_share_for(-1, 1), r"target = -1 is below zero"),
        (lambda: iteration_overhead_with_overlap(1, 2, 0), r"communication_share = 2 is no part of a whole"),
        (lambda: iteration_overhead_with_overlap(1, 1, 2), r"hidden_part = 2 is no part of a whole"),
        (lambda: iteration_overhead_with_overlap(1, "1/5", 0, -1), r"spare = -1 is below zero"),
        (
            lambda: iteration_overhead_with_overlap(1, "1/5", 0, 1),
            r"spare = 1: beside communication of 1/5 an iteration has at most 4/5 of compute to spare",
        ),
        (lambda: training.table(failed=8), r"failed = 8: the node must keep a rail, give at most 7"),
        (lambda: training.table(failed=0), r"failed = 0: give a whole number, at least 1"),
        (lambda: training.table(rails=1), r"rails = 1: give a whole number, at least 2"),
        (lambda: training.table(nodes=2), r"p = 2: give a whole number, at least 3"),
    ],
)
def test_bad_input_is_named(call, message):
    """Each argument that is out of range is refused by name, with what would do."""
    with pytest.raises(ModelError, match=message):
        call()
