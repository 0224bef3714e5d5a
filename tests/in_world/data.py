"""Contributions whose sum over all ranks is known exactly, and a check that finds the first wrong element."""

from __future__ import annotations

import numpy as np

DTYPES = ["float32", "float64", "int32", "int64"]
PERIOD = 8191


def contribution(rank, count, dtype, turn=0):
    """Give what a rank contributes: integers of either sign, others at every place, rank and turn."""
    return ((np.arange(count) * 7 + rank * 1009 + turn * 13) % PERIOD - 4000).astype(dtype)


def total(ranks, count, dtype, turn=0):
    """Give the sum over so many ranks, which even float32 holds exactly up to 1,000 ranks."""
    return sum(contribution(rank, count, np.int64, turn) for rank in range(ranks)).astype(dtype)


def check_equal(array, expected, what=""):
    """Compare every element.

    Raises:
        AssertionError: One differs; the message says how many do, and names the first.
    """
    assert (array.dtype, array.shape) == (expected.dtype, expected.shape), what
    wrong = np.flatnonzero((array != expected).reshape(-1))
    if len(wrong):
        first = wrong[0]
        got, wanted = array.reshape(-1)[first], expected.reshape(-1)[first]
        raise AssertionError(
            f"{what}: {len(wrong)} of {array.size} elements differ, [{first}] is {got} not {wanted}"
        )
