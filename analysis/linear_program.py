"""Linear programs whose variables have names, solved by SciPy, which is needed for nothing else here."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from analysis.errors import ModelError

Sum = Mapping[Hashable, float]
"""A weighted sum: for each variable in it, by name, the factor."""


class NoSolutionError(ModelError):
    """The constraints of a linear program contradict each other."""


def minimise(
    objective: Sum,
    *,
    at_most: Sequence[tuple[Sum, float]] = (),
    equal: Sequence[tuple[Sum, float]] = (),
) -> dict[Hashable, float]:
    """Find values, none below zero, that make a sum as small as the constraints allow.

    Args:
        objective: The sum to minimise.
        at_most: Sums and what they may not exceed.
        equal: Sums and what they must be.

    Returns:
        The value of every variable, in floating point.

    Raises:
        NoSolutionError: No values meet the constraints.
        ModelError: SciPy is not installed, or the solver fails.
    """
    try:
        from scipy.optimize import linprog
        from scipy.sparse import coo_array
    except ImportError as missing:
        raise ModelError("a linear program needs SciPy: pip install scipy") from missing

    names = list(dict.fromkeys([*objective, *(name for row, _ in [*at_most, *equal] for name in row)]))
    position = {name: index for index, name in enumerate(names)}

    def matrix(rows: Sequence[tuple[Sum, float]]) -> coo_array[np.float64]:
        row_of = [index for index, (row, _) in enumerate(rows) for _ in row]
        column_of = [position[name] for row, _ in rows for name in row]
        factors = np.array([factor for row, _ in rows for factor in row.values()], dtype=np.float64)
        return coo_array((factors, (row_of, column_of)), shape=(len(rows), len(names)))

    # HiGHS takes sparse matrices, which the stubs of SciPy do not know.
    solution = linprog(  # type: ignore[call-overload]
        [float(objective.get(name, 0)) for name in names],
        A_ub=matrix(at_most),
        b_ub=[float(limit) for _, limit in at_most],
        A_eq=matrix(equal),
        b_eq=[float(limit) for _, limit in equal],
        method="highs",
    )
    if solution.status == 2:
        raise NoSolutionError("no values meet all constraints of the linear program: check its input")
    if solution.status != 0:
        raise ModelError(f"the solver of linear programs failed, check the input: {solution.message}")
    return dict(zip(names, map(float, solution.x), strict=True))
