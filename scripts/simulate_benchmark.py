"""How long the simulator and the oracle take on rings of growing size, with NumPy alone and with numba.

Each line is a process of its own. With numba it first plays a small ring, so that compiling, or loading what
an earlier process compiled, is over: the last column of the line says how long that took.
"""

from __future__ import annotations

import importlib.util
import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from algorithms import verify
from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from analysis.cost_model import ring
from analysis.rail_rates import RailRates
from analysis.simulation import accelerator, clock
from analysis.simulation.order import order_of
from analysis.simulation.ports import play
from analysis.simulation.rules import Rules
from analysis.simulation.tasks import tasks_of

LAYOUTS = ("64x1", "128x1", "256x1", "512x1", "1024x1", "64x8", "128x8", "256x8")

COLUMNS = ("build", "stripes", "tasks", "hazards", "play", "simulate", "check")
"""Seconds of the processor, which other work on the machine does not stretch: the schedule, its mapping, its
tasks, who waits for whom, the events; those together; and the oracle on the same schedule."""

NUMPY, NUMBA = "numpy", "numba"

_T = TypeVar("_T")


def main(layouts: Sequence[str]) -> int:
    """Print a line for each layout."""
    for layout in layouts:
        if re.fullmatch(r"\d{1,4}x\d{1,2}", layout) is None:
            print(f"{layout!r} is no layout: write nodes x rails, for example 256x8", file=sys.stderr)
            return 1
    if importlib.util.find_spec("numba") is None:
        print("# numba is not installed (pip install numba): NumPy alone")
        ways: tuple[str, ...] = (NUMPY,)
    else:
        ways = (NUMPY, NUMBA)
    titles = "  ".join(f"{name:>8}" for name in COLUMNS)
    ends = f"{'wall':>8}  {'peak MB':>8}  us/stripe   start"
    print(f"# {'layout':>8}  by     {'stripes':>9}  {titles}  {ends}")
    for layout in layouts:
        for way in ways:
            command = [sys.executable, __file__, "--one", way, layout]
            one = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            seconds = "  ".join(f"{one[name]:8.3f}" for name in COLUMNS)
            each = one["simulate"] / one["count"] * 1e6
            rest = f"{one['wall']:8.3f}  {one['peak_mb']:8.0f}  {each:9.2f}  {one['start']:6.2f}"
            print(f"  {layout:>8}  {way}  {one['count']:>9}  {seconds}  {rest}", flush=True)
    return 0


def measure_by(way: str, nodes: int, rails: int) -> dict[str, float]:
    """Measure one ring, with NumPy alone or with numba; `start` is how long numba took to get ready."""
    begin = time.perf_counter()
    accelerator.LEAST_TASKS = 0 if way == NUMBA else sys.maxsize
    if way == NUMBA:
        measure(3, 1)
    start = time.perf_counter() - begin if way == NUMBA else 0.0
    return {**measure(nodes, rails), "start": start}


def measure(nodes: int, rails: int) -> dict[str, float]:
    """Build, map, simulate and check one ring; the time it takes on its ports must be that of the formula."""
    taken: dict[str, float] = {}
    began_at = time.perf_counter()

    def timed(name: str, work: Callable[[], _T]) -> _T:
        begin = time.process_time()
        result = work()
        taken[name] = time.process_time() - begin
        return result

    schedule = timed("build", lambda: ring_allreduce(nodes))
    stripes = timed("stripes", lambda: healthy_mapping(schedule, rails))
    tasks = timed("tasks", lambda: tasks_of(stripes, RailRates.of(nodes, rails)))
    order = timed("hazards", lambda: order_of(tasks, Rules()))

    def events() -> None:
        unit = clock.choose(tasks, tasks.rates, Rules().alpha)
        _, end = play(tasks, order, clock.measure(tasks, Rules().alpha, unit))
        if unit.time(int(end.max())) != ring(nodes):
            raise AssertionError(f"{nodes} nodes take {unit.time(int(end.max()))}, not {ring(nodes)}")

    timed("play", events)
    taken["simulate"] = sum(taken.values())
    wall = time.perf_counter() - began_at
    # Before the oracle, which has its own memory.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    timed("check", lambda: verify.check(schedule))
    return {**taken, "wall": wall, "peak_mb": peak, "count": len(stripes)}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure_by(sys.argv[2], *map(int, sys.argv[3].split("x")))))
    else:
        sys.exit(main(sys.argv[1:] or LAYOUTS))
