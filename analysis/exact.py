"""Numbers as the models take them: exact, so that two closed forms can be compared with ==."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from numbers import Rational

from analysis.errors import ModelError

Exact = Fraction | int | str
"""A number without rounding: a Fraction, an integer, or text such as "3/4" or "0.75"."""


def exact(value: Exact, what: str) -> Fraction:
    """Convert a number to a fraction without rounding.

    A float is refused, since 0.1 as a float is another number than one tenth, and two times that should be
    equal would differ.

    Args:
        value: A Fraction, an integer (NumPy's too), or text such as "3/4" or "0.75".
        what: What the number is, for the error message.

    Raises:
        ModelError: The value is a float, or no number.

    >>> exact("0.75", "bandwidth of node 0")
    Fraction(3, 4)
    """
    if isinstance(value, str):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            pass
    # NumPy's integers count as Rational; bool does too, but True is hardly meant as a bandwidth.
    elif isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))
    raise ModelError(
        f"{what}: {value!r} is no exact number, give an integer, a Fraction or text such as '3/4'"
    )


def positive_bandwidths(bandwidths: Iterable[Exact]) -> list[Fraction]:
    """Convert bandwidths, in units of B, and check that every node has some.

    Raises:
        ModelError: There is no node, a bandwidth is no exact number, or it is not above zero.
    """
    converted = [exact(value, f"bandwidth of node {node}") for node, value in enumerate(bandwidths)]
    if not converted:
        raise ModelError("no bandwidths: give one for every node, at least one")
    for node, bandwidth in enumerate(converted):
        if bandwidth <= 0:
            raise ModelError(
                f"node {node} has a bandwidth of {bandwidth}: leave it out, or give it some above zero"
            )
    return converted
