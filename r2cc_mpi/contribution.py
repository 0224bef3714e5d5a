"""The node's ranks add up their own arrays in the node buffer while the network already runs.

The buffer is cut into blocks: each node's section of the ring, one stripe per rail, each stripe in small
pieces. A rank walks over the sections in the order in which its node first needs them, in a section over
the pieces, and for each piece over the stripes: its own rail's block first, then the one its predecessor has
just finished, and so on around. The first rank to reach a block writes it, the others add. So nobody waits
except for its predecessor, one counter per rank says everything, and a block that is complete can be sent
while later ones are still being added.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from algorithms.schedule import element

PIECE_BYTES = 256 * 1024
"""At least. Small, so that the first piece is soon complete and the network begins; ranks may have to take
turns on a core.
"""


class Block(NamedTuple):
    """What a rank does in one step: its part in one block of the node buffer.

    Attributes:
        lo: First element of the block.
        hi: One past the last.
        before: Who reaches it before this rank, by place among the node's ranks; None: nobody, this is the
            first.
        steps: Steps that this one must have done by then.
    """

    lo: int
    hi: int
    before: int | None
    steps: int


class Contribution:
    """Who adds what, in which order, at one node.

    Args:
        node: The node.
        nodes: Number of nodes, which is the number of sections.
        rails: Ranks of the node, which is the number of stripes of a section.
        count: Elements of the buffer.
        pieces: Pieces of a stripe.

    Attributes:
        steps: Blocks that each rank walks over.
    """

    def __init__(self, node: int, nodes: int, rails: int, count: int, pieces: int = 1) -> None:
        self.node, self.nodes, self.rails, self.count, self.pieces = node, nodes, rails, count, pieces
        self.steps = nodes * pieces * rails
        self._boundaries: list[int] = element(np.arange(self.steps + 1), count, self.steps).tolist()
        self._paths: dict[int, tuple[Block, ...]] = {}
        self._needs: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}

    def path(self, rail: int) -> tuple[Block, ...]:
        """Return the blocks that the rank of a rail walks over, in its order."""
        if rail not in self._paths:
            self._paths[rail] = tuple(self._block(rail, step) for step in range(self.steps))
        return self._paths[rail]

    def _block(self, rail: int, step: int) -> Block:
        place, turn = divmod(step, self.rails)
        position, piece = divmod(place, self.pieces)
        section = (self.node - position) % self.nodes
        stripe = section * self.rails + (rail - turn) % self.rails
        lo, hi = self._bounds(stripe * self.pieces + piece)
        return Block(lo, hi, (rail - 1) % self.rails if turn else None, step)

    def needed(self, lo: int, hi: int) -> tuple[tuple[int, int], ...]:
        """Say what must be contributed before elements [lo, hi) are complete.

        Returns:
            Pairs (rail, steps that its rank must have done).
        """
        if (lo, hi) not in self._needs:
            self._needs[lo, hi] = self._needed(lo, hi)
        return self._needs[lo, hi]

    def _needed(self, lo: int, hi: int) -> tuple[tuple[int, int], ...]:
        needs: dict[int, int] = {}
        atom = lo * self.steps // self.count if self.count else self.steps
        while atom < self.steps and self._bounds(atom)[0] < hi:
            if self._bounds(atom)[1] > lo:
                stripe, piece = divmod(atom, self.pieces)
                section, rail = divmod(stripe, self.rails)
                place = (self.node - section) % self.nodes * self.pieces + piece
                last = (rail - 1) % self.rails
                needs[last] = max(needs.get(last, 0), (place + 1) * self.rails)
            atom += 1
        return tuple(sorted(needs.items()))

    def _bounds(self, atom: int) -> tuple[int, int]:
        return self._boundaries[atom], self._boundaries[atom + 1]


@lru_cache(maxsize=16)
def contribution_of(node: int, nodes: int, rails: int, count: int, pieces: int) -> Contribution:
    """Return a `Contribution`, the same object for equal arguments: calls repeat."""
    return Contribution(node, nodes, rails, count, pieces)


def pieces_of(buffer_bytes: int, nodes: int, rails: int, chunk_bytes: int) -> int:
    """Say into how many pieces a stripe is cut; less than a chunk is of no use to the network."""
    return max(1, buffer_bytes // (nodes * rails * max(PIECE_BYTES, chunk_bytes)))
