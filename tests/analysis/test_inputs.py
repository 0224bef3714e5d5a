from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from analysis import inputs
from analysis.errors import ModelError


@pytest.mark.parametrize("value", [2, np.int64(2), np.uint8(2)])
def test_whole_numbers_of_any_kind_are_counts(value):
    """NumPy's integers count as well, and come out as plain ones, so that fractions stay exact."""
    count = inputs.whole(value, "nodes", 2)
    assert type(count) is int
    assert count == 2


@pytest.mark.parametrize("value", [1, 2.0, Fraction(5, 2), "2", None])
def test_other_counts_are_refused(value):
    """Too few, not whole, or no number: the message names the argument and the least that would do."""
    with pytest.raises(ModelError, match=r"nodes = .*: give a whole number, at least 2"):
        inputs.whole(value, "nodes", 2)


@pytest.mark.parametrize("check", [inputs.share, inputs.not_negative])
def test_numbers_are_exact(check):
    """Fractions, integers and text are taken; a float is refused, since 0.1 is not one tenth."""
    assert check("1/4", "part") == check(Fraction(1, 4), "part") == Fraction(1, 4)
    assert check(1, "part") == 1
    with pytest.raises(ModelError, match=r"part: 0\.25 is no exact number"):
        check(0.25, "part")


def test_ranges():
    """A share ends at 1, a lost fraction before 1, and neither goes below zero."""
    assert inputs.share(1, "part") == 1
    assert inputs.lost_fraction(0) == 0
    assert inputs.lost_fraction(Fraction(99, 100)) == Fraction(99, 100)
    for value in (-1, 2):
        with pytest.raises(ModelError, match=f"part = {value} is no part of a whole"):
            inputs.share(value, "part")
    for value in (-1, 1):
        with pytest.raises(ModelError, match=f"lost = {value}: a degraded node must keep"):
            inputs.lost_fraction(value)


def test_choices():
    """A choice that is known passes; of others the message lists what there is."""
    assert inputs.one_of("chain", "form", ("chain", "helper")) == "chain"
    with pytest.raises(ModelError, match="there is no form 'tree'; give one of chain, helper"):
        inputs.one_of("tree", "form", ("chain", "helper"))
