from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import verify
from algorithms.collective import allreduce
from algorithms.hot_repair import connected_groups, hot_repair_mapping
from algorithms.nic import Hop, Nic
from algorithms.ring import ring_allreduce
from algorithms.schedule import ScheduleBuilder, ScheduleError
from algorithms.stripes import Stripes, healthy_mapping
from tests.algorithms.replay import Replay

COLUMNS = ("transfer", "source_lo", "source_hi", "target_lo", "target_hi", "home", "route")


def with_rows(stripes: Stripes, rows) -> Stripes:
    """Keep the given stripes, in that order."""
    return replace(stripes, **{name: getattr(stripes, name)[list(rows)] for name in COLUMNS})


def with_entry(stripes: Stripes, row: int, **entries) -> Stripes:
    """Change single entries of one stripe."""
    columns = {name: getattr(stripes, name).copy() for name in entries}
    for name, entry in entries.items():
        columns[name][row] = entry
    return replace(stripes, **columns)


def with_route(stripes: Stripes, row: int, *hops: Hop) -> Stripes:
    """Give one stripe a route of its own."""
    return with_entry(replace(stripes, routes=(*stripes.routes, hops)), row, route=len(stripes.routes))


@pytest.fixture
def stripes():
    """Three nodes, two rails: stripe 2 t + r is on rail r and belongs to transfer t."""
    return healthy_mapping(ring_allreduce(3), 2)


@pytest.mark.parametrize(
    ("row", "entries", "fault"),
    [
        (4, {"source_hi": 4}, "is empty"),
        (5, {"source_lo": 4, "target_lo": 4}, "overlaps"),
        (4, {"source_lo": 3, "target_lo": 3}, "overlaps"),
        (5, {"source_hi": 7, "target_hi": 7}, "overlaps another stripe or lies outside"),
        (4, {"target_lo": 3, "target_hi": 4}, "arrives at another place"),
        (4, {"target_hi": 6}, "arrives at another place"),
        (5, {"source_lo": 4, "source_hi": 5, "target_lo": 4, "target_hi": 5}, "leaves a gap"),
        (4, {"source_lo": 0, "source_hi": 1, "target_lo": 0, "target_hi": 1}, "overlaps"),
        (4, {"home": 2}, "may not use this home rail"),
        (4, {"home": -1}, "may not use this home rail"),
    ],
)
def test_a_wrong_stripe_is_named(stripes, row, entries, fault):
    """Each way in which a stripe can differ from its transfer is reported with stripe and transfer."""
    with pytest.raises(ScheduleError, match=rf"^stripe [45] of transfer 2 \(.*{fault}"):
        verify.check_stripes(with_entry(stripes, row, **entries))


def test_gaps_are_found_before_between_and_after_stripes():
    """Half of a transfer that no stripe carries is a gap, wherever it lies."""
    fine = healthy_mapping(ring_allreduce(2), 3)
    for left_out, seen_at in ((3, 3), (4, 4), (5, 4)):
        with pytest.raises(ScheduleError, match=rf"^stripe {seen_at} of transfer 1 .*leaves a gap"):
            verify.check_stripes(with_rows(fine, [row for row in range(len(fine)) if row != left_out]))


def test_a_transfer_without_stripes_is_named(stripes):
    """A transfer that no stripe belongs to is reported itself."""
    with pytest.raises(ScheduleError, match=r"^transfer 3 .*has no stripe"):
        verify.check_stripes(with_rows(stripes, [row for row in range(len(stripes)) if row not in {6, 7}]))


def test_program_order_is_checked(stripes):
    """Stripes of a channel must come in the order of their transfers."""
    rows = list(range(len(stripes)))
    rows[6], rows[10] = rows[10], rows[6]
    with pytest.raises(ScheduleError, match=r"^stripe 7 of transfer 3 .*not in program order"):
        verify.check_stripes(with_rows(stripes, rows))


@pytest.mark.parametrize(
    ("hops", "fault"),
    [
        ((), "does not end at the target"),
        ((Hop(0, 1),), "does not end at the target"),
        ((Hop(0, 0), Hop(0, 1)), "does not end at the target"),
        ((Hop(2, 0),), "node 2 rail 2, which does not exist"),
        ((Hop(0, 3), Hop(0, 0)), "node 3 rail 0, which does not exist"),
        ((Hop(0, 2), Hop(0, 0)), "hop from node 2 rail 0 to itself"),
    ],
)
def test_a_route_that_leads_elsewhere_is_named(stripes, hops, fault):
    """Transfer 2 goes from node 2 to node 0; routes of its stripe that do not are reported."""
    with pytest.raises(ScheduleError, match=rf"^stripe 4 of transfer 2 .*{fault}"):
        verify.check_stripes(with_route(stripes, 4, *hops))


def test_a_detour_over_live_rails_is_no_error(stripes):
    """A route may pass through other nodes as long as it arrives."""
    verify.check_stripes(with_route(stripes, 4, Hop(1, 1), Hop(0, 0)))


@pytest.mark.parametrize("dead", [Nic(0, 1), Nic(1, 1)])
def test_a_dead_nic_is_found_at_either_end_of_a_hop(stripes, dead):
    """Stripe 1 goes from node 0 to node 1 over rail 1; the death of either NIC is reported there."""
    with pytest.raises(ScheduleError, match=f"^stripe 1 of transfer 0 .*uses {dead}, which is dead"):
        verify.check_stripes(stripes, dead=[dead])


def test_a_dead_nic_is_found_at_a_relay(stripes):
    """A route whose first and last NIC live but whose relay lost a rail is reported."""
    relayed = with_route(stripes, 0, Hop(1, 2), Hop(0, 1))
    with pytest.raises(ScheduleError, match=r"^stripe 0 .*uses node 2 rail 0, which is dead"):
        verify.check_stripes(relayed, dead=[Nic(2, 0)])


def test_a_home_rail_that_the_transfer_forbids_is_named():
    """Transfers bound to a rail may not have stripes at home on another."""
    builder = ScheduleBuilder(2, 1)
    builder.step(stage="test", source=0, target=1, lo=0, hi=1, reduce=True, rails=[1])
    bound = healthy_mapping(builder.build(allreduce(2, 1)), 2)
    verify.check_stripes(bound)
    with pytest.raises(ScheduleError, match=r"^stripe 0 .*rails \[1\].*may not use this home rail"):
        verify.check_stripes(with_entry(bound, 0, home=0))


def test_indices_beyond_the_tables_are_refused(stripes):
    """A stripe that names a transfer or route that does not exist, or a grid that does not fit, raises."""
    with pytest.raises(ScheduleError, match="none of the 12 transfers"):
        verify.check_stripes(with_entry(stripes, 0, transfer=12))
    with pytest.raises(ScheduleError, match="outside the table"):
        verify.check_stripes(with_entry(stripes, 0, route=99))
    with pytest.raises(ScheduleError, match="no multiple"):
        verify.check_stripes(replace(stripes, grid=7))


@st.composite
def spoilt_mappings(draw):
    """A healthy or repaired mapping with a few random changes, and the dead NICs."""
    nodes, rails = draw(st.integers(2, 5)), draw(st.integers(1, 4))
    nics = st.builds(Nic, st.integers(0, nodes - 1), st.integers(0, rails - 1))
    dead = draw(st.frozensets(nics, max_size=2))
    schedule = ring_allreduce(nodes)
    connected = len(connected_groups(nodes, rails, lambda nic: nic not in dead)) == 1
    stripes = hot_repair_mapping(schedule, rails, dead if connected else ())
    for _ in range(draw(st.integers(1, 2))):
        row = draw(st.integers(0, len(stripes) - 1))
        kind = draw(st.sampled_from(["drop", "repeat", "move", "region", "route", "entry"]))
        keep = list(range(len(stripes)))
        by = draw(st.integers(1, 3))
        if kind == "drop" and len(keep) > 1:
            stripes = with_rows(stripes, np.delete(keep, row).tolist())
        elif kind == "repeat":
            stripes = with_rows(stripes, sorted([*keep, row]))
        elif kind == "move":
            stripes = with_rows(stripes, np.roll(keep, by).tolist())
        elif kind == "region":
            names = draw(st.sampled_from([COLUMNS[1:3], COLUMNS[3:5], COLUMNS[1:5]]))
            shifted = {name: int(getattr(stripes, name)[row]) + by for name in names}
            if max(shifted.values()) <= stripes.grid:
                stripes = with_entry(stripes, row, **shifted)
        elif kind == "route":
            stripes = with_entry(stripes, row, route=draw(st.integers(0, len(stripes.routes) - 1)))
        else:
            name = draw(st.sampled_from(COLUMNS))
            limits = {"transfer": len(schedule), "home": rails, "route": len(stripes.routes)}
            entry = (int(getattr(stripes, name)[row]) + by) % limits.get(name, stripes.grid + 1)
            stripes = with_entry(stripes, row, **{name: entry})
    return stripes, dead


@given(spoilt_mappings())
def test_the_check_catches_whatever_spoils_the_result(mapping):
    """Any planted error either raises, or leaves stripes that a replay on numbers finds right as well."""
    stripes, dead = mapping
    try:
        verify.check_stripes(stripes, dead)
    except ScheduleError:
        return
    assert Replay(stripes.schedule, 2 * stripes.grid, seed=0).run_stripes(stripes, dead).is_right()
