"""Errors to plant where data is moved: buffers, channels, HotRepair, executor."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from r2cc_mpi.executor import Executor
from r2cc_mpi.protocol.buffers import BufferPool
from r2cc_mpi.protocol.channel import ReceiveChannel, SendChannel
from r2cc_mpi.protocol.header import Kind
from r2cc_mpi.protocol.hot_repair import HotRepair
from r2cc_mpi.protocol.network import Network


def pending_buffers_are_reused(patch: pytest.MonkeyPatch):
    """A buffer is given out again although a send still reads it."""
    patch.setattr(BufferPool, "give_back", lambda self, buffer: self._free.append(buffer))


def rewind_skips_a_chunk(patch: pytest.MonkeyPatch):
    """A rewind leaves out the first chunk that has not landed."""
    rewind = SendChannel.rewind

    def skip(self):
        before = self.sent
        again = rewind(self)
        self.sent = min(before, self.landed + 1)
        return again

    patch.setattr(SendChannel, "rewind", skip)


def duplicates_are_accepted(patch: pytest.MonkeyPatch):
    """A chunk that has landed lands again."""
    arrive = ReceiveChannel.arrive

    def accept(self, header, buffer):
        return arrive(self, header._replace(sequence=max(header.sequence, self.expected)), buffer)

    patch.setattr(ReceiveChannel, "arrive", accept)


def gaps_are_accepted(patch: pytest.MonkeyPatch):
    """A chunk lands although an earlier one is missing."""
    arrive = ReceiveChannel.arrive

    def accept(self, header, buffer):
        return arrive(self, header._replace(sequence=min(header.sequence, self.expected)), buffer)

    patch.setattr(ReceiveChannel, "arrive", accept)


def the_window_is_ignored(patch: pytest.MonkeyPatch):
    """Chunks are captured without credit."""
    patch.setattr(SendChannel, "has_room", True)


def chunks_are_acknowledged_before_they_land(patch: pytest.MonkeyPatch):
    """The acknowledgement of a chunk says that it landed although it was dropped."""
    reply = Network.reply

    def early(self, request, answer, body=b""):
        if answer.kind is Kind.ACK and request.kind is Kind.DATA:
            answer = answer._replace(landed=max(answer.landed, request.sequence + 1))
        reply(self, request, answer, body)

    patch.setattr(Network, "reply", early)


def chunks_are_consumed_when_they_land(patch: pytest.MonkeyPatch):
    """Credit is returned before the executor has applied a chunk."""
    reply = Network.reply

    def early(self, request, answer, body=b""):
        reply(self, request, answer._replace(consumed=answer.landed), body)

    patch.setattr(Network, "reply", early)


def refused_chunks_count_as_sent(patch: pytest.MonkeyPatch):
    """A chunk for which the neighbour rank has no room is forgotten."""
    send = Network.send

    def forget(self, message):
        send(self, message)
        return True

    patch.setattr(Network, "send", forget)


def pings_are_not_answered(patch: pytest.MonkeyPatch):
    """The receiver of a stalled channel keeps silent."""
    patch.setattr(ReceiveChannel, "ping", lambda _self, _header: None)


def hot_repair_does_not_rewind(patch: pytest.MonkeyPatch):
    """A channel changes its route and goes on as if nothing were lost."""
    migrate = HotRepair._migrate

    def keep(self, channel, nic, now):
        sent, generation = channel.sent, channel.generation
        migrate(self, channel, nic, now)
        channel.sent, channel.generation = sent, generation

    patch.setattr(HotRepair, "_migrate", keep)


def hot_repair_keeps_the_route(patch: pytest.MonkeyPatch):
    """A channel stays on a route that lost a NIC."""
    patch.setattr(HotRepair, "repair", lambda _self, _changes, _now: None)


def hot_repair_counts_too_much(patch: pytest.MonkeyPatch):
    """A repair sends more than a window again, or says so."""
    rewind = SendChannel.rewind
    patch.setattr(SendChannel, "rewind", lambda self: rewind(self) + self.window + 1)


def hazards_are_ignored(patch: pytest.MonkeyPatch):
    """A chunk is captured or applied before what it depends on."""
    ready = Executor._ready

    def eager(self, operation):
        return ready(self, replace(operation, waits_for=()))

    patch.setattr(Executor, "_ready", eager)


def contributions_are_not_awaited(patch: pytest.MonkeyPatch):
    """A chunk is captured before the node's ranks have added their parts."""
    patch.setattr(Executor, "_is_contributed", lambda _self, _operation: True)


def the_buffer_is_overwritten_too_early(patch: pytest.MonkeyPatch):
    """A rank begins to contribute before the others have copied the last result out."""
    contribute = Executor._contribute

    def eager(self):
        memory = self._memory
        copied = [self._call.number]
        self._memory = SimpleNamespace(contributed=memory.contributed, copied=copied, fence=memory.fence)
        try:
            return contribute(self)
        finally:
            self._memory = memory

    patch.setattr(Executor, "_contribute", eager)


def the_result_is_written_too_early(patch: pytest.MonkeyPatch):
    """The user's array is written before the collective is certain to complete."""
    finish = Executor._finish

    def early(self, now):
        self._call.receive[:] = self._data
        return finish(self, now)

    patch.setattr(Executor, "_finish", early)
