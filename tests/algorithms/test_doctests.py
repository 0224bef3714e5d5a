from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import algorithms
import analysis

MODULES = [
    module.name
    for package in (algorithms, analysis)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name):
    """Every example in the documentation of `algorithms` and `analysis` prints what it says."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0
