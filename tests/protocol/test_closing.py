from __future__ import annotations

from r2cc_mpi.protocol.closing import Close
from r2cc_mpi.protocol.news import Closing, News

ME, RANKS, LINGER_S = 1, 4, 1.0


def rank_that_asked() -> tuple[Close, News]:
    """Make a rank that wants to leave."""
    news = News(2, 2)
    close = Close(ME, news, LINGER_S)
    close.ask()
    return close, news


def others_are(news: News, closing: Closing) -> None:
    """Let the rank hear how far all others are."""
    for rank in range(RANKS):
        if rank != ME:
            news.add_closing(rank, closing)


def test_rank_that_has_not_asked_never_leaves():
    """A rank whose program has not called close serves on, even if all others are done."""
    news = News(2, 2)
    close = Close(ME, news, LINGER_S)
    others_are(news, Closing.DONE)
    assert not close.tick(0.0, consumed=True)
    assert not close.may_leave(100.0)
    assert news.closing[ME] is Closing.OPEN


def test_rank_is_done_when_its_chunks_are_consumed():
    """While a chunk is not consumed somebody may need this rank; then it is done, and tells so once."""
    close, news = rank_that_asked()
    assert not close.tick(0.0, consumed=False)
    assert close.tick(1.0, consumed=True)
    assert news.closing[ME] is Closing.DONE
    assert not close.tick(2.0, consumed=True)
    assert not close.may_leave(100.0)
    assert not close.needs_nobody


def test_rank_that_knows_all_to_be_done_tells_so():
    """Who knows everyone to be done says ALL_DONE, and needs nobody any more."""
    close, news = rank_that_asked()
    close.tick(0.0, consumed=True)
    others_are(news, Closing.DONE)
    assert close.tick(1.0, consumed=True)
    assert news.closing[ME] is Closing.ALL_DONE
    assert close.needs_nobody


def test_rank_leaves_at_once_when_all_know():
    """When everyone has said ALL_DONE nobody can need this rank."""
    close, news = rank_that_asked()
    close.tick(0.0, consumed=True)
    others_are(news, Closing.ALL_DONE)
    close.tick(0.1, consumed=True)
    assert close.may_leave(0.1)


def test_rank_lingers_for_those_that_still_ask():
    """As long as somebody asks, the rank stays to answer; once it was quiet for a while, it leaves."""
    close, news = rank_that_asked()
    close.tick(0.0, consumed=True)
    others_are(news, Closing.DONE)
    close.tick(1.0, consumed=True)
    assert not close.may_leave(2.0)
    close.heard(1.9)
    assert not close.may_leave(2.8)
    assert close.may_leave(3.0)


def test_asking_is_no_reason_to_leave():
    """A rank that does not know everyone to be done stays however quiet it is."""
    close, news = rank_that_asked()
    close.tick(0.0, consumed=True)
    news.add_closing(0, Closing.ALL_DONE)
    news.add_closing(2, Closing.DONE)
    close.tick(50.0, consumed=True)
    assert not close.may_leave(100.0)
