"""The user's own arrays: one file rank<k>.npy for each rank, all of one shape and type."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from r2cc_mpi.errors import UsageError


@dataclass(frozen=True)
class DataType:
    """An element type, under the name that nccl-tests gives it.

    Attributes:
        name: For instance `float`.
        dtype: NumPy's type.
    """

    name: str
    dtype: np.dtype[np.generic]


DATA_TYPES = {
    name: DataType(name, np.dtype(dtype))
    for name, dtype in {
        "int8": "int8",
        "uint8": "uint8",
        "int32": "int32",
        "uint32": "uint32",
        "int64": "int64",
        "uint64": "uint64",
        "half": "float16",
        "float": "float32",
        "double": "float64",
    }.items()
}
MISSING_TYPES = dict.fromkeys(("bfloat16", "f8e4m3", "f8e5m2"), "NumPy has no such type")
"""Types that nccl-tests has besides, and why they are not there."""


@dataclass(frozen=True)
class InputArrays:
    """A folder of input arrays that was found to be complete and consistent.

    Attributes:
        directory: The folder.
        shape: Shape of every array.
        datatype: Type of every array's elements.
        count: Elements of one array.
    """

    directory: Path
    shape: tuple[int, ...]
    datatype: DataType

    @property
    def count(self) -> int:
        """Number of elements of one array, at least 1."""
        return int(np.prod(self.shape, dtype=np.int64))

    def load(self, rank: int) -> npt.NDArray[np.generic]:
        """Read one rank's array, C-contiguous and in memory.

        Args:
            rank: World rank.
        """
        return np.ascontiguousarray(np.load(array_file(self.directory, rank), allow_pickle=False))


def array_file(directory: Path, rank: int) -> Path:
    """Name the file of one rank's array."""
    return directory / f"rank{rank}.npy"


def save_result(directory: Path, rank: int, result: npt.NDArray[np.generic]) -> None:
    """Write one rank's result, making the folder if need be.

    Args:
        directory: The folder.
        rank: World rank.
        result: The array, in the shape of the input.

    Raises:
        UsageError: If the file cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        np.save(array_file(directory, rank), result, allow_pickle=False)
    except OSError as error:
        raise UsageError(
            f"--output {directory}: cannot write rank {rank}'s result ({error.strerror})"
        ) from error


def inspect_inputs(directory: Path, ranks: int) -> InputArrays:
    """Look at the heads of all input arrays and make sure that they can be reduced with each other.

    Args:
        directory: Folder of the arrays.
        ranks: How many ranks the job has; as many arrays must be there, and further files are ignored.

    Raises:
        UsageError: If an array is missing, unreadable, empty, of a type this version has not, or unlike rank
            0's.
    """
    if not directory.is_dir():
        raise UsageError(f"--input {directory}: there is no such folder")
    missing = [rank for rank in range(ranks) if not array_file(directory, rank).is_file()]
    if missing:
        others = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise UsageError(
            f"--input {directory}: rank{missing[0]}.npy is missing{others}: "
            f"put one array for each of the {ranks} ranks there, rank0.npy to rank{ranks - 1}.npy"
        )
    first = _head(directory, 0)
    for rank in range(1, ranks):
        one = _head(directory, rank)
        if (one.shape, one.dtype) != (first.shape, first.dtype):
            raise UsageError(
                f"--input {directory}: rank{rank}.npy is {_describe(one)}, but rank0.npy is "
                f"{_describe(first)}: all arrays must have one shape and type"
            )
    datatype = next((known for known in DATA_TYPES.values() if known.dtype == first.dtype), None)
    if datatype is None:
        known_types = ", ".join(str(known.dtype) for known in DATA_TYPES.values())
        raise UsageError(f"--input {directory}: elements are {first.dtype}, this version has {known_types}")
    if first.size == 0:
        raise UsageError(f"--input {directory}: the arrays have no elements, give at least one")
    return InputArrays(directory, first.shape, datatype)


def _head(directory: Path, rank: int) -> npt.NDArray[np.generic]:
    """Map one array without reading its elements."""
    try:
        array: npt.NDArray[np.generic] = np.load(
            array_file(directory, rank), mmap_mode="r", allow_pickle=False
        )
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(
            f"--input {directory}: rank{rank}.npy is no array that NumPy can read: write it with numpy.save"
        ) from error
    return array


def _describe(array: npt.NDArray[np.generic]) -> str:
    return f"{array.dtype} of shape {array.shape}"
