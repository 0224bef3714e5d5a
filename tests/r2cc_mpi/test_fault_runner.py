from __future__ import annotations

import pytest

from algorithms.nic import Nic
from r2cc_mpi.fault_runner import FaultRunner
from r2cc_mpi.faults import parse_faults
from tests.r2cc_mpi.fakes import FakeCommunicator


@pytest.fixture
def comm():
    """A rank that owns rail 1 of node 1."""
    return FakeCommunicator(Nic(1, 1))


def runner(comm, *fail, slow=(), recover=(), **how):
    """Make a runner from options as a user writes them."""
    return FaultRunner(comm, parse_faults(fail, slow, recover, **how))


def test_other_nics_are_left_alone(comm):
    """Faults of other NICs neither happen here nor count as missed here."""
    faults = runner(comm, "1:0@50%", "0:1@1s", slow=["0:0=0.5"])
    faults.begin(1, 100, 0.0)
    comm.counters.sent_bytes = 100
    faults.look(9.0)
    assert (comm.rail.log, comm.rail.factor, faults.missed, comm.hooks) == ([], 1.0, [], [])


def test_share_of_bytes(comm):
    """A share is of the bytes that have left the NIC since the iteration began, not one byte earlier."""
    faults = runner(comm, "1:1@iter=2,40%")
    comm.counters.sent_bytes = 5000
    faults.begin(1, 1000, 0.0)
    comm.counters.sent_bytes = 6000
    faults.look(1.0)
    faults.end()
    faults.begin(2, 1000, 2.0)
    comm.counters.sent_bytes = 6399
    faults.look(3.0)
    assert comm.rail.log == []
    comm.counters.sent_bytes = 6400
    faults.look(4.0)
    assert comm.rail.log == [("die", False)]
    assert comm.events == [(False, 4.0)]
    assert [(event.at, event.iteration) for event in faults.events] == [(4.0, 2)]
    assert faults.missed == []


def test_chunk_number(comm):
    """A chunk number counts the chunks that have left since the iteration began, from 1."""
    faults = runner(comm, "1:1@chunk=3")
    comm.counters.sent_chunks = 10
    faults.begin(1, 1000, 0.0)
    comm.counters.sent_chunks = 12
    faults.look(1.0)
    assert comm.rail.log == []
    comm.counters.sent_chunks = 13
    faults.look(1.0)
    assert comm.rail.log == [("die", False)]


def test_time_counts_from_the_first_iteration(comm):
    """Seconds count from the begin of the first timed iteration; before it nothing happens."""
    faults = runner(comm, "1:1@2.5s")
    faults.look(1000.0)
    faults.begin(1, 1000, 100.0)
    faults.begin(2, 1000, 102.0)
    faults.look(102.4)
    assert comm.rail.log == []
    faults.look(102.5)
    assert comm.rail.log == [("die", False)]
    assert faults.events[0].iteration == 2


def test_a_fault_happens_once(comm):
    """What has happened does not happen again in the next iteration."""
    faults = runner(comm, "1:1@0%")
    for iteration in (1, 2):
        faults.begin(iteration, 1000, 0.0)
        faults.look(1.0)
    assert len(comm.rail.log) == 1


def test_silent_failure_is_announced_to_nobody(comm):
    """A silent failure is no event."""
    faults = runner(comm, "1:1@0%", silent=True)
    faults.begin(1, 1000, 0.0)
    faults.look(1.0)
    assert (comm.rail.log, comm.events) == ([("die", False)], [])


def test_late_failure_keeps_what_is_in_flight(comm):
    """`--late` reaches the rail."""
    faults = runner(comm, "1:1@0%", late=True)
    faults.begin(1, 1000, 0.0)
    faults.look(1.0)
    assert comm.rail.log == [("die", True)]


def test_recovery(comm):
    """A dead rail's share is of its node's part in the collective; then it works again and says so."""
    faults = runner(comm, "1:1@0%", recover=["1:1@iter=2,50%"])
    faults.begin(1, 1000, 0.0)
    faults.look(1.0)
    faults.begin(2, 1000, 2.0)
    comm.progress = 0.499
    faults.look(3.0)
    assert comm.rail.is_dead
    comm.progress = 0.5
    faults.look(4.0)
    assert comm.rail.log == [("die", False), ("revive", 4.0)]
    assert comm.events == [(False, 1.0), (True, 4.0)]


def test_slow_from_the_start_and_later(comm):
    """A rail runs at a fraction of its rate from the start, or from an instant on."""
    faults = runner(comm, slow=["1:1=0.5", "1:1=1/4@iter=1,50%"])
    assert comm.rail.factor == 0.5
    faults.begin(1, 1000, 0.0)
    faults.look(0.0)
    assert comm.rail.factor == 0.5
    comm.counters.sent_bytes = 500
    faults.look(1.0)
    assert comm.rail.factor == 0.25
    assert comm.events == []


def test_declared_failure_is_not_the_runners_business(comm):
    """A NIC that is down from the start was declared to the communicator: nothing to do, nothing missed."""
    faults = runner(comm, "1:1")
    faults.begin(1, 1000, 0.0)
    faults.look(1.0)
    assert (comm.rail.log, faults.missed, comm.hooks) == ([], [], [])


def test_missed_faults(comm):
    """A fault that never happened, or not while an iteration ran, is missed."""
    faults = runner(comm, "1:1@2s", recover=["1:1@iter=2,90%"])
    faults.begin(1, 1000, 0.0)
    faults.end()
    faults.look(2.0)
    assert faults.missed == [
        "--recover 1:1@iter=2,90% did not hit a running collective: iteration 2 was over before",
        "--fail 1:1@2s did not hit a running collective: it came between two of them",
    ]


def test_missed_faults_say_what_the_rail_carried(comm):
    """A rail that sent too little, or whose time never came, says so with its numbers."""
    faults = runner(comm, "1:1@iter=2,40%", "1:1@iter=2,chunk=3", "1:1@9s", recover=["1:1@8s", "1:1@7s"])
    faults.begin(1, 1000, 0.0)
    faults.end()
    faults.begin(2, 1000, 1.0)
    comm.counters.sent_bytes, comm.counters.sent_chunks = 399, 2
    faults.look(1.5)
    faults.end()
    comm.counters.sent_bytes = 5000
    assert [text.partition(": ")[2] for text in faults.missed] == [
        "node 1 rail 1 sent 399 bytes in iteration 2, 40% of a healthy one's are 400",
        "node 1 rail 1 sent 2 chunks in iteration 2",
        *["the last one was over before"] * 3,
    ]


def test_fault_that_changes_nothing_is_missed(comm):
    """A rail comes back only when it is dead, and dies only when it is not; else nothing happens to it."""
    faults = runner(comm, "1:1@2s", "1:1@3s", recover=["1:1@1s"])
    faults.begin(1, 1000, 0.0)
    for now in (1.0, 2.0, 3.0):
        faults.look(now)
    assert comm.rail.log == [("die", False)]
    assert comm.events == [(False, 2.0)]
    assert faults.missed == [
        "--recover 1:1@1s did not hit a running collective: node 1 rail 1 was not dead then",
        "--fail 1:1@3s did not hit a running collective: node 1 rail 1 was dead already",
    ]


def test_share_before_a_return_is_the_nodes(comm):
    """Bytes that a living rail sends do not bring the time of its return."""
    faults = runner(comm, "1:1@iter=1,60%", recover=["1:1@iter=1,50%"])
    faults.begin(1, 1000, 0.0)
    comm.counters.sent_bytes, comm.progress = 600, 0.4
    faults.look(1.0)
    comm.progress = 0.5
    faults.look(2.0)
    assert comm.rail.log == [("die", False), ("revive", 2.0)]
    assert faults.missed == []


def test_runner_looks_at_every_poll_and_chunk(comm):
    """The runner is asked on every poll and after every chunk, so that a fault strikes to the chunk."""
    faults = runner(comm, "1:1@0%")
    assert comm.hooks == [faults.look]
    assert comm.rail.on_sent == faults.look
