"""The node's ranks add up their own arrays in the node buffer, block by block, while the network already runs.

The buffer is cut into blocks: each node's section of the ring, one block per rail. A rank walks over the blocks section by
section, in the order in which its node first needs them, and within a section over the rails: its own rail's block first,
then the one its predecessor has just finished, and so on around. The first rank to reach a block writes it, the others add.
So nobody waits except for its predecessor, one counter per rank says everything, and a block that is complete can be sent
while later ones are still being added.
"""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.schedule import element


@dataclass(frozen=True)
class Block:
    """A part of the node buffer, [lo, hi) in elements, and whether this rank is the first to reach it."""

    lo: int
    hi: int
    first: bool


@dataclass(frozen=True)
class Contribution:
    """Who adds what, in which order, at one node.

    Args:
        node: The node.
        nodes: Number of nodes, which is the number of sections.
        rails: Ranks of the node, which is the number of blocks of a section.
        count: Elements of the buffer.
    """

    node: int
    nodes: int
    rails: int
    count: int

    @property
    def steps(self) -> int:
        """Blocks that each rank walks over."""
        return self.nodes * self.rails

    def block(self, rail: int, step: int) -> Block:
        """Return the block that the rank of a rail reaches in a step."""
        position, turn = divmod(step, self.rails)
        section = (self.node - position) % self.nodes
        lo, hi = self._bounds(section * self.rails + (rail - turn) % self.rails)
        return Block(lo, hi, first=turn == 0)

    def may_begin(self, rail: int, step: int) -> tuple[int, int] | None:
        """Say what a step waits for: (rail, steps its rank must have done), or None for a block's first rank."""
        if step % self.rails == 0:
            return None
        return (rail - 1) % self.rails, step

    def needed(self, lo: int, hi: int) -> tuple[tuple[int, int], ...]:
        """Say what must be contributed before elements [lo, hi) are complete.

        Returns:
            Pairs (rail, steps that its rank must have done).
        """
        needs: dict[int, int] = {}
        atoms = self.nodes * self.rails
        atom = lo * atoms // self.count if self.count else atoms
        while atom < atoms and self._bounds(atom)[0] < hi:
            if self._bounds(atom)[1] > lo:
                section, stripe = divmod(atom, self.rails)
                position = (self.node - section) % self.nodes
                last = (stripe - 1) % self.rails
                needs[last] = max(needs.get(last, 0), (position + 1) * self.rails)
            atom += 1
        return tuple(sorted(needs.items()))

    def _bounds(self, atom: int) -> tuple[int, int]:
        atoms = self.nodes * self.rails
        return int(element(atom, self.count, atoms)), int(element(atom + 1, self.count, atoms))
