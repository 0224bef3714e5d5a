from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2cc_mpi.protocol.news import (
    KEPT_STARTS,
    MAX_ERROR_TEXT,
    Closing,
    ErrorFact,
    ErrorKind,
    News,
    Signature,
    Start,
)

NODES, RAILS = 2, 2
VERSIONS = st.tuples(*[st.integers(0, 2**32 - 1)] * (NODES * RAILS))
BYTE = st.integers(0, 255)
SIGNATURES = st.builds(Signature, BYTE, st.integers(0, 2**64 - 1), BYTE, BYTE, BYTE)
ERRORS = st.builds(ErrorFact, st.sampled_from(ErrorKind), st.text(max_size=2000))


@st.composite
def facts(draw):
    """Draw facts of any kind. A START's number decides the rest of it: there is one leader."""
    news = News(NODES, RAILS)
    news.add_health(list(draw(VERSIONS)))
    for number in draw(st.lists(st.integers(1, 5), max_size=3)):
        news.add_start(Start(number, Signature(1, number, 2, 3, 4), (number,) * (NODES * RAILS)))
    for rank in range(NODES * RAILS):
        news.add_closing(rank, draw(st.sampled_from(Closing)))
    if draw(st.booleans()):
        news.add_error(draw(ERRORS))
    if news.ask(draw(st.integers(0, 5))):
        for rank in draw(st.sets(st.integers(0, NODES * RAILS - 1))):
            news.add_answer(rank, draw(st.integers(0, 5)))
    return news


def state(news: News):
    """What a rank knows, to compare."""
    return news.health.versions, news.starts, news.closing, news.error, news.roll_call.pack()


def spread(source: News, target: News) -> None:
    """Let one rank hear another one's news."""
    target.merge(source.pack())


@given(facts())
def test_all_facts_survive_the_wire(news):
    """A rank that knew nothing knows everything after one message, and nothing is new the second time."""
    other = News(NODES, RAILS)
    spread(news, other)
    assert state(other) == state(news)
    assert other.merge(news.pack()).anything is False
    assert len(news.pack()) <= News.capacity(NODES, RAILS)


@given(facts(), facts())
def test_two_ranks_that_talk_agree(one, other):
    """After each has heard the other, both know the same; a further exchange teaches nothing."""
    spread(one, other)
    spread(other, one)
    assert state(one) == state(other)
    assert not one.merge(other.pack()).anything
    assert not other.merge(one.pack()).anything


@given(st.lists(facts(), min_size=3, max_size=3), st.permutations(range(3)))
def test_order_of_arrival_does_not_matter(news, order):
    """Whoever hears three ranks in any order, some of them twice, ends up with the same facts."""
    heard = []
    for sequence in (range(3), order, (*order, *order)):
        listener = News(NODES, RAILS)
        for index in sequence:
            spread(news[index], listener)
        heard.append(state(listener))
    assert heard[0] == heard[1] == heard[2]


@given(facts(), facts())
def test_merge_says_whether_anything_is_new(one, other):
    """Only facts that were not known count as new: whoever floods what is new stops by itself."""
    before = copy.deepcopy(state(other))
    versions = list(other.health.versions)
    learned = other.merge(one.pack())
    assert learned.anything == (state(other) != before)
    assert [change.before for change in learned.changes] == [
        old for old, new in zip(versions, other.health.versions, strict=True) if new > old
    ]


def test_two_latest_starts_are_kept():
    """Older STARTs are forgotten: no rank can be further behind. A late one is not taken up again."""
    news = News(NODES, RAILS)
    starts = [Start(number, Signature(1, 1, 1, 1, 1), (0,) * 4) for number in range(1, 6)]
    for start in starts:
        assert news.add_start(start)
    assert sorted(news.starts) == [4, 5]
    assert news.latest_start == 5
    assert KEPT_STARTS == 2
    assert not news.add_start(starts[0])
    assert not news.add_start(starts[4])
    assert sorted(news.starts) == [4, 5]


def test_a_start_once_known_does_not_change():
    """The leader's word stands: a second START of the same number is ignored."""
    news = News(NODES, RAILS)
    first = Start(1, Signature(1, 10, 1, 1, 1), (0,) * 4)
    assert news.add_start(first)
    assert not news.add_start(first._replace(versions=(1,) * 4))
    assert news.starts[1] == first


@given(st.lists(ERRORS, min_size=1, max_size=4), st.randoms())
def test_all_ranks_report_the_same_error(errors, draw):
    """When several ranks give up at once, everyone ends up with the same error, whatever arrives first."""
    ends = []
    for _ in range(2):
        draw.shuffle(errors)
        ranks = [News(NODES, RAILS) for _ in errors]
        for rank, error in zip(ranks, errors, strict=True):
            rank.add_error(error)
        for _ in range(2):
            for rank in ranks:
                for other in ranks:
                    spread(rank, other)
        assert len({rank.error for rank in ranks}) == 1
        ends.append(ranks[0].error)
    assert ends[0] == ends[1]


@pytest.mark.parametrize("text", ["x" * 5000, "ä" * 700, "x" + "ä" * 700, "€" * 1000])
def test_long_messages_are_cut_alike_everywhere(text):
    """A message too long for the wire is cut where it is written, so that all ranks show the same."""
    news, other = News(NODES, RAILS), News(NODES, RAILS)
    news.add_error(ErrorFact(ErrorKind.ISOLATED, text))
    spread(news, other)
    assert news.error == other.error
    assert other.error is not None
    assert text.startswith(other.error.text)
    assert MAX_ERROR_TEXT - 4 < len(other.error.text.encode()) <= MAX_ERROR_TEXT


def test_closing_only_advances():
    """A rank that is done cannot be open again."""
    news = News(NODES, RAILS)
    assert news.add_closing(2, Closing.ALL_DONE)
    assert not news.add_closing(2, Closing.DONE)
    assert not news.add_closing(2, Closing.ALL_DONE)
    assert news.closing == [Closing.OPEN, Closing.OPEN, Closing.ALL_DONE, Closing.OPEN]


def test_packing_follows_every_change():
    """What is sent is never out of date: each kind of fact shows in the next message."""
    news = News(NODES, RAILS)
    messages = {news.pack()}
    news.add_health([1, 0, 0, 0])
    messages.add(news.pack())
    news.add_start(Start(1, Signature(1, 1, 1, 1, 1), (1, 0, 0, 0)))
    messages.add(news.pack())
    news.add_closing(0, Closing.DONE)
    messages.add(news.pack())
    news.add_error(ErrorFact(ErrorKind.FAIL_STOP, "why"))
    messages.add(news.pack())
    assert len(messages) == 5
