from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from algorithms.balance import balance_mapping
from algorithms.nic import Nic
from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from analysis.rail_rates import RailRates
from r2cc_mpi import contribution, executor
from r2cc_mpi.executor import Call, Executor
from r2cc_mpi.plan import NodePlan, plan_node
from r2cc_mpi.protocol.channel import Chunk
from r2cc_mpi.protocol.header import Kind
from r2cc_mpi.protocol.news import Signature
from r2cc_mpi.protocol.settings import Settings
from r2cc_mpi.reduction import Reduction
from tests.protocol.rank import SimulatedNode
from tests.protocol.wires import JoinedEngines

LEADER, UNTOUCHED = Nic(0, 0), -(10**12)
SETTINGS = Settings(window=2, chunk_bytes=16)


def signature(count):
    """Make the signature of a call."""
    return Signature(1, count, 3, 0, 1)


class Job:
    """Ranks whose engines are joined back to back and who sum up integers, call by call.

    Attributes:
        executors: Of the collective that runs, by NIC.
        inputs: What each rank brings.
        outputs: Where each rank wants the result.
        idle: Places of each node whose ranks bring no data.
    """

    idle: tuple[int, ...] = ()

    def __init__(self, nodes, rails, largest=100, dtype=np.int64):
        self.dtype = dtype
        self.nodes, self.rails, self.now, self.number = nodes, rails, 0.0, 0
        self.cluster = JoinedEngines(nodes, rails, SETTINGS)
        self.memory = [SimulatedNode(rails, 8 * largest, 16 * (largest + 1) * rails) for _ in range(nodes)]
        self.stripes = healthy_mapping(ring_allreduce(nodes), rails)
        self.executors: dict[Nic, Executor] = {}
        self.inputs: dict[Nic, np.ndarray] = {}
        self.outputs: dict[Nic, np.ndarray] = {}

    def call(self, count, *, foreign=(), in_place=False, lead=True, reduction=Reduction.SUM):
        """Let every rank call; foreign ones ask for something else."""
        self.number += 1
        wanted = signature(count)._replace(op=reduction)
        for place, (nic, engine) in enumerate(self.cluster.engines.items()):
            self.inputs[nic] = (np.arange(count) * 7 + 1000**place + self.number).astype(self.dtype)
            self.outputs[nic] = self.inputs[nic] if in_place else np.full(count, UNTOUCHED, self.dtype)
            asked = wanted._replace(op=Reduction.MIN) if nic in foreign else wanted
            plan = partial(self.plan, nic, count)
            contributors = [place for place in range(self.rails) if place not in self.idle]
            call = Call(self.number, self.inputs[nic], self.outputs[nic], asked, plan, contributors)
            self.executors[nic] = Executor(engine, self.memory[nic.node], call)
        self.expected = np.sum(list(self.inputs.values()), axis=0)
        if lead:
            self.cluster.engines[LEADER].lead(self.number, wanted)

    def plan(self, nic, count, _start):
        """Make the plan of one rank."""
        return plan_node(self.stripes, node=nic.node, rail=nic.rail, count=count, chunk_elements=2)

    def run(self, *, rounds=400, shuffle=None, only=None):
        """Let ranks step, in turn or in a random order, until all are complete or the rounds are over."""
        for _ in range(rounds):
            nics = list(only or self.executors)
            for nic in shuffle.choices(nics, k=len(nics)) if shuffle else nics:
                self.executors[nic].step(self.now)
                self.cluster.engines[nic].pump()
                if shuffle is None or shuffle.random() < 0.5:
                    self.cluster.deliver(self.now)
            if all(one.is_complete for one in self.executors.values()):
                return

    def check(self):
        """Let the ranks come to an end, and check that every one has exactly the sum."""
        self.run()
        for nic, one in self.executors.items():
            assert one.is_complete, f"{nic} is not complete"
            assert self.outputs[nic].tolist() == self.expected.tolist()


@pytest.mark.parametrize("rails", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 5, 100])
def test_one_node(rails, count):
    """The ranks of a single node sum up without any message but the news."""
    job = Job(1, rails)
    job.call(count)
    job.check()
    assert job.cluster.carried[Kind.DATA] == 0


@pytest.mark.parametrize("rails", [1, 2])
@pytest.mark.parametrize("count", [1, 3, 8, 100])
def test_two_nodes(rails, count):
    """Two nodes whose engines are wired back to back end with the sum on every rank."""
    job = Job(2, rails)
    job.call(count)
    job.check()


@pytest.mark.parametrize("seed", range(10))
def test_several_collectives_in_any_order_of_steps(seed, monkeypatch):
    """However the ranks take turns, several collectives in a row on the same memory are all exact."""
    monkeypatch.setattr(contribution, "PIECE_BYTES", 64)
    shuffle = random.Random(seed)
    job = Job(3, 2)
    for count in (40, 1, 100, 7):
        job.call(count)
        job.run(shuffle=shuffle, rounds=3000)
        job.check()


@pytest.mark.parametrize(
    ("reduction", "by_numpy"),
    [(Reduction.PROD, np.prod), (Reduction.MIN, np.min), (Reduction.MAX, np.max), (Reduction.AVG, np.mean)],
)
def test_other_reductions(reduction, by_numpy):
    """Products, extremes and means come out too, within a node and between nodes."""
    job = Job(2, 2, dtype=np.float64 if reduction is Reduction.AVG else np.int64)
    job.call(50, reduction=reduction)
    job.expected = by_numpy(list(job.inputs.values()), axis=0)
    job.check()


@pytest.mark.parametrize("idle", [(0,), (2,), (0, 1), (1, 2)])
def test_ranks_without_data(idle, monkeypatch):
    """Ranks without data neither change the sum nor take it, in any order of steps and call after call."""
    monkeypatch.setattr(contribution, "PIECE_BYTES", 64)
    job, shuffle = Job(2, 3), random.Random(sum(idle))
    job.idle = idle
    for count in (40, 1, 100, 7):
        job.call(count)
        job.run(shuffle=shuffle, rounds=3000)
        bringing = [nic for nic in job.inputs if nic.rail not in idle]
        expected = np.sum([job.inputs[nic] for nic in bringing], axis=0).tolist()
        assert all(one.is_complete for one in job.executors.values())
        assert [job.outputs[nic].tolist() for nic in bringing] == [expected] * len(bringing)
        assert all((job.outputs[nic] == UNTOUCHED).all() for nic in job.outputs if nic.rail in idle)


def test_ranks_without_data_are_waited_for():
    """Nobody has a result before a rank without data, whose rail carries nothing either, has come."""
    late = Nic(1, 0)
    job = Job(2, 2)
    job.idle = (late.rail,)
    job.call(1)
    job.run(rounds=50, only=[nic for nic in job.executors if nic != late])
    assert not any(one.is_complete for one in job.executors.values())
    job.run()
    assert all(one.is_complete for one in job.executors.values())


def without_hazards(plan):
    """Plant an error in a plan: no operation waits for another one."""
    sends, receives = (
        {peer: tuple(replace(op, waits_for=()) for op in operations) for peer, operations in part.items()}
        for part in (plan.sends, plan.receives)
    )
    return NodePlan(sends, receives, plan.operations)


@pytest.mark.parametrize(("missed", "count"), [("hazards", 8), ("contributions", 100)])
def test_missed_waits_would_be_seen(missed, count, monkeypatch):
    """The exact check finds an executor that waits for no earlier operation, or not for the ranks' arrays."""
    job, shuffle = Job(2, 2), random.Random(1)
    if missed == "hazards":
        monkeypatch.setattr(job, "plan", lambda *call: without_hazards(Job.plan(job, *call)))
    else:
        monkeypatch.setattr(Executor, "_is_contributed", lambda *_: True)
    job.call(count)
    job.run(shuffle=shuffle, rounds=1000)
    with pytest.raises(AssertionError, match="=="):
        job.check()


def test_send_and_receive_may_be_the_same_array():
    """The result may replace what the rank brought."""
    job = Job(2, 2)
    job.call(30, in_place=True)
    job.check()


def test_users_arrays_are_untouched_until_the_end():
    """Until its node has finished, a rank changes neither of the two arrays it was given."""
    job = Job(2, 2)
    job.call(60)
    brought = {nic: array.copy() for nic, array in job.inputs.items()}
    seen_under_way = 0
    while not all(one.is_complete for one in job.executors.values()):
        job.run(rounds=1)
        for nic, one in job.executors.items():
            finished = all(number == job.number for number in job.memory[nic.node].finished)
            if not finished:
                seen_under_way += one.network_began_at is not None
                assert not one.has_result
                assert (job.outputs[nic] == UNTOUCHED).all()
            assert job.inputs[nic].tolist() == brought[nic].tolist()
    assert seen_under_way
    job.check()


def test_result_is_copied_out_in_pieces(monkeypatch):
    """A long result is copied over several steps, and the rank is complete after the last one only."""
    monkeypatch.setattr(executor, "COPY_BYTES", 80)
    job = Job(1, 1)
    job.call(25)
    one, copied = job.executors[LEADER], []
    for _ in range(20):
        one.step(0.0)
        copied.append(int((job.outputs[LEADER] != UNTOUCHED).sum()))
        assert one.is_complete == (copied[-1] == 25)
        assert one.has_result == (copied[-1] > 0)
    assert sorted(set(copied)) == [0, 10, 20, 25]
    assert not one.step(0.0)
    job.check()


def test_nothing_happens_before_start():
    """Before the leader's word no rank touches the node buffer."""
    job = Job(2, 2)
    job.call(10, lead=False)
    job.run(rounds=20)
    for memory in job.memory:
        assert list(memory.contributed) == [0, 0]
        assert not memory.buffer.any()


def test_foreign_signature_never_contributes():
    """A rank that asks for something else than START says adds nothing, and no rank gets a result."""
    foreign = Nic(1, 1)
    job = Job(2, 2)
    job.call(20, foreign=[foreign])
    job.run(rounds=50)
    assert job.memory[1].contributed[1] == 0
    assert job.executors[foreign].network_began_at is None
    assert all((output == UNTOUCHED).all() for output in job.outputs.values())
    assert not any(one.has_result for one in job.executors.values())


def test_next_collective_waits_until_the_buffer_is_copied_out():
    """A rank adds to the node buffer only once all ranks of its node have copied the last result out."""
    first, second = Nic(0, 0), Nic(0, 1)
    job = Job(1, 2)
    job.call(10)
    while not job.executors[first].is_complete:
        job.run(rounds=1, only=[first])
        if not job.executors[first].is_complete and not all(n == 1 for n in job.memory[0].finished):
            job.run(rounds=1, only=[second])
    slow, expected, output = job.executors[second], job.expected, job.outputs[second]
    assert not slow.is_complete
    job.call(10)
    job.run(rounds=10, only=[first])
    assert job.executors[first].network_began_at is not None
    assert not slow.is_complete
    while slow.step(0.0):
        pass
    assert output.tolist() == expected.tolist()
    job.check()


def test_network_times_are_noted():
    """A rank notes when it began its plan and when it had done all of it."""
    job = Job(2, 1)
    job.call(10)
    one = job.executors[LEADER]
    assert (one.network_began_at, one.network_ended_at) == (None, None)
    job.now = 1.0
    job.run(rounds=1)
    job.now = 2.0
    job.run()
    assert (one.network_began_at, one.network_ended_at) == (1.0, 2.0)


def test_waiting_for_the_nodes_other_ranks():
    """A rank that has nothing to do, on a rail that its node lost, sees from time to time if these get on."""
    job = Job(2, 2)
    dead = [Nic(0, 1)]
    job.stripes = balance_mapping(ring_allreduce(2), RailRates.of(2, 2, dead).rates)
    job.call(50)
    job.run(rounds=5)
    (idle,) = (job.executors[nic] for nic in dead)
    assert [idle.step(job.now) for _ in range(3)] == [False] * 3
    others = [nic for nic in job.executors if nic not in dead]
    moments = [moment * SETTINGS.stall_s / 4 for moment in (1, 2, 3)]
    job.run(rounds=3, only=others)
    assert [idle.step(now) for now in (0.9 * moments[0], moments[0], moments[0])] == [False, True, False]
    assert [idle.step(now) for now in moments[1:]] == [False, False]  # they stand still, and so it may ask
    job.check()


def test_capture_stops_at_the_window():
    """A rank whose peer applies nothing captures no more chunks than the window has."""
    job = Job(2, 1)
    job.call(100)
    job.run(rounds=30, only=[LEADER])
    channel = job.cluster.engines[LEADER].sender(1)
    assert channel.captured == SETTINGS.window
    assert not channel.has_room


@pytest.mark.parametrize(("collective", "length"), [(2, 16), (1, 8)], ids=["another collective", "too short"])
def test_chunk_of_another_place_is_refused(collective, length):
    """A chunk that landed for another collective, or with another length, is never applied."""
    job = Job(2, 1)
    job.call(100)
    job.run(rounds=2, only=[LEADER])
    receiver = job.cluster.engines[LEADER].receiver(1)
    receiver._landing.append(Chunk(job.cluster.engines[LEADER].pool.take(), length, collective))
    with pytest.raises(AssertionError, match=f"chunk of collective {collective} landed for"):
        job.run(rounds=10, only=[LEADER])


def test_empty_call_is_refused():
    """A collective over no elements would not keep the ranks in step, so it is an error."""
    with pytest.raises(ValueError, match="collective 1 is empty"):
        Job(1, 1).call(0)


def test_captured_chunks_hold_what_program_order_says():
    """Chunks are captured from the lowest program index on, with the node's values of that time."""
    job = Job(2, 1)
    job.call(8)
    job.run(rounds=30, only=[LEADER])
    slots = job.cluster.engines[LEADER].sender(1)._slots
    payloads = [slots[number].buffer.payload[:16].view(np.int64).tolist() for number in sorted(slots)]
    assert payloads == [job.inputs[LEADER][:2].tolist(), job.inputs[LEADER][2:4].tolist()]
    assert [slots[number].place for number in sorted(slots)] == [0, 1]


def test_landed_chunks_are_added_and_their_credit_goes_back():
    """A chunk of the reduce-scatter is added to what the node holds, and only then counts as consumed."""
    job = Job(2, 1)
    job.call(8)
    job.run(rounds=30, only=[LEADER])
    receiver = job.cluster.engines[LEADER].receiver(1)
    arrived = job.cluster.engines[LEADER].pool.take()
    arrived.payload[:16].view(np.int64)[:] = 100, 200
    receiver._landing.append(Chunk(arrived, 16, 1))
    assert receiver.consumed == 0
    job.executors[LEADER].step(0.0)
    held = job.memory[0].buffer.view(np.int64)[4:6]
    assert (held - job.inputs[LEADER][4:6]).tolist() == [100, 200]
    assert receiver.consumed == 1
