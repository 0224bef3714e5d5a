"""Each complaint of the checkers is heard when a finished run is tampered with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.engine import Detection
from r2cc_mpi.protocol.hot_repair import Failover
from r2cc_mpi.protocol.news import ErrorFact, ErrorKind
from tests.protocol.invariants import (
    ViolationError,
    check_channels,
    check_cut_off,
    check_lossless,
    check_result,
)
from tests.protocol.scenarios import Fault, Scenario
from tests.protocol.world import World

FIRST, OTHER = Nic(0, 0), Nic(1, 0)
VICTIM = 1


@pytest.fixture
def world():
    """Make a run without failures, which nobody can complain about."""
    made = World(Scenario(2, 2, (9, 3)), 0)
    made.run()
    check_lossless(made)
    return made


@pytest.fixture
def cut():
    """Make a run in which node 1 is cut off."""
    faults = tuple(Fault(Nic(VICTIM, rail), 40, announced=True, late=False) for rail in range(2))
    made = World(Scenario(2, 2, (9, 3), faults), 0)
    made.run()
    check_cut_off(made)
    return made


def detection(world: World, nic: Nic, version: int, at: float, cause: str = "probe") -> None:
    """Let a NIC's owner remember a change of health, at a time of the world."""
    owner = world.ranks[nic]
    offset = owner.now - world.now
    owner.engine.detections.append(Detection(nic, version, at + offset, cause))


def test_wrong_element_is_seen(world):
    """One wrong element of one rank's result is enough."""
    world.outputs[1][2][0] += 1
    with pytest.raises(ViolationError, match="node 1 rail 0: the result of collective 2 is wrong"):
        check_result(world.ranks[Nic(1, 0)], 2)


@pytest.mark.parametrize(
    ("end", "name", "change", "complaint"),
    [
        ("sender", "consumed", -1, None),
        ("sender", "consumed", 1, "is out of step with itself"),
        ("sender", "sent", -1, "is out of step with itself"),
        ("sender", "captured", 9, "is out of step with itself"),
        ("receiver", "expected", 4, "holds more than a window"),
        ("receiver", "consumed", 1, "holds more than a window"),
        ("receiver", "expected", -1, "holds more than a window"),
        ("receiver", "expected", 1, "believes what is not so"),
    ],
)
def test_impossible_counters_are_seen(world, end, name, change, complaint):
    """A channel that exceeds its window, or believes what is not so, is named."""
    rank = world.ranks[FIRST]
    channel = rank.engine.senders[1] if end == "sender" else world.ranks[OTHER].engine.receivers[0]
    setattr(channel, name, getattr(channel, name) + change)
    if complaint is None:
        check_channels(rank)
        return
    with pytest.raises(ViolationError, match=f"node 0 rail 0: channel to node 1 {complaint}"):
        check_channels(rank)


def test_belief_beyond_the_truth_is_seen(world):
    """A sender that thinks a chunk has landed which has not is named."""
    receiver = world.ranks[OTHER].engine.receivers[0]
    receiver.expected -= 1
    receiver.consumed -= 1
    with pytest.raises(ViolationError, match="node 0 rail 0: channel to node 1 believes what is not so"):
        check_channels(world.ranks[FIRST])


@pytest.mark.parametrize("change", ["stays", "fails"])
def test_rank_that_did_not_finish_is_seen(world, change):
    """A rank that has not left, or has left with an error, is named with its state."""
    rank = world.ranks[OTHER]
    if change == "stays":
        rank.left = False
    else:
        rank.error = ErrorFact(ErrorKind.ISOLATED, "why")
    with pytest.raises(ViolationError, match=r"not left: node 1 rail 0: completed 2, error .*, down"):
        check_lossless(world)


def test_chunk_left_over_is_seen(world):
    """A chunk that is not consumed at the end is a leftover."""
    world.ranks[FIRST].engine.senders[1].captured += 1
    with pytest.raises(ViolationError, match="channel node 0 rail 0 to node 1 is not quiescent"):
        check_lossless(world)


def test_too_large_a_repair_is_seen(world):
    """A repair that sent more than a window again is named."""
    failover = Failover(OTHER, 0, 0, 1, (Hop(1, 1),), 0.0, world.settings.window + 1, 64)
    world.ranks[FIRST].engine.hot_repair.failovers.append(failover)
    with pytest.raises(ViolationError, match="node 0 rail 0 resent 4 chunks at once"):
        check_lossless(world)


def test_accusation_of_a_healthy_nic_is_seen(world):
    """A NIC that never died must not be held for down, as long as another healthy NIC could tell."""
    detection(world, OTHER, 1, 0.1)
    with pytest.raises(ViolationError, match=r"holds node 1 rail 0 for down \(probe\), but it never failed"):
        check_lossless(world)


def test_last_healthy_nic_of_a_rail_may_be_accused(world):
    """If all others of its rail died nobody can tell, and it comes back by itself."""
    world.rails.deaths[FIRST] += 1
    detection(world, OTHER, 1, 0.1)
    check_lossless(world)


@pytest.mark.parametrize(
    ("died", "revived", "raised", "complaint"),
    [
        (0.1, 0.3, 0.5, None),
        (0.1, None, 0.5, "held itself for up again, but was dead since 0.10 s"),
        (0.1, 0.2, 0.25, r"did not wait 0\.1 s before"),
        (0.45, None, 0.5, None),
    ],
    ids=["came back", "never came back", "no damping", "died while it waited"],
)
def test_wrong_comeback_is_seen(world, died, revived, raised, complaint):
    """A NIC is up again only if it came back, and after the damping time."""
    world.rails.deaths[OTHER] += 1
    world.rails.history[OTHER] += [time_s for time_s in (died, revived) if time_s is not None]
    detection(world, OTHER, 1, 0.2)
    detection(world, OTHER, 2, raised, "echo")
    if complaint is None:
        check_lossless(world)
        return
    with pytest.raises(ViolationError, match=complaint):
        check_lossless(world)


def test_needless_question_is_seen(world):
    """If nothing was amiss nobody should have had to ask; a chunk that a relay dropped is an excuse."""
    world.ranks[OTHER].engine.liveness.next_hello(world.ranks[OTHER].now)
    with pytest.raises(ViolationError, match=r"nothing was amiss, but some ranks stalled .*: node 1 rail 0$"):
        check_lossless(world)
    world.ranks[FIRST].engine.network.dropped_chunks += 1
    check_lossless(world)
    world.ranks[FIRST].engine.network.dropped_chunks = 0
    world.scenario = replace(world.scenario, slow={FIRST: 2.0})
    check_lossless(world)


class TestCutOff:
    """Complaints about runs in which a node is cut off."""

    def test_rank_that_waits_for_ever(self, cut):
        """A rank that neither finished nor gave up is named."""
        cut.ranks[FIRST].error = None
        cut.ranks[FIRST].left = False
        with pytest.raises(ViolationError, match="node 0 rail 0 neither finished nor gave up"):
            check_cut_off(cut)

    def test_rank_that_gives_up_too_late(self, cut):
        """No more than two seconds beyond the isolation timeout are allowed."""
        cut.ranks[FIRST].failed_at += 2.5
        with pytest.raises(ViolationError, match=r"node 0 rail 0 gave up at .* later than"):
            check_cut_off(cut)

    @pytest.mark.parametrize(
        "error", [ErrorFact(ErrorKind.MISMATCH, "no answer by any route"), ErrorFact(ErrorKind.ISOLATED, "x")]
    )
    def test_rank_that_gives_up_for_another_reason(self, cut, error):
        """Another kind of error, or another text, is not what has happened."""
        cut.ranks[FIRST].error = error
        with pytest.raises(ViolationError, match="node 0 rail 0 gave up for another reason"):
            check_cut_off(cut)

    def test_rank_that_wrote_into_the_user_array(self, cut):
        """One element written by a collective that failed is enough."""
        rank = cut.ranks[FIRST]
        cut.outputs[rank.completed][0][1] = 0
        with pytest.raises(ViolationError, match="node 0 rail 0 wrote into the user's array"):
            check_cut_off(cut)

    @pytest.mark.parametrize("named", ["node 0", "nodes 0, 1", "nobody"])
    def test_rank_that_names_the_wrong_nodes(self, cut, named):
        """A rank must name nodes of the other side, and none of its own."""
        rank = cut.ranks[FIRST]
        rank.error = rank.error._replace(text=rank.error.text.replace("from node 1;", f"from {named};"))
        with pytest.raises(ViolationError, match="node 0 rail 0 should not name"):
            check_cut_off(cut)

    def test_side_that_does_not_know_that_it_is_cut_off(self, cut):
        """If one side gave up, the other must have, too."""
        for rail in range(2):
            rank = cut.ranks[Nic(VICTIM, rail)]
            rank.error, rank.left = None, True
        with pytest.raises(ViolationError, match=r"none of those on the nodes \[1\]"):
            check_cut_off(cut)


def test_endless_messages_are_seen(monkeypatch):
    """A run that never ends, because messages multiply, is ended."""
    monkeypatch.setattr("tests.protocol.world.EVENT_LIMIT", 50)
    with pytest.raises(ViolationError, match=r"50 events by .* messages multiply without end"):
        World(Scenario(2, 2, (9,)), 0).run()


def test_run_that_hangs_is_ended(monkeypatch):
    """A run in which nobody gets on ends some time after the last disturbance."""
    monkeypatch.setattr("tests.protocol.rank.Rank.call_next", lambda _rank: None)
    world = World(Scenario(2, 2, (9,), patience_s=3.0), 0)
    world.run()
    assert 3.0 <= world.now < 3.1
    with pytest.raises(ViolationError, match="not left"):
        check_lossless(world)
