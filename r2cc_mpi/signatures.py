"""Calls of different ranks that do not fit together, in words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from r2cc_mpi.protocol.news import Signature
from r2cc_mpi.reduction import Reduction
from r2cc_mpi.strategy import DTYPES, FORMS, Collective, Strategy

_NAMES: dict[str, Callable[[int], object]] = {
    "collective": lambda code: Collective(code).name.capitalize(),
    "dtype": lambda code: np.dtype(DTYPES[code]),
    "op": lambda code: Reduction(code).label,
    "strategy": lambda code: Strategy(code).label,
    "form": lambda code: FORMS[code],
}
"""What the codes mean; the other parts of a signature are numbers."""


def difference(ours: Signature, theirs: Signature) -> str:
    """Say in which parts of the call one rank differs from another: `dtype int32 instead of float32`."""
    parts = zip(Signature._fields, ours, theirs, strict=True)
    return ", ".join(
        f"{part} {_name(part, one)} instead of {_name(part, other)}"
        for part, one, other in parts
        if one != other
    )


def _name(part: str, code: int) -> object:
    return _NAMES[part](code) if part in _NAMES else code
