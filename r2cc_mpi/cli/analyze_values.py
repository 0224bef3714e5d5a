"""Values of options that only `r2cc analyze` has: exact numbers, and lists of them."""

from __future__ import annotations

import re
from fractions import Fraction

from r2cc_mpi.cli.units import parse_size
from r2cc_mpi.cli.values import convert, whole_number
from r2cc_mpi.errors import UsageError

LONGEST_LIST = 16
"""Sizes, or numbers of dead rails, in one report."""

_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?|\d{1,9}/\d{1,9}", re.ASCII)


def number(text: str) -> Fraction:
    """Read `3/4`, `0.75` or `1`; the caller puts the option's name before the error.

    Raises:
        UsageError: It is no such number.
    """
    if _NUMBER.fullmatch(text.strip()) is None or re.search(r"/0+$", text.strip()):
        raise UsageError(f"{text!r} is no number: write for example 1, 0.75 or 3/4")
    return Fraction(text.strip())


def lost_share(text: str) -> Fraction:
    """Read X, what a degraded node has lost; as `number`, and it must be above 0 and below 1."""
    lost = number(text)
    if not 0 < lost < 1:
        raise UsageError(
            f"{text!r} is no share that a degraded node can have lost: give more than 0, less than 1"
        )
    return lost


def numbers(option: str, text: str, *, most: int) -> tuple[Fraction, ...]:
    """Read a list of numbers.

    Args:
        option: Name of the option, for errors.
        text: What the user wrote, separated by commas.
        most: So long may the list be.

    Raises:
        UsageError: One is no number, or there are too many.
    """
    found = tuple(convert(option, one, number) for one in text.split(","))
    if len(found) > most:
        raise UsageError(f"{option} lists {len(found)} numbers: analyze takes up to {most}")
    return found


def shares(option: str, text: str) -> tuple[Fraction, ...]:
    """Read a list of shares of an iteration, from 0 to 1; arguments and errors as of `sizes`."""
    found = numbers(option, text, most=LONGEST_LIST)
    for share in found:
        if not 0 <= share <= 1:
            raise UsageError(f"{option} {share} is no share of an iteration: give numbers from 0 to 1")
    return found


def sizes(option: str, text: str) -> tuple[int, ...]:
    """Read a list of sizes such as `1G,64G`.

    Args:
        option: Name of the option, for errors.
        text: What the user wrote, separated by commas.

    Returns:
        Bytes.

    Raises:
        UsageError: One is no size, or zero, or there are too many.
    """
    found = tuple(convert(option, one.strip(), parse_size) for one in _listed(option, text))
    if 0 in found:
        raise UsageError(f"{option} {text}: of no data there is nothing to reduce, give at least one byte")
    return found


def counts(option: str, text: str) -> tuple[int, ...]:
    """Read a list of whole numbers from 1 on; arguments and errors as of `sizes`."""
    return tuple(whole_number(option, one.strip(), least=1) for one in _listed(option, text))


def _listed(option: str, text: str) -> list[str]:
    listed = text.split(",")
    if len(listed) > LONGEST_LIST:
        raise UsageError(f"{option} lists {len(listed)} numbers: {LONGEST_LIST} are the most")
    return listed
