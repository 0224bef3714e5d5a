from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.collective import Collective, Holding, all_gather, allreduce, reduce_scatter
from algorithms.ring import ring_allreduce
from algorithms.schedule import Columns, Schedule, ScheduleBuilder, ScheduleError, element


def step_of(builder, **changes):
    """Append one good transfer, changed in the given places."""
    good = {"stage": "test", "source": 0, "target": 1, "lo": 0, "hi": 2, "reduce": True}
    builder.step(**(good | changes))
    return builder


def built(nodes=3, grid=6, **changes):
    """Build a schedule with a good transfer and then a changed one."""
    return step_of(step_of(ScheduleBuilder(nodes, grid)), **changes).build(allreduce(nodes, grid))


def test_a_step_given_as_arrays_is_the_transfers_in_their_order():
    """One call of `step` appends one transfer per entry; an int stands for the whole step."""
    builder = ScheduleBuilder(4, 8)
    builder.step(
        stage="first", source=[0, 2], target=[1, 3], lo=0, hi=[3, 4], reduce=[True, False], rails=[1, 0]
    )
    builder.step(stage="second", source=1, target=0, lo=np.array([2, 5]), hi=np.array([3, 7]), reduce=False)
    rows = [
        (t.index, t.source, t.target, t.source_region, t.target_region, t.reduce, t.stage, t.rails)
        for t in builder.build(allreduce(4, 8))
    ]
    both = frozenset({0, 1})
    assert rows == [
        (0, 0, 1, (0, 3), (0, 3), True, "first", both),
        (1, 2, 3, (0, 4), (0, 4), False, "first", both),
        (2, 1, 0, (2, 3), (2, 3), False, "second", None),
        (3, 1, 0, (5, 7), (5, 7), False, "second", None),
    ]


def test_the_target_region_may_lie_elsewhere():
    """`target_lo` moves the region at the target; its length is that at the source."""
    transfer = built(lo=1, hi=3, target_lo=4)[1]
    assert (transfer.source_region, transfer.target_region) == ((1, 3), (4, 6))
    assert str(transfer) == "transfer 1 (test): node 0 -> node 1, reduce [1, 3) to [4, 6)"


def test_a_transfer_prints_all_that_a_reader_needs():
    """The text of a transfer names index, stage, nodes, what is done to which region, and its rails."""
    transfer = built(reduce=False, rails={2, 0}, stage="all-gather")[1]
    assert str(transfer) == "transfer 1 (all-gather): node 0 -> node 1, copy [0, 2), rails [0, 2]"


def test_entry_0_of_the_rail_sets_means_all_rails():
    """Sets of rails are kept once each in a table that the column indexes; entry 0 is "all"."""
    builder = ScheduleBuilder(2, 2)
    for rails in ([1], None, (1,), {0, 1}):
        step_of(builder, rails=rails)
    schedule = builder.build(allreduce(2, 2))
    assert schedule.rail_sets == (None, frozenset({1}), frozenset({0, 1}))
    assert schedule.columns.rails.tolist() == [1, 0, 1, 2]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), max_size=40))
def test_match_keys_count_per_pair_and_are_unique(pairs):
    """The ordinal of a transfer is the number of earlier ones with its source and target."""
    builder = ScheduleBuilder(5, 2)
    ends = [(source, (source + distance) % 5) for source, distance in pairs]
    for source, target in ends:
        step_of(builder, source=source, target=target)
    schedule = builder.build(allreduce(5, 2))
    expected = [(*pair, ends[:index].count(pair)) for index, pair in enumerate(ends)]
    assert [transfer.match_key for transfer in schedule] == expected
    assert schedule.ordinals.tolist() == [ordinal for *_, ordinal in expected]
    assert len(set(expected)) == len(expected)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"source": 3}, "node outside 0..2"),
        ({"target": -2}, "node outside 0..2"),
        ({"target": 0}, "same source and target"),
        ({"hi": 0}, "empty region"),
        ({"lo": 3, "hi": 1}, "empty region"),
        ({"hi": 7}, "outside the grid"),
        ({"lo": -1}, "outside the grid"),
        ({"target_lo": 5}, "outside the grid"),
        ({"hi": 2**32 + 2}, "outside the grid"),
        ({"source": 2**32}, "node outside"),
    ],
)
def test_a_malformed_transfer_is_refused_by_name(changes, fault):
    """`build` raises an error that names the transfer and says what is wrong with it, also beyond 32 bits."""
    with pytest.raises(ScheduleError, match=rf"^transfer 1 \(test\): .*{fault}"):
        built(**changes)


def test_the_first_malformed_transfer_is_named():
    """Among several bad transfers the error names the first in program order, whatever its fault."""
    builder = step_of(step_of(step_of(ScheduleBuilder(3, 6)), hi=9), source=7)
    with pytest.raises(ScheduleError, match=r"^transfer 1"):
        builder.build(allreduce(3, 6))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"source": [0, 0], "target": [1, 1, 1]}, "arrays of lengths"),
        ({"lo": 0.5}, "takes integers"),
        ({"source": [[0, 0]], "target": [[1, 1]]}, "one-dimensional"),
        ({"rails": []}, "no set of rails"),
        ({"rails": [-1]}, "no set of rails"),
    ],
)
def test_a_malformed_step_is_refused_where_it_is_written(changes, fault):
    """`step` raises at once when its arguments do not make up a step."""
    with pytest.raises(ScheduleError, match=f"stage 'test': .*{fault}"):
        step_of(ScheduleBuilder(3, 6), **changes)


def test_a_step_of_no_transfers_adds_nothing():
    """Empty arrays are a step without transfers, not an error."""
    builder = step_of(ScheduleBuilder(3, 6), source=[], target=[], lo=[], hi=[])
    assert len(builder.build(allreduce(3, 6))) == 0


def test_later_changes_to_an_array_do_not_reach_the_schedule():
    """The builder copies what it is given, so loops may reuse their arrays."""
    source = np.array([0, 1])
    builder = step_of(ScheduleBuilder(3, 6), source=source, target=2)
    source[:] = 2
    assert builder.build(allreduce(3, 6)).columns.source.tolist() == [0, 1]


def test_columns_cannot_be_changed():
    """The arrays of a schedule are read-only, since plans are cached and shared."""
    schedule = built()
    with pytest.raises(ValueError, match="read-only"):
        schedule.columns.source[0] = 2


def test_columns_of_different_lengths_are_refused():
    """Columns that do not belong together are an error, not a crash later."""
    none, one = np.empty(0, np.int32), np.zeros(1, np.int32)
    with pytest.raises(ScheduleError, match="equally long"):
        Columns(one, none, none, none, none, none, np.empty(0, np.bool_), none, none)


@pytest.mark.parametrize("grid", [0, 2**31 - 1])
def test_a_grid_that_does_not_fit_32_bits_is_refused(grid):
    """A grid must be positive and leave every boundary representable in the columns."""
    columns = built().columns
    with pytest.raises(ScheduleError, match=f"grid {grid}"):
        Schedule(3, grid, Collective("nothing", (), ()), columns, ("test",))


def test_a_collective_that_does_not_fit_is_refused():
    """A schedule cannot be for a collective that speaks of nodes or regions it does not have."""
    for holding in (
        Holding(3, (0, 1), frozenset()),
        Holding(0, (0, 7), frozenset()),
        Holding(0, (0, 1), frozenset({5})),
    ):
        with pytest.raises(ScheduleError, match="not all of it exists"):
            ScheduleBuilder(3, 6).build(Collective("odd", (), (holding,)))


def test_indexing_is_that_of_a_sequence():
    """Negative indices count from the end; others beyond the schedule raise IndexError."""
    schedule = built()
    assert len(schedule) == 2
    assert schedule[-1] == schedule[1] == list(schedule)[1]
    for index in (2, -3):
        with pytest.raises(IndexError):
            schedule[index]


def test_loads_count_regions_per_node():
    """Sent and received are lengths of regions over the grid."""
    schedule = built(source=1, target=2, lo=3, hi=6)
    third, half = Fraction(1, 3), Fraction(1, 2)
    assert schedule.loads() == [(third, Fraction(0)), (half, third), (Fraction(0), half)]


def test_a_large_schedule_fits_its_columns():
    """The 2.1 million transfers of a 1024-node ring have the right number, loads and last transfer."""
    schedule = ring_allreduce(1024)
    assert len(schedule) == 2 * 1023 * 1024
    assert set(schedule.loads()) == {(Fraction(2 * 1023, 1024),) * 2}
    assert schedule[-1].match_key == (1023, 0, 2 * 1023 - 1)


@given(st.integers(1, 1000), st.integers(0, 10**12))
def test_element_rounds_each_boundary_once(grid, count):
    """Boundaries map to `boundary * count // grid`, alike for ints and arrays; both ends fit."""
    boundaries = range(grid + 1)
    expected = [boundary * count // grid for boundary in boundaries]
    assert [element(boundary, count, grid) for boundary in boundaries] == expected
    assert element(np.array(boundaries, np.int64), count, grid).tolist() == expected
    assert (expected[0], expected[-1]) == (0, count)


def test_element_does_not_overflow():
    """Arrays, also of 32 bits as columns are, stay exact where boundary times count exceeds 64 bits."""
    grid, count = 2**31 - 2, 2**50 + 12345
    boundaries = [1, grid // 3, grid - 1]
    expected = [boundary * count // grid for boundary in boundaries]
    assert element(np.array(boundaries, np.int32), count, grid).tolist() == expected


def test_collectives_say_who_holds_what():
    """The three collectives, written out for two nodes."""
    zero, one, both = frozenset({0}), frozenset({1}), frozenset({0, 1})
    inputs = (Holding(0, (0, 4), zero), Holding(1, (0, 4), one))
    assert allreduce(2, 4) == Collective(
        "allreduce", inputs, (Holding(0, (0, 4), both), Holding(1, (0, 4), both))
    )
    assert reduce_scatter(2, 4) == Collective(
        "reduce-scatter", inputs, (Holding(0, (0, 2), both), Holding(1, (2, 4), both))
    )
    owned = (Holding(0, (0, 2), zero), Holding(1, (2, 4), one))
    everything = (*owned, Holding(1, (0, 2), zero), Holding(0, (2, 4), one))
    assert all_gather(2, 4).precondition == owned
    assert set(all_gather(2, 4).postcondition) == set(everything)


@pytest.mark.parametrize("collective", [reduce_scatter, all_gather])
def test_sections_need_a_grid_that_divides(collective):
    """A grid that has no equal sections for the nodes is refused with advice."""
    with pytest.raises(ScheduleError, match="use a multiple of 3"):
        collective(3, 4)
