from __future__ import annotations

import numpy as np
import pytest

from r2cc_mpi.errors import UsageError
from r2cc_mpi.strategy import DTYPES, Strategy, dtype_code


@pytest.mark.parametrize(
    "name", ["auto", "ring", "hot-repair", "balance", "r2cc-allreduce", "optcc", "nested-optcc"]
)
def test_names_are_those_of_the_command_line(name):
    """A strategy is read from its name and gives it back."""
    assert Strategy.parse(name).label == name


def test_unknown_strategy():
    """An unknown name is refused, with the known ones."""
    with pytest.raises(UsageError, match="unknown strategy 'magic'; this version has auto, ring, hot-repair"):
        Strategy.parse("magic")


@pytest.mark.parametrize("code", range(len(DTYPES)))
def test_types_have_codes(code):
    """Each type has the code of its place in the table."""
    assert dtype_code(np.dtype(DTYPES[code])) == code


@pytest.mark.parametrize("name", ["int16", "uint16", "complex64", "bool"])
def test_other_types_are_refused(name):
    """Another type is named together with those that are possible."""
    with pytest.raises(UsageError, match=f"type {name}; use one of float32, float64, int32, int64, float16"):
        dtype_code(np.dtype(name))
