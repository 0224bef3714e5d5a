"""When a rank may stop serving.

A rank is *done* when it has called close and all its chunks are consumed. It must go on serving until every
rank is done, since it may be the relay that a late repair needs; and until every rank *knows* that, since it
may be the one who tells. A rank that knows everyone to be done tells so as well (ALL_DONE) and leaves once
all have told. If some never tell, their words may have been lost with a NIC: it leaves once nobody has asked
for the isolation timeout, when any rank that still waits has given up by itself.
"""

from __future__ import annotations

from r2cc_mpi.protocol.news import Closing, News


class Close:
    """One rank's way out.

    Args:
        rank: Number of this rank.
        news: Where the ranks' progress in closing is kept.
        linger_s: Seconds to wait for the last ALL_DONE since anybody asked: the isolation timeout.
    """

    def __init__(self, rank: int, news: News, linger_s: float) -> None:
        self._rank, self._news, self._linger_s = rank, news, linger_s
        self._asked = False
        self._heard_at = float("-inf")

    def ask(self) -> None:
        """Note that this rank wants to leave."""
        self._asked = True

    def heard(self, now: float) -> None:
        """Note that some rank still asks (HELLO)."""
        self._heard_at = now

    def tick(self, now: float, *, consumed: bool) -> bool:
        """Note progress; say whether there is news to flood.

        Args:
            now: The time.
            consumed: Whether all chunks this rank captured are consumed.
        """
        if not self._asked:
            return False
        before = self._news.closing[self._rank]
        if before is Closing.OPEN and consumed:
            self._heard_at = max(self._heard_at, now)
            self._news.add_closing(self._rank, Closing.DONE)
        if self._news.closing[self._rank] >= Closing.DONE and min(self._news.closing) >= Closing.DONE:
            if self._news.closing[self._rank] is Closing.DONE:
                self._heard_at = now
            self._news.add_closing(self._rank, Closing.ALL_DONE)
        return self._news.closing[self._rank] is not before

    @property
    def needs_nobody(self) -> bool:
        """Whether this rank stays for the others' sake alone. It must not ask then: that would keep them."""
        return self._news.closing[self._rank] is Closing.ALL_DONE

    def may_leave(self, now: float) -> bool:
        """Say whether this rank may stop serving."""
        if min(self._news.closing) is Closing.ALL_DONE:
            return True
        return self.needs_nobody and now > self._heard_at + self._linger_s
