"""Reading one value of an option, with an error that names the option."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from r2cc_mpi.errors import UsageError

_T = TypeVar("_T")


def convert(option: str, text: str, parse: Callable[[str], _T]) -> _T:
    """Read a value.

    Args:
        option: Name of the option, put before the error.
        text: What the user wrote.
        parse: What reads it.

    Raises:
        UsageError: What `parse` says about it, with the option's name.
    """
    try:
        return parse(text)
    except UsageError as error:
        raise UsageError(f"{option} {error}") from None


def whole_number(option: str, text: str, *, least: int = 0) -> int:
    """Read a whole number.

    Args:
        option: Name of the option.
        text: What the user wrote.
        least: The smallest number that makes sense.

    Raises:
        UsageError: If it is no whole number, or too small, or absurdly large.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= 9) or int(text) < least:
        raise UsageError(
            f"{option} {text!r} is not a whole number from {least} on: write for example {option} 3"
        )
    return int(text)


def switch(option: str, text: str) -> bool:
    """Read a switch: 0 is off, any other number on, as in nccl-tests.

    Args:
        option: Name of the option.
        text: What the user wrote.

    Raises:
        UsageError: If it is no number.
    """
    if not (text.isascii() and text.isdigit()):
        raise UsageError(f"{option} {text!r} is neither on nor off: write {option} 1 or {option} 0")
    return int(text) > 0


def one_of(option: str, text: str, known: Sequence[str], later: Sequence[str] = ()) -> str:
    """Read a name.

    Args:
        option: Name of the option.
        text: What the user wrote.
        known: The names that this version has.
        later: Names that are documented, but that this version does not have.

    Raises:
        UsageError: If it is not among the known ones; the message lists them.
    """
    if text in known:
        return text
    problem = "is not available in this version" if text in later else "is unknown"
    raise UsageError(f"{option} {text!r} {problem}: it has {', '.join(known)}")


def parse_share(text: str) -> Fraction:
    """Read a share from 0 to 1, such as `1/4` or `0.25`.

    Raises:
        UsageError: If it is no such number.
    """
    match = re.fullmatch(r"\d{1,9}(\.\d{1,9})?|\d{1,9}/0*[1-9]\d{0,8}", text, re.ASCII)
    if not match or Fraction(text) > 1:
        raise UsageError(f"{text!r} is no share: give a number from 0 to 1, for example 1/4 or 0.25")
    return Fraction(text)


def output_file(option: str, text: str | None) -> str | None:
    """Check the place of a file that is to be written later, while it costs nothing to refuse it.

    Args:
        option: Name of the option.
        text: What the user wrote: a file, `-` for standard output, or None if he wrote nothing.

    Raises:
        UsageError: If it is a folder, or in a folder that does not exist.
    """
    if text is None or text == "-":
        return text
    file = Path(text)
    if file.is_dir():
        raise UsageError(f"{option} {file}: that is a folder, name a file")
    if not file.parent.is_dir():
        raise UsageError(f"{option} {file}: there is no folder {file.parent}, make it first")
    return str(file)
