"""Runs `r2cc run allreduce` as a user types it, and reads what it says."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from algorithms.catalogue import ALGORITHMS, Case
from algorithms.nic import Nic
from algorithms.stripes import Stripes
from r2cc_mpi.layout import Layout
from r2cc_mpi.protocol.settings import Settings
from tests.launch.launcher import Answer, launch


@dataclass(frozen=True)
class Failover:
    """A failover of the report.

    Attributes:
        iteration: The iteration it happened in, from 1.
        nic: The NIC that was lost.
        cause: How that became known.
        detected_s: Seconds until then; None if not known.
        resent_bytes: Bytes sent again.
        path: The routes taken instead.
    """

    iteration: int
    nic: Nic
    cause: str
    detected_s: float | None
    resent_bytes: int
    path: str


@dataclass(frozen=True)
class Run:
    """A run that ended.

    Attributes:
        answer: How the command ended.
        report: The report under key `r2cc`; empty if there was none.
    """

    answer: Answer
    report: dict[str, Any]

    @property
    def iterations(self) -> list[dict[str, Any]]:
        """The timed iterations."""
        return list(self.report.get("iterations", []))

    @property
    def failovers(self) -> list[Failover]:
        """All failovers, in order."""
        return [
            Failover(
                number,
                Nic(one["node"], one["rail"]),
                one["cause"],
                one["detected_s"],
                one["resent_bytes"],
                one["path"],
            )
            for number, iteration in enumerate(self.iterations, start=1)
            for one in iteration["failovers"]
        ]

    @property
    def verdict(self) -> str:
        """The verdict line."""
        (line,) = [line for line in self.answer.stdout.splitlines() if line.startswith("# verdict:")]
        return line


def run(*arguments: str, timeout_s: float = 60) -> Run:
    """Run an allreduce.

    Args:
        arguments: Words behind `r2cc run allreduce`.
        timeout_s: Hard limit, in seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "r2cc_mpi", "run", "allreduce", *arguments, "--json", str(report)]
        answer = launch(command, timeout_s=timeout_s)
        document = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {"r2cc": {}}
        return Run(answer, document["r2cc"])


def check_passed(run: Run, *, iterations: int) -> None:
    """Make sure that a run ended well, with every element of every iteration compared and right.

    Raises:
        AssertionError: It did not.
    """
    assert run.answer.status == 0, str(run.answer)
    assert run.answer.stderr == "", str(run.answer)
    assert [one["wrong"] for one in run.iterations] == [0] * iterations, str(run.answer)
    assert "# Out of bounds values : 0 OK" in run.answer.stdout.splitlines()
    assert run.verdict.startswith("# verdict: PASS")
    assert "every element exact on every rank" in run.verdict


def check_resent(run: Run, *, rate_bytes_per_s: float, most_channels: int) -> None:
    """Make sure that no failover sent more again than a window of chunks for each channel it moved.

    Args:
        run: The run.
        rate_bytes_per_s: Rate of its rails.
        most_channels: How many channels one failure can hit.

    Raises:
        AssertionError: One sent more.
    """
    settings = Settings.for_rate(rate_bytes_per_s)
    limit = most_channels * settings.window * settings.chunk_bytes
    for failover in run.failovers:
        assert 0 <= failover.resent_bytes <= limit, failover


def stripes_of(layout: Layout, dead: list[Nic], algorithm: str = "hot-repair", **options: Any) -> Stripes:
    """Write what a run with these NICs dead carries, without the planner."""
    rates = [
        [Fraction(Nic(node, rail) not in dead) for rail in range(layout.rails)]
        for node in range(layout.nodes)
    ]
    return ALGORITHMS[algorithm](Case(rates, **options))


def expected_bytes(layout: Layout, stripes: Stripes, count: int, itemsize: int) -> dict[Nic, dict[str, int]]:
    """Compute what each NIC carries in one collective that nothing interrupts.

    Every stripe of the mapping is lowered to elements by itself, as boundary * count // grid.
    """
    carried = {nic: {"tx": 0, "rx": 0} for nic in layout}
    for stripe in stripes:
        lo, hi = (boundary * count // stripes.grid for boundary in stripe.source_region)
        here = stripe.transfer.source
        for hop in stripe.route:
            carried[Nic(here, hop.rail)]["tx"] += (hi - lo) * itemsize
            carried[Nic(hop.node, hop.rail)]["rx"] += (hi - lo) * itemsize
            here = hop.node
    return carried


def check_rail_bytes(
    iteration: dict[str, Any], layout: Layout, stripes: Stripes, count: int, itemsize: int
) -> None:
    """Make sure that an iteration of the report carried exactly what the stripes say.

    Raises:
        AssertionError: A NIC carried more or less.
    """
    expected = expected_bytes(layout, stripes, count, itemsize)
    loads = stripes.rail_loads()
    for nic in layout:
        reported = iteration["rail_bytes"][f"{nic.node}:{nic.rail}"]
        assert reported == expected[nic], f"{nic}: {reported} instead of {expected[nic]}"
        # The mapping's own count, in units of the data, agrees but for the rounding of each stripe.
        for key, load in zip(("tx", "rx"), loads[nic], strict=True):
            rounding = len(stripes) * itemsize
            assert abs(Fraction(reported[key]) - load * count * itemsize) <= rounding
