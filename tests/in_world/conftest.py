"""What the tests that run on every rank of an MPI job share.

The ranks run the same tests in the same order. A rank that fails cannot be waited for by the others, which
may be in the middle of a collective with it; so it says what went wrong and ends the job.
"""

from __future__ import annotations

import os
import time

import pytest

from r2cc_mpi import pinning

OUTCOMES = ["passed", "failed", "error", "skipped"]
OTHERS_S = 1.0
"""How long the job lives on after a failure, so that ranks that fail at the same time are heard too."""


def world_size():
    """Say how many ranks the job has, without starting MPI; 1 outside a job."""
    place = pinning.find_place(os.environ)
    return 1 if place is None or place.size is None else place.size


def pytest_generate_tests(metafunc):
    """Run a test that takes `rails` with every number of rails from 1 to 3 that divides the ranks.

    A test that takes `spare_rails` needs a second node and a second rail; with few ranks there is no such
    layout, and pytest counts it as skipped. Tests to which the layout does not matter much take `usual_rails`
    or `usual_spare_rails` instead, of which there is one. A test that takes `sparse` gets nodes of two and of
    three ranks, of which all but one own a rail, as (ranks per node, rails).
    """
    layouts = [rails for rails in (1, 2, 3) if world_size() % rails == 0]
    if "rails" in metafunc.fixturenames:
        metafunc.parametrize("rails", layouts, ids=_name)
    if "spare_rails" in metafunc.fixturenames:
        spare = [rails for rails in layouts if rails > 1 and world_size() > rails]
        metafunc.parametrize("spare_rails", spare, ids=_name)
    usual = [2] if world_size() > 2 and 2 in layouts else []
    if "usual_rails" in metafunc.fixturenames:
        metafunc.parametrize("usual_rails", usual or [1], ids=_name)
    if "usual_spare_rails" in metafunc.fixturenames:
        metafunc.parametrize("usual_spare_rails", usual, ids=_name)
    if "sparse" in metafunc.fixturenames:
        sparse = [(ranks, ranks - 1) for ranks in (2, 3) if world_size() % ranks == 0]
        metafunc.parametrize("sparse", sparse, ids=lambda one: f"{one[0]} ranks, {one[1]} rails a node")


def _name(rails):
    return f"{world_size() // rails} nodes x {rails} rails"


@pytest.fixture
def world():
    """All ranks of the job."""
    from mpi4py import MPI

    return MPI.COMM_WORLD


def pytest_terminal_summary(terminalreporter, config):
    """Say in one piece what this rank has run; the ranks' other output may be mixed up."""
    place = pinning.find_place(os.environ)
    if place is not None and config.getoption("--with-mpi"):
        counts = [f"{len(terminalreporter.stats.get(outcome, []))} {outcome}" for outcome in OUTCOMES]
        os.write(1, f"\n[rank {place.rank}: {', '.join(counts)}]\n".encode())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """End the job when a rank fails."""
    report = yield
    if report.failed and item.config.getoption("--with-mpi"):
        from mpi4py import MPI

        text = f"rank {MPI.COMM_WORLD.rank} of {MPI.COMM_WORLD.size} FAILED {item.nodeid} ({report.when})"
        os.write(2, f"{text}\n{report.longreprtext}\n{text}\n".encode())  # pytest has taken sys.stderr
        time.sleep(OTHERS_S)
        MPI.COMM_WORLD.Abort(1)
    return report
