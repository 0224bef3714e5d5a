"""The node's ranks add up their own arrays in the node buffer while the network already runs.

The buffer is cut into blocks: each node's section of the ring, one stripe per rail, each stripe in small
pieces. A rank walks over the sections in the order in which its node first needs them, in a section over
the pieces, and for each piece over the stripes: its own rail's block first, then the one its predecessor has
just finished, and so on around. The first rank to reach a block writes it, the others add. So nobody waits
except for its predecessor, one counter per rank says everything, and a block that is complete can be sent
while later ones are still being added.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from algorithms.schedule import element

PIECE_BYTES = 256 * 1024
"""At least. Small, so that the first piece is soon complete and the network begins; ranks may have to take
turns on a core.
"""


@dataclass(frozen=True)
class Block:
    """A part of the node buffer, [lo, hi) in elements, and whether this rank is the first to reach it."""

    lo: int
    hi: int
    first: bool


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

    def block(self, rail: int, step: int) -> Block:
        """Return the block that the rank of a rail reaches in a step."""
        place, turn = divmod(step, self.rails)
        position, piece = divmod(place, self.pieces)
        section = (self.node - position) % self.nodes
        stripe = section * self.rails + (rail - turn) % self.rails
        lo, hi = self._bounds(stripe * self.pieces + piece)
        return Block(lo, hi, first=turn == 0)

    def may_begin(self, rail: int, step: int) -> tuple[int, int] | None:
        """Say what a step waits for: (rail, steps its rank must have done), or None for nothing."""
        if step % self.rails == 0:
            return None
        return (rail - 1) % self.rails, step

    def needed(self, lo: int, hi: int) -> tuple[tuple[int, int], ...]:
        """Say what must be contributed before elements [lo, hi) are complete.

        Returns:
            Pairs (rail, steps that its rank must have done).
        """
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
