from __future__ import annotations

import random

import pytest

from algorithms import verify
from algorithms.r2cc_allreduce import FORMS, r2cc_allreduce
from algorithms.schedule import ScheduleError
from tests.algorithms.mutants import MUTANTS, with_rows
from tests.algorithms.replay import Replay


def test_the_order_of_stage_2_matters():
    """Taking the partial sum before giving the own data away counts the others twice; it is seen."""
    schedule = r2cc_allreduce(4, 2, 0, [0], pieces=1)
    first = next(index for index, one in enumerate(schedule) if one.stage == "own data in")
    rows = list(range(len(schedule)))
    rows[first : first + 2] = first + 1, first
    spoilt = with_rows(schedule, rows)
    with pytest.raises(ScheduleError, match=r"\(own data in\).*counted twice, of nodes 1, 2, 3"):
        verify.check(spoilt)


def judge_mutants(seed, count):
    """Plant random errors; return how many spoil a replay, and which of these the oracle misses."""
    generator = random.Random(seed)
    wrong, missed = 0, []
    for number in range(count):
        n, g = generator.randint(3, 6), generator.randint(2, 4)
        form = generator.choice(FORMS)
        schedule = r2cc_allreduce(
            n,
            g,
            generator.randrange(n),
            generator.sample(range(g), generator.randint(1, g - 1)),
            pieces=generator.randint(1, 3),
            form=form,
            sub_pieces=generator.randint(1, 2) if form == "helper" else 1,
        )
        error, row = generator.choice(MUTANTS), generator.randrange(len(schedule))
        spoilt = error(schedule, row, generator.randint(1, schedule.grid - 1))
        try:
            verify.check(spoilt)
            caught = False
        except ScheduleError:
            caught = True
        if not Replay(spoilt, spoilt.grid, seed=number).run_transfers().is_right():
            wrong += 1
            missed += [] if caught else [(number, error.__name__, str(schedule[row]))]
    return wrong, missed


def test_the_oracle_misses_no_planted_error():
    """Of 400 single errors most spoil the sums of a replay on numbers; the oracle catches all of those."""
    wrong, missed = judge_mutants(seed=6, count=400)
    assert wrong > 300
    assert missed == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_oracle_misses_no_planted_error_of_many(seed):
    """The same for 1000 more errors per seed."""
    wrong, missed = judge_mutants(seed=100 + seed, count=1000)
    assert wrong > 750
    assert missed == []
