from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from analysis.simulation.chunks import chunked
from r2cc_mpi.plan import plan_node
from r2cc_mpi.planning import Wishes, choose
from r2cc_mpi.protocol.settings import Settings
from r2cc_mpi.strategy import Strategy
from scripts.reproduction.played import in_elements, played_s
from scripts.reproduction.setting import VICTIM
from tests.reproduction.jobs import SETTING

COUNT, CHUNK = 10_007, 300


@pytest.mark.parametrize("strategy", ["balance", "r2cc-allreduce", "optcc"])
def test_what_is_played_is_what_ranks_send(strategy):
    """Every chunk that the ranks capture is played, with its elements, and no other."""
    stripes = choose(3, 3, Wishes(Strategy.parse(strategy), 4), (VICTIM,), 4 * COUNT).stripes
    chunks = chunked(in_elements(stripes, COUNT), Fraction(CHUNK, COUNT))
    sources = chunks.schedule.columns.source[chunks.transfer]
    assert chunks.grid == COUNT
    for node in range(3):
        for rail in range(3):
            plan = plan_node(stripes, node=node, rail=rail, count=COUNT, chunk_elements=CHUNK)
            sent = [(one.lo, one.hi) for operations in plan.sends.values() for one in operations]
            mine = (sources == node) & (chunks.home == rail)
            of_stripes = zip(chunks.source_lo[mine].tolist(), chunks.source_hi[mine].tolist(), strict=True)
            assert sorted(sent) == sorted(of_stripes)


def test_plans_whose_bytes_say_it_all():
    """Ring, HotRepair and Balance take their closed forms, but for what is rounded to elements."""
    assert played_s(SETTING, "ring") == pytest.approx(SETTING.healthy_s, rel=1e-5)
    assert played_s(SETTING, "hot-repair", dead=[VICTIM]) == pytest.approx(SETTING.hot_repair_s, rel=1e-5)
    assert played_s(SETTING, "balance", dead=[VICTIM]) == pytest.approx(1.5 * SETTING.healthy_s, rel=1e-5)


def test_chunks_do_not_wait_for_their_piece(monkeypatch):
    """With one piece R2CC-AllReduce is faster than its form says, and is not where a piece is one chunk."""
    form_s = 1.625 * SETTING.healthy_s
    assert played_s(SETTING, "r2cc-allreduce", 1, "chain", dead=[VICTIM]) < 0.95 * form_s
    whole = replace(Settings(), chunk_bytes=SETTING.size_bytes, window=8)
    monkeypatch.setattr(Settings, "for_rate", lambda _rate: whole)
    assert played_s(SETTING, "r2cc-allreduce", 1, "chain", dead=[VICTIM]) == pytest.approx(form_s, rel=1e-5)


def test_links_set_the_pace():
    """At half the rate everything takes twice as long, in chunks of half the size."""
    slow = replace(SETTING, link_bytes_per_s=SETTING.link_bytes_per_s / 2)
    fast_s, slow_s = (played_s(one, "optcc", 8, "overlay", dead=[VICTIM]) for one in (SETTING, slow))
    assert 1.9 * fast_s < slow_s < 2.1 * fast_s
