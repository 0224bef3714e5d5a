"""Failures that a user asks for: what the text of `--fail`, `--slow` and `--recover` means.

    --fail     NODE:RAIL[@WHEN]       the rail of that node dies; without WHEN it is down from the start
    --slow     NODE:RAIL=F[@WHEN]     it runs at fraction F of its rate; without WHEN from the start
    --recover  NODE:RAIL@WHEN         it works again

WHEN is `[iter=I,]P%` (P per cent of the rail's bytes of timed iteration I have passed), `[iter=I,]chunk=C`
(its chunk number C of that iteration) or `T s` (T seconds after the first timed iteration began). I and C
count from 1, and I is 1 if not given. This file only reads and judges the text; the rails act on it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError


class FaultKind(Enum):
    """What happens to the rail; the value is the option's name."""

    FAIL = "fail"
    SLOW = "slow"
    RECOVER = "recover"


@dataclass(frozen=True)
class Declared:
    """It is so from the start, and every rank knows it."""

    def __str__(self) -> str:
        return ""


@dataclass(frozen=True)
class AtBytes:
    """When `fraction` (0 to 1) of the rail's bytes of timed iteration `iteration` (from 1) have passed."""

    iteration: int
    fraction: Fraction

    def __str__(self) -> str:
        return f"@iter={self.iteration},{_decimal(self.fraction * 100)}%"


@dataclass(frozen=True)
class AtChunk:
    """At the rail's chunk number `chunk` (from 1) of timed iteration `iteration` (from 1)."""

    iteration: int
    chunk: int

    def __str__(self) -> str:
        return f"@iter={self.iteration},chunk={self.chunk}"


@dataclass(frozen=True)
class AtTime:
    """`seconds` after the first timed iteration began."""

    seconds: Fraction

    def __str__(self) -> str:
        return f"@{_decimal(self.seconds)}s"


Trigger = Declared | AtBytes | AtChunk | AtTime


@dataclass(frozen=True)
class Fault:
    """One thing that is to happen to one NIC.

    Attributes:
        kind: What happens.
        nic: Where.
        trigger: When.
        factor: For SLOW the fraction of the rail's rate that is left, above 0 and at most 1; else None.
        silent: For FAIL: a black hole, no event tells anyone.
        late: For FAIL: what is in flight arrives when the rail comes back, instead of vanishing.
    """

    kind: FaultKind
    nic: Nic
    trigger: Trigger
    factor: Fraction | None = None
    silent: bool = False
    late: bool = False

    @property
    def iteration(self) -> int | None:
        """The timed iteration (from 1) that the trigger names; None for those that name none."""
        return self.trigger.iteration if isinstance(self.trigger, AtBytes | AtChunk) else None

    @property
    def option(self) -> str:
        """The fault as an option of the command line, for messages: `--fail 1:1@iter=3,40%`."""
        return f"--{self.kind.value} {self}"

    def __str__(self) -> str:
        factor = "" if self.factor is None else f"={_shortest(self.factor)}"
        return f"{self.nic.node}:{self.nic.rail}{factor}{self.trigger}"


_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_WHEN = (
    rf"(?:(?:iter=(?P<iteration>\d{{1,9}}),)?(?:(?P<percent>{_NUMBER})%|chunk=(?P<chunk>\d{{1,9}}))"
    rf"|(?P<seconds>{_NUMBER})\s*s)"
)
_NIC = r"(?P<node>\d{1,9}):(?P<rail>\d{1,9})"
_GRAMMAR = {
    FaultKind.FAIL: re.compile(rf"{_NIC}(?:@{_WHEN})?", re.ASCII),
    FaultKind.SLOW: re.compile(rf"{_NIC}=(?P<factor>{_NUMBER}|\d{{1,9}}/\d{{1,9}})(?:@{_WHEN})?", re.ASCII),
    FaultKind.RECOVER: re.compile(rf"{_NIC}@{_WHEN}", re.ASCII),
}
_FORM = {
    FaultKind.FAIL: "NODE:RAIL[@WHEN]",
    FaultKind.SLOW: "NODE:RAIL=F[@WHEN]",
    FaultKind.RECOVER: "NODE:RAIL@WHEN",
}
_EXAMPLE = {
    FaultKind.FAIL: "1:1@iter=3,40%",
    FaultKind.SLOW: "1:1=0.5@iter=3,40%",
    FaultKind.RECOVER: "1:1@iter=5,0%",
}


def parse_fault(kind: FaultKind, text: str, *, silent: bool = False, late: bool = False) -> Fault:
    """Read the text of one option.

    Args:
        kind: Which option it was.
        text: What the user wrote behind it.
        silent: Whether `--silent` was given; means something for FAIL only.
        late: Whether `--late` was given; means something for FAIL only.

    Returns:
        The fault. Whether it fits the job is for `check_faults` to say.

    Raises:
        UsageError: If the text does not follow the grammar, or a number in it is out of range.
    """
    match = _GRAMMAR[kind].fullmatch(text)
    if match is None:
        raise UsageError(
            f"--{kind.value} {text}: write {_FORM[kind]}, WHEN being [iter=I,]P%, [iter=I,]chunk=C or T s, "
            f"for example --{kind.value} {_EXAMPLE[kind]}"
        )
    return Fault(
        kind,
        Nic(int(match["node"]), int(match["rail"])),
        _trigger(kind, match),
        factor=_factor(match) if kind is FaultKind.SLOW else None,
        silent=silent and kind is FaultKind.FAIL,
        late=late and kind is FaultKind.FAIL,
    )


def parse_faults(
    fail: Sequence[str],
    slow: Sequence[str],
    recover: Sequence[str],
    *,
    silent: bool = False,
    late: bool = False,
) -> tuple[Fault, ...]:
    """Read all options of one command line: the `--fail`s, then the `--slow`s, then the `--recover`s.

    Args:
        fail: Texts of `--fail`.
        slow: Texts of `--slow`.
        recover: Texts of `--recover`.
        silent: Whether `--silent` was given.
        late: Whether `--late` was given.

    Raises:
        UsageError: See `parse_fault`.
    """
    texts = ((FaultKind.FAIL, fail), (FaultKind.SLOW, slow), (FaultKind.RECOVER, recover))
    return tuple(parse_fault(kind, one, silent=silent, late=late) for kind, many in texts for one in many)


def _trigger(kind: FaultKind, match: re.Match[str]) -> Trigger:
    option = f"--{kind.value} {match.string}"
    if match["seconds"] is not None:
        return AtTime(Fraction(match["seconds"]))
    iteration = int(match["iteration"] or 1)
    if iteration < 1:
        raise UsageError(f"{option}: there is no iteration 0, timed iterations count from 1")
    if match["percent"] is not None:
        if Fraction(match["percent"]) > 100:
            raise UsageError(f"{option}: {match['percent']}% is more than all of the bytes, write 0% to 100%")
        return AtBytes(iteration, Fraction(match["percent"]) / 100)
    if match["chunk"] is not None:
        if int(match["chunk"]) < 1:
            raise UsageError(f"{option}: there is no chunk 0, chunks count from 1")
        return AtChunk(iteration, int(match["chunk"]))
    return Declared()


def _factor(match: re.Match[str]) -> Fraction:
    numerator, _, denominator = match["factor"].partition("/")
    divisor = int(denominator or 1)
    factor = Fraction(numerator) / divisor if divisor else Fraction(0)
    if not 0 < factor <= 1:
        raise UsageError(
            f"--slow {match.string}: the fraction of the rate that is left is above 0 and at most 1, "
            "for example 0.5; use --fail for a rail that carries nothing"
        )
    return factor


def _shortest(value: Fraction) -> str:
    """Write a fraction as a decimal if it has at most nine places, else as `1/3`."""
    return _decimal(value) if (value * 10**9).denominator == 1 else str(value)


def _decimal(value: Fraction) -> str:
    """Write a fraction that was read from a decimal as that decimal, without exponent."""
    digits = Decimal(value.numerator) / Decimal(value.denominator)
    return f"{digits.normalize():f}"
