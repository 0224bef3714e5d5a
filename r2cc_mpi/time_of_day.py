"""Times that ranks of different hosts can compare: their own clocks have nothing in common."""

from __future__ import annotations

import time

from r2cc_mpi.driver import clock

ATTEMPTS = 5


def _difference_s() -> float:
    """Take the time of day minus our clock where the two were read closest together."""
    best = (float("inf"), 0.0)
    for _ in range(ATTEMPTS):  # a process that loses its turn between two readings would be wrong by that
        before, now, after = clock(), time.time(), clock()
        best = min(best, (after - before, now - (before + after) / 2))
    return best[1]


_DIFFERENCE_S = _difference_s()
"""Read once, so that no correction of the time of day falls between two times of a job."""


def time_of_day(at: float) -> float:
    """Turn a time on :data:`r2cc_mpi.driver.clock` into seconds since the epoch.

    On one host that changes nothing between ranks. On several it is as good as their times of day agree.
    """
    return at + _DIFFERENCE_S
