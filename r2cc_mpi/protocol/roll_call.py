"""Who has finished a collective: asked of all ranks when one of them finds that it takes too long.

A rank answers the moment it hears of the question, from a collective, from another one or from between them.
Whoever does not answer is stopped or cut off. Like all news, question and answers only ever grow, so they may
be merged in any order, and twice.
"""

from __future__ import annotations

import struct

_NUMBER = "Q"


class RollCall:
    """The latest question and the answers to it, as far as one rank knows them.

    Args:
        ranks: Number of ranks.

    Attributes:
        asked: The collective that was asked about last; 0 if none was.
    """

    def __init__(self, ranks: int) -> None:
        self.asked = 0
        # Twice the collective that was asked about, plus one for "finished", so that answers only ever grow.
        self._answers = [0] * ranks

    @staticmethod
    def packed_bytes(ranks: int) -> int:
        """Bytes that :meth:`pack` returns for so many ranks."""
        return struct.calcsize(f"<{ranks + 1}{_NUMBER}")

    def ask(self, collective: int) -> bool:
        """Ask about a collective; say whether that is a new question."""
        is_new = collective > self.asked
        self.asked = max(self.asked, collective)
        return is_new

    def answer(self, rank: int, finished: int) -> bool:
        """Note a rank's answer; say whether it is new.

        Args:
            rank: The rank.
            finished: The last collective that it has done its part of.
        """
        before = self._answers[rank]
        if self.asked:
            self._answers[rank] = max(before, 2 * self.asked + (finished >= self.asked))
        return self._answers[rank] > before

    def behind(self) -> list[int]:
        """List the ranks that said that they have not finished."""
        return [rank for rank, answer in enumerate(self._answers) if answer == 2 * self.asked]

    def silent(self) -> list[int]:
        """List the ranks that have not answered."""
        return [rank for rank, answer in enumerate(self._answers) if answer < 2 * self.asked]

    def pack(self) -> bytes:
        """Write question and answers as bytes."""
        return struct.pack(f"<{len(self._answers) + 1}{_NUMBER}", self.asked, *self._answers)

    def merge(self, packed: bytes) -> bool:
        """Take over what another rank knows; say whether anything was new."""
        asked, *answers = struct.unpack(f"<{len(self._answers) + 1}{_NUMBER}", packed)
        before = self.asked, self._answers
        self.asked = max(self.asked, asked)
        self._answers = [max(both) for both in zip(self._answers, answers, strict=True)]
        return (self.asked, self._answers) != before
