from __future__ import annotations

import sys

import pytest

from analysis.errors import ModelError
from analysis.linear_program import NoSolutionError, minimise


def test_a_program_solved_by_hand():
    """Work of 3 at a rate of 2 takes 1.5; variables keep their names."""
    found = minimise({"time": 1}, at_most=[({"work": 1, "time": -2}, 0)], equal=[({"work": 1}, 3)])
    assert found == {"time": 1.5, "work": 3.0}


def test_contradictions_are_told_apart_from_other_failures():
    """No values: NoSolutionError. No smallest value: the solver's own words, as a ModelError."""
    with pytest.raises(NoSolutionError, match="no values meet all constraints"):
        minimise({"x": 1}, equal=[({"x": 1}, -1)])
    with pytest.raises(ModelError, match="solver of linear programs failed") as failure:
        minimise({"x": -1})
    assert not isinstance(failure.value, NoSolutionError)


def test_without_scipy_the_error_says_what_to_install(monkeypatch):
    """SciPy is optional; one line says how to get it."""
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ModelError, match="pip install scipy"):
        minimise({"x": 1})
