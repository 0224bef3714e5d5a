"""numba, where it is installed and pays: it compiles `loops`, for schedules of a hundred thousand tasks.

Nothing needs it. Compiling takes some seconds once; numba keeps the result beside the source (or where
NUMBA_CACHE_DIR says), and later processes load it. Importing numba and loading take 0.4 s, in which
NumPy has played a small schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

from analysis.simulation import loops

LEAST_TASKS = 200_000
"""For fewer NumPy is as quick."""

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop, tasks: int) -> Loop | None:
    """Compile a function of `loops`.

    Args:
        loop: The function.
        tasks: How many tasks it is for.

    Returns:
        A faster function that does the same; None if numba is not there, or not worth its start.
    """
    return cast(Loop | None, _compiled(loop)) if tasks >= LEAST_TASKS else None


@cache
def _compiled(loop: Callable[..., Any]) -> Callable[..., Any] | None:
    try:
        import numba
    except ImportError:
        return None
    for helper in loops.HELPERS:
        numba.extending.register_jitable(helper)
    function: Callable[..., Any] = numba.njit(cache=True)(loop)
    return function
