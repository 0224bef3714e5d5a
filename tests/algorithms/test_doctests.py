from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import algorithms
import analysis

MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (algorithms, analysis)
    for module in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name):
    """Every example in the documentation of `algorithms` and `analysis` prints what it says."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0
