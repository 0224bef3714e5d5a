"""One rail over MPI: a communicator of its own, with the owner of this rail on every node as its members.

Receives are pools of ANY_SOURCE buffers that are posted again at once; what a message means is up to its
header. All posted receives are tested, not only the oldest: one that has matched a message whose rail died
half-way stays incomplete, and later ones complete before it. Nothing here ever blocks inside MPI.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from r2cc_mpi.protocol.buffers import Buffer, BufferPool
from r2cc_mpi.protocol.header import HEADER_BYTES, pack, unpack
from r2cc_mpi.protocol.network import Message

if TYPE_CHECKING:
    from mpi4py import MPI

LEAST_TAGS = 32767
"""Every MPI has so many."""
SPARE_CHUNKS = 4
MOST_POSTED_CHUNKS = 64
POSTED_CONTROLS = 16
CANCEL_ATTEMPTS = 100
CANCEL_PAUSE_S = 1e-3

Completion = Callable[[], None]


class Arrival(NamedTuple):
    """A message that arrived, and the node that sent it over this rail."""

    node: int
    message: Message


class MpiRail:
    """One rank's end of its rail.

    Args:
        comm: The rail's communicator; ranks are node numbers. It is duplicated by the caller, for this use
            alone.
        pool: Buffers for chunks that arrive.
        window: Chunks that each peer may have under way.
        body_bytes: Most bytes of a control message's body.
        serial: A number that earlier communicators had not: MPI gives a new one the identity of one that was
            freed, and with it the messages that were still under way there.
    """

    def __init__(self, comm: MPI.Comm, pool: BufferPool, body_bytes: int, window: int, serial: int) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._comm, self._pool, self._body_bytes = comm, pool, body_bytes
        tags = int(MPI.COMM_WORLD.Get_attr(MPI.TAG_UB) or LEAST_TAGS)
        self._data_tag = 2 * (serial % (tags // 2))
        self._control_tag = self._data_tag + 1
        self._sends: list[MPI.Request] = []
        self._targets: list[int] = []
        self._completions: list[Completion | None] = []
        self._receives: list[MPI.Request] = []
        self._buffers: list[Buffer | None] = []
        self._controls: list[np.ndarray[tuple[int], np.dtype[np.uint8]]] = []
        # Open MPI holds a posted receive for every large message that is pending, also one from a dead link:
        # with fewer receives than peers have chunks under way, a dead peer starves the live ones (measured).
        chunks = min((comm.size - 1) * window + SPARE_CHUNKS, MOST_POSTED_CHUNKS)
        self._posted = 0
        self._posted_as: list[int] = []
        self._statuses = [MPI.Status() for _ in range(chunks + POSTED_CONTROLS)]
        if comm.size > 1:
            for _ in range(chunks):
                self._post_chunk(None)
            for _ in range(POSTED_CONTROLS):
                self._post_control(None)

    def is_sending_to(self, nodes: Collection[int]) -> bool:
        """Say whether MPI has not completed all sends to these nodes."""
        return any(target in nodes for target in self._targets)

    def send(self, node: int, message: Message, stamp: int, completion: Completion | None = None) -> None:
        """Start to send.

        Args:
            node: The receiving node.
            message: The message; a chunk's buffer must not change until the completion.
            stamp: 32 bits for the receiver's rail, behind the header.
            completion: Called once MPI no longer needs the buffer.
        """
        header = pack(message.header)[: HEADER_BYTES - 4] + stamp.to_bytes(4, "little")
        if message.buffer is not None:
            message.buffer.raw[:HEADER_BYTES] = np.frombuffer(header, np.uint8)
            raw = message.buffer.raw[: HEADER_BYTES + message.header.length]
            request = self._comm.Isend([raw, self._mpi.BYTE], node, self._data_tag)
        else:
            # MPI reads the bytes in place; the request keeps them alive.
            request = self._comm.Isend([header + message.body, self._mpi.BYTE], node, self._control_tag)
        self._sends.append(request)
        self._targets.append(node)
        self._completions.append(completion)

    def poll(self) -> list[tuple[Arrival, int]]:
        """Complete what MPI has completed.

        Returns:
            Messages that arrived, in order per sender and kind, with their stamps.
        """
        self._complete_sends()
        arrived: list[tuple[Arrival, int]] = []
        while self._receives:
            indices = self._mpi.Request.Testsome(self._receives, self._statuses)
            if not indices:
                break
            # Messages of a peer match receives in the order of posting, but Testsome lists them in any order.
            order = sorted((self._posted_as[index], place) for place, index in enumerate(indices))
            arrived += [self._take(indices[place], self._statuses[place].Get_source()) for _, place in order]
        return arrived

    def _take(self, index: int, node: int) -> tuple[Arrival, int]:
        buffer = self._buffers[index]
        raw = self._controls[index] if buffer is None else buffer.raw
        front = raw[:HEADER_BYTES].tobytes()
        header = unpack(front)
        stamp = int.from_bytes(front[HEADER_BYTES - 4 :], "little")
        if buffer is None:
            body = raw[HEADER_BYTES : HEADER_BYTES + header.length].tobytes()
            self._post_control(index)
            return Arrival(node, Message(header, body)), stamp
        self._post_chunk(index)
        return Arrival(node, Message(header, buffer=buffer)), stamp

    def _post_chunk(self, index: int | None) -> None:
        buffer = self._pool.take()
        request = self._comm.Irecv([buffer.raw, self._mpi.BYTE], self._mpi.ANY_SOURCE, self._data_tag)
        self._keep(index, request, buffer, buffer.raw)

    def _post_control(self, index: int | None) -> None:
        raw = (
            self._controls[index]
            if index is not None
            else np.empty(HEADER_BYTES + self._body_bytes, np.uint8)
        )
        request = self._comm.Irecv([raw, self._mpi.BYTE], self._mpi.ANY_SOURCE, self._control_tag)
        self._keep(index, request, None, raw)

    def _keep(
        self,
        index: int | None,
        request: MPI.Request,
        buffer: Buffer | None,
        raw: np.ndarray[tuple[int], np.dtype[np.uint8]],
    ) -> None:
        self._posted += 1
        if index is None:
            self._posted_as.append(self._posted)
            self._receives.append(request)
            self._buffers.append(buffer)
            self._controls.append(raw)
        else:
            self._posted_as[index] = self._posted
            self._receives[index], self._buffers[index], self._controls[index] = request, buffer, raw

    def _complete_sends(self) -> None:
        if not self._sends:
            return
        indices = self._mpi.Request.Testsome(self._sends)
        if not indices:
            return
        for index in indices:
            completion = self._completions[index]
            if completion is not None:
                completion()
        if len(indices) == len(self._sends):
            self._sends, self._targets, self._completions = [], [], []
            return
        gone = set(indices)
        self._sends = [request for i, request in enumerate(self._sends) if i not in gone]
        self._targets = [target for i, target in enumerate(self._targets) if i not in gone]
        self._completions = [completion for i, completion in enumerate(self._completions) if i not in gone]

    def give_back(self, buffer: Buffer) -> None:
        """Take back the buffer of a chunk that arrived and is not wanted."""
        self._pool.give_back(buffer)

    def leave(self, *, after_a_cut: bool) -> None:
        """Withdraw the posted receives, so that MPI has as little left to do as possible.

        Args:
            after_a_cut: Whether a link of this rail has been dead. A send that waited for it cannot be
                withdrawn; and libfabric goes on with a message that came half-way, also when MPICH says that
                its receive was cancelled. Should the link come back before MPI ends, their buffers are read
                and written, so they stay.
        """
        for request in self._receives:
            request.Cancel()
        for _ in range(CANCEL_ATTEMPTS):
            if self._mpi.Request.Testall(self._receives):
                break
            time.sleep(CANCEL_PAUSE_S)
        if after_a_cut:
            for left in [*self._receives, *self._controls, *self._sends]:
                _keep_for_ever(left)
        self._receives = []


def _keep_for_ever(left: object) -> None:
    """Never free a buffer, or a request with the buffer that it refers to.

    mpi4py ends MPI after Python has taken all modules apart, so that a reference in one of them would be gone
    by then.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(left))
