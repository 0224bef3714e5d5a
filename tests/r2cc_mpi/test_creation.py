from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from algorithms.nic import Nic
from r2cc_mpi.creation import as_text, contributors_of, difference
from r2cc_mpi.errors import UsageError
from r2cc_mpi.layout import Layout


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (2, np.int64(2)),
        (50_000_000, 50e6),
        (0.5, Fraction(1, 2)),
        ([Nic(1, 0), Nic(0, 1)], {Nic(0, 1), Nic(1, 0)}),
        ((), []),
        ({Nic(1, 0): 0.5, Nic(0, 0): 1}, {Nic(0, 0): 1.0, Nic(1, 0): Fraction(1, 2)}),
        ("auto", "auto"),
        (None, None),
        (float("nan"), float("nan")),
    ],
)
def test_equal_arguments_give_equal_texts(one, other):
    """Arguments that mean the same are alike, in whatever type or order they come."""
    assert as_text(one) == as_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (2, 3),
        (None, 2),
        (50e6, 51e6),
        ([Nic(1, 0)], []),
        ({Nic(1, 0): 0.5}, {Nic(1, 0): 0.4}),
        ("auto", "ring"),
        (2, "2 "),
    ],
)
def test_unequal_arguments_give_unequal_texts(one, other):
    """Arguments that mean something else are told apart."""
    assert as_text(one) != as_text(other)


def test_first_difference_is_named():
    """The first rank that differs from rank 0 is named, with the argument and both values."""
    same = {"rails": "2", "failed": "[]"}
    assert difference([same, same]) == ""
    assert difference([same, same, {"rails": "2", "failed": "[node 1 rail 0]"}, {"rails": "3"}]) == (
        "rank 2 creates the communicator with failed=[node 1 rail 0], rank 0 with failed=[]; "
        "give the same on every rank"
    )


def test_every_node_needs_data():
    """The ranks that bring data are listed; a node without any is refused by name."""
    layout = Layout(2, 2)
    assert contributors_of([True, False, False, True], layout) == [0, 3]
    with pytest.raises(UsageError, match="no rank of node 1 contributes: leave out contribute=False"):
        contributors_of([True, True, False, False], layout)
