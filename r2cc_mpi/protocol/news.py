"""News: the few facts that every rank must learn, kept so that they only ever grow.

*Bilateral awareness* (paper 1, section on failure detection: whichever endpoint sees an error tells its peer
at once) is done by flooding: a rank whose facts change passes on all it knows over every live rail and to its
node's other ranks, then applies the change. Because all facts grow by a merge that is commutative and
idempotent, it does not matter which message arrives first, or twice; and because each message carries all
facts, one that got lost is made up by the next.

The facts are: every NIC's health version, the two latest STARTs (no rank can be further behind), every rank's
progress in closing, the first error, and who has finished the collective that was last asked about.
"""

from __future__ import annotations

import enum
import struct
from typing import NamedTuple

from r2cc_mpi.protocol.health import Change, HealthTable
from r2cc_mpi.protocol.roll_call import RollCall

KEPT_STARTS = 2


class Signature(NamedTuple):
    """What a collective call asks for; every rank must ask for the same.

    Attributes:
        collective: Code of the collective.
        elements: Elements of one rank's array.
        dtype: Code of the element type.
        op: Code of the reduction.
        strategy: Code of the strategy.
        plan: Number of the collective in which the plan was agreed, if this call replays it or asks for
            another instead; 0: the plan is this call's own.
        pieces: K, where a call asks for one by itself; 0: it does not.
        form: Code of the strategy's form, where a call asks for one by itself; 0: it does not.
    """

    collective: int
    elements: int
    dtype: int
    op: int
    strategy: int
    plan: int = 0
    pieces: int = 0
    form: int = 0


class Start(NamedTuple):
    """The leader's word that a collective begins, and under which health vector it is planned.

    Attributes:
        number: Number of the collective, from 1.
        signature: What the leader's call asks for.
        versions: Health versions of all NICs, agreed for the plan.
    """

    number: int
    signature: Signature
    versions: tuple[int, ...]


class Closing(enum.IntEnum):
    """How far a rank is in closing its communicator."""

    OPEN = 0
    DONE = 1  # all its chunks are consumed
    ALL_DONE = 2  # it knows that every rank is done


class ErrorKind(enum.IntEnum):
    """Why a collective was given up."""

    ISOLATED = 1
    FAIL_STOP = 2
    MISMATCH = 3
    MACHINE = 4
    TIME_LIMIT = 5


class ErrorFact(NamedTuple):
    """The first error of a job, as every rank is to report it."""

    kind: ErrorKind
    text: str


_ENTRY = struct.Struct("<IBQBBBIHB")
_ERROR = struct.Struct("<BH")
MAX_ERROR_TEXT = 1024


class Learned(NamedTuple):
    """What a merge taught.

    Attributes:
        anything: Whether anything at all was new.
        changes: The health changes among it.
        only_starts: Whether nothing but STARTs was new.
    """

    anything: bool
    changes: list[Change]
    only_starts: bool = False


class News:
    """All facts that one rank knows.

    Args:
        nodes: Number of nodes.
        rails: Rails per node.

    Attributes:
        version: Grows with every change; who sees the same number again has nothing new to read.
    """

    def __init__(self, nodes: int, rails: int) -> None:
        self.health = HealthTable(nodes, rails)
        self.starts: dict[int, Start] = {}
        self.closing = [Closing.OPEN] * (nodes * rails)
        self.error: ErrorFact | None = None
        self.roll_call = RollCall(nodes * rails)
        self.version = 0
        self._packed: bytes | None = None
        self._merged = b""

    def _changed(self) -> None:
        self.version += 1
        self._packed = None

    @property
    def latest_start(self) -> int:
        """Number of the latest collective that has begun anywhere; 0 before the first."""
        return max(self.starts, default=0)

    def add_start(self, start: Start) -> bool:
        """Keep a START; say whether it is new."""
        if start.number in self.starts or start.number <= self.latest_start - KEPT_STARTS:
            return False
        self.starts[start.number] = start
        for number in [n for n in self.starts if n <= self.latest_start - KEPT_STARTS]:
            del self.starts[number]
        self._changed()
        return True

    def add_health(self, versions: list[int]) -> list[Change]:
        """Merge health versions; return what changed."""
        changes = self.health.merge(versions)
        if changes:
            self._changed()
        return changes

    def add_closing(self, rank: int, closing: Closing) -> bool:
        """Note a rank's progress in closing; say whether it is new."""
        if closing <= self.closing[rank]:
            return False
        self.closing[rank] = closing
        self._changed()
        return True

    def add_error(self, error: ErrorFact) -> bool:
        """Keep the job's first error; say whether it is new.

        Two ranks may give up at the same moment; the smaller (kind, text) wins on every rank.
        """
        # Cut here and not on the wire, so that all ranks show and compare the same text.
        error = error._replace(text=error.text.encode()[:MAX_ERROR_TEXT].decode(errors="ignore"))
        if self.error is not None and self.error <= error:
            return False
        self.error = error
        self._changed()
        return True

    def ask(self, collective: int) -> bool:
        """Ask who has finished a collective; say whether that is a new question."""
        if not self.roll_call.ask(collective):
            return False
        self._changed()
        return True

    def add_answer(self, rank: int, finished: int) -> bool:
        """Note the last collective that a rank has finished, if somebody asked; say whether it is new."""
        if not self.roll_call.answer(rank, finished):
            return False
        self._changed()
        return True

    def pack(self) -> bytes:
        """Write all facts as bytes."""
        if self._packed is None:
            slots = len(self.closing)
            vector = struct.Struct(f"<{slots}I")
            parts = [vector.pack(*self.health.versions), bytes(self.closing), bytes([len(self.starts)])]
            for start in self.starts.values():
                parts += [_ENTRY.pack(start.number, *start.signature), vector.pack(*start.versions)]
            text = self.error.text.encode() if self.error else b""
            parts += [_ERROR.pack(self.error.kind if self.error else 0, len(text)), text]
            parts.append(self.roll_call.pack())
            self._packed = b"".join(parts)
        return self._packed

    @staticmethod
    def capacity(nodes: int, rails: int) -> int:
        """Most bytes that :meth:`pack` can return for a layout."""
        slots = nodes * rails
        starts = 1 + KEPT_STARTS * (_ENTRY.size + slots * 4)
        return slots * 5 + starts + _ERROR.size + MAX_ERROR_TEXT + RollCall.packed_bytes(slots)

    def merge(self, packed: bytes) -> Learned:
        """Take over all facts from another rank's bytes.

        Returns:
            What was new. When anything was, the caller floods.
        """
        if packed == self._packed:
            return Learned(anything=False, changes=[])
        slots = len(self.closing)
        vector = struct.Struct(f"<{slots}I")
        changes: list[Change] = []
        new = False
        offset = vector.size + slots
        if packed[:offset] != self._merged[:offset]:  # most news are STARTs
            changes = self.add_health(list(vector.unpack_from(packed)))
            new = bool(changes)
            for rank, closing in enumerate(packed[vector.size : offset]):
                new |= self.add_closing(rank, Closing(closing))
        starts = packed[offset]
        offset += 1
        new_start = False
        for _ in range(starts):
            number, *signature = _ENTRY.unpack_from(packed, offset)
            versions = vector.unpack_from(packed, offset + _ENTRY.size)
            new_start |= self.add_start(Start(number, Signature(*signature), versions))
            offset += _ENTRY.size + vector.size
        kind, length = _ERROR.unpack_from(packed, offset)
        if kind:
            text = packed[offset + _ERROR.size : offset + _ERROR.size + length].decode(errors="replace")
            new |= self.add_error(ErrorFact(ErrorKind(kind), text))
        offset += _ERROR.size + length
        self._merged = packed
        if self.roll_call.merge(packed[offset : offset + RollCall.packed_bytes(slots)]):
            new = True
            self._changed()
        return Learned(new or new_start, changes, only_starts=new_start and not new)
