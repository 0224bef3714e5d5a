from __future__ import annotations

from algorithms.collective import allreduce
from algorithms.diagnosis import first_loss
from algorithms.schedule import ScheduleBuilder
from algorithms.symbolic import mask_of


def transfers(*rows, target_lo=None):
    """A schedule on three nodes and one section: rows of source, target, reduce."""
    builder = ScheduleBuilder(3, 2)
    for source, target, reduce in rows:
        builder.step(
            stage="test", source=source, target=target, lo=0, hi=1, reduce=reduce, target_lo=target_lo
        )
    return builder.build(allreduce(3, 2))


def test_the_loss_is_where_the_last_copy_goes():
    """Overwriting a contribution that another node still holds is no loss; overwriting that one is."""
    schedule = transfers((0, 1, True), (2, 0, False), (2, 1, False), (0, 1, True))
    for lost in (0, 1):
        assert first_loss(schedule, (0, 1), mask_of([lost])) == schedule[2]


def test_nothing_is_lost_that_was_only_not_passed_on():
    """Where all contributions still exist somewhere there is no culprit, nor in a region nobody touches."""
    schedule = transfers((0, 1, True), (2, 0, False))
    assert first_loss(schedule, (0, 1), mask_of([0, 1, 2])) is None
    assert first_loss(transfers((2, 0, False)), (1, 2), mask_of([0])) is None


def test_data_that_moves_between_regions_is_not_followed():
    """With moving data a contribution may survive elsewhere, so no transfer is accused."""
    assert first_loss(transfers((2, 0, False), target_lo=1), (1, 2), mask_of([0])) is None
