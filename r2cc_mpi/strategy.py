"""Strategies: which schedule and which rail mapping a collective runs with, given the agreed health.

A pure function of what START says, so that every rank plans alike. `ring` is the fail-stop baseline: it runs
until a rail dies. `hot-repair` runs the same ring on the same channels; dead rails' channels take backup
routes. `auto` is the best this version has, which is `hot-repair` once a rail is down.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from algorithms.nic import Nic
from algorithms.ring import ring_allreduce
from algorithms.stripes import Stripes, healthy_mapping
from r2cc_mpi.errors import UsageError


class Strategy(enum.IntEnum):
    """What the user asks for; the numbers travel in START."""

    AUTO = 0
    RING = 1
    HOT_REPAIR = 2

    @property
    def label(self) -> str:
        """Name on the command line."""
        return self.name.lower().replace("_", "-")

    @classmethod
    def parse(cls, text: str) -> Strategy:
        """Read a name.

        Raises:
            UsageError: There is no such strategy in this version.
        """
        for strategy in cls:
            if strategy.label == text:
                return strategy
        known = ", ".join(strategy.label for strategy in cls)
        raise UsageError(f"unknown strategy {text!r}; this version has {known}")


class Collective(enum.IntEnum):
    """Collectives; the numbers travel in START."""

    ALLREDUCE = 1
    BARRIER = 2


DTYPES: tuple[npt.DTypeLike, ...] = (np.float32, np.float64, np.int32, np.int64)
"""Element types; the index travels in START."""

SUM = 0
"""Code of the reduction."""


def dtype_code(dtype: np.dtype[np.generic]) -> int:
    """Return the code of an element type.

    Raises:
        UsageError: Naming the type and those that this version reduces.
    """
    for code, known in enumerate(DTYPES):
        if dtype == known:
            return code
    names = ", ".join(np.dtype(known).name for known in DTYPES)
    raise UsageError(f"cannot reduce elements of type {dtype}; use one of {names}")


def in_force(asked: Strategy, down: Sequence[Nic]) -> Strategy:
    """Say which strategy runs, given what is down."""
    if asked is Strategy.AUTO:
        return Strategy.HOT_REPAIR if down else Strategy.RING
    return asked


@lru_cache(maxsize=8)
def stripes_of(nodes: int, rails: int) -> Stripes:
    """Return the ring AllReduce on healthy rails, which ring and HotRepair both run."""
    return healthy_mapping(ring_allreduce(nodes), rails)


def operations_bound(count: int, nodes: int, rails: int, chunk_elements: int) -> int:
    """Most operations of one node's plan: in 2 (n-1) steps it sends and receives a section, on every rail."""
    chunks = -(-count // (nodes * rails * chunk_elements)) + 1
    return max(1, 4 * (nodes - 1)) * rails * chunks
