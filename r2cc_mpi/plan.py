"""A node's part of a collective: stripes cut into chunks of the user's elements, in program order.

Every rank of a node derives the same plan from the same stripes, and so do the two ends of each channel;
nothing about it is ever sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from algorithms.hazards import dependencies
from algorithms.schedule import element
from algorithms.stripes import Stripes

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Operation:
    """One chunk of one stripe at one node: captured and sent, or landed and applied.

    Attributes:
        index: Place in the node's program order.
        peer: The node at the other end.
        is_send: Whether the chunk leaves this node.
        reduce: Whether the chunk is added to what the target holds, or replaces it.
        lo: First element of the node buffer that it reads or writes.
        hi: One past the last.
        waits_for: Indices of earlier operations of this node, by whichever rank, that must be done before.
    """

    index: int
    peer: int
    is_send: bool
    reduce: bool
    lo: int
    hi: int
    waits_for: tuple[int, ...]


@dataclass(frozen=True)
class NodePlan:
    """What the rank of one rail does at one node.

    Attributes:
        sends: Per target node the chunks to capture, in program order.
        receives: Per source node the chunks to apply, in program order.
        operations: Number of operations of the whole node, all rails.
    """

    sends: dict[int, tuple[Operation, ...]]
    receives: dict[int, tuple[Operation, ...]]
    operations: int


@lru_cache(maxsize=16)
def plan_node(stripes: Stripes, *, node: int, rail: int, count: int, chunk_elements: int) -> NodePlan:
    """Lower stripes to the chunks of one node and pick those of one rail.

    Args:
        stripes: The mapped schedule.
        node: The node.
        rail: Home rail of the rank that asks.
        count: Elements of the node buffer.
        chunk_elements: Most elements of one chunk, at least 1.
    """
    columns = stripes.schedule.columns
    source, target = columns.source[stripes.transfer], columns.target[stripes.transfer]
    mine = np.nonzero((source == node) | (target == node))[0]
    is_send = source[mine] == node
    peer = np.where(is_send, target[mine], source[mine])
    lo = _elements(np.where(is_send, stripes.source_lo[mine], stripes.target_lo[mine]), count, stripes.grid)
    hi = _elements(np.where(is_send, stripes.source_hi[mine], stripes.target_hi[mine]), count, stripes.grid)
    reduce = columns.reduce[stripes.transfer[mine]].astype(bool)

    chunks = -(-(hi - lo) // chunk_elements)
    row = np.repeat(np.arange(len(mine)), chunks)
    first = np.repeat(np.cumsum(chunks) - chunks, chunks)
    chunk_lo = lo[row] + (np.arange(len(row)) - first) * chunk_elements
    chunk_hi = np.minimum(chunk_lo + chunk_elements, hi[row])
    indptr, indices = dependencies(chunk_lo, chunk_hi, ~is_send[row])

    sends: dict[int, list[Operation]] = {}
    receives: dict[int, list[Operation]] = {}
    for index in np.nonzero(stripes.home[mine][row] == rail)[0].tolist():
        operation = Operation(
            index=index,
            peer=int(peer[row[index]]),
            is_send=bool(is_send[row[index]]),
            reduce=bool(reduce[row[index]]),
            lo=int(chunk_lo[index]),
            hi=int(chunk_hi[index]),
            waits_for=tuple(indices[indptr[index] : indptr[index + 1]].tolist()),
        )
        (sends if operation.is_send else receives).setdefault(operation.peer, []).append(operation)
    return NodePlan(
        {peer: tuple(ops) for peer, ops in sends.items()},
        {peer: tuple(ops) for peer, ops in receives.items()},
        len(row),
    )


@lru_cache(maxsize=16)
def most_operations(stripes: Stripes, count: int, chunk_elements: int) -> int:
    """Count the operations of the node that has most of them: what the shared memory of every node holds.

    Args:
        stripes: The mapped schedule.
        count: Elements of the node buffer.
        chunk_elements: Most elements of one chunk, at least 1.
    """
    columns, nodes = stripes.schedule.columns, stripes.schedule.nodes
    operations = np.zeros(nodes, np.int64)
    for node, lo, hi in (
        (columns.source, stripes.source_lo, stripes.source_hi),
        (columns.target, stripes.target_lo, stripes.target_hi),
    ):
        length = _elements(hi, count, stripes.grid) - _elements(lo, count, stripes.grid)
        np.add.at(operations, node[stripes.transfer], -(-length // chunk_elements))
    return max(1, int(operations.max()))


def _elements(boundary: npt.NDArray[np.int32], count: int, grid: int) -> Integers:
    return np.asarray(element(boundary.astype(np.int64), count, grid), np.int64)
