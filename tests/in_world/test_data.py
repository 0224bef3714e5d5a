from __future__ import annotations

import numpy as np
import pytest

from tests.in_world.data import DTYPES, check_equal, contribution, total


@pytest.mark.parametrize("dtype", DTYPES)
def test_total_is_the_sum(dtype):
    """Adding up the contributions in their own type, in either order, gives the total."""
    arrays = [contribution(rank, 10_000, dtype, turn=3) for rank in range(9)]
    check_equal(sum(arrays), total(9, 10_000, dtype, turn=3))
    check_equal(sum(reversed(arrays)), total(9, 10_000, dtype, turn=3))


def test_contributions_differ():
    """Ranks and turns contribute differently, and so do the sections of one array."""
    arrays = [contribution(rank, 1000, "int32", turn) for rank in range(6) for turn in range(5)]
    assert len({array.tobytes() for array in arrays}) == 30
    one = contribution(0, 3000, "int32")
    assert not np.array_equal(one[:1000], one[1000:2000])


@pytest.mark.parametrize("place", [0, 500, 999])
def test_check_finds_a_spoiled_element(place):
    """One element that is off by one is found and named."""
    spoiled = total(4, 1000, "float32").reshape(10, 100)
    expected = spoiled.copy()
    spoiled.reshape(-1)[place] += 1
    with pytest.raises(AssertionError, match=rf"here: 1 of 1000 elements differ, \[{place}\] is"):
        check_equal(spoiled, expected, "here")


@pytest.mark.parametrize("wrong", [np.zeros(4), np.zeros(3, np.float32), np.full(3, np.nan)])
def test_check_finds_another_shape_type_or_nan(wrong):
    """Another shape, another type, and elements that are no numbers are found too."""
    with pytest.raises(AssertionError):
        check_equal(wrong, np.zeros(3))
