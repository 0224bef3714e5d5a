"""What mpi4py lets a user write for a buffer, read as a flat array over the user's own memory.

Either an object with a C-contiguous buffer (NumPy array, ``array.array``, ``memoryview``, ``bytearray``), or
a list or tuple that says how to look at one::

    [buf, count]   [buf, type]   [buf, count, type]   [buf, (count, displ), type]   [buf, count, displ, type]

``count`` and ``displ`` are in elements. ``type`` is a predefined MPI datatype or its letter ('d'); as in
mpi4py, the bytes of the buffer are then taken for elements of it, whatever the buffer held before.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from r2cc_mpi.errors import UsageError

Array = npt.NDArray[Any]
FORMS = "a NumPy array, or [buffer, count, type] around a contiguous buffer"


class MpiNames(Protocol):
    """What of ``mpi4py.MPI`` is needed here; a parameter, since importing that module starts MPI."""

    IN_PLACE: Any
    BOTTOM: Any
    Datatype: Any


class _Spec(NamedTuple):
    """A specification taken apart; None where the user left something out."""

    buffer: object
    number: object = None
    displ: object = None
    type: object = None


def flat_array(spec: object, name: str, mpi: MpiNames) -> Array:
    """Read a buffer specification.

    Args:
        spec: What the user passed.
        name: The argument's name, for messages.
        mpi: MPI's names.

    Returns:
        A flat view of the user's memory.

    Raises:
        UsageError: Naming the argument and what is wrong with it.
    """
    buffer, count, displ, kind = _take_apart(spec, name, mpi)
    flat = _flat(buffer, name)
    if kind is None and not flat.dtype.isnative:
        raise UsageError(
            f"{name} is in foreign byte order; convert it with {name}.astype({name}.dtype.newbyteorder('='))"
        )
    if kind is None and count is None and displ is None:
        return flat
    dtype = flat.dtype if kind is None else _dtype(kind, name, mpi)
    return _part(flat, name, dtype, count, displ)


def _take_apart(spec: object, name: str, mpi: MpiNames) -> _Spec:
    if not isinstance(spec, (list, tuple)):
        _check_address(spec, name, mpi)
        return _Spec(spec)
    if not spec or _is_plain(spec[0]):
        raise UsageError(f"{name} is a {type(spec).__name__}; pass {FORMS}")
    _check_address(spec[0], name, mpi)
    if len(spec) == 2:
        is_type = isinstance(spec[1], (str, mpi.Datatype))
        return _Spec(spec[0], type=spec[1]) if is_type else _Spec(spec[0], *_counts(spec[1], name))
    if len(spec) == 3:
        return _Spec(spec[0], *_counts(spec[1], name), spec[2])
    if len(spec) == 4:
        return _Spec(*spec)
    raise UsageError(
        f"{name} is a specification of {len(spec)} items; it has 2 to 4: [buffer, count, displ, type]"
    )


def _is_plain(item: object) -> bool:
    return item is None or isinstance(item, (int, float, complex, str, list, tuple))


def _check_address(buffer: object, name: str, mpi: MpiNames) -> None:
    if buffer is mpi.BOTTOM:
        raise UsageError(f"{name} is MPI.BOTTOM; absolute addresses are not supported, pass the array itself")
    if buffer is mpi.IN_PLACE:
        raise UsageError(f"{name} is MPI.IN_PLACE; it can only stand for sendbuf, and by itself")


def _counts(item: object, name: str) -> tuple[object, object]:
    if isinstance(item, Sequence) and not isinstance(item, str):
        if len(item) != 2:
            raise UsageError(f"{name} has a count of {len(item)} numbers; give count or (count, displ)")
        return item[0], item[1]
    return item, None


def _flat(buffer: object, name: str) -> Array:
    if hasattr(buffer, "__cuda_array_interface__"):
        raise UsageError(f"{name} is in GPU memory; this version takes host memory: cupy.asnumpy({name})")
    if isinstance(buffer, np.ma.MaskedArray):
        raise UsageError(f"{name} is a masked array; pass its .data or .filled()")
    if not isinstance(buffer, np.ndarray):
        try:
            memory = memoryview(buffer)  # type: ignore[arg-type]  # the question is whether it has a buffer
        except TypeError:
            raise UsageError(f"{name} is a {type(buffer).__name__}; pass {FORMS}") from None
        buffer = np.asarray(memory)
    if not buffer.flags.c_contiguous:
        raise UsageError(f"{name} is not contiguous; pass numpy.ascontiguousarray({name})")
    flat: Array = buffer.view(np.ndarray).reshape(-1)  # a matrix would stay two-dimensional
    return flat


def _dtype(kind: object, name: str, mpi: MpiNames) -> np.dtype[Any]:
    if isinstance(kind, mpi.Datatype):
        if not kind.is_predefined or not kind.typestr:
            raise UsageError(
                f"{name} has a derived datatype; pack the data and use a predefined one, say MPI.FLOAT"
            )
        dtype: np.dtype[Any] = np.dtype(kind.typestr)
        return dtype
    try:
        if isinstance(kind, str):
            return np.dtype(kind)
    except TypeError:
        pass
    raise UsageError(f"{name} has the type {kind!r}; use an MPI datatype, say MPI.FLOAT, or its letter")


def _part(flat: Array, name: str, dtype: np.dtype[Any], count: object, displ: object) -> Array:
    if flat.dtype.hasobject:
        raise UsageError(f"{name} holds Python objects; pass numbers")
    first = 0 if displ is None else _number(displ, f"the displacement of {name}")
    rest = flat.nbytes - first * dtype.itemsize
    if count is None and rest >= 0 and rest % dtype.itemsize:
        raise UsageError(f"{name} has {rest} bytes, no whole number of {dtype} elements; give a count")
    number = rest // dtype.itemsize if count is None else _number(count, f"the count of {name}")
    if rest < 0 or number * dtype.itemsize > rest:
        raise UsageError(
            f"{name} has {flat.nbytes} bytes, too few for {max(number, 0)} elements of {dtype} "
            f"from element {first} on"
        )
    bytes_ = flat.view(np.uint8)[first * dtype.itemsize :][: number * dtype.itemsize]
    part: Array = bytes_.view(dtype)
    return part


def _number(item: object, what: str) -> int:
    try:
        number = operator.index(item)  # type: ignore[arg-type]  # the question is whether it is a number
    except TypeError:
        raise UsageError(f"{what} is {item!r}; give a whole number") from None
    if number < 0:
        raise UsageError(f"{what} is {number}; give 0 or more")
    return number
