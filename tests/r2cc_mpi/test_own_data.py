from __future__ import annotations

import numpy as np
import pytest

from r2cc_mpi.own_data import OwnData
from r2cc_mpi.reduction import Reduction


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32"])
def test_integers_must_agree_exactly(dtype):
    """The sum of the user's integers is NumPy's, also where it wraps, and one that is off by one is seen."""
    arrays = [np.array([1, 5, 100]).astype(dtype) for _ in range(3)]
    data = OwnData(arrays[1], arrays)
    result = np.array([3, 15, 300]).astype(dtype)
    assert data.count_wrong(result, 1) == 0
    result[2] -= 1
    assert data.count_wrong(result, 1) == 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_may_be_added_in_any_order(dtype):
    """Rounding that comes from the order of additions is allowed, anything more is not."""
    arrays = [np.array([0.1 * (rank + 1), 1e3], dtype) for rank in range(5)]
    data = OwnData(arrays[0], arrays)
    backwards = arrays[4] + arrays[3] + arrays[2] + arrays[1] + arrays[0]
    assert data.count_wrong(backwards, 1) == 0
    much = np.dtype(dtype).type(1 + 20 * float(np.finfo(dtype).eps))
    for spoiled in (backwards * much, np.full(2, np.nan, dtype)):
        assert data.count_wrong(spoiled, 1) == 2


@pytest.mark.parametrize(
    ("reduction", "result"),
    [
        (Reduction.PROD, [6.0, -0.5]),
        (Reduction.MIN, [1.0, -1.0]),
        (Reduction.MAX, [3.0, 1.0]),
        (Reduction.AVG, [2.0, 0.5 / 3]),
    ],
)
def test_other_reductions(reduction, result):
    """Products, extremes and means of three ranks; an error of a thousandth is seen."""
    arrays = [np.array(values) for values in ([1.0, 0.5], [3.0, -1.0], [2.0, 1.0])]
    data = OwnData(arrays[0], arrays, reduction)
    assert data.count_wrong(np.array(result), 1) == 0
    assert data.count_wrong(np.array(result) * 1.001, 1) == 2


def test_extremes_are_not_rounded():
    """A minimum that is the next float is wrong: nothing was added."""
    mine = np.array([1.0, 2.0])
    data = OwnData(mine, [mine, mine], Reduction.MIN)
    assert data.count_wrong(np.nextafter(mine, 9), 1) == 2


def test_infinite_sums_hide_nothing():
    """Where the sum is infinite a finite result is wrong, and where it is no number so is any number."""
    mine = np.array([np.inf, np.nan, 1.0])
    data = OwnData(mine, [mine, mine])
    assert data.count_wrong(np.array([np.inf, np.nan, 2.0]), 1) == 0
    assert data.count_wrong(np.array([5.0, 5.0, 2.0]), 1) == 2


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32"])
def test_spoiled_array_is_wrong_everywhere(dtype):
    """What is written into an array before the call is right in no element, NaN or not."""
    mine = np.array([0, 1, 255]).astype(dtype)
    if dtype == "float32":
        mine[1] = np.nan
    data, array = OwnData(mine, [mine, mine]), np.empty(3, dtype)
    data.spoil(array, 1)
    assert data.count_wrong(array, 1) == 3


def test_data_are_the_same_in_every_iteration():
    """The rank contributes its own array, unchanged."""
    mine = np.arange(5)
    array = np.zeros(5, np.int64)
    OwnData(mine, [mine]).fill(array, 7)
    assert array.tolist() == mine.tolist()
