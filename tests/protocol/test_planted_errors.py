from __future__ import annotations

import re

import pytest

from tests.protocol import planted_control as control
from tests.protocol import planted_transport as transport
from tests.protocol.cases import Case, instant_seeds

SEEDS = {
    "random": range(60),
    "instant": range(5, instant_seeds(), 397),
    "cut": range(15),
    "late_echoes": range(12),
    "suspended": range(6),
    "computing": range(12),
    "flapping": range(20),
    "no_common_rail": range(20),
    "dies_in_the_middle": range(30),
    "back_in_the_middle": range(30),
    "narrow": range(12),
}

WRONG = r"the result of collective \d+ is wrong"
HANGS = r"not left: .* error None"
GIVES_UP = r"not left: .*ISOLATED"
STALLS = "nothing was amiss, but some ranks stalled"
ACCUSED = "for down .* but it never failed"

PLANTED = [
    (transport.pending_buffers_are_reused, "instant", WRONG),
    (transport.rewind_skips_a_chunk, "instant", HANGS),
    (transport.duplicates_are_accepted, "instant", WRONG),
    (transport.gaps_are_accepted, "random", WRONG),
    (transport.the_window_is_ignored, "instant", "out of step with itself"),
    (transport.chunks_are_acknowledged_before_they_land, "no_common_rail", "believes what is not so"),
    (transport.chunks_are_consumed_when_they_land, "instant", "believes what is not so"),
    (transport.refused_chunks_count_as_sent, "narrow", STALLS),
    (transport.pings_are_not_answered, "random", HANGS),
    (transport.hot_repair_does_not_rewind, "instant", f"{STALLS}|{HANGS}"),
    (transport.hot_repair_keeps_the_route, "instant", HANGS),
    (transport.hot_repair_counts_too_much, "instant", r"resent \d+ chunks at once"),
    (transport.hazards_are_ignored, "instant", WRONG),
    (transport.contributions_are_not_awaited, "instant", WRONG),
    (transport.the_buffer_is_overwritten_too_early, "random", WRONG),
    (transport.the_result_is_written_too_early, "cut", "wrote into the user's array"),
    (control.news_is_not_flooded, "instant", STALLS),
    (control.news_is_not_passed_on, "instant", STALLS),
    (control.hellos_are_not_passed_on, "computing", GIVES_UP),
    (control.the_latest_rumour_wins, "instant", "messages multiply without end"),
    (control.a_stall_counts_as_death, "instant", ACCUSED),
    (control.one_answer_counts_as_death, "late_echoes", ACCUSED),
    (control.arrivals_are_not_counted, "late_echoes", ACCUSED),
    (control.accusers_need_no_witness, "dies_in_the_middle", ACCUSED),
    (control.suspects_get_no_time, "back_in_the_middle", ACCUSED),
    (control.nobody_gives_up, "cut", "neither finished nor gave up"),
    (control.ranks_give_up_too_early, "random", GIVES_UP),
    (control.ranks_give_up_too_late, "cut", r"gave up at .* later than"),
    (control.pauses_are_not_forgiven, "suspended", GIVES_UP),
    (control.nobody_is_named, "cut", r"should not name \[\]"),
    (control.the_wrong_nodes_are_named, "cut", r"should not name \[\d"),
    (control.nics_come_back_without_an_echo, "instant", "was dead since"),
    (control.an_old_echo_is_proof, "flapping", "did not wait"),
    (control.ranks_leave_when_their_work_is_done, "instant", GIVES_UP),
]


@pytest.mark.parametrize(
    ("plant", "kind", "complaint"), PLANTED, ids=[plant.__name__ for plant, _, _ in PLANTED]
)
def test_planted_error_is_caught(monkeypatch, plant, kind, complaint):
    """A planted error breaks an invariant, the one that is meant for it, in some run of a small fixed set."""
    Case(kind, 0).run()
    plant(monkeypatch)
    monkeypatch.setattr("tests.protocol.world.EVENT_LIMIT", 12_000)
    found = set()
    for seed in SEEDS[kind]:
        failure = Case(kind, seed).failure() or "nothing"
        found.add(failure)
        if re.search(complaint, failure):
            break
    assert any(re.search(complaint, failure) for failure in found), f"kind {kind} complains only of {found}"
