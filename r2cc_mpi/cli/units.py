"""Sizes, rates and times as people write them; inside the code they are bytes, bytes/s and seconds."""

from __future__ import annotations

import re
from fractions import Fraction

from r2cc_mpi.errors import UsageError

_BINARY = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZE = re.compile(r"(?P<number>\d+(\.\d+)?)(?P<prefix>[kmgt]?)(i?b)?", re.IGNORECASE | re.ASCII)
_RATE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<prefix>[kKMGT]?)(?P<binary>i?)(?P<unit>B|bit)/s", re.ASCII)


def parse_size(text: str) -> int:
    """Read a size such as `64M`, `1.5G` or `4096`; K, M, G and T are powers of 1024, as in nccl-tests.

    Args:
        text: What the user wrote.

    Returns:
        Bytes.

    Raises:
        UsageError: If it is no size, or not a whole number of bytes.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not a size: write bytes or K, M, G, for example 64M")
    size = Fraction(match["number"]) * _BINARY[match["prefix"].lower()]
    if size.denominator != 1:
        raise UsageError(f"{text!r} is not a whole number of bytes: write for example 64M")
    return int(size)


def parse_rate(text: str) -> float:
    """Read a rate such as `20MB/s`, `1Gbit/s` (powers of 1000) or `20MiB/s` (powers of 1024).

    Args:
        text: What the user wrote. The unit must be there, and `b` alone is refused: it could mean bits or
            bytes.

    Returns:
        Bytes per second, more than zero.

    Raises:
        UsageError: If it is no rate, or zero.
    """
    match = _RATE.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not a rate: write for example 50MB/s, 50MiB/s or 1Gbit/s")
    prefixes = _BINARY if match["binary"] else _DECIMAL
    rate = Fraction(match["number"]) * prefixes[match["prefix"].lower()]
    if match["unit"] == "bit":
        rate /= 8
    if rate == 0:
        raise UsageError(f"{text!r} is a rate of zero: write for example 50MB/s, or leave the option out")
    return float(rate)


def parse_seconds(text: str) -> float:
    """Read a number of seconds such as `10` or `0.5`, with or without a trailing `s`.

    Args:
        text: What the user wrote.

    Returns:
        Seconds, more than zero.

    Raises:
        UsageError: If it is no such number, or zero.
    """
    match = re.fullmatch(r"(\d+(\.\d+)?)s?", text, re.ASCII)
    if match is None or float(match[1]) == 0:
        raise UsageError(f"{text!r} is not a number of seconds above zero: write for example 10 or 0.5")
    return float(match[1])


def parse_duration(text: str) -> Fraction:
    """Read a short time such as `5us`, `0.1ms`, `0.001s` or `0`; a number without a unit is in seconds.

    Args:
        text: What the user wrote.

    Returns:
        Seconds, exactly; zero is allowed.

    Raises:
        UsageError: If it is no such time.
    """
    match = re.fullmatch(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>|ns|us|ms|s)", text, re.ASCII)
    if match is None:
        raise UsageError(f"{text!r} is not a time: write for example 10us, 0.1ms or 0")
    return Fraction(match["number"]) / {"ns": 10**9, "us": 10**6, "ms": 10**3}.get(match["unit"], 1)


def format_size(size_bytes: int) -> str:
    """Write a size with the largest power of 1024 that divides it: `16M`, `1536K`, `1000`."""
    for prefix in ("g", "m", "k"):
        if size_bytes and size_bytes % _BINARY[prefix] == 0:
            return f"{size_bytes // _BINARY[prefix]}{prefix.upper()}"
    return str(size_bytes)
