from __future__ import annotations

from dataclasses import astuple

import pytest

from r2cc_mpi.cli.iteration_statistics import IterationStatistics
from r2cc_mpi.cli.report import Measurement


def statistics(times):
    """Give (min, max, avg, p50, p95, p99, stdev, cv) of some times."""
    return astuple(IterationStatistics.of(times))


def test_one_iteration():
    """Of one iteration every time is that one, and nothing is spread."""
    assert statistics([3.0]) == (3, 3, 3, 3, 3, 3, 0, 0)


def test_two_iterations():
    """Of 1 and 3 the middle is the later one; they are 1 off their mean of 2, which is 50 %."""
    assert statistics([3.0, 1.0]) == (1, 3, 2, 3, 3, 3, 1, 50)


def test_twenty_iterations():
    """Of 1 to 20 the 11th is in the middle, 19 are 95 %, and 99 % need the 20th; the variance is 399/12."""
    times = [float(number) for number in range(20, 0, -1)]
    deviation = (399 / 12) ** 0.5
    assert statistics(times)[:6] == (1, 20, 10.5, 11, 19, 20)
    assert statistics(times)[6:] == (pytest.approx(deviation), pytest.approx(100 * deviation / 10.5))


def test_hundred_iterations():
    """Of 1 to 100: the 51st is in the middle, the 95th and the 99th are what 95 and 99 % do not exceed."""
    times = [float(number) for number in range(1, 101)]
    assert statistics(times)[:6] == (1, 100, 50.5, 51, 95, 99)


def test_nothing_took_any_time():
    """Where the mean is zero nothing is divided by it."""
    assert statistics([0.0, 0.0])[-1] == 0


def test_statistics_are_over_the_slowest_rank():
    """Each iteration lasts as long as on its slowest rank, and the first ones may be left out."""
    measured = Measurement(0, 0, ((5.0, 1.0, 2.0), (1.0, 3.0, 1.0)), skipped=1)
    assert measured.times_s == (5, 3, 2)
    assert (measured.statistics.min_s, measured.statistics.max_s) == (2, 3)
