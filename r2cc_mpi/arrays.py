"""What a call may be given: buffers of a known element type that fit together; the rest is refused."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from r2cc_mpi.buffer_specs import Array, MpiNames, flat_array
from r2cc_mpi.errors import UsageError
from r2cc_mpi.strategy import dtype_code


class Arrays(NamedTuple):
    """A call's arrays, flat views of the user's memory."""

    send: Array
    receive: Array

    def at_least_one(self) -> Arrays:
        """Give one element to empty arrays: nothing to add up, but everyone must have called it."""
        if len(self.send):
            return self
        nothing = np.zeros(1, self.send.dtype)
        return Arrays(nothing, nothing)


def check_arrays(send: object, receive: object, mpi: MpiNames) -> Arrays:
    """Check the buffers of a reduction.

    Args:
        send: The user's buffer specification, or MPI's IN_PLACE.
        receive: The user's buffer specification for the result.
        mpi: MPI's names.

    Raises:
        UsageError: Naming the argument and what is wrong with it.
    """
    receive_flat = flat_array(receive, "recvbuf", mpi)
    dtype_code(receive_flat.dtype)
    if not receive_flat.flags.writeable:
        raise UsageError("recvbuf is read-only; pass an array that may be written")
    if send is mpi.IN_PLACE:
        return Arrays(receive_flat, receive_flat)
    send_flat = flat_array(send, "sendbuf", mpi)
    dtype_code(send_flat.dtype)
    if send_flat.dtype != receive_flat.dtype or len(send_flat) != len(receive_flat):
        raise UsageError(
            f"sendbuf has {len(send_flat)} elements of {send_flat.dtype}, recvbuf {len(receive_flat)} of "
            f"{receive_flat.dtype}; both must be alike"
        )
    if np.may_share_memory(send_flat, receive_flat) and len(send_flat):
        raise UsageError("sendbuf and recvbuf overlap; pass MPI.IN_PLACE as sendbuf to reduce in place")
    return Arrays(send_flat, receive_flat)
