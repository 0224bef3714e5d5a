"""What an AllReduce takes besides the user's arrays, on real ranks. ``scripts/memory`` starts it."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from r2cc_mpi.cli.units import format_size, parse_size
from r2cc_mpi.layout import Layout
from tests.campaigns.instants import short
from tests.campaigns.jobs import end_politely, last_line, run_job, say
from tests.launch.launcher import mpi_command

LAYOUTS = (Layout(2, 2), Layout(3, 3))
SIZES = (64 << 20, 256 << 20)
PROGRAM = ("-m", "tests.campaigns.memory_program")
LIMIT_S = 240.0
FIXED_BYTES = 64 << 20
SETTLING_CALLS = 100
"""Calls of mixed sizes before memory is looked at: buffers are kept, and their number settles."""
GROWTH_BYTES = 2 << 20
"""What may be more after any number of calls: a window of chunks, and counts of the latest 1,024 calls."""


class RankMemory(NamedTuple):
    """What one rank found, all in bytes.

    Attributes:
        fair: Most private memory besides the arrays, and a fair share of what the node's ranks share.
        resident: Growth of the peak of resident memory: every rank counts all that it shares.
        grown: How much more Python and NumPy held after calls of mixed sizes.
        shared_grown: How much larger its share of shared memory was after them.
    """

    fair: int
    resident: int
    grown: int
    shared_grown: int


def complaint(size: int, ranks: Sequence[RankMemory]) -> str | None:
    """Say in one line which bound was missed; None if none was.

    Args:
        size: D, bytes of a rank's array; 0: not measured.
        ranks: What the ranks found.
    """
    most = max(one.fair for one in ranks)
    allowed = 2 * size + FIXED_BYTES
    if size and most > allowed:
        return f"{most / 2**20:.1f} MiB besides the arrays, allowed are {allowed / 2**20:.0f}"
    grown = max(one.grown + one.shared_grown for one in ranks)
    if grown > GROWTH_BYTES:
        return f"calls of mixed sizes have added {grown / 2**20:.1f} MiB"
    return None


def measure(layout: Layout, size: int, calls: int, *, leak: int = 0) -> list[RankMemory]:
    """Run one job.

    Args:
        layout: Nodes and rails.
        size: D, bytes of a rank's array; 0: only the calls of mixed sizes.
        calls: How many of those; 0: none.
        leak: Bytes that each of them keeps on purpose.

    Raises:
        RuntimeError: The job did not come to its end.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        words = [*map(str, (layout.rails, size, calls, leak)), str(report)]
        ended = run_job(mpi_command(layout.ranks, [*PROGRAM, *words]), timeout_s=LIMIT_S)
        if ended.status != 0:
            raise RuntimeError(f"status {ended.status}: {last_line(ended.text)}")
        return [RankMemory(**one) for one in json.loads(report.read_text(encoding="utf-8"))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all layouts and sizes.

    Returns:
        The exit status: 1 if a bound was missed.
    """
    parser = argparse.ArgumentParser(
        prog="scripts/memory",
        description="Memory of an AllReduce of D bytes besides the arrays: at most 2 D + 64 MiB a rank, and "
        "calls of mixed sizes up to 4 MiB do not add to it.",
    )
    parser.add_argument("--size", action="append", type=parse_size, help="D (default: 64M and 256M)")
    parser.add_argument("--calls", type=int, default=1000, help="calls of mixed sizes (default: 1000)")
    options = parser.parse_args(arguments)
    end_politely()
    problems = []
    for layout in LAYOUTS:
        jobs = [(size, 0) for size in options.size or SIZES] + [(0, options.calls)] * (options.calls > 0)
        for size, calls in jobs:
            ranks = measure(layout, size, calls)
            say(line(layout, size, calls, ranks))
            problems += [problem] if (problem := complaint(size, ranks)) else []
    for problem in problems:
        say(f"FAILED: {problem}")
    return 1 if problems else 0


def line(layout: Layout, size: int, calls: int, ranks: Sequence[RankMemory]) -> str:
    """Write what a job found; the largest of the ranks' numbers."""
    mib = {name: max(getattr(one, name) for one in ranks) / 2**20 for name in RankMemory._fields}
    if size:
        return (
            f"{short(layout)} D = {format_size(size)}: {mib['fair']:.1f} MiB with a fair share of what is "
            f"shared, {mib['resident']:.1f} MiB of resident memory"
        )
    return (
        f"{short(layout)} {calls} calls: {mib['grown'] * 1024:.0f} KiB more held by Python and NumPy, "
        f"{mib['shared_grown'] * 1024:.0f} KiB shared"
    )


if __name__ == "__main__":
    sys.exit(main())
