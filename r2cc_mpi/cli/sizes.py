"""The data sizes of a job, from nccl-tests' -b, -e, -i and -f."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass

from r2cc_mpi.cli.arrays import DataType
from r2cc_mpi.cli.run_parser import DEFAULT_SIZE
from r2cc_mpi.cli.units import format_size, parse_size
from r2cc_mpi.cli.values import convert, whole_number
from r2cc_mpi.errors import UsageError

MAX_SIZES = 10_000
DEFAULT_STEP = "1M"


@dataclass(frozen=True)
class Sweep:
    """The sizes of a job.

    Attributes:
        minimum_bytes: Smallest size that was asked for.
        maximum_bytes: Largest.
        step_bytes: From one size to the next, unless there is a factor.
        step_factor: The same as a factor, or None.
        counts: Elements of each size, in the order to run them.
    """

    minimum_bytes: int
    maximum_bytes: int
    step_bytes: int
    step_factor: int | None
    counts: tuple[int, ...]

    @classmethod
    def single(cls, count: int, datatype: DataType) -> Sweep:
        """Make a job of one size."""
        size = count * datatype.dtype.itemsize
        return cls(size, size, parse_size(DEFAULT_STEP), None, (count,))


def sweep(words: Namespace, datatype: DataType) -> Sweep:
    """Work out the sizes to run.

    As in nccl-tests, but that the largest size is the smallest one unless the user says otherwise (there it
    is 32M, so that `-b 16M` alone means 17 sizes).

    Args:
        words: What the parser found.
        datatype: Type of the elements.

    Returns:
        The sizes, each of at least one element; one that is no multiple of an element is rounded down, as in
        nccl-tests.

    Raises:
        UsageError: If a size does not parse, there is no element in the smallest, or there is no way from -b
            to -e.
    """
    smallest = convert("-b", words.minbytes or DEFAULT_SIZE, parse_size)
    largest = smallest if words.maxbytes is None else convert("-e", words.maxbytes, parse_size)
    step = convert("-i", words.stepbytes or DEFAULT_STEP, parse_size)
    factor = None if words.stepfactor is None else whole_number("-f", words.stepfactor, least=2)
    element = datatype.dtype.itemsize
    if smallest < element:
        raise UsageError(
            f"-b {smallest} is less than one {datatype.name} ({element} bytes): give at least that"
        )
    if largest < smallest:
        raise UsageError(
            f"-e {format_size(largest)} is smaller than -b {format_size(smallest)}: give a -b of at most "
            f"{format_size(largest)}"
        )
    if factor is None and step == 0:
        raise UsageError("-i 0 never gets past -b: give a step above zero, for example -i 1M")
    counts: list[int] = []
    size = smallest
    while size <= largest:
        if len(counts) == MAX_SIZES:
            raise UsageError(f"-b, -e and -i ask for more than {MAX_SIZES} sizes: give a larger -i, or -f 2")
        counts.append(size // element)
        size = size * factor if factor else size + step
    return Sweep(smallest, largest, step, factor, tuple(counts))
