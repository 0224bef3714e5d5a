from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError
from r2cc_mpi.plan import plan_node
from r2cc_mpi.strategy import (
    DTYPES,
    Strategy,
    dtype_code,
    in_force,
    operations_bound,
    stripes_of,
)


@pytest.mark.parametrize("name", ["auto", "ring", "hot-repair"])
def test_names_are_those_of_the_command_line(name):
    """A strategy is read from its name and gives it back."""
    assert Strategy.parse(name).label == name


def test_unknown_strategy():
    """An unknown name is refused, with the known ones."""
    with pytest.raises(UsageError, match="unknown strategy 'magic'; this version has auto, ring, hot-repair"):
        Strategy.parse("magic")


def test_auto_repairs_once_a_rail_is_down():
    """`auto` is the plain ring on healthy rails and HotRepair otherwise; the others are what they are."""
    down = [Nic(1, 1)]
    assert in_force(Strategy.AUTO, []) is Strategy.RING
    assert in_force(Strategy.AUTO, down) is Strategy.HOT_REPAIR
    assert in_force(Strategy.RING, down) is Strategy.RING
    assert in_force(Strategy.HOT_REPAIR, []) is Strategy.HOT_REPAIR


@pytest.mark.parametrize("code", range(len(DTYPES)))
def test_types_have_codes(code):
    """Each type has the code of its place in the table."""
    assert dtype_code(np.dtype(DTYPES[code])) == code


@pytest.mark.parametrize("name", ["float16", "int8", "uint32", "complex64", "bool"])
def test_other_types_are_refused(name):
    """Another type is named together with those that are possible."""
    with pytest.raises(UsageError, match=f"type {name}; use one of float32, float64, int32, int64"):
        dtype_code(np.dtype(name))


def operations_of(nodes, rails, count, chunk_elements):
    """Count the operations of every node's plan."""
    stripes = stripes_of(nodes, rails)
    return [
        plan_node(stripes, node=node, rail=0, count=count, chunk_elements=chunk_elements).operations
        for node in range(nodes)
    ]


@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 5000), st.integers(1, 600))
def test_room_for_operations_is_enough(nodes, rails, count, chunk_elements):
    """No node's plan has more operations than there is room for in shared memory."""
    bound = operations_bound(count, nodes, rails, chunk_elements)
    assert max(operations_of(nodes, rails, count, chunk_elements)) <= bound


def test_room_for_operations_is_not_lavish():
    """For sections of whole chunks the bound is at most twice what is used."""
    used = max(operations_of(4, 2, count=8 * 100, chunk_elements=100))
    bound = operations_bound(8 * 100, 4, 2, 100)
    assert used <= bound <= 2 * used
