"""Rails that die at a chosen moment, for the tests that run on every rank of a job."""

from __future__ import annotations

import numpy as np

from algorithms.nic import Nic

DEAD = Nic(1, 1)
"""The NIC that dies."""


def kill_after(comm, nic, chunks, *, silent=False, late=False):
    """Let a NIC die when so many more chunks have left it; on other ranks do nothing."""
    goal = comm.counters.sent_chunks + chunks
    is_over = False

    def die(now):
        nonlocal is_over
        if not is_over and not comm.rail.is_dead and comm.counters.sent_chunks >= goal:
            is_over = True
            comm.rail.die(late=late)
            if not silent:
                comm.rail_event(up=False, now=now)

    if comm.nic == nic:
        comm.add_hook(die)


def revive(comm, nic):
    """Let a NIC that died work again, and wait until every rank uses it; collective."""
    is_over = False

    def come_back(now):
        nonlocal is_over
        if not is_over:
            is_over = True
            comm.rail.revive(now)
            comm.rail_event(up=True, now=now)

    if comm.nic == nic:
        comm.add_hook(come_back)
    knowing = np.zeros(1, np.int64)
    while knowing[0] < comm.size:
        comm.Allreduce(np.array([nic not in comm.last_report.excluded], np.int64), knowing)
