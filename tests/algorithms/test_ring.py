from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import verify
from algorithms.collective import Collective, Holding
from algorithms.ring import (
    allreduce_steps,
    ring_all_gather,
    ring_all_gather_schedule,
    ring_allreduce,
    ring_reduce_scatter,
    ring_reduce_scatter_schedule,
    side_by_side,
)
from algorithms.schedule import ScheduleBuilder, ScheduleError
from tests.algorithms.replay import Replay

SCHEDULES = (ring_allreduce, ring_reduce_scatter_schedule, ring_all_gather_schedule)


def test_three_nodes_by_hand():
    """The ring of three, written out: a node's finished section is the one after its own number."""
    assert [str(transfer) for transfer in ring_allreduce(3)] == [
        # step 0: everybody passes on its own section
        "transfer 0 (reduce-scatter): node 0 -> node 1, reduce [0, 1)",
        "transfer 1 (reduce-scatter): node 1 -> node 2, reduce [1, 2)",
        "transfer 2 (reduce-scatter): node 2 -> node 0, reduce [2, 3)",
        # step 1: what has come in is complete but for the receiver's own part
        "transfer 3 (reduce-scatter): node 0 -> node 1, reduce [2, 3)",
        "transfer 4 (reduce-scatter): node 1 -> node 2, reduce [0, 1)",
        "transfer 5 (reduce-scatter): node 2 -> node 0, reduce [1, 2)",
        # now node 0 owns section 1, node 1 section 2, node 2 section 0
        "transfer 6 (all-gather): node 0 -> node 1, copy [1, 2)",
        "transfer 7 (all-gather): node 1 -> node 2, copy [2, 3)",
        "transfer 8 (all-gather): node 2 -> node 0, copy [0, 1)",
        "transfer 9 (all-gather): node 0 -> node 1, copy [0, 1)",
        "transfer 10 (all-gather): node 1 -> node 2, copy [1, 2)",
        "transfer 11 (all-gather): node 2 -> node 0, copy [2, 3)",
    ]


def test_three_nodes_by_hand_on_numbers():
    """Inputs 1 2 4, 10 20 40, 100 200 400 give 111 222 444 everywhere; the state in between is known too."""
    buffers = [[1, 2, 4], [10, 20, 40], [100, 200, 400]]
    for transfer in list(ring_allreduce(3))[:6]:
        low, _ = transfer.source_region
        buffers[transfer.target][low] += buffers[transfer.source][low]
    assert buffers == [[1, 222, 404], [11, 20, 444], [111, 220, 400]]
    for transfer in list(ring_allreduce(3))[6:]:
        low, _ = transfer.source_region
        buffers[transfer.target][low] = buffers[transfer.source][low]
    assert buffers == [[111, 222, 444]] * 3


@pytest.mark.parametrize("n", range(1, 10))
@pytest.mark.parametrize("write", SCHEDULES)
def test_every_ring_schedule_is_correct(write, n):
    """Oracle and replay agree that the schedules achieve their collectives, for counts of any size."""
    schedule = write(n)
    verify.check(schedule)
    for count in (0, 1, n - 1, n, 7 * n + 3):
        assert Replay(schedule, count, seed=count).run_transfers().is_right()


@pytest.mark.parametrize("n", range(1, 10))
def test_loads_and_steps_are_the_least_possible(n):
    """Each node sends and receives 2 (n-1)/n of the data in 2 (n-1) dependent steps; half of it per half."""
    half = Fraction(n - 1, n)
    for write, halves in zip(SCHEDULES, (2, 1, 1), strict=True):
        report = verify.check(write(n))
        assert report.loads == [(halves * half, halves * half)] * n
        assert report.steps == halves * (n - 1)
        assert report.transfers == halves * (n - 1) * n


def test_a_single_node_has_nothing_to_do():
    """A ring of one is an empty schedule that is valid."""
    assert len(ring_allreduce(1)) == 0
    assert verify.check(ring_allreduce(1)).steps == 0


@given(st.permutations(range(6)), st.integers(2, 5), st.integers(0, 3), st.integers(1, 3))
def test_a_ring_of_some_nodes_over_some_region(order, n, low, length):
    """The helpers serve any members in any order and any region that divides, and touch nothing else."""
    members = order[:n]
    region = (low, low + n * length)
    grid = 6 * 3 + 3
    builder = ScheduleBuilder(6, grid)
    ring_reduce_scatter(builder, members, region)
    reduced = builder.build(
        Collective(
            "owned sections",
            tuple(Holding(node, (0, grid), frozenset({node})) for node in range(6)),
            tuple(
                Holding(
                    members[member],
                    (low + (member + 1) % n * length, low + ((member + 1) % n + 1) * length),
                    frozenset(members),
                )
                for member in range(n)
            ),
        )
    )
    verify.check(reduced)
    ring_all_gather(builder, members, region)
    untouched = [(0, low), (region[1], grid)] if low else [(region[1], grid)]
    wanted = [Holding(node, part, frozenset({node})) for node in range(6) for part in untouched]
    wanted += [Holding(node, region, frozenset(members)) for node in members]
    wanted += [Holding(node, region, frozenset({node})) for node in set(range(6)) - set(members)]
    partial = Collective("partial allreduce", reduced.collective.precondition, tuple(wanted))
    verify.check(builder.build(partial))


@pytest.mark.parametrize("append", [ring_reduce_scatter, ring_all_gather])
def test_rings_that_do_not_exist_are_refused(append):
    """A region that does not divide, a node that occurs twice and an empty ring raise."""
    builder = ScheduleBuilder(3, 7)
    with pytest.raises(ScheduleError, match="does not divide into 3 sections"):
        append(builder, [0, 1, 2], (0, 7))
    with pytest.raises(ScheduleError, match="distinct members"):
        append(builder, [0, 1, 0], (0, 6))
    with pytest.raises(ScheduleError, match="distinct members"):
        append(builder, [], (0, 6))


@given(st.permutations(range(6)))
def test_a_ring_goes_in_any_order(order):
    """Relabelled, the ring in an order is the ring in the order of the numbers, and it is right."""
    natural, ordered = ring_allreduce(6), ring_allreduce(6, order)
    verify.check(ordered)
    for one, other in zip(natural, ordered, strict=True):
        assert (order[one.source], order[one.target]) == (other.source, other.target)
        assert (one.source_region, one.reduce, one.stage) == (other.source_region, other.reduce, other.stage)


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [1, 2, 3], [0, 1, 2, 3]])
def test_an_order_names_every_node_once(order):
    """A node that is missing, named twice or does not exist is refused."""
    with pytest.raises(ScheduleError, match=r"does not name each of the nodes 0\.\.2 once"):
        ring_allreduce(3, order)


def test_rings_side_by_side_take_turns():
    """Steps of two rings alternate; the longer one goes on alone, and labels and rails are its own."""
    builder = ScheduleBuilder(5, 10)
    side_by_side(
        allreduce_steps(builder, [0, 1, 2], (0, 6), rails=[1], name="a"),
        allreduce_steps(builder, [3, 4], (6, 8)),
    )
    schedule = builder.build(Collective("any", (), ()))
    steps = [(one.stage, one.rails) for one in schedule if one.source in {0, 3}]
    ours, theirs = frozenset({1}), None
    assert steps == [
        ("a reduce-scatter", ours),
        ("reduce-scatter", theirs),
        ("a reduce-scatter", ours),
        ("all-gather", theirs),
        ("a all-gather", ours),
        ("a all-gather", ours),
    ]
