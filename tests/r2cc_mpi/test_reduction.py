from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from r2cc_mpi.errors import UsageError
from r2cc_mpi.reduction import Reduction, reduction_of

MPI = SimpleNamespace(SUM=object(), PROD=object(), MIN=object(), MAX=object())


@pytest.mark.parametrize(
    ("reduction", "combined", "result"),
    [
        (Reduction.SUM, [3.0, 6.0], [3.0, 6.0]),
        (Reduction.PROD, [2.0, -16.0], [2.0, -16.0]),
        (Reduction.MIN, [1.0, -2.0], [1.0, -2.0]),
        (Reduction.MAX, [2.0, 8.0], [2.0, 8.0]),
        (Reduction.AVG, [3.0, 6.0], [1.5, 3.0]),
    ],
)
def test_two_ranks(reduction, combined, result):
    """Two contributions are combined in place, and the mean is divided at the end only."""
    array, out = np.array([1.0, 8.0]), np.empty(2)
    reduction.combine(array, np.array([2.0, -2.0]))
    assert array.tolist() == combined
    reduction.finish(array, 2, out)
    assert out.tolist() == result


def test_results_may_replace_what_was_combined():
    """The result may go where the combined numbers are."""
    array = np.array([3.0, 6.0], np.float16)
    Reduction.AVG.finish(array, 4, array)
    assert array.tolist() == [0.75, 1.5]


@pytest.mark.parametrize(
    ("name", "reduction"),
    [("SUM", Reduction.SUM), ("PROD", Reduction.PROD), ("MIN", Reduction.MIN), ("MAX", Reduction.MAX)],
)
def test_mpis_operations(name, reduction):
    """Four of MPI's operations are known; nothing at all means the sum, and ours are taken as they are."""
    assert reduction_of(getattr(MPI, name), MPI) is reduction
    assert reduction_of(None, MPI) is Reduction.SUM
    assert reduction_of(Reduction.AVG, MPI) is Reduction.AVG


@pytest.mark.parametrize("op", [object(), "sum", 0])
def test_other_operations_are_refused(op):
    """Any other operation is refused, with those that are known."""
    with pytest.raises(UsageError, match=r"reduces with MPI\.SUM, PROD, MIN or MAX"):
        reduction_of(op, MPI)


@pytest.mark.parametrize("dtype", ["int8", "uint64"])
def test_mean_is_for_floats(dtype):
    """The mean of whole numbers is refused; every other reduction takes every type."""
    with pytest.raises(UsageError, match=f"avg of {dtype}"):
        Reduction.AVG.check(np.dtype(dtype))
    Reduction.AVG.check(np.dtype("float16"))
    for other in set(Reduction) - {Reduction.AVG}:
        other.check(np.dtype(dtype))
