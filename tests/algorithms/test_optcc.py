from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest

from algorithms import verify
from algorithms.nic import Nic
from algorithms.optcc import optcc_allreduce
from algorithms.optcc_mapping import optcc_mapping
from algorithms.optcc_mixture import optcc_mixture
from algorithms.optcc_overlay import optcc_overlay
from algorithms.schedule import ScheduleError
from algorithms.stripes import healthy_mapping
from analysis import loads as expected_loads
from tests.algorithms.mutants import MUTANTS, with_rows
from tests.algorithms.replay import Replay


def ordering_1(nodes, straggler, segments=8, rails=None, lost_rails=()):
    """The simple form, S1 S2 S3 S4."""
    return optcc_allreduce(nodes, straggler, segments, 1, rails, lost_rails)


def ordering_2(nodes, straggler, segments=8, rails=None, lost_rails=()):
    """The simple form, S3 S1 S4 S2."""
    return optcc_allreduce(nodes, straggler, segments, 2, rails, lost_rails)


def mixture(nodes, straggler, segments=8, rails=None, lost_rails=()):
    """The mixture; without rails a third of the data goes by the plain ring."""
    share = Fraction(1, 3) if rails is None else None
    return optcc_mixture(nodes, straggler, segments, rails, lost_rails, by_ring=share)


PURE = (ordering_1, ordering_2, optcc_overlay)
FORMS = (*PURE, mixture)


def test_four_nodes_by_hand():
    """Ordering 1 with nodes 0, 1, 2 healthy and 3 the straggler, one segment of three sections."""
    schedule = optcc_allreduce(nodes=4, straggler=3, segments=1)
    assert [str(transfer).split(" ", 2)[2] for transfer in schedule] == [
        # Section j begins at member j+1 ...
        "(S1): node 1 -> node 2, reduce [0, 1)",
        "(S1): node 2 -> node 0, reduce [1, 2)",
        "(S1): node 0 -> node 1, reduce [2, 3)",
        # ... and after m-1 = 2 steps member j has the healthy sum.
        "(S1): node 2 -> node 0, reduce [0, 1)",
        "(S1): node 0 -> node 1, reduce [1, 2)",
        "(S1): node 1 -> node 2, reduce [2, 3)",
        # The straggler adds its own data, so its section is the full sum.
        "(S2): node 0 -> node 3, reduce [0, 1)",
        "(S2): node 1 -> node 3, reduce [1, 2)",
        "(S2): node 2 -> node 3, reduce [2, 3)",
        # It goes on where the healthy ring was left, at member j+1, ...
        "(S3): node 3 -> node 1, copy [0, 1)",
        "(S3): node 3 -> node 2, copy [1, 2)",
        "(S3): node 3 -> node 0, copy [2, 3)",
        # ... and round to member j.
        "(S4): node 1 -> node 2, copy [0, 1)",
        "(S4): node 2 -> node 0, copy [1, 2)",
        "(S4): node 0 -> node 1, copy [2, 3)",
        "(S4): node 2 -> node 0, copy [0, 1)",
        "(S4): node 0 -> node 1, copy [1, 2)",
        "(S4): node 1 -> node 2, copy [2, 3)",
    ]
    # The straggler moves each section once, a healthy node 2 + 2 of the ring and 1 of the straggler's.
    assert verify.check(schedule).loads == [(Fraction(5, 3), Fraction(5, 3))] * 3 + [(1, 1)]


def test_ordering_2_takes_section_0_the_other_way_round():
    """The straggler gives its raw data first and gets the full sum last; S4 begins at the owner."""
    section_0 = [
        str(one).split(" ", 2)[2]
        for one in optcc_allreduce(4, 3, segments=1, ordering=2)
        if one.source_region[0] == 0 and one.stage != "S2"
    ]
    assert section_0 == [
        "(S3): node 3 -> node 1, reduce [0, 1)",
        "(S1): node 1 -> node 2, reduce [0, 1)",
        "(S1): node 2 -> node 0, reduce [0, 1)",
        "(S4): node 0 -> node 1, copy [0, 1)",
        "(S4): node 1 -> node 2, copy [0, 1)",
    ]


def judge(form, p, straggler, segments, rails, lost):
    """Let the oracle judge a form on given rails; compare loads with the closed form, node by node."""
    schedule = form(p, straggler, segments, rails, lost)
    found = verify.check(schedule)
    name = "mixture" if form is mixture else "simple"
    closed = expected_loads.optcc(p, Fraction(len(lost), rails), name)
    assert found.loads == [
        (closed.degraded,) * 2 if node == straggler else (closed.healthy,) * 2 for node in range(p)
    ]
    assert sum(sent for sent, _ in found.loads) == 2 * (p - 1)
    dead = [Nic(straggler, rail) for rail in lost]
    rates = [[Fraction(Nic(node, rail) not in dead) for rail in range(rails)] for node in range(p)]
    verify.check_stripes(optcc_mapping(schedule, rates), dead)
    verify.check_stripes(healthy_mapping(schedule, rails), dead)
    return schedule


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("p", range(3, 10))
def test_every_form_is_exactly_once_with_the_least_loads(form, p):
    """Straggler 1, healthy (2p-3)/(p-1), together 2 (p-1); the mixture its own. The rest is drawn."""
    generator = random.Random(p)
    for _ in range(2):
        rails = generator.randint(2, 5)
        lost = generator.sample(range(rails), generator.randint(1, rails - 1))
        judge(form, p, generator.randrange(p), generator.randint(1, 8), rails, lost)


@pytest.mark.parametrize("form", FORMS)
def test_numbers_come_out_right(form):
    """A replay on integers, also on fewer elements than there are atoms, adds up everybody's input once."""
    schedule = form(5, 2, 6)
    for count in (1, 7, schedule.grid * 2):
        assert Replay(schedule, count, seed=count).run_transfers().is_right()


@pytest.mark.parametrize("form", FORMS)
def test_the_straggler_uses_its_live_rails_only(form):
    """Transfers from and to the straggler name the rails it still has; those of the healthy ring none."""
    for one in form(4, 1, 4, 3, [2]):
        assert one.rails == ({0, 1} if 1 in {one.source, one.target} else None)


@pytest.mark.parametrize("form", FORMS)
def test_nothing_lost_needs_no_rail_sets(form):
    """With all rails alive, or no word about rails, every transfer may use all."""
    for schedule in (form(4, 0, 3), form(4, 0, 3, 2, ())):
        assert schedule.rail_sets == (None,)


def test_segments_overlap_in_program_order():
    """The pipeline is written as it runs: the second segment begins long before the first one ends."""
    for form in FORMS:
        schedule = form(5, 4, 8)
        of_segment = [one.source_region[0] * 8 // schedule.grid for one in schedule]
        assert of_segment.index(1) < len(schedule) - 1 - of_segment[::-1].index(0)


@pytest.mark.parametrize("form", FORMS)
def test_the_oracle_misses_no_planted_error(form):
    """Of 100 single errors most spoil a replay on numbers; the oracle catches all of those."""
    generator = random.Random(form.__name__)
    wrong = 0
    for number in range(100):
        schedule = form(generator.randint(3, 5), generator.randrange(3), generator.randint(1, 5))
        error, row = generator.choice(MUTANTS), generator.randrange(len(schedule))
        spoilt = error(schedule, row, generator.randint(1, schedule.grid - 1))
        if Replay(spoilt, spoilt.grid, seed=number).run_transfers().is_right():
            continue
        wrong += 1
        with pytest.raises(ScheduleError):
            verify.check(spoilt)
    assert wrong > 60


@pytest.mark.parametrize("ordering", [1, 2])
def test_the_order_of_the_stages_matters(ordering):
    """S2 before S1, or S1 before S3, would lose contributions; the oracle sees it."""
    schedule = optcc_allreduce(4, 3, 1, ordering)
    first, then = ("S2", "S1") if ordering == 1 else ("S1", "S3")
    rows = [one.index for one in schedule if one.stage != then]
    place = next(at for at, row in enumerate(rows) if schedule[row].stage == first)
    rows[place + 1 : place + 1] = [one.index for one in schedule if one.stage == then]
    with pytest.raises(ScheduleError, match=r"lacks|counted twice"):
        verify.check(with_rows(schedule, rows))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((2, 0), "OptCC on 2 nodes: .* needs two healthy nodes .* use balance"),
        ((4, 4), "no node 4 among 4 nodes"),
        ((4, -1), "no node -1 among 4 nodes"),
        ((4, 0, 0), "0 segments"),
        ((4, 0, 4, 2, [2]), r"lost rails \[2\] of 2"),
        ((4, 0, 4, 2, [0, 1]), r"lost rails \[0, 1\] of 2: it must keep one"),
        ((4, 0, 4, None, [1]), r"lost rails \[1\], of how many"),
    ],
)
def test_arguments_out_of_range_are_refused(form, arguments, complaint):
    """Too few nodes, no such straggler, no segment, and rails that do not exist or are all lost: named."""
    with pytest.raises(ScheduleError, match=complaint):
        form(*arguments)


def test_other_orderings_are_refused():
    """There is no ordering 3."""
    with pytest.raises(ScheduleError, match=r"orderings 1 and 2, not 3$"):
        optcc_allreduce(4, 0, ordering=3)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("p", range(3, 10))
def test_every_straggler_segments_and_rails(form, p):
    """Every straggler, K = 1..8 and several g and f for p = 3..9: exactly once, loads as counted."""
    for straggler, segments in product(range(p), range(1, 9)):
        for rails, lost in ((2, [1]), (3, [0]), (4, [1, 3]), (8, [0, 1, 2, 3, 4, 5, 6])):
            judge(form, p, straggler, segments, rails, lost)
