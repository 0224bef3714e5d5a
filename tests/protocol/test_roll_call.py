from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from r2cc_mpi.protocol.roll_call import RollCall
from r2cc_mpi.protocol.settings import Settings
from tests.protocol.wires import JoinedEngines

RANKS = 4


@st.composite
def roll_calls(draw):
    """Draw what a rank may know: some questions, and answers to them."""
    roll = RollCall(RANKS)
    for collective in draw(st.lists(st.integers(1, 6), max_size=3)):
        roll.ask(collective)
        for rank in draw(st.sets(st.integers(0, RANKS - 1))):
            roll.answer(rank, draw(st.integers(0, 6)))
    return roll


def state(roll):
    """What is known, to compare."""
    return roll.asked, roll.behind(), roll.silent()


def copied(roll):
    """Make another one that knows the same."""
    other = RollCall(RANKS)
    other.merge(roll.pack())
    return other


def test_answers_tell_ranks_apart():
    """Finished, behind and silent ranks are told apart, and a later answer counts."""
    roll = RollCall(RANKS)
    assert roll.ask(5)
    assert not roll.ask(5)
    assert [roll.answer(0, 5), roll.answer(1, 4), roll.answer(2, 6)] == [True, True, True]
    assert (roll.behind(), roll.silent()) == ([1], [3])
    assert not roll.answer(1, 4)
    assert roll.answer(1, 5)
    assert (roll.behind(), roll.silent()) == ([], [3])


def test_unasked_answers_are_no_news():
    """Without a question an answer changes nothing."""
    roll = RollCall(RANKS)
    assert not roll.answer(0, 7)


def test_old_answers_do_not_count_for_a_new_question():
    """After another question everybody is silent again."""
    roll = RollCall(RANKS)
    roll.ask(3)
    roll.answer(0, 3)
    roll.ask(4)
    assert roll.silent() == [0, 1, 2, 3]


@given(roll_calls(), roll_calls())
def test_merging_is_commutative_and_idempotent(one, other):
    """Two ranks that hear each other know the same, whoever hears first, and twice is like once."""
    left, right = copied(one), copied(other)
    left.merge(other.pack())
    right.merge(one.pack())
    assert state(left) == state(right)
    assert not left.merge(other.pack())
    assert len(left.pack()) == RollCall.packed_bytes(RANKS)


def test_every_engine_answers_the_call():
    """One rank asks, and hears from all others what they have finished, itself included."""
    cluster = JoinedEngines(2, 2, Settings())
    engines = list(cluster.engines.values())
    for engine, finished in zip(engines, (7, 6, 7, 5), strict=True):
        engine.finished = finished
    engines[2].call_roll(7)
    assert engines[2].news.roll_call.silent() == [0, 1, 3]
    for _ in range(10):
        cluster.deliver(0.0)
    for engine in engines:
        assert state(engine.news.roll_call) == (7, [1, 3], [])
