"""How long the simulator and the oracle take on rings of growing size; see scripts/simulate-benchmark."""

from __future__ import annotations

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
from analysis.simulation import clock
from analysis.simulation.order import order_of
from analysis.simulation.ports import Run
from analysis.simulation.rules import Rules
from analysis.simulation.tasks import tasks_of

LAYOUTS = ("64x1", "128x1", "256x1", "512x1", "1024x1", "64x8", "128x8", "256x8")

COLUMNS = ("build", "stripes", "tasks", "hazards", "play", "simulate", "check")
"""Seconds of the processor, which other work on the machine does not stretch: the schedule, its mapping, its
tasks, who waits for whom, the events; those together; and the oracle on the same schedule."""

_T = TypeVar("_T")


def main(layouts: Sequence[str]) -> int:
    """Print a line for each layout."""
    for layout in layouts:
        if re.fullmatch(r"\d{1,4}x\d{1,2}", layout) is None:
            print(f"{layout!r} is no layout: write nodes x rails, for example 256x8", file=sys.stderr)
            return 1
    titles = "  ".join(f"{name:>8}" for name in COLUMNS)
    print(f"# {'layout':>8}  {'stripes':>9}  {titles}  {'wall':>8}  {'peak MB':>8}  us/stripe")
    for layout in layouts:
        command = [sys.executable, __file__, "--one", layout]
        one = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        seconds = "  ".join(f"{one[name]:8.3f}" for name in COLUMNS)
        each = one["simulate"] / one["count"] * 1e6
        rest = f"{one['wall']:8.3f}  {one['peak_mb']:8.0f}  {each:9.2f}"
        print(f"  {layout:>8}  {one['count']:>9}  {seconds}  {rest}", flush=True)
    return 0


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

    def play() -> Run:
        unit = clock.choose(tasks, tasks.rates, Rules().alpha)
        run = Run(tasks, order, clock.measure(tasks, Rules().alpha, unit))
        run.finish()
        if unit.time(run.now) != ring(nodes):
            raise AssertionError(f"{nodes} nodes take {unit.time(run.now)}, not {ring(nodes)}")
        return run

    timed("play", play)
    taken["simulate"] = sum(taken.values())
    wall = time.perf_counter() - began_at
    # Before the oracle, which has its own memory.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    timed("check", lambda: verify.check(schedule))
    return {**taken, "wall": wall, "peak_mb": peak, "count": len(stripes)}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(*map(int, sys.argv[2].split("x")))))
    else:
        sys.exit(main(sys.argv[1:] or LAYOUTS))
