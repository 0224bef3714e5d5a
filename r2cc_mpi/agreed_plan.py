"""The plan of one call at one rank, made from what all ranks know alike; and who makes it.

A planner is given START and returns the plan. The usual one plans each call anew; persistent collectives
(:mod:`r2cc_mpi.persistent`) have planners of their own. What all ranks must agree on to plan alike is the
planner's stamp on the call's signature.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from algorithms.nic import Nic
from r2cc_mpi.layout import Layout
from r2cc_mpi.plan import NodePlan, most_operations, plan_node
from r2cc_mpi.planning import Choice, Wishes, choose
from r2cc_mpi.protocol.news import Signature, Start
from r2cc_mpi.strategy import DTYPES, Strategy


@dataclass(frozen=True)
class AgreedPlan:
    """A plan.

    Attributes:
        choice: What the ranks run; the same at all of them.
        down: NICs that START said were down, in order.
        node: This rank's part.
        buffer_bytes: Size of the node buffer, bytes.
        operations: Operations of the node that has most of them; with the size the room in shared memory.
    """

    choice: Choice
    down: tuple[Nic, ...]
    node: NodePlan
    buffer_bytes: int
    operations: int

    def in_force(self, excluded: Collection[Nic]) -> Strategy:
        """Say what runs while some NICs are not used.

        What a NIC that the plan counts on is followed by is HotRepair, whatever had been planned.
        """
        return self.choice.strategy if set(excluded) <= set(self.down) else Strategy.HOT_REPAIR


class Planner(Protocol):
    """Makes a call's plan."""

    @property
    def is_fail_stop(self) -> bool:
        """Whether the call is given up as soon as a NIC is down."""

    def stamp(self, signature: Signature) -> Signature:
        """Write into a signature what all ranks must agree on to come to the same plan."""

    def plan(self, start: Start) -> AgreedPlan:
        """Make the plan; the same at every rank for the same START."""


class FreshPlanner:
    """Plans each call anew for the NICs that its START says are up; newer failures are HotRepair's.

    Args:
        layout: Nodes and rails.
        nic: This rank's address.
        chunk_bytes: Most bytes of a chunk.
        wishes: What the user asks of the plan.

    Attributes:
        wishes: The same.
    """

    def __init__(self, layout: Layout, nic: Nic, chunk_bytes: int, wishes: Wishes) -> None:
        self._layout, self._nic, self._chunk_bytes, self.wishes = layout, nic, chunk_bytes, wishes
        self._latest: tuple[Signature, tuple[int, ...], AgreedPlan] | None = None

    @property
    def is_fail_stop(self) -> bool:
        """Whether strategy ring is asked for."""
        return self.wishes.strategy is Strategy.RING

    def stamp(self, signature: Signature) -> Signature:
        """Write the strategy; the other wishes were compared when the communicator was created."""
        return signature._replace(strategy=self.wishes.strategy)

    def plan(self, start: Start) -> AgreedPlan:
        """Plan for START's size, type and health; calls repeat, so the latest plan is kept."""
        if self._latest is None or self._latest[:2] != (start.signature, start.versions):
            self._latest = start.signature, start.versions, self._plan(start)
        return self._latest[2]

    def _plan(self, start: Start) -> AgreedPlan:
        layout, dtype = self._layout, np.dtype(DTYPES[start.signature.dtype])
        count = max(start.signature.elements, 1)
        down = tuple(nic for nic in layout if start.versions[layout.rank_of(nic)] % 2)
        choice = choose(layout.nodes, layout.rails, self.wishes, down, count * dtype.itemsize)
        chunk = self._chunk_bytes // dtype.itemsize
        node = plan_node(
            choice.stripes, node=self._nic.node, rail=self._nic.rail, count=count, chunk_elements=chunk
        )
        operations = most_operations(choice.stripes, count, chunk)
        return AgreedPlan(choice, down, node, count * dtype.itemsize, operations)

    def with_wishes(self, wishes: Wishes) -> FreshPlanner:
        """Make a planner of the same rank for other wishes."""
        return FreshPlanner(self._layout, self._nic, self._chunk_bytes, wishes)
