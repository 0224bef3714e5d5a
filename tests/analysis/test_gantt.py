from __future__ import annotations

from fractions import Fraction

from algorithms.balance import balance_mapping
from algorithms.nic import Nic
from algorithms.r2cc_allreduce import r2cc_allreduce
from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from analysis.plots import gantt, style
from analysis.rail_rates import RailRates
from analysis.simulation.failures import Change, simulate_failures
from analysis.simulator import Rules, simulate


def bars(figure):
    """Where the bars of a picture are: (left, bottom, width)."""
    patches = [one for one in figure.axes[0].patches if one.get_width() > 0]
    return {(round(one.get_x(), 2), round(one.get_y(), 2), round(one.get_width(), 2)) for one in patches}


def legend(figure):
    """The texts of the legend."""
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_every_stripe_has_a_bar_at_both_ports():
    """Two nodes, a ring of two steps of 1/2: four stripes, each in a send row and a receive row, in ms."""
    with style.settings():
        figure = gantt.draw([simulate(healthy_mapping(ring_allreduce(2), 1))], 8.0, "ms")
    assert bars(figure) == {(begin, round(port - 0.43, 2), 4.0) for begin in (0, 4) for port in range(4)}
    assert figure.axes[0].get_xlabel() == "time (ms)"
    assert legend(figure) == ["reduce-scatter", "all-gather"]


def test_every_stage_has_a_look_of_its_own():
    """The seven stages of R2CC-AllReduce differ in colour."""
    rates = RailRates.of(3, 3, [Nic(0, 2)])
    timeline = simulate(balance_mapping(r2cc_allreduce(3, 3, 0, [2], 2), rates.rates), rates)
    with style.settings():
        figure = gantt.draw([timeline], 1.0, "D/B")
    colours = [tuple(patch.get_facecolor()) for patch in figure.legends[0].get_patches()]
    assert len(colours) == 7
    assert len(set(colours)) == 7


def test_lost_stripes_and_later_collectives_are_shown(tmp_path):
    """What a failure cut short is in the legend; a second collective begins where the first one ended."""
    stripes = healthy_mapping(ring_allreduce(2), 2)
    rates = RailRates.of(2, 2)
    timeline = simulate_failures(stripes, rates, [Change(Fraction(1, 4), Nic(0, 0))], Rules())
    with style.settings():
        figure = gantt.draw([timeline, timeline], 1.0, "D/B")
        style.save(figure, tmp_path / "ports.png")
    assert "lost, sent again" in legend(figure)
    first = {one for one in bars(figure) if one[0] < float(timeline.completion)}
    assert len(bars(figure)) == 2 * len(first)
    assert (tmp_path / "ports.png").read_bytes().startswith(b"\x89PNG")
