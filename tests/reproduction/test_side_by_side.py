from __future__ import annotations

import pytest

from scripts.reproduction import side_by_side
from scripts.reproduction.side_by_side import OURS, THEIRS, Turn
from tests.reproduction.jobs import NICS, SETTING


def turns(wrong=0):
    """Make two turns of each side, 2 calls a turn besides the first."""
    even, uneven = dict.fromkeys(NICS, 9_000_000), {**dict.fromkeys(NICS, 9_000_000), NICS[0]: 18_000_000}
    ours = [Turn(OURS, (1.0, 1.2), 0, even), Turn(OURS, (1.1, 1.3), 0, even)]
    return [ours[0], Turn(THEIRS, (2.0, 2.4), wrong, uneven), ours[1], Turn(THEIRS, (2.2, 2.6), 0, uneven)]


def test_both_sides_are_reported():
    """Medians over all turns, bandwidth, and what the links carried."""
    report = side_by_side.report(SETTING, 2, turns())
    assert report.ok
    assert report.numbers("time_s") == pytest.approx([1.15, 2.3])
    assert report.numbers("ratio") == pytest.approx([1, 2])
    assert report.numbers("algbw") == pytest.approx([SETTING.size_bytes / 1.15e6, SETTING.size_bytes / 2.3e6])
    # 9 links, 2 turns of 9 MB each, over 3 nodes and 6 calls
    assert report.numbers("node_bytes") == pytest.approx([9, 10])
    assert report.numbers("balance") == pytest.approx([1, 2])
    assert report.values("calls") == [4, 4]


def test_wrong_elements():
    """A wrong element on either side fails the table."""
    report = side_by_side.report(SETTING, 2, turns(wrong=1))
    assert (report.ok, report.values("wrong")) == (False, [0, 1])
