from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from algorithms.nic import Nic
from r2cc_mpi import Communicator, UsageError
from tests.in_world.data import check_equal, contribution, total
from tests.in_world.failing import DEAD, kill_after

pytestmark = pytest.mark.mpi

COUNT = 100_003


def reduce_and_check(comm, turn=0):
    """Carry out one collective on a part in which every element is compared."""
    receive = np.full(COUNT, -1, np.int64)
    comm.Allreduce(contribution(comm.rank, COUNT, "int64", turn), receive)
    check_equal(receive, total(comm.size, COUNT, "int64", turn), f"turn {turn}")


def part_of(comm, color, key=0):
    """Split, on a rank that gets a part."""
    part = comm.Split(color, key)
    assert part is not None
    return part


def test_duplicate(world, usual_rails):
    """A duplicate has the same layout and ranks, and outlives the original."""
    comm = Communicator(world, rails=usual_rails, isolation_timeout=7.0)
    with comm.Dup() as copy:
        assert (copy.layout, copy.rank, copy.nic) == (comm.layout, comm.rank, comm.nic)
        assert copy.settings == comm.settings
        for turn in range(3):
            reduce_and_check(comm, turn)
            reduce_and_check(copy, turn)
        comm.Free()
        assert not comm.is_open
        reduce_and_check(copy, 3)


def test_parts_by_node_and_by_rail(world, usual_rails):
    """Nodes and rails make communicators of their own, numbered from 0."""
    with Communicator(world, rails=usual_rails) as comm:
        node, rail = comm.nic
        with part_of(comm, node) as part:
            assert (part.size, part.nic, part.layout.nodes) == (usual_rails, Nic(0, rail), 1)
            reduce_and_check(part)
        with part_of(comm, rail, key=-node) as part:
            last = comm.layout.nodes - 1
            assert (part.size, part.nic, part.layout.rails) == (last + 1, Nic(last - node, 0), 1)
            reduce_and_check(part)


def test_rank_without_a_part(world, usual_rails):
    """A rank that wants none gets none, while the others get theirs."""
    from mpi4py import MPI

    with Communicator(world, rails=usual_rails) as comm:
        part = comm.Split(MPI.UNDEFINED if comm.nic.node == 0 else 4)
        assert (part is None) == (comm.nic.node == 0)
        if part is not None:
            reduce_and_check(part)
            part.close()


def test_no_grid_is_refused_on_every_rank(world, usual_spare_rails):
    """A color that is no grid, or no color, is refused on every rank, and the communicator goes on."""
    with Communicator(world, rails=usual_spare_rails) as comm:
        with pytest.raises(UsageError, match=r"color 0 has rail 0 of node 0 but rails .* of node 1"):
            comm.Split(int(comm.nic.node == 0 and comm.nic.rail > 0))
        with pytest.raises(UsageError, match="rank 1: color 'red'"):
            part_of(comm, "red" if comm.rank == 1 else 0)
        reduce_and_check(comm)


def test_what_was_declared_is_inherited(world, usual_spare_rails):
    """A part knows of the NICs that were declared to be down or slow, under its own numbers."""
    declared: dict[str, Any] = {"failed": [DEAD], "slow": {Nic(1, 0): Fraction(1, 2)}}
    with Communicator(world, rails=usual_spare_rails, **declared) as comm, comm.Dup() as copy:
        with part_of(comm, int(comm.nic.node > 0)) as part:
            expected = [Nic(0, DEAD.rail)] if comm.nic.node > 0 else []
            assert [nic for nic, known in part.health.items() if not known.is_up] == expected
            assert list(part._inherited["slow"]) == ([Nic(0, 0)] if comm.nic.node > 0 else [])
            reduce_and_check(part)
        assert not copy.health[DEAD].is_up
        reduce_and_check(copy)


def test_no_parts_after_a_failure(world, usual_spare_rails):
    """Once a NIC has failed no part is made, on any rank; those made before survive failures themselves."""
    with Communicator(world, rails=usual_spare_rails) as comm, comm.Dup() as copy:
        for one in (comm, copy):
            kill_after(one, DEAD, 1)
            for turn in range(2):
                reduce_and_check(one, turn)
        with pytest.raises(UsageError, match="node 1 rail 1 has failed, and MPI makes communicators"):
            comm.Dup()
        reduce_and_check(copy, 5)
        assert not copy.health[DEAD].is_up
