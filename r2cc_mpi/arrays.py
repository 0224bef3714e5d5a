"""What a call may be given: contiguous NumPy arrays of a known type; the rest is refused with a reason."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from r2cc_mpi.errors import UsageError
from r2cc_mpi.strategy import dtype_code

Array = npt.NDArray[Any]


class Arrays(NamedTuple):
    """A call's arrays, flat views of the user's memory."""

    send: Array
    receive: Array


def check_arrays(send: object, receive: object, in_place: object) -> Arrays:
    """Check the arrays of a reduction.

    Args:
        send: The user's array, or ``in_place``.
        receive: The user's array for the result.
        in_place: MPI's IN_PLACE.

    Raises:
        UsageError: Naming the argument and what is wrong with it.
    """
    receive_flat = _flat(receive, "recvbuf")
    if not receive_flat.flags.writeable:
        raise UsageError("recvbuf is read-only; pass an array that may be written")
    if send is in_place:
        return Arrays(receive_flat, receive_flat)
    send_flat = _flat(send, "sendbuf")
    if send_flat.dtype != receive_flat.dtype or len(send_flat) != len(receive_flat):
        raise UsageError(
            f"sendbuf has {len(send_flat)} elements of {send_flat.dtype}, recvbuf {len(receive_flat)} of "
            f"{receive_flat.dtype}; both must be alike"
        )
    if np.may_share_memory(send_flat, receive_flat) and len(send_flat):
        raise UsageError("sendbuf and recvbuf overlap; pass MPI.IN_PLACE as sendbuf to reduce in place")
    return Arrays(send_flat, receive_flat)


def _flat(array: object, name: str) -> Array:
    if not isinstance(array, np.ndarray):
        raise UsageError(f"{name} is a {type(array).__name__}; pass a NumPy array")
    if isinstance(array, np.ma.MaskedArray):
        raise UsageError(f"{name} is a masked array; pass its .data or .filled()")
    if not array.flags.c_contiguous:
        raise UsageError(f"{name} is not contiguous; pass numpy.ascontiguousarray({name})")
    if not array.dtype.isnative:
        raise UsageError(
            f"{name} is in foreign byte order; convert it with {name}.astype({name}.dtype.newbyteorder('='))"
        )
    dtype_code(array.dtype)
    return array.view(np.ndarray).reshape(-1)  # a matrix would stay two-dimensional
