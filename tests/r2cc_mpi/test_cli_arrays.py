from __future__ import annotations

import numpy as np
import pytest

from r2cc_mpi.cli.arrays import inspect_inputs, save_result
from r2cc_mpi.errors import UsageError


@pytest.fixture
def folder(tmp_path):
    """A folder with arrays of 2 x 3 floats for four ranks; rank k's hold k."""
    for rank in range(4):
        np.save(tmp_path / f"rank{rank}.npy", np.full((2, 3), rank, np.float32))
    return tmp_path


def test_complete_folder(folder):
    """Shape, type and count come from the arrays, and each rank's own array is read."""
    arrays = inspect_inputs(folder, 4)
    assert (arrays.shape, arrays.datatype.name, arrays.count) == ((2, 3), "float", 6)
    assert np.array_equal(arrays.load(3), np.full((2, 3), 3, np.float32))


def test_further_arrays_are_ignored(folder):
    """A job of fewer ranks takes the first arrays."""
    assert inspect_inputs(folder, 2).count == 6


def test_columns_first_order_is_read(folder):
    """An array that was written column by column has the same elements, in rows."""
    array = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    np.save(folder / "rank1.npy", array)
    loaded = inspect_inputs(folder, 4).load(1)
    assert loaded.flags.c_contiguous
    assert np.array_equal(loaded, array)


def test_scalars_are_arrays_of_one_element(tmp_path):
    """An array without dimensions has one element."""
    np.save(tmp_path / "rank0.npy", np.float64(3))
    assert inspect_inputs(tmp_path, 1).count == 1


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (
            np.zeros((3, 2), np.float32),
            "rank2.npy is float32 of shape (3, 2), but rank0.npy is float32 of shape",
        ),
        (np.zeros((2, 3), np.float64), "rank2.npy is float64 of shape (2, 3), but rank0.npy is float32"),
        (np.zeros((2, 3), ">f4"), "rank2.npy is >f4 of shape"),
    ],
)
def test_unequal_arrays_are_refused(folder, array, problem):
    """An array of another shape, type or byte order is named, with what it should have been."""
    np.save(folder / "rank2.npy", array)
    with pytest.raises(UsageError, match="all arrays must have one shape and type") as error:
        inspect_inputs(folder, 4)
    assert problem in str(error.value)


def test_missing_array_is_named(folder):
    """The first missing array is named, with how many there must be."""
    with pytest.raises(UsageError, match=r"rank4.npy is missing \(and 4 more\).*rank0.npy to rank8.npy"):
        inspect_inputs(folder, 9)


def test_missing_folder_is_named(tmp_path):
    """A folder that is not there is named."""
    with pytest.raises(UsageError, match="/nowhere: there is no such folder"):
        inspect_inputs(tmp_path / "nowhere", 2)


@pytest.mark.parametrize("content", [b"", b"not an array", b"\x93NUMPY\x01"])
def test_unreadable_array_is_refused(folder, content):
    """A file that is no array is named."""
    (folder / "rank1.npy").write_bytes(content)
    with pytest.raises(UsageError, match=r"rank1\.npy is no array"):
        inspect_inputs(folder, 4)


def test_array_of_objects_is_refused(folder):
    """An array that only pickle could read is not read."""
    np.save(folder / "rank0.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(UsageError, match=r"rank0\.npy is no array"):
        inspect_inputs(folder, 4)


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.zeros(4, np.int16), "elements are int16, this version has int8, uint8, int32"),
        (np.zeros(0, np.float32), "no elements"),
    ],
)
def test_unusable_arrays_are_refused(tmp_path, array, problem):
    """Types that this version does not reduce, and empty arrays, are refused."""
    np.save(tmp_path / "rank0.npy", array)
    with pytest.raises(UsageError, match=problem):
        inspect_inputs(tmp_path, 1)


def test_result_is_written_like_the_input(tmp_path):
    """A result lands in a new folder, in its shape and type."""
    result = np.arange(6, dtype=np.int64).reshape(2, 3)
    save_result(tmp_path / "a/b", 1, result)
    loaded = np.load(tmp_path / "a/b/rank1.npy")
    assert loaded.dtype == result.dtype
    assert np.array_equal(loaded, result)


def test_result_that_cannot_be_written_is_reported(tmp_path):
    """A folder that cannot be made is an error that names it."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"--output .*file"):
        save_result(tmp_path / "file", 0, np.zeros(1))
