from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from algorithms.transfer import ScheduleError
from analysis.rail_rates import RailRates
from analysis.simulation import accelerator, loops, order, ports
from analysis.simulation.chunks import chunked
from analysis.simulation.order import order_of
from analysis.simulation.tasks import tasks_of
from analysis.simulator import Gate, PortRule, Rules, simulate
from tests.analysis.schedules import random_case

PORTS = [rule for rule in PortRule if rule is not PortRule.FAIR]


@pytest.fixture(params=["as plain Python", "compiled"])
def by_loops(request, monkeypatch):
    """Let the simulator use the loops, however small the schedule; return how to switch that on and off."""
    if request.param == "compiled":
        pytest.importorskip("numba", reason="numba is not installed")

    def switch(*, on):
        if request.param == "compiled":
            monkeypatch.setattr(accelerator, "LEAST_TASKS", 0 if on else 2**62)
            return
        for module in (order, ports):
            monkeypatch.setattr(module, "compiled", lambda loop, _: loop if on else None)

    return switch


def random_question(seed):
    """Draw a schedule, what its NICs carry, and rules."""
    stripes, rates = random_case(seed)
    if seed % 3 == 0:
        stripes = chunked(stripes, Fraction(1, 12))
    rules = Rules(
        alpha=Fraction(seed % 4, 16),
        port=PORTS[seed % len(PORTS)],
        gate=list(Gate)[seed // 3 % 2],
        node_rate=None if seed % 5 else Fraction(3, 2),
    )
    return stripes, rates, rules


def differences(seeds, switch):
    """Simulate by NumPy and by the loops; list the seeds where a task starts or ends at another tick."""
    found = []
    for seed in seeds:
        question = random_question(seed)
        times = []
        for on in (False, True):
            switch(on=on)
            one = simulate(*question)
            times.append((one.task_start.tolist(), one.task_end.tolist(), one.clock))
        if times[0] != times[1]:
            found.append(seed)
    return found


def test_loops_agree_with_numpy_to_the_tick(by_loops):
    """On random schedules, with detours, chunks, alpha and all rules, every task starts and ends alike."""
    assert differences(range(120), by_loops) == []


def test_loops_agree_on_rings(by_loops):
    """A ring of 24 nodes and 2 rails: every task alike, and the time of the formula."""
    stripes = healthy_mapping(ring_allreduce(24), 2)
    by_loops(on=False)
    numpy = simulate(stripes)
    by_loops(on=True)
    looped = simulate(stripes)
    assert np.array_equal(numpy.task_end, looped.task_end)
    assert looped.completion == Fraction(2 * 23, 24)


@pytest.mark.parametrize("gate", list(Gate))
def test_hazards_agree_task_by_task(gate, by_loops):
    """For every task, the same ones wait for it, each once."""
    for seed in range(60):
        stripes, rates, _ = random_question(seed)
        tasks = tasks_of(stripes, rates)
        lists = []
        for on in (False, True):
            by_loops(on=on)
            one = order_of(tasks, Rules(gate=gate))
            ends = one.begins + one.counts
            lists.append([one.waiting[low:high].tolist() for low, high in zip(one.begins, ends, strict=True)])
        assert lists[0] == lists[1]


def test_what_waits_for_ever_is_left_by_the_loops(by_loops):
    """A task that waits for itself never starts, nor does what follows; the others end."""
    stripes = healthy_mapping(ring_allreduce(3), 1)
    tasks = tasks_of(stripes, RailRates.of(3, 1))
    one = order_of(tasks, Rules())
    stuck = one.followers[0].copy()
    stuck[0] = 0
    by_loops(on=True)
    with pytest.raises(ScheduleError, match=r"^task 0 of stripe 0 of transfer 0 .*: waits for ever"):
        ports.play(tasks, replace(one, followers=(stuck, *one.followers[1:])), np.ones(len(tasks), np.int64))


GIVE_OUT_PORTS, GROUPED = loops._give_out_ports, loops._grouped


def last_comes_first(state, durations, now, asks, ending):
    """Give out ports against the program order."""
    kept = []
    for task in sorted(state.asking[:asks].tolist(), reverse=True):
        state.asking[0] = task
        if GIVE_OUT_PORTS(state, durations, now, 1, ending):
            kept.append(task)
    state.asking[: len(kept)] = kept
    return len(kept)


def one_forgotten(keys, values, size):
    """Forget the last hazard of all."""
    return GROUPED(keys[:-1], values[:-1], size)


@pytest.mark.parametrize(
    "planted", [("_give_out_ports", last_comes_first), ("_grouped", one_forgotten)], ids=lambda one: one[0]
)
def test_planted_difference_is_found(planted, monkeypatch):
    """Ports given out in another order, or a single hazard too few: some random schedule shows it."""

    def switch(*, on):
        for module in (order, ports):
            monkeypatch.setattr(module, "compiled", lambda loop, _: loop if on else None)

    monkeypatch.setattr(loops, *planted)
    assert differences(range(120), switch) != []


def test_small_schedules_start_without_numba():
    """What NumPy does as quickly never imports numba."""
    assert accelerator.compiled(loops.play, accelerator.LEAST_TASKS - 1) is None


def test_numba_is_not_needed(monkeypatch):
    """Where it is not installed, the simulator goes without."""
    monkeypatch.setitem(sys.modules, "numba", None)
    accelerator._compiled.cache_clear()
    assert accelerator.compiled(loops.play, accelerator.LEAST_TASKS) is None
    accelerator._compiled.cache_clear()
