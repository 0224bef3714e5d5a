from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import verify
from algorithms.collective import Collective, Holding
from algorithms.ring import ring_all_gather_schedule, ring_allreduce, ring_reduce_scatter_schedule
from algorithms.schedule import Columns, Schedule, ScheduleBuilder, ScheduleError
from tests.algorithms.replay import Replay


def with_rows(schedule: Schedule, rows, **changes) -> Schedule:
    """Keep the given rows of a schedule, in that order; `changes` maps a column to its new entries."""
    columns = {field.name: getattr(schedule.columns, field.name)[rows] for field in fields(Columns)}
    columns |= {name: np.array(entries, columns[name].dtype) for name, entries in changes.items()}
    return replace(schedule, columns=Columns(**columns))


def with_entry(schedule: Schedule, row: int, **entries) -> Schedule:
    """Change single entries of one transfer."""
    columns = {name: getattr(schedule.columns, name).tolist() for name in entries}
    for name, entry in entries.items():
        columns[name][row] = entry
    return with_rows(schedule, list(range(len(schedule))), **columns)


def drop(schedule, row, _):
    """Leave out a transfer."""
    return with_rows(schedule, [other for other in range(len(schedule)) if other != row])


def duplicate(schedule, row, _):
    """Execute a transfer twice in a row."""
    return with_rows(schedule, sorted([*range(len(schedule)), row]))


def reorder(schedule, row, by):
    """Execute a transfer later or earlier."""
    rows = [other for other in range(len(schedule)) if other != row]
    rows.insert((row + by) % len(schedule), row)
    return with_rows(schedule, rows)


def swap_reduce_and_copy(schedule, row, _):
    """Copy what should be reduced, or the other way round."""
    return with_entry(schedule, row, reduce=not schedule[row].reduce)


def shift_source(schedule, row, by):
    """Read another section."""
    low = (schedule[row].source_region[0] + by) % schedule.grid
    return with_entry(schedule, row, source_lo=low, source_hi=low + 1)


def shift_target(schedule, row, by):
    """Write another section."""
    low = (schedule[row].target_region[0] + by) % schedule.grid
    return with_entry(schedule, row, target_lo=low, target_hi=low + 1)


def shift_both(schedule, row, by):
    """Transfer another section."""
    return shift_target(shift_source(schedule, row, by), row, by)


def other_source(schedule, row, by):
    """Take the data from another node."""
    return with_entry(schedule, row, source=(schedule[row].source + by) % schedule.nodes)


def other_target(schedule, row, by):
    """Give the data to another node."""
    return with_entry(schedule, row, target=(schedule[row].target + by) % schedule.nodes)


ERRORS = (
    drop,
    duplicate,
    reorder,
    swap_reduce_and_copy,
    shift_source,
    shift_target,
    shift_both,
    other_source,
    other_target,
)
WRITERS = (ring_allreduce, ring_reduce_scatter_schedule, ring_all_gather_schedule)


@pytest.mark.parametrize("error", ERRORS)
@given(st.sampled_from(WRITERS), st.integers(2, 9), st.data())
def test_the_oracle_catches_whatever_spoils_the_result(error, write, n, data):
    """Any planted error either raises, or leaves a schedule that a replay on numbers finds right as well."""
    schedule = write(n)
    for _ in range(data.draw(st.integers(1, 2), label="how many errors")):
        row = data.draw(st.integers(0, len(schedule) - 1), label="transfer")
        by = data.draw(st.integers(1, max(n - 1, 1)), label="by")
        try:
            schedule = error(schedule, row, by)
        except ScheduleError:
            return
        if not len(schedule):
            break
    try:
        verify.check(schedule)
    except ScheduleError:
        return
    assert Replay(schedule, 3 * n, seed=by).run_transfers().is_right()


@pytest.mark.parametrize("error", [drop, swap_reduce_and_copy, shift_source, shift_target, shift_both])
@pytest.mark.parametrize("write", WRITERS)
def test_errors_at_any_transfer_of_a_ring_are_caught(error, write):
    """A ring has no transfer to spare: any of these errors at any transfer spoils the result and raises."""
    schedule = write(4)
    for row in range(len(schedule)):
        spoilt = error(schedule, row, 1)
        assert not Replay(spoilt, 16, seed=row).run_transfers().is_right()
        with pytest.raises(ScheduleError):
            verify.check(spoilt)


@st.composite
def random_schedules(draw):
    """Some random transfers with regions of any length that may move, for a random purpose."""
    nodes = 3
    builder = ScheduleBuilder(nodes, 6)
    for _ in range(draw(st.integers(1, 4))):
        source = draw(st.integers(0, nodes - 1))
        length = draw(st.integers(1, 3))
        builder.step(
            stage="random",
            source=source,
            target=(source + draw(st.integers(1, nodes - 1))) % nodes,
            lo=(low := draw(st.integers(0, 6 - length))),
            hi=low + length,
            target_lo=draw(st.integers(0, 6 - length)),
            reduce=draw(st.booleans()),
        )
    holdings = tuple(
        Holding(
            draw(st.integers(0, nodes - 1)),
            (cell, cell + 1),
            draw(st.frozensets(st.integers(0, nodes - 1), min_size=1)),
        )
        for cell in draw(st.sets(st.integers(0, 5), min_size=1, max_size=2))
    )
    inputs = tuple(Holding(node, (0, 6), frozenset({node})) for node in range(nodes))
    return builder.build(Collective("random", inputs, holdings))


@given(random_schedules())
def test_oracle_and_replay_agree_on_random_schedules(schedule):
    """What the oracle lets pass is right on numbers, also when regions overlap and data moves about."""
    try:
        verify.check(schedule)
    except ScheduleError:
        return
    assert Replay(schedule, 12, seed=1).run_transfers().is_right()


def test_the_transfer_that_counts_twice_is_named():
    """A repeated reduction is reported at the repetition, with the contributions that are counted twice."""
    spoilt = duplicate(ring_allreduce(3), 3, 0)
    with pytest.raises(ScheduleError) as caught:
        verify.check(spoilt)
    assert str(caught.value) == (
        "transfer 4 (reduce-scatter): node 0 -> node 1, reduce [2, 3): "
        "has contributions counted twice, of nodes 0, 2, at node 1 region [2, 3)"
    )


def test_a_lost_contribution_is_traced_to_the_transfer_that_destroyed_it():
    """A copy instead of a reduction is reported with what is missing and with that copy as the cause."""
    spoilt = swap_reduce_and_copy(ring_allreduce(3), 3, 0)
    with pytest.raises(ScheduleError) as caught:
        verify.check(spoilt)
    assert str(caught.value) == (
        "allreduce: node 0 region [2, 3) lacks the contributions of nodes 1; "
        "the last copy of some was overwritten by "
        "transfer 3 (reduce-scatter): node 0 -> node 1, copy [2, 3); "
        "last written by transfer 11 (all-gather): node 2 -> node 0, copy [2, 3)"
    )


def test_a_result_that_does_not_arrive_is_reported_with_the_last_writer():
    """Without the last copy a node keeps its partial sum; the message says what is missing and who wrote."""
    with pytest.raises(ScheduleError) as caught:
        verify.check(drop(ring_allreduce(3), 11, 0))
    assert str(caught.value) == (
        "allreduce: node 0 region [2, 3) lacks the contributions of nodes 1; "
        "last written by transfer 2 (reduce-scatter): node 2 -> node 0, reduce [2, 3)"
    )


def test_a_place_nobody_wrote_is_reported_as_such():
    """With no transfers at all, the first node lacks all other contributions and nobody wrote there."""
    with pytest.raises(ScheduleError) as caught:
        verify.check(with_rows(ring_allreduce(20), []))
    assert str(caught.value) == (
        "allreduce: node 0 region [0, 20) lacks the contributions of nodes 1, 2, 3, 4, 5, 6, 7, 8 "
        "and 11 more; no transfer wrote there"
    )


def test_contributions_too_many_are_reported():
    """A region that contains more than its postcondition says is wrong too."""
    builder = ScheduleBuilder(2, 1)
    builder.step(stage="test", source=0, target=1, lo=0, hi=1, reduce=True)
    inputs = tuple(Holding(node, (0, 1), frozenset({node})) for node in range(2))
    with pytest.raises(
        ScheduleError, match=r"has contributions too many, of nodes 0; last written by transfer 0"
    ):
        verify.check(builder.build(Collective("nothing", inputs, inputs)))


def test_steps_are_the_longest_chain_of_dependent_transfers():
    """Transfers that add to one node wait for one another; those that spread from one node do not."""

    def steps(*ends):
        builder = ScheduleBuilder(4, 1)
        for source, target in ends:
            builder.step(stage="test", source=source, target=target, lo=0, hi=1, reduce=True)
        inputs = tuple(Holding(node, (0, 1), frozenset({node})) for node in range(4))
        return verify.check(builder.build(Collective("any", inputs, ()))).steps

    assert steps((0, 1), (2, 3)) == 1
    assert steps((0, 1), (0, 2), (0, 3)) == 1
    assert steps((1, 0), (2, 0), (3, 0)) == 3
    assert steps((0, 1), (1, 2), (2, 3)) == 3


def test_reading_what_was_never_defined_is_reported():
    """In an all-gather a node cannot pass on a section that has not come yet, nor reduce into one."""
    schedule = ring_all_gather_schedule(3)
    with pytest.raises(ScheduleError, match=r"^transfer 0 .*reads what was never defined, at node 1 region"):
        verify.check(shift_both(schedule, 0, 1))
    with pytest.raises(
        ScheduleError, match=r"^transfer 0 .*adds to what was never defined, at node 2 region"
    ):
        verify.check(swap_reduce_and_copy(schedule, 0, 0))


def test_data_of_another_region_is_not_taken_for_the_right_one():
    """Data must end where it belongs, whoever contributed to it; on its way it may lie elsewhere."""
    zero, one = frozenset({0}), frozenset({1})
    inputs = (Holding(0, (0, 4), zero), Holding(1, (0, 4), one))

    def moved(*steps):
        builder = ScheduleBuilder(2, 4)
        for source, lo, target_lo, reduce in steps:
            builder.step(
                stage="test",
                source=source,
                target=1 - source,
                lo=lo,
                hi=lo + 2,
                target_lo=target_lo,
                reduce=reduce,
            )
        return builder.build(Collective("move", inputs, (Holding(0, (0, 2), zero), Holding(1, (0, 2), zero))))

    verify.check(moved((0, 0, 2, False), (1, 2, 0, False), (0, 0, 0, False)))
    with pytest.raises(
        ScheduleError, match=r"node 1 region \[0, 2\) holds data of region \[2, 4\); last written by"
    ):
        verify.check(moved((0, 2, 0, False)))
    with pytest.raises(ScheduleError, match=r"^transfer 0 .*adds up data of two different regions"):
        verify.check(moved((0, 2, 0, True)))
