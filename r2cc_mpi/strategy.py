"""Names and codes that travel in START: strategies and their forms, collectives, element types.

What a strategy runs is for `r2cc_mpi.planning` to say.
"""

from __future__ import annotations

import enum

import numpy as np
import numpy.typing as npt

from algorithms.catalogue import OPTCC_FORMS
from algorithms.r2cc_allreduce import FORMS as R2CC_FORMS
from r2cc_mpi.errors import UsageError


class Strategy(enum.IntEnum):
    """What the user asks for, or what is in force; the numbers travel in START.

    `ring` is the fail-stop baseline: it runs until a rail dies. `hot-repair` runs the same ring on the same
    channels; dead rails' channels take backup routes. The others plan anew for the NICs that START says are
    up; what fails under way is repaired by HotRepair in each of them. `auto` lets the planner choose.
    """

    AUTO = 0
    RING = 1
    HOT_REPAIR = 2
    BALANCE = 3
    R2CC_ALLREDUCE = 4
    OPTCC = 5
    NESTED_OPTCC = 6

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


FORMS: tuple[str | None, ...] = (None, *R2CC_FORMS, *OPTCC_FORMS)
"""Forms of strategies; the index travels in START."""


class Collective(enum.IntEnum):
    """Collectives; the numbers travel in START."""

    ALLREDUCE = 1
    BARRIER = 2
    PLAN = 3  # agrees on the plan of a persistent collective


DTYPES: tuple[npt.DTypeLike, ...] = (
    np.float32,
    np.float64,
    np.int32,
    np.int64,
    np.float16,
    np.int8,
    np.uint8,
    np.uint32,
    np.uint64,
)
"""Element types; the index travels in START."""


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
