from __future__ import annotations

import pytest

from r2cc_mpi.protocol.settings import MAX_PACED_CHUNK_BYTES, MIN_CHUNK_BYTES, Settings


def test_unpaced_rails_take_the_defaults():
    """Without a rate the default sizes and times hold; the isolation timeout is the caller's."""
    assert Settings.for_rate(None) == Settings()
    assert Settings.for_rate(None, 3.0) == Settings(isolation_timeout_s=3.0)


@pytest.mark.parametrize("rate", [1e5, 1e6, 3e6, 2e7, 5e7, 1e9, 4e10])
def test_sizes_and_times_fit_the_rate(rate):
    """Chunks are short, a stall lasts four windows at least, a slow rail moves between two questions."""
    settings = Settings.for_rate(rate, 20.0)
    assert MIN_CHUNK_BYTES <= settings.chunk_bytes <= MAX_PACED_CHUNK_BYTES
    assert settings.chunk_bytes % 64 == 0
    assert settings.stall_s >= max(0.5, 4 * settings.window * settings.chunk_bytes / rate)
    assert settings.probe_s >= 16 * settings.chunk_bytes / rate
    assert settings.isolation_timeout_s == 20.0


def test_chunks_on_a_slow_rail_are_short_in_time():
    """At 5 MB/s a chunk takes 20 ms."""
    assert Settings.for_rate(5e6).chunk_bytes == 99_968
