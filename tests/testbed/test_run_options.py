from __future__ import annotations

import pytest

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError
from scripts.network.links import How, Link
from scripts.network.run_options import run_options

SIZE = ["--nodes", "2", "--rails", "2"]


def links(rates, cut=None):
    """Make up links with these rates, by NIC; one of them may be cut."""
    return [Link(nic, cut.get(nic) if cut else None, rate, 0, 0) for nic, rate in rates.items()]


def test_even_network():
    """Interfaces are named by rail, and what their rate leaves for data is said: no driver knows it."""
    told = run_options(2, 2, links(dict.fromkeys((Nic(0, 0), Nic(0, 1), Nic(1, 0), Nic(1, 1)), 12.5e6)), [])
    assert told == [*SIZE, "--interfaces", "rail0,rail1", "--rail-rate", "95640687bit/s"]


def test_slow_and_missing():
    """A slow NIC is declared with its fraction of the fastest, and a missing one as failed."""
    told = run_options(
        2, 2, links({Nic(0, 0): 9e6, Nic(0, 1): 9e6, Nic(1, 1): 3e6}), ["--rail-rate", "1Gbit/s"]
    )
    assert told == [*SIZE, "--interfaces", "rail0,rail1", "--fail", "1:0", "--slow", "1:1=1/3"]


@pytest.mark.parametrize("given", [["--backend", "virtual"], ["--interfaces=rail1,rail0"]])
def test_what_the_user_said_stays(given):
    """Interfaces are not named where the user chose some, or virtual rails."""
    assert run_options(2, 2, links({Nic(0, 0): 1e6}), given) == SIZE


def test_cut_link():
    """No job starts over a link that is cut."""
    with pytest.raises(UsageError, match=r"node 0 rail 0 is cut \(black-hole\), and no MPI starts"):
        run_options(1, 1, links({Nic(0, 0): 1e6}, {Nic(0, 0): How.BLACK_HOLE}), [])
