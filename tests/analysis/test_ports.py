from __future__ import annotations

from fractions import Fraction

from tests.analysis.ports import Message, chain, finish, helper, ring

ONE = Fraction(1)


def test_messages_of_one_port_follow_each_other():
    """Two messages from one node take twice the time, two between different nodes do not."""
    first = Message(0, 1, ONE, ONE)
    assert finish([first, Message(0, 2, ONE, ONE)], Fraction(0)) == 2
    assert finish([first, Message(2, 1, ONE, ONE)], Fraction(0)) == 2
    assert finish([first, Message(1, 0, ONE, ONE)], Fraction(0)) == 1


def test_a_message_waits_for_those_it_needs():
    """A message costs alpha plus length over rate, and starts when what it needs has arrived."""
    messages = [Message(0, 1, ONE, Fraction(1, 2)), Message(1, 2, ONE, ONE, after=(0,))]
    assert finish(messages, Fraction(1, 10)) == 2 + 1 + Fraction(2, 10)


def test_a_dropped_dependency_would_be_seen():
    """Without "after" the chain's hops no longer wait: the simulation, not its input, makes the time."""
    messages = chain(4, Fraction(1, 2), ONE, pieces=2)
    independent = [message._replace(after=()) for message in messages]
    assert finish(independent, Fraction(0)) < finish(messages, Fraction(0))


def test_what_the_schemes_send():
    """Counting: 2 n (n-1) messages in a ring, n hops a piece in the chain, 1 + (n-1) S in the helper form."""
    assert len(ring([ONE] * 5, ONE)) == 2 * 5 * 4
    assert len(chain(5, ONE, ONE, pieces=3)) == 3 * 5
    assert len(helper(5, ONE, ONE, pieces=3, sub_pieces=2)) == 3 * (1 + 4 * 2)
    assert sum(message.length for message in chain(5, ONE, ONE, pieces=3)) == 5
