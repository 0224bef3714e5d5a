"""Rails that die at a chosen moment, for the tests that run on every rank of a job."""

from __future__ import annotations

from algorithms.nic import Nic

DEAD = Nic(1, 1)
"""The NIC that dies."""


def kill_after(comm, nic, chunks, *, silent=False, late=False):
    """Let a NIC die when so many more chunks have left it; on other ranks do nothing."""
    goal = comm.counters.sent_chunks + chunks

    def die(now):
        if not comm.rail.is_dead and comm.counters.sent_chunks >= goal:
            comm.rail.die(late=late)
            if not silent:
                comm.rail_event(up=False, now=now)

    if comm.nic == nic:
        comm.add_hook(die)
