"""The same AllReduce with nothing around it: what any Python program on these ranks has to spend.

Same copies as ours (node buffer, private buffers, a ring for each rail, copying out), chunks as large, but
no protocol: nothing may fail, no START, no acknowledgements, no pacing, no other rank served. It spins
where it waits. For `scripts/bench` alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from algorithms.schedule import element
from r2cc_mpi.protocol.settings import MAX_CHUNK_BYTES

WORD = 8
CHUNK = MAX_CHUNK_BYTES // 4
Array = npt.NDArray[np.float32]
Region = tuple[int, int]


class BareRing:
    """One rank's part.

    Args:
        world: All ranks, node by node.
        rails: Ranks of a node.
        elements: Most elements of an array, float32.
    """

    def __init__(self, world: MPI.Intracomm, rails: int, elements: int) -> None:
        self._place, self._rails, self._nodes = world.rank % rails, rails, world.size // rails
        self._node = world.Split(world.rank // rails, world.rank)
        self._rail = world.Split(self._place, world.rank)
        size = rails * WORD + elements * 4
        self._window = MPI.Win.Allocate_shared(size if self._place == 0 else 0, 1, comm=self._node)
        self._window.Lock_all(MPI.MODE_NOCHECK)
        memory = np.frombuffer(self._window.Shared_query(0)[0], np.uint8)  # type: ignore[call-overload]
        self._met, self._data = memory[: rails * WORD].view(np.int64), memory[rails * WORD :].view(np.float32)
        self._met[self._place] = 0
        chunks = elements // (world.size * CHUNK) + 1
        self._out = [np.empty(CHUNK, np.float32) for _ in range(chunks)]
        self._in = [np.empty(CHUNK, np.float32) for _ in range(chunks)]
        world.Barrier()

    def allreduce(self, send: Array, receive: Array) -> None:
        """Add up over all ranks."""
        nodes, rails, place, node = self._nodes, self._rails, self._place, self._rail.rank
        grid = nodes * rails
        bounds = element(np.arange(grid + 1), len(send), grid).tolist()
        atoms = list(pairwise(bounds))  # section by section, in each one stripe for each rail
        for turn in range(rails):
            for lo, hi in atoms[(place - turn) % rails :: rails]:
                if turn == 0:
                    self._data[lo:hi] = send[lo:hi]
                else:
                    np.add(self._data[lo:hi], send[lo:hi], out=self._data[lo:hi])
            self._meet()
        mine = atoms[place::rails]
        for step in range(nodes - 1):
            self._exchange(mine[(node - step) % nodes], mine[(node - step - 1) % nodes], reduce=True)
        for step in range(nodes - 1):
            self._exchange(mine[(node + 1 - step) % nodes], mine[(node - step) % nodes], reduce=False)
        self._meet()
        receive[:] = self._data[: len(send)]
        self._meet()

    def _exchange(self, outgoing: Region, incoming: Region, *, reduce: bool) -> None:
        after, before = (self._rail.rank + 1) % self._nodes, (self._rail.rank - 1) % self._nodes
        landing = list(zip(_chunks(incoming), self._in, strict=False))
        receives = [self._rail.Irecv(buffer[: hi - lo], before) for (lo, hi), buffer in landing]
        sends = []
        for (lo, hi), buffer in zip(_chunks(outgoing), self._out, strict=False):
            buffer[: hi - lo] = self._data[lo:hi]
            sends.append(self._rail.Isend(buffer[: hi - lo], after))
        for request, ((lo, hi), buffer) in zip(receives, landing, strict=True):
            _spin(request.Test)
            if reduce:
                np.add(self._data[lo:hi], buffer[: hi - lo], out=self._data[lo:hi])
            else:
                self._data[lo:hi] = buffer[: hi - lo]
        _spin(lambda: MPI.Request.Testall(sends))

    def _meet(self) -> None:
        self._window.Sync()
        self._met[self._place] += 1
        goal = int(self._met[self._place])
        _spin(lambda: bool((self._met >= goal).all()))
        self._window.Sync()

    def free(self) -> None:
        """Free what MPI holds; collective."""
        self._data = self._met = np.empty(0)
        self._window.Unlock_all()
        self._window.Free()
        self._node.Free()
        self._rail.Free()


def _chunks(region: Region) -> list[Region]:
    lo, hi = region
    return [(begin, min(begin + CHUNK, hi)) for begin in range(lo, hi, CHUNK)]


def _spin(is_done: Callable[[], bool]) -> None:
    while not is_done():
        os.sched_yield()
