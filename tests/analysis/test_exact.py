from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from analysis.errors import ModelError
from analysis.exact import exact, positive_bandwidths


@pytest.mark.parametrize("value", [Fraction(3, 4), "3/4", "0.75", " 75e-2 "])
def test_three_quarters_can_be_written_in_many_ways(value):
    """Fractions and text give the same exact number."""
    assert exact(value, "bandwidth") == Fraction(3, 4)


def test_integers_of_numpy_are_integers():
    """The numerator of the result is Python's own integer, which does not overflow."""
    three: Any = np.int32(3)
    assert exact(three, "bandwidth") == 3
    assert type(exact(three, "bandwidth").numerator) is int


@pytest.mark.parametrize("value", [0.75, np.float64(0.75), True, "three", "1/0", "nan", None])
def test_what_is_not_exact_is_refused_by_name(value):
    """Floats, truth values and text without a number are errors that say what to give instead."""
    with pytest.raises(ModelError, match=r"^bandwidth of node 2: .* give an integer, a Fraction or text"):
        exact(value, "bandwidth of node 2")


@pytest.mark.parametrize(
    ("bandwidths", "message"),
    [
        ([], "no bandwidths: give one for every node"),
        ([1, 0], "node 1 has a bandwidth of 0: leave it out"),
        (["-1/2", 1], "node 0 has a bandwidth of -1/2"),
        ([1, 0.5], "bandwidth of node 1: 0.5 is no exact number"),
    ],
)
def test_bad_bandwidths_are_refused_by_node(bandwidths, message):
    """The message names the node at fault and what to do."""
    with pytest.raises(ModelError, match=message):
        positive_bandwidths(bandwidths)
