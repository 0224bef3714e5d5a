from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from analysis import papers
from analysis.errors import ModelError
from analysis.reports import figure6, figure17, k_sweep, table1, table4, text
from analysis.reports.degraded import Degraded

ELSEWHERE = Degraded(4, 8, dead=(1,))


def row_of(report, **wanted):
    """Find the one row with the given values, as a dictionary by column key."""
    keys = [column.key for column in report.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in report.rows]
    (row,) = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return row


def test_table_1_agrees_in_all_nine_numbers():
    """Every digit of table 1 of paper 1 follows from the formula."""
    report = table1.build()
    assert report.ok
    assert report.values("agrees") == ["yes"] * 9
    assert [text.write(report.columns[2], cell) for cell in report.values("paper")] == [
        *("0.470", "0.833", "1.190"),
        *("0.02419", "0.04419", "0.06783"),
        *("0.00145", "0.00265", "0.00411"),
    ]
    assert row_of(report, nodes=4, lost=Fraction(1, 4))["computed"] == Fraction(1, 120)


@pytest.mark.parametrize("place", list(papers.TABLE_1))
@pytest.mark.parametrize("step", [-1, 1])
def test_table_1_catches_a_wrong_digit(place, step):
    """One unit in the last printed digit of any number, up or down, and the report is not ok."""
    printed = papers.TABLE_1[place]
    unit = Decimal(1).scaleb(int(printed.as_tuple().exponent))
    report = table1.build({**papers.TABLE_1, place: printed + step * unit})
    assert not report.ok
    assert report.values("agrees").count("NO") == 1
    assert "1 of 9 DIFFER" in report.notes[0]
    assert not figure17.build({**papers.TABLE_1, place: printed + step * unit}).ok


def test_figure_17_holds_the_numbers_of_table_1():
    """Its rows have table 1's numbers where the paper prints them, and none elsewhere."""
    report = figure17.build()
    assert report.ok
    for (nodes, lost), percent in papers.TABLE_1.items():
        row = row_of(report, lost=lost)
        assert row[f"paper_{nodes}"] == percent / 100
        assert papers.rounded_like(100 * row[f"gap_{nodes}"], percent) == percent
    assert sum(cell is not None for nodes in (4, 16, 64) for cell in report.values(f"paper_{nodes}")) == 9


def test_figure_6_counts_both_ways():
    """Caption of figure 6 of paper 1: 7/4 instead of 2, for many nodes; exactly it is 11/8 instead of 3/2."""
    report = figure6.build()
    assert report.ok
    degraded = row_of(report, scheme="R2CC-AllReduce", node="degraded")
    assert (degraded["load"], degraded["load_large_n"], degraded["paper"]) == (
        Fraction(11, 8),
        Fraction(7, 4),
        Fraction(7, 4),
    )
    balance = row_of(report, scheme="Balance", node="degraded")
    assert (balance["load"], balance["load_large_n"], balance["paper"]) == (Fraction(3, 2), 2, 2)
    # counted by hand: straggler 1, healthy (2p-3)/(p-1)
    assert row_of(report, scheme="OptCC", node="degraded")["load"] == 1
    assert row_of(report, scheme="OptCC", node="healthy")["load"] == Fraction(5, 3)


def test_figure_6_of_another_cluster_has_no_numbers_of_the_paper():
    """Other nodes or another X: computed alike, compared with nothing. Two nodes have no OptCC."""
    report = figure6.build(8, Fraction(1, 2))
    assert report.values("paper") == [None] * 6
    assert row_of(report, scheme="R2CC-AllReduce", node="degraded")["load_large_n"] == Fraction(3, 2)
    assert "OptCC" not in figure6.build(2, Fraction(1, 2)).values("scheme")
    with pytest.raises(ModelError, match="no node is degraded"):
        figure6.build(4, Fraction(0))


def test_figure_6_catches_a_wrong_number(monkeypatch):
    """If the paper's load were another one than its own count gives, the report would not be ok."""
    monkeypatch.setattr(papers, "FIGURE_6_LOAD", Fraction(7, 5))
    assert not figure6.build().ok


def test_k_sweep_is_the_authors_model():
    """Helper model at n = 6, X = 1/3 (authors' notes): 1.6, 1.45, 1.375, 1.3375, 1.31875; Balance 3/2."""
    report = k_sweep.build()
    assert report.ok
    assert report.values("pieces") == ["1", "2", "4", "8", "16", "fine"]
    assert report.values("helper") == [
        Fraction(text) for text in ("1.6", "1.45", "1.375", "1.3375", "1.31875", "1.3")
    ]
    assert report.values("chain") == [Fraction(text) for text in ("2.1", "1.7", "1.5", "1.4", "1.35", "1.3")]
    assert report.values("measured")[:5] == list(papers.K_SWEEP.values())
    assert report.fact("balance") == Fraction(3, 2)
    assert report.fact("received") == Fraction(13, 15)
    assert papers.rounded_like(Fraction(13, 15), papers.RECEIVED_RATIO) == papers.RECEIVED_RATIO


def test_k_sweep_thresholds():
    """The chain beats Balance above K = n (1-X) = 4, the helper above n/(n-2) = 3/2: the rows agree."""
    report = k_sweep.build()
    assert report.fact("threshold_chain") == 4
    assert report.fact("threshold_helper") == Fraction(3, 2)
    assert row_of(report, pieces="4")["chain"] == report.fact("balance")
    assert row_of(report, pieces="8")["chain"] < report.fact("balance")
    assert (
        row_of(report, pieces="1")["helper"] > report.fact("balance") > row_of(report, pieces="2")["helper"]
    )


@pytest.mark.parametrize("pieces", list(papers.K_SWEEP))
def test_k_sweep_catches_a_wrong_measurement(pieces):
    """A measured ratio two per cent off its place is not ok."""
    report = k_sweep.build(measured={**papers.K_SWEEP, pieces: papers.K_SWEEP[pieces] * Decimal("1.02")})
    assert not report.ok
    assert any("FURTHER" in note for note in report.notes)


def test_table_4_is_within_the_model():
    """4.07/2.03, 3.04/2.03 and 2.79/2.03 (table 4 of paper 1) beside 2, 3/2 and 11/8, each within 1 %."""
    report = table4.build()
    assert report.ok
    assert report.values("model") == [1, 2, Fraction(3, 2), Fraction(11, 8)]
    assert report.values("measured")[1] == Fraction(407, 203)
    assert report.values("time_s") == [Decimal(text) for text in ("2.03", "4.07", "3.04", "2.79")]
    assert report.values("recapture_s") == [None, None, Decimal("0.0017"), Decimal("0.33")]
    # 5/3 of 4 GiB at 3.75 GB/s: what three ports of 10 Gb/s need for the bytes of six members' ring
    assert report.fact("bytes_alone_s") == pytest.approx(5 / 3 * 2**32 / 3.75e9)


def test_table_4_catches_a_wrong_time():
    """A time that is two per cent off is not ok."""
    rows = list(papers.TABLE_4)
    rows[2] = rows[2]._replace(time_s=Decimal("3.11"))
    assert not table4.build(measured=rows).ok


@pytest.mark.parametrize("build", [k_sweep.build, table4.build])
def test_another_layout_is_compared_with_nothing(build):
    """What was measured is shown only beside the layout it was measured on."""
    report = build(ELSEWHERE)
    assert report.ok
    assert not {"measured", "off", "time_s", "recapture_s"} & {column.key for column in report.columns}
    assert "measured: " not in report.source or build is table4.build
    assert any("another layout" in note for note in report.notes)


def test_it_does_not_matter_which_rail_is_dead():
    """The authors do not say which of the three rails was down: each of them is their case."""
    for rail in range(3):
        assert k_sweep.is_as_measured(Degraded(6, 3, dead=(rail,)))
    assert k_sweep.is_as_measured(Degraded.by_share(6, Fraction(1, 3)))
    assert not k_sweep.is_as_measured(Degraded(6, 3, dead=(0, 1)))
    assert not k_sweep.is_as_measured(Degraded(3, 3, dead=(0,)))


def test_two_nodes_gain_nothing():
    """With two nodes there is no partial ring: every K takes as long as Balance or longer."""
    report = k_sweep.build(Degraded(2, 2, dead=(0,)))
    assert report.fact("threshold_chain") is None
    assert min(report.numbers("helper")) == min(report.numbers("chain")) == report.fact_number("balance")
