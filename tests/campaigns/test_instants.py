from __future__ import annotations

import json
from dataclasses import replace

import pytest

from algorithms.nic import Nic
from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from r2cc_mpi.layout import Layout
from tests.campaigns.instants import (
    CHUNKS_OF_A_COLLECTIVE,
    MANNERS,
    SETTINGS,
    Instant,
    Outcome,
    complaint,
    elements,
    instants,
    parse_layout,
    short,
)

CASE = Instant(Layout(3, 2), "silent", Nic(1, 0), 7)
GOOD = Outcome(0, died=True, blamed=(Nic(1, 0),), known_s=0.8, resent=(8 * 262_144, 0), time_s=1.0)


def test_every_instant_is_there():
    """Six NICs and the instants before the first chunk and after each of the twenty."""
    cases = instants(Layout(3, 2), "late")
    assert len(cases) == len(set(cases)) == 6 * 21
    assert {case.chunk for case in cases} == set(range(CHUNKS_OF_A_COLLECTIVE + 1))
    assert {case.nic for case in cases} == set(Layout(3, 2))


@pytest.mark.parametrize("layout", [Layout(3, 2), Layout(2, 3)], ids=short)
def test_size_makes_that_many_chunks(layout):
    """With that many elements each rail sends as many full chunks in a collective as there are instants."""
    chunk_elements, count = SETTINGS.chunk_bytes // 4, elements(layout, 4)
    sent = dict.fromkeys(layout, 0)
    stripes = healthy_mapping(ring_allreduce(layout.nodes), layout.rails)
    for stripe in stripes:
        lo, hi = (boundary * count // stripes.grid for boundary in stripe.source_region)
        assert (hi - lo) % chunk_elements == 0
        (hop,) = stripe.route
        sent[Nic(stripe.transfer.source, hop.rail)] += (hi - lo) // chunk_elements
    assert set(sent.values()) == {CHUNKS_OF_A_COLLECTIVE}


@pytest.mark.parametrize("manner", MANNERS)
def test_name_is_read_again(manner):
    """A case and its outcome survive being written and read, and the command names all of the case."""
    case = replace(CASE, manner=manner)
    assert Instant.parse(case.name) == case
    assert case.command == f"scripts/worst-instant --layout 3x2 --manner {manner} --nic 1:0 --chunk 7"
    assert (case.is_silent, case.is_late) == ("silent" in manner, "late" in manner)
    assert Outcome.from_json(json.loads(json.dumps(GOOD.to_json()))) == GOOD


@pytest.mark.parametrize("text", ["3x", "3", "1x2", "4x2", "3x0"])
def test_layout_that_will_not_do(text):
    """A layout that cannot be read, or whose rails cannot send that many equal chunks, is refused."""
    with pytest.raises(ValueError, match=r"unpack|invalid literal|do not go into"):
        parse_layout(text)


TWO_NODES = replace(CASE, layout=Layout(2, 3))


@pytest.mark.parametrize(
    ("case", "outcome"),
    [
        (CASE, GOOD),
        (CASE, replace(GOOD, blamed=(), known_s=None)),
        (TWO_NODES, replace(GOOD, blamed=(Nic(0, 0), Nic(1, 0)))),
        (replace(CASE, manner="announced"), GOOD),
    ],
    ids=["found", "unnoticed", "both ends of two", "announced"],
)
def test_good_outcomes(case, outcome):
    """What may happen is not complained of."""
    assert complaint(case, outcome) is None


@pytest.mark.parametrize(
    ("case", "change", "text"),
    [
        (CASE, {"wrong": 1}, "1 wrong elements"),
        (CASE, {"died": False}, "the rail never died: it did not send 7 chunks"),
        (CASE, {"blamed": (Nic(0, 0), Nic(1, 0))}, "blamed although it works: node 0 rail 0"),
        (TWO_NODES, {"blamed": (Nic(0, 1),)}, "blamed although it works: node 0 rail 1"),
        (
            replace(TWO_NODES, manner="announced"),
            {"blamed": (Nic(0, 0), Nic(1, 0))},
            "blamed although it works: node 0 rail 0",
        ),
        (replace(CASE, manner="late"), {"blamed": ()}, "nobody learned of it"),
        (CASE, {"resent": (0, 8 * 262_144 + 1)}, "a repair sent 2097153 bytes again, a window has 2097152"),
    ],
)
def test_planted_complaints(case, change, text):
    """Each thing that must not happen is complained of."""
    assert text in (complaint(case, replace(GOOD, **change)) or "")
