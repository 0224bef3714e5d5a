from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2cc_mpi.cli.units import format_size, parse_rate, parse_seconds, parse_size
from r2cc_mpi.errors import UsageError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4096", 4096),
        ("1K", 1024),
        ("1k", 1024),
        ("64M", 64 * 1024**2),
        ("64MB", 64 * 1024**2),
        ("64MiB", 64 * 1024**2),
        ("1.5G", 3 * 512 * 1024**2),
        ("12B", 12),
    ],
)
def test_sizes_are_powers_of_1024(text, size):
    """Sizes are bytes or K, M, G as powers of 1024."""
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "M", "64X", "-1", "1,5M", "64 M", "1e6", "0.3", "٣", "64MB/s", "inf"])
def test_malformed_size_is_refused(text):
    """A text that is no size is named in the error, with an example that does parse."""
    with pytest.raises(UsageError, match="for example 64M") as error:
        parse_size(text)
    assert repr(text) in str(error.value)
    assert parse_size("64M") == 67108864


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("20MB/s", 20e6),
        ("1Gbit/s", 125e6),
        ("1.5GB/s", 1.5e9),
        ("3KB/s", 3000),
        ("3kB/s", 3000),
        ("8bit/s", 1),
        ("2MiB/s", 2 * 1024**2),
        ("1 Mbit/s", 125000),
    ],
)
def test_rates_are_powers_of_1000_unless_said(text, rate):
    """Rates are bytes or bits per second with powers of 1000; Ki, Mi, Gi are powers of 1024."""
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "20", "20MB", "20Mb/s", "20M/s", "0MB/s", "aMB/s", "1e3MB/s"])
def test_malformed_rate_is_refused(text):
    """A text that is no rate, or the rate zero, is named in the error, with an example that parses."""
    with pytest.raises(UsageError, match="for example 50MB/s") as error:
        parse_rate(text)
    assert repr(text) in str(error.value)
    assert parse_rate("50MB/s") == 50e6


def test_seconds():
    """Seconds may be fractions and carry an s."""
    assert [parse_seconds(text) for text in ("10", "0.5", "2s")] == [10, 0.5, 2]


@pytest.mark.parametrize("text", ["", "0", "0.0", "-1", "ten", "1m", "nan"])
def test_malformed_seconds_are_refused(text):
    """A text that is no number of seconds above zero is named in the error."""
    with pytest.raises(UsageError, match="for example 10") as error:
        parse_seconds(text)
    assert repr(text) in str(error.value)


@given(st.integers(0, 2**50))
def test_written_size_reads_back(size):
    """A size that we write is read back exactly."""
    assert parse_size(format_size(size)) == size
