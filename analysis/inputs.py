"""Checks of what the models are given. Each returns the value in the form the formulas use.

Numbers are exact (`analysis.exact`): a float is refused by all of them.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from numbers import Integral

from analysis.errors import ModelError
from analysis.exact import Exact, exact


def whole(value: int, what: str, least: int) -> int:
    """Check a count.

    Raises:
        ModelError: It is not a whole number, or less than `least`.
    """
    if not isinstance(value, Integral) or value < least:
        raise ModelError(f"{what} = {value!r}: give a whole number, at least {least}")
    return int(value)


def lost_fraction(lost: Exact) -> Fraction:
    """Check X, the part of its bandwidth that the degraded node has lost.

    Raises:
        ModelError: It is not from 0 to less than 1, or no exact number.
    """
    fraction = exact(lost, "lost")
    if not 0 <= fraction < 1:
        raise ModelError(
            f"lost = {lost}: a degraded node must keep some bandwidth, give a fraction from 0 to less than 1"
        )
    return fraction


def not_negative(value: Exact, what: str) -> Fraction:
    """Check a number that may be zero but not less.

    Raises:
        ModelError: It is below zero, or no exact number.
    """
    number = exact(value, what)
    if number < 0:
        raise ModelError(f"{what} = {value} is below zero; give 0 or more")
    return number


def share(value: Exact, what: str) -> Fraction:
    """Check a part of a whole.

    Raises:
        ModelError: It is not from 0 to 1, or no exact number.
    """
    fraction = exact(value, what)
    if not 0 <= fraction <= 1:
        raise ModelError(f"{what} = {value} is no part of a whole; give a fraction from 0 to 1")
    return fraction


def one_of(value: str, what: str, known: Collection[str]) -> str:
    """Check a choice.

    Raises:
        ModelError: It is none of those known.
    """
    if value not in known:
        raise ModelError(f"there is no {what} {value!r}; give one of {', '.join(known)}")
    return value
