"""The collectives of a communicator, with mpi4py's names and conventions."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from r2cc_mpi.arrays import Arrays, check_arrays
from r2cc_mpi.caller import Caller
from r2cc_mpi.endpoint import Endpoint
from r2cc_mpi.errors import UsageError
from r2cc_mpi.inspection import Inspection
from r2cc_mpi.pending_call import UNKNOWN, Arguments
from r2cc_mpi.persistent import PersistentRequest
from r2cc_mpi.protocol.news import Signature
from r2cc_mpi.reduction import Reduction, reduction_of
from r2cc_mpi.request import Request
from r2cc_mpi.strategy import Collective, Strategy, dtype_code

if TYPE_CHECKING:
    from mpi4py import MPI


class Collectives(Inspection):
    """The part of :class:`r2cc_mpi.Communicator` that makes calls.

    Args:
        endpoint: What the rank owns.
        caller: Its calls.
        mpi: The module ``mpi4py.MPI``, whose import starts MPI.
        contributes: Whether this rank brings data and takes results.
    """

    def __init__(self, endpoint: Endpoint, caller: Caller, mpi: ModuleType, *, contributes: bool) -> None:
        super().__init__(endpoint, caller)
        self._mpi, self._contributes = mpi, contributes

    def Allreduce(self, sendbuf: object, recvbuf: object, op: MPI.Op | Reduction | None = None) -> None:
        """Reduce arrays element by element over all ranks; every rank gets the result.

        Args:
            sendbuf: Contiguous array, or another buffer named as in mpi4py (:mod:`r2cc_mpi.buffer_specs`), of
                a type in :data:`r2cc_mpi.strategy.DTYPES`; or ``MPI.IN_PLACE``.
            recvbuf: The same for the result, of the same type and size; with IN_PLACE also the input.
            op: ``MPI.SUM``, which is the default, ``PROD``, ``MIN`` or ``MAX``, or one of
                :class:`r2cc_mpi.reduction.Reduction`, which also has the mean, ``AVG``, for floats.

        Raises:
            UsageError: An argument is unsuitable; nothing has been sent.
            SignatureMismatchError: Another rank called with another count, type or strategy, or another
                collective.
            IncompleteCollectiveError: The collective could not complete; the arrays are as they were before.
        """
        self._check_open()
        self._caller.run(self._allreduce(sendbuf, recvbuf, op))

    def Iallreduce(self, sendbuf: object, recvbuf: object, op: MPI.Op | Reduction | None = None) -> Request:
        """Start :meth:`Allreduce` and return at once; the arguments are the same.

        Several may be outstanding. They run one after the other in the order of the calls, which must be the
        same on every rank, also with respect to the calls that wait. The service thread drives them, and
        :meth:`Request.Wait` and :meth:`Request.Test` do; work that holds Python's interpreter lock meanwhile
        slows them down. Errors come out of those two. :meth:`close` completes what is outstanding.

        Returns:
            Through which to wait for the result; the arrays must not be touched until then.

        Raises:
            UsageError: An argument is unsuitable; nothing has been sent.
        """
        self._check_open()
        return Request(self._caller, self._caller.start(self._allreduce(sendbuf, recvbuf, op)))

    def Allreduce_init(
        self, sendbuf: object, recvbuf: object, op: MPI.Op | Reduction | None = None
    ) -> PersistentRequest:
        """Make a persistent :meth:`Allreduce`, whose plan is made once, here; collective.

        The arguments are the same. Nothing is reduced before :meth:`PersistentRequest.Start`, which takes the
        arrays as they are then. The plan is for the NICs that all ranks agree on here to be up.

        Returns:
            Through which to start the collective, any number of times, and to wait for it.

        Raises:
            UsageError: An argument is unsuitable; nothing has been sent.
            SignatureMismatchError: Another rank called with another count, type or operation, or another
                collective.
            IncompleteCollectiveError: Some rank cannot be reached any more.
        """
        self._check_open()
        return PersistentRequest(self._endpoint, self._caller, self._allreduce(sendbuf, recvbuf, op))

    def Barrier(self) -> None:
        """Wait until every rank has called it. MPI's own would touch dead rails.

        Raises:
            IncompleteCollectiveError: Some rank cannot be reached any more.
        """
        self._check_open()
        token = np.zeros(1, np.int64)
        arrays = Arrays(token, token)
        self._caller.run(Arguments(_signature(Collective.BARRIER, 1, arrays, Reduction.SUM), arrays))

    def add_up(self, array: npt.NDArray[Any]) -> None:
        """Add up an array in place over all ranks, also those that bring no data otherwise; collective."""
        self._check_open()
        arrays = check_arrays(self._mpi.IN_PLACE, array, self._mpi)
        signature = _signature(Collective.ALLREDUCE, len(array), arrays, Reduction.SUM)
        self._caller.run(Arguments(signature, arrays, everyone=True))

    def settle(self) -> None:
        """Wait until the receivers have applied every chunk of every rank; collective.

        A collective returns when its result is there; its last chunks may still be on their way to others,
        and are then missing from :attr:`counters`.

        Raises:
            IncompleteCollectiveError: Some rank cannot be reached any more.
        """
        self._check_open()
        self._caller.settle()
        self.Barrier()

    def _check_open(self) -> None:
        self._endpoint.check_open()

    def _allreduce(self, send: object, receive: object, op: object) -> Arguments:
        """Check a reduction's arguments; of empty arrays at least one element is reduced."""
        reduction = reduction_of(op, self._mpi)
        if not self._contributes:
            if send is not None or receive is not None:
                raise UsageError("this rank was created with contribute=False; call Allreduce(None, None)")
            return Arguments(_signature(Collective.ALLREDUCE, UNKNOWN, None, reduction), None)
        arrays = check_arrays(send, receive, self._mpi)
        reduction.check(arrays.send.dtype)
        signature = _signature(Collective.ALLREDUCE, len(arrays.send), arrays, reduction)
        return Arguments(signature, arrays.at_least_one())


def _signature(collective: Collective, count: int, arrays: Arrays | None, op: Reduction) -> Signature:
    """Say what a call asks for; the strategy is for its planner to add."""
    dtype = UNKNOWN if arrays is None else dtype_code(arrays.send.dtype)
    return Signature(collective, count, dtype, op, Strategy.AUTO)
