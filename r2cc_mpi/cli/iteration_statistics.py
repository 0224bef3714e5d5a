"""Statistics of single iterations, by nccl-tests' definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean


@dataclass(frozen=True)
class IterationStatistics:
    """How the times of some iterations are spread; all in seconds but the last.

    Attributes:
        min_s: Shortest.
        max_s: Longest.
        avg_s: Mean.
        p50_s: The one in the middle; of an even number the later one.
        p95_s: The one that 95 % do not exceed.
        p99_s: The one that 99 % do not exceed.
        stdev_s: Standard deviation, of these iterations and not estimated from them.
        cv_percent: The same, in per cent of the mean.
    """

    min_s: float
    max_s: float
    avg_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    stdev_s: float
    cv_percent: float

    @classmethod
    def of(cls, times_s: Sequence[float]) -> IterationStatistics:
        """Work them out.

        Args:
            times_s: Seconds of each iteration, at least one.
        """
        ordered = sorted(times_s)
        count = len(ordered)
        mean = fmean(ordered)
        deviation = sqrt(fmean((time - mean) ** 2 for time in ordered))
        return cls(
            ordered[0],
            ordered[-1],
            mean,
            ordered[count // 2],
            _percentile(ordered, 95),
            _percentile(ordered, 99),
            deviation,
            100 * deviation / mean if mean > 0 else 0.0,
        )


def _percentile(ordered: Sequence[float], percent: int) -> float:
    """Give the first of the ordered times that so many per cent of them do not exceed."""
    rank = -(-len(ordered) * percent // 100)
    return ordered[rank - 1]
