"""What every rank of an experiment runs: a persistent AllReduce, iteration after iteration, as a task says.

Rank 0 prints a line when an iteration begins, so that whoever started the job can cut a link under it. All
times are those of CLOCK_MONOTONIC, which is one clock for all nodes of a test network.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import r2cc_mpi
from algorithms.nic import Nic
from r2cc_mpi.driver import clock
from r2cc_mpi.errors import R2ccError
from r2cc_mpi.gathering import all_gather
from r2cc_mpi.job import corrupt_element
from r2cc_mpi.patterns import Pattern
from scripts.reproduction.task import Stage, Task, read_task

HEALTHY_PLAN = "balance"
"""Without a failure it is the ring; and unlike `ring` it may be repaired."""


class Rank:
    """One rank's iterations, and what it knows of them.

    Args:
        comm: The communicator.
        task: What to do.
    """

    def __init__(self, comm: r2cc_mpi.Communicator, task: Task) -> None:
        self._comm, self._task = comm, task
        self._data = Pattern(np.float32, comm.rank, comm.size)
        self._send, self._result = (np.zeros(task.elements, np.float32) for _ in range(2))
        self._request = comm.Allreduce_init(self._send, self._result)
        self._iterations: list[dict[str, Any]] = []
        self._plans: list[dict[str, Any]] = []
        self._note_plan("")

    def carry_out(self) -> None:
        """Do all stages."""
        for stage in self._task.stages:
            if stage.strategy is not None:
                self._request.replan(stage.strategy, stage.pieces, stage.form)
                self._note_plan(stage.label)
            for _ in range(stage.iterations):
                self._iterate(stage)
                if stage.until is not None and self._is_down(stage.until.nic) is not stage.until.is_up:
                    break
        self._comm.settle()

    def record(self) -> dict[str, Any]:
        """Give what this rank has seen, as JSON takes it."""
        comm = self._comm
        return {
            "nic": comm.nic,
            "iterations": self._iterations,
            "plans": self._plans,
            "kernel": comm.kernel_bytes(),
            "learned": [[one.nic, one.at, one.version % 2 == 0, one.cause] for one in comm.detections],
            "stall_s": comm.settings.stall_s,
            "probe_s": comm.settings.probe_s,
        }

    def _iterate(self, stage: Stage) -> None:
        number = len(self._iterations) + 1
        self._data.fill(self._send, number)
        self._data.spoil(self._result, number)
        self._comm.Barrier()
        kernel = self._comm.kernel_bytes()
        began_at = clock()
        if self._comm.rank == 0:
            print(json.dumps({"stage": stage.label, "number": number, "at": began_at}), flush=True)
        self._request.Start()
        self._request.Wait()
        ended_at = clock()
        report = self._request.report
        assert report is not None
        if number == self._task.corrupt and self._comm.rank == 0:
            corrupt_element(self._result, len(self._result) // 2)
        self._iterations.append(
            {
                "stage": stage.label,
                "began_at": began_at,
                "ended_at": ended_at,
                "network_s": report.network_s,
                "strategy": report.strategy,
                "resent_bytes": report.resent_bytes,
                "wrong": self._data.count_wrong(self._result, number),
                "kernel": kernel,
            }
        )

    def _is_down(self, nic: Nic) -> bool:
        """Say what all ranks agreed on when the last iteration started."""
        report = self._request.report
        assert report is not None
        return bool(report.health_versions[nic] % 2)

    def _note_plan(self, stage: str) -> None:
        self._plans.append({"stage": stage, **asdict(self._request.plan_report)})


def main() -> int:
    """Run a rank; the argument is the file of the task."""
    task = read_task(Path(sys.argv[1]))
    try:
        r2cc_mpi.pin(task.interfaces)
        with r2cc_mpi.Communicator(
            rails=task.rails,
            interfaces=task.interfaces,
            rail_rate=task.rail_bytes_per_s,
            strategy=HEALTHY_PLAN,
        ) as comm:
            rank = Rank(comm, task)
            rank.carry_out()
            records = all_gather(comm, rank.record())
            if comm.rank == 0:
                Path(task.output).write_text(json.dumps(records), encoding="utf-8")
    except R2ccError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
