"""On every rank of a job: for each case of a file one collective, in which one rail dies; then it is healed.

    python -m tests.campaigns.instant_program CASES OUTCOMES

One communicator serves all cases. Rank 0 appends a line of JSON to OUTCOMES for each case that is over. The
rails are software, MPI itself is healthy; so the ranks meet between cases by MPI's own means.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from r2cc_mpi import Communicator
from r2cc_mpi.protocol import recovery
from tests.campaigns.instants import (
    CHUNKS_OF_A_COLLECTIVE,
    RATE_BYTES_PER_S,
    Instant,
    Outcome,
    elements,
)
from tests.in_world.data import contribution, total

DTYPE = "int32"
HEALED_S = 30.0
"""A rail that was plugged in must be in use again within this time."""
NAP_S = 0.001


class Cable:
    """The cable of this rank's rail: it is pulled after a certain chunk, and plugged in when asked to.

    Chunks of one collective only are counted; the tail of the one before may still leave meanwhile.
    """

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self._case: Instant | None = None
        self._collective = self._left = self._left_bytes = 0
        self._plug_in = False
        self.pulled_at: float | None = None
        comm.rail.on_sent = self._chunk_left
        comm.add_hook(self._look)

    def arm(self, case: Instant, collective: int) -> None:
        """Get ready for a case, which is about the NIC of this rank, in the collective of that number."""
        self._collective, self._left, self._left_bytes = collective, 0, 0
        self.pulled_at = None
        self._case = case

    def plug_in(self) -> None:
        """Plug the cable in again, and wait until that is done."""
        self._case = None
        self._plug_in = True
        while self._plug_in:
            time.sleep(NAP_S)

    def _chunk_left(self, now: float) -> None:
        sent_bytes = self._comm.counters.by_collective.get(self._collective, [0, 0])[0]
        if sent_bytes != self._left_bytes:
            self._left, self._left_bytes = self._left + 1, sent_bytes
        self._look(now)

    def _look(self, now: float) -> None:
        case, rail = self._case, self._comm.rail
        if case is not None and self.pulled_at is None and self._left >= case.chunk:
            self.pulled_at = now
            rail.die(late=case.is_late)
            if not case.is_silent:
                self._comm.rail_event(up=False, now=now)
        if self._plug_in:
            if rail.is_dead:
                rail.revive(now)
                self._comm.rail_event(up=True, now=now)
            self._plug_in = False


class Bench:
    """Runs cases, one after the other, on one communicator."""

    def __init__(self, world: MPI.Intracomm, comm: Communicator) -> None:
        self._world, self._comm = world, comm
        self._cable = Cable(comm)
        count = elements(comm.layout, np.dtype(DTYPE).itemsize)
        self._mine = contribution(world.rank, count, DTYPE)
        self._sum = total(world.size, count, DTYPE)
        self._received = np.empty_like(self._mine)

    def measure(self) -> None:
        """Run a collective in which nothing dies, and make sure that the cases' chunks exist.

        Raises:
            AssertionError: The result is wrong, or a rail sends another number of bytes.
        """
        assert self._wrong_after_call(0) == 0
        self._comm.settle()
        sent_bytes, _ = self._comm.counters.by_collective[1]
        assert sent_bytes == CHUNKS_OF_A_COLLECTIVE * self._comm.settings.chunk_bytes, sent_bytes

    def run(self, case: Instant, turn: int) -> Outcome:
        """Carry out one case; `turn` makes its data differ from those of the other cases."""
        comm = self._comm
        assert comm.last_report is not None
        seen, repaired = len(comm.detections), len(comm.failovers)
        self._meet()
        if comm.nic == case.nic:
            self._cable.arm(case, comm.last_report.number + 1)
        wrong = self._wrong_after_call(turn)
        time_s = comm.last_report.time_s
        self._meet()
        if comm.nic == case.nic:
            self._cable.plug_in()
        self._heal()
        failures = [change for change in comm.detections[seen:] if change.version % 2]
        return self._together(
            {
                "wrong": wrong,
                "died_at": self._cable.pulled_at if comm.nic == case.nic else None,
                "noticed_at": min((change.at for change in failures), default=None),
                "blamed": [change.nic for change in failures],
                "resent": [failover.resent_bytes for failover in comm.failovers[repaired:]],
                "time_s": time_s,
            }
        )

    def _wrong_after_call(self, turn: int) -> int:
        """Reduce, and compare every element; the numbers of every turn differ everywhere."""
        self._received.fill(-1)
        self._comm.Allreduce(self._mine + np.int32(turn), self._received)
        return int(np.count_nonzero(self._received != self._sum + np.int32(turn * self._world.size)))

    def _heal(self) -> None:
        """Wait until every rail is in use again on every rank.

        Raises:
            RuntimeError: One is not, after HEALED_S.
        """
        until = time.monotonic() + HEALED_S
        comm, is_healed = self._comm, False
        while not is_healed:
            while down := [nic for nic, health in comm.health.items() if not health.is_up]:
                if time.monotonic() > until:
                    raise RuntimeError(f"rank {self._world.rank} takes {down} for dead {HEALED_S} s later")
                time.sleep(NAP_S)
            comm.settle()
            assert comm.last_report is not None
            self._meet()
            is_healed = not any(self._world.allgather(comm.last_report.excluded))

    def _meet(self) -> None:
        """Wait for all ranks without spinning, which MPI's own waiting does: cores are few."""
        request = self._world.Ibarrier()
        while not request.Test():
            time.sleep(NAP_S)

    def _together(self, mine: dict[str, Any]) -> Outcome:
        self._meet()
        records = self._world.allgather(mine)
        died_at = next((one["died_at"] for one in records if one["died_at"] is not None), None)
        noticed = [one["noticed_at"] for one in records if one["noticed_at"] is not None]
        return Outcome(
            wrong=sum(one["wrong"] for one in records),
            died=died_at is not None,
            blamed=tuple(sorted({nic for one in records for nic in one["blamed"]})),
            known_s=max(noticed) - died_at if noticed and died_at is not None else None,
            resent=tuple(resent for one in records for resent in one["resent"]),
            time_s=max(one["time_s"] for one in records),
        )


def main(cases_file: str, outcomes_file: str) -> None:
    """Carry out all cases of a file."""
    cases = [Instant.parse(line) for line in Path(cases_file).read_text(encoding="utf-8").splitlines()]
    # A rail that fails again and again waits longer each time before it is used again; not so here, where
    # every failure is ours.
    recovery.MAX_DAMPING_DOUBLINGS = 0
    world, rails = MPI.COMM_WORLD, cases[0].layout.rails
    with Communicator(world, rails=rails, rail_rate=RATE_BYTES_PER_S) as comm:
        bench = Bench(world, comm)
        bench.measure()
        for turn, case in enumerate(cases, start=1):
            outcome = bench.run(case, turn)
            if world.rank == 0:
                with Path(outcomes_file).open("a", encoding="utf-8") as file:
                    file.write(json.dumps(outcome.to_json()) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
