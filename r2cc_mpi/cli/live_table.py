"""The table while it grows: all ranks report each size as soon as they are through with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from r2cc_mpi.cli.assemble import RankRecord, joined, size_record
from r2cc_mpi.cli.options import RunOptions
from r2cc_mpi.cli.records import pack_record, read_record
from r2cc_mpi.cli.report import SizeRecord
from r2cc_mpi.cli.size_table import header, row
from r2cc_mpi.communicator import Communicator
from r2cc_mpi.fault_runner import FaultRunner
from r2cc_mpi.gathering import all_gather
from r2cc_mpi.job import Iteration


class LiveTable:
    """Gathers what all ranks measured, size by size, and shows each row at once.

    Args:
        options: The job.
        show: Takes lines to print; does nothing on ranks that do not print.

    Attributes:
        sizes: The rows so far.
    """

    def __init__(self, options: RunOptions, show: Callable[[list[str]], None]) -> None:
        self._options, self._show = options, show
        self._per_iteration, self._timestamps = options.method.per_iteration, options.method.timestamps
        self._parts: list[list[RankRecord]] = []
        self.sizes: list[SizeRecord] = []

    @property
    def ranks(self) -> list[RankRecord]:
        """What each rank reports of all sizes so far."""
        return joined(self._parts)

    def begin(self) -> None:
        """Show the head of the table."""
        self._show(header(per_iteration=self._per_iteration, timestamps=self._timestamps))

    def add(self, comm: Communicator, faults: FaultRunner, iterations: Sequence[Iteration]) -> None:
        """Gather one size's iterations and show its row; all ranks call this together.

        Args:
            comm: The communicator.
            faults: What happened to this rank's rail.
            iterations: This rank's iterations.

        Raises:
            IncompleteCollectiveError: Some rank cannot be reached any more.
        """
        finished_at = time.time()
        comm.settle()
        mine = pack_record(comm, faults, iterations, finished_at, calls=self._options.method.calls)
        part = [read_record(record) for record in all_gather(comm, mine)]
        self._parts.append(part)
        self.sizes.append(size_record(self._options, len(self.sizes), part))
        self._show([row(self.sizes[-1], per_iteration=self._per_iteration, timestamps=self._timestamps)])
