from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from analysis import papers
from analysis.errors import ModelError
from analysis.reports import failures, machine, text


def rows_of(report):
    """Make dictionaries of the rows, by nodes, dead rails and scheme."""
    keys = [column.key for column in report.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in report.rows]
    return {(row["nodes"], row["dead_rails"], row["scheme"]): row for row in rows}


def test_a_tiny_cluster_by_hand():
    """3 nodes of 2 rails, one dead: Balance + 100 %, at 10 % exposed + 10 %; 1.5 % exposed gives 1.5 %."""
    rows = rows_of(failures.build([(3, 2)], [1], [Fraction(1, 10)], samples=50))
    assert {row["samples"] for row in rows.values()} == {6}
    balance = rows[3, 1, "Balance"]
    assert [balance[key] for key in ("mean", "median", "p95", "worst")] == [1, 1, 1, 1]
    assert balance["iteration_at_1/10"] == Fraction(1, 10)
    assert balance["exposed_for_paper"] == Fraction(15, 1000)
    assert balance["cut_off"] == 0
    assert rows[3, 1, "T*, rail bound"]["mean"] == Fraction(1, 2)


def test_what_does_not_complete_is_infinite():
    """2 nodes of 2 rails, two dead: 4 of the 6 placements leave no common rail; nothing completes there."""
    report = failures.build([(2, 2)], [2], [Fraction(0)], samples=50)
    for row in rows_of(report).values():
        assert row["cut_off"] == Fraction(2, 3)
        assert row["mean"] == row["median"] == row["iteration_at_0"] == math.inf
    assert "infinite" in "\n".join(text.to_text(report))
    assert json.loads(machine.json_text(report))["analyze"]["rows"][0]["worst"] == "inf"
    assert report.fact("cut_off_2x2") == "not known where every node may be degraded"


def test_no_scheme_is_better_than_the_bound_and_each_list_holds_the_shorter_ones():
    """Means fall from HotRepair and Balance to re-ranked, best of paper 1, best of all and T*."""
    rows = rows_of(failures.build(samples=100))
    for nodes, _ in failures.CLUSTERS:
        for dead in failures.DEAD:
            means = [rows[nodes, dead, name]["mean"] for name in failures.SCHEMES.values()]
            assert means[1:] == sorted(means[1:], reverse=True)
            assert means[0] > means[3]


def test_one_failure_is_no_matter_of_chance():
    """With one dead rail all placements are alike: Balance 1/7, HotRepair 1, least and most the same."""
    rows = rows_of(failures.build(dead=[1], samples=7))
    for nodes, _ in failures.CLUSTERS:
        for name, overhead in (("Balance", Fraction(1, 7)), ("HotRepair", Fraction(1))):
            row = rows[nodes, 1, name]
            assert row["mean"] == row["median"] == row["worst"] == overhead


def test_beside_the_papers_numbers():
    """Only 1 and 10 failures have them; mean times the share shown is 1.5 % and 4.3 % again."""
    rows = rows_of(failures.build(samples=200))
    for (_, dead, _), row in rows.items():
        target = papers.TRAINING_OVERHEAD_BY_FAILURES.get(dead)
        share = row["exposed_for_paper"]
        if target is None or row["mean"] < target:
            assert share is None
        else:
            assert share * row["mean"] == target


def test_the_closest_scheme_comes_first():
    """Paper 1's own schemes fit its two numbers with nearly one exposed share, HotRepair does not."""
    report = failures.build(samples=1000)
    for note in report.notes[-2:]:
        order = note.split("the closest first: ")[1].split("; ")
        assert order[0].startswith("best of paper 1 ")
        assert order[-1] == "T*, rail bound none and none"


def test_fit_measures_how_far_shares_are_apart():
    """Largest over smallest; without one of them there is no fit."""
    assert failures._apart([Fraction(1, 10), Fraction(1, 5)]) == 2
    assert failures._apart([None, Fraction(1, 5)]) == math.inf


def test_other_clusters_are_not_compared_without_both_numbers():
    """The note on the paper needs one and ten failures."""
    assert not any("closest first" in note for note in failures.build([(8, 4)], [1, 2], samples=20).notes)


def test_seed_decides():
    """Equal seeds give equal reports, and another seed another one."""
    one, same, other = (failures.build(dead=[10], samples=50, seed=seed) for seed in (3, 3, 4))
    assert one == same
    assert one.rows != other.rows


def test_text_fits_a_terminal():
    """No line is wider than the others of `analyze`."""
    assert max(map(len, text.to_text(failures.build(samples=20)))) <= text.WIDTH


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"dead": [513]}, "513 dead rails: 64 nodes of 8 have only 512"),
        ({"dead": []}, "give at least one"),
        ({"clusters": [(1, 8)]}, "nodes = 1"),
        ({"exposed": [Fraction(2)]}, "exposed_share"),
    ],
)
def test_impossible_cases_are_refused(choices, message):
    """More dead than there are, none, a single node, a share that is none."""
    with pytest.raises(ModelError, match=message):
        failures.build(samples=3, **choices)
