from __future__ import annotations

import numpy as np
import pytest

from r2cc_mpi import Communicator
from r2cc_mpi.errors import UsageError
from r2cc_mpi.patterns import Pattern
from r2cc_mpi.reduction import Reduction
from r2cc_mpi.strategy import DTYPES

pytestmark = pytest.mark.mpi

NAMES = [np.dtype(dtype).name for dtype in DTYPES]


def is_possible(name, reduction):
    """Say whether elements of a type can be reduced so."""
    return reduction is not Reduction.AVG or name.startswith("float")


@pytest.mark.parametrize("reduction", Reduction, ids=lambda one: one.label)
def test_every_type(world, rails, reduction):
    """Every reduction of every type is exact in every element, with two arrays and in place."""
    from mpi4py import MPI

    with Communicator(world, rails=rails) as comm:
        for name in (name for name in NAMES if is_possible(name, reduction)):
            pattern = Pattern(name, world.rank, world.size, reduction)
            for turn, count in enumerate((1, 10_007)):
                send, receive = np.empty(count, name), np.empty(count, name)
                pattern.fill(send, turn)
                pattern.spoil(receive, turn)
                comm.Allreduce(send, receive, op=reduction)
                assert pattern.count_wrong(receive, turn) == 0, f"{count} of {name}, two arrays"
                comm.Allreduce(MPI.IN_PLACE, send, op=reduction)
                assert pattern.count_wrong(send, turn) == 0, f"{count} of {name}, in place"


def test_mpis_own_operations(world, rails):
    """MPI's operations do here what they do in MPI."""
    from mpi4py import MPI

    mine = np.arange(-3, 4, dtype=np.int64) * (world.rank + 1)
    with Communicator(world, rails=rails) as comm:
        for op in (MPI.SUM, MPI.PROD, MPI.MIN, MPI.MAX):
            receive, expected = np.empty_like(mine), np.empty_like(mine)
            comm.Allreduce(mine, receive, op=op)
            world.Allreduce(mine, expected, op=op)
            assert receive.tolist() == expected.tolist()


def test_mean_of_whole_numbers_is_refused(world, rails):
    """Every rank refuses it before anything is sent, and goes on."""
    with Communicator(world, rails=rails) as comm:
        with pytest.raises(UsageError, match="avg of int32"):
            comm.Allreduce(np.ones(3, np.int32), np.ones(3, np.int32), op=Reduction.AVG)
        comm.Barrier()
