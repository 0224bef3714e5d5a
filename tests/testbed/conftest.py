"""Networks for the tests, and what must be there to build one."""

from __future__ import annotations

import pytest

from r2cc_mpi.errors import MachineError
from scripts.network import requirements


@pytest.fixture(scope="session")
def reason():
    """Why no network can be built here; empty if one can."""
    try:
        requirements.check()
    except MachineError as error:
        return str(error)
    return ""


@pytest.fixture
def namespaces(reason):
    """Skip the test where no network can be built."""
    if reason:
        pytest.skip(reason)


@pytest.fixture
def bed(namespaces):
    """Give a network of 2 nodes with 2 rails; it is gone after the test."""
    from scripts.network.testbed import Testbed

    with Testbed.build(nodes=2, rails=2) as bed:
        yield bed
