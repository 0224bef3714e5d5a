from __future__ import annotations

import pytest

from algorithms.collective import Collective
from algorithms.depth import StageDepth, longest_chain, stage_depths
from algorithms.r2cc_allreduce import r2cc_allreduce
from algorithms.ring import ring_allreduce
from algorithms.schedule import ScheduleBuilder


def schedule_of(*rows, grid=4):
    """Make a schedule of (stage, source, target, low, high) in place."""
    builder = ScheduleBuilder(4, grid)
    for stage, source, target, low, high in rows:
        builder.step(stage=stage, source=source, target=target, lo=low, hi=high, reduce=True)
    return builder.build(Collective("any", (), ()))


def test_transfers_that_need_each_other_form_a_chain():
    """Reading what was written, and adding to it, counts; a source that is only read does not."""
    assert longest_chain(schedule_of(("a", 0, 1, 0, 1), ("a", 1, 2, 0, 1), ("a", 2, 3, 0, 1))) == 3
    assert longest_chain(schedule_of(("a", 1, 0, 0, 1), ("a", 2, 0, 0, 1), ("a", 3, 0, 0, 1))) == 3
    assert longest_chain(schedule_of(("a", 0, 1, 0, 1), ("a", 0, 2, 0, 1), ("a", 0, 3, 0, 1))) == 1
    assert longest_chain(schedule_of(("a", 0, 1, 0, 2), ("a", 1, 2, 2, 4))) == 1
    assert longest_chain(schedule_of()) == 0


def test_a_transfer_waits_for_all_that_it_carries():
    """Three transfers, no cell is touched by all, but each carries something of the one before."""
    assert longest_chain(schedule_of(("a", 0, 1, 0, 2), ("a", 1, 2, 1, 3), ("a", 2, 3, 2, 4))) == 3


def test_data_that_moves_to_another_place_is_followed():
    """What was written at [2, 4) of node 1 is what the next transfer reads there."""
    builder = ScheduleBuilder(3, 4)
    builder.step(stage="a", source=0, target=1, lo=0, hi=2, target_lo=2, reduce=False)
    builder.step(stage="a", source=1, target=2, lo=3, hi=4, target_lo=0, reduce=False)
    builder.step(stage="a", source=1, target=0, lo=0, hi=1, reduce=False)
    assert longest_chain(builder.build(Collective("any", (), ()))) == 2


def test_stages_are_counted_by_themselves():
    """Each stage in the order of appearance, as if nothing had happened before it."""
    schedule = schedule_of(("b", 0, 1, 0, 1), ("b", 1, 2, 0, 1), ("a", 2, 3, 0, 1))
    assert stage_depths(schedule) == [StageDepth("b", 2, 2), StageDepth("a", 1, 1)]
    assert longest_chain(schedule) == 3


@pytest.mark.parametrize("n", range(2, 8))
def test_a_ring_has_twice_n_minus_1_steps(n):
    """n-1 steps of n transfers in each half, and all of them follow one another."""
    schedule = ring_allreduce(n)
    half = n * (n - 1), n - 1
    assert stage_depths(schedule) == [
        StageDepth("reduce-scatter", *half),
        StageDepth("all-gather", *half),
    ]
    assert longest_chain(schedule) == 2 * (n - 1)


def test_the_stages_of_figure_6():
    """4 nodes, 2 pieces: rings of four and of three, and a chain of two hops for each piece."""
    assert stage_depths(r2cc_allreduce(4, 4, 0, [3], pieces=2)) == [
        StageDepth("global reduce-scatter", 12, 3),
        StageDepth("partial reduce-scatter", 6, 2),
        StageDepth("partial all-gather", 6, 2),
        StageDepth("global all-gather", 12, 3),
        StageDepth("own data in", 2, 1),
        StageDepth("healthy sum back", 2, 1),
        StageDepth("full sum along the chain", 4, 2),
    ]
