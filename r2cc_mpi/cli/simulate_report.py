"""What `r2cc simulate` says: in lines for people, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from algorithms.nic import Nic
from analysis import rail_bound, with_alpha
from analysis.simulation.timeline import PortUse, Timeline
from analysis.simulator import Simulation
from r2cc_mpi.cli.report_json import JsonObject
from r2cc_mpi.cli.simulate_options import Question
from r2cc_mpi.cli.units import format_size

MOST_SHOWN = 32
"""NICs that are listed; JSON has all."""

PATH_LIMIT = 1_000_000
"""Stripes up to which the critical path is looked for."""


def to_lines(question: Question, timelines: Sequence[Timeline]) -> list[str]:
    """Write a simulation for people."""
    rates, unit_ms = question.rates, float(question.unit_s) * 1e3
    size = format_size(question.size_bytes)
    rate, alpha_us = float(question.node_bytes_per_s) / 1e6, float(question.alpha_s) * 1e6
    lines = [
        f"# r2cc simulate {question.algorithm}: {rates.nodes} nodes x {rates.rails} rails, {size} per node",
        f"# B = {rate:g} MB/s each way, D/B = {unit_ms:.4g} ms, alpha = {alpha_us:g} us",
        f"# bandwidths of the nodes / B: {_bandwidths(question)}",
    ]
    if not all(timeline.clock.is_exact for timeline in timelines):
        lines.append("# times are rounded: the rates and alpha have no common unit of time")
    if len(timelines) > 1 or question.changes:
        lines += _sequence(question, timelines)
    else:
        lines += _single(question, timelines[0])
    lines += _ports(question, timelines)
    return lines


def to_json(question: Question, timelines: Sequence[Timeline]) -> JsonObject:
    """Turn a simulation into what `json.dump` takes: seconds, bytes, and times in D/B as floats."""
    unit, ring, bound = float(question.unit_s), _ring(question), _bound(question)
    return {
        "algorithm": question.algorithm,
        "layout": {"nodes": question.rates.nodes, "rails": question.rates.rails},
        "size_bytes": question.size_bytes,
        "node_bytes_per_s": float(question.node_bytes_per_s),
        "alpha_s": float(question.alpha_s),
        "bandwidths": [float(bandwidth) for bandwidth in question.rates.bandwidths()],
        "ring_s": float(ring) * unit,
        "bound_s": None if bound is None else float(bound) * unit,
        "collectives": [
            {
                "begin_s": float(begin) * unit,
                "time_s": float(timeline.completion) * unit,
                "time": float(timeline.completion),
                "exact": timeline.clock.is_exact,
                "over_ring": float(timeline.completion / ring),
                "gap": None if bound is None or question.changes else float(timeline.completion / bound - 1),
                "resent_bytes": float(timeline.resent * question.size_bytes),
                "stages": [
                    {"stage": stage, "first_s": float(first) * unit, "last_s": float(last) * unit}
                    for stage, (first, last) in timeline.stages().items()
                ],
                "rail_bytes": {
                    f"{nic.node}:{nic.rail}": {"tx": _bytes(question, sent), "rx": _bytes(question, received)}
                    for nic, (sent, received) in timeline.rail_loads().items()
                },
                "ports": _ports_json(timeline, unit),
                "critical_path": _path_json(timeline, unit),
            }
            for begin, timeline in zip(_begins(timelines), timelines, strict=True)
        ],
    }


def _single(question: Question, timeline: Timeline) -> list[str]:
    ring, bound, unit_ms = _ring(question), _bound(question), float(question.unit_s) * 1e3
    time = timeline.completion
    lines = [
        f"# time            {float(time) * unit_ms:10.4g} ms = {float(time):.6g} D/B",
        f"# fault-free ring {float(ring) * unit_ms:10.4g} ms; this takes {float(time / ring):.4f} times that",
    ]
    if bound:
        lines.append(
            f"# bound T*        {float(bound) * unit_ms:10.4g} ms (no alpha); this takes "
            f"{float(time / bound - 1):.2%} longer"
        )
    if isinstance(timeline, Simulation) and len(timeline.stripes) <= PATH_LIMIT:
        lines.append(f"# critical path: {_path(timeline)}")
    lines.append(f"# {'stage':<30}  {'first (ms)':>10}  {'last (ms)':>10}")
    for stage, (first, last) in timeline.stages().items():
        lines.append(f"  {stage:<30}  {float(first) * unit_ms:10.4g}  {float(last) * unit_ms:10.4g}")
    return lines


def _sequence(question: Question, timelines: Sequence[Timeline]) -> list[str]:
    ring, unit_ms = _ring(question), float(question.unit_s) * 1e3
    lines = [
        f"# at {float(change.time) * unit_ms:.4g} ms: {change.nic} "
        + _what_happens(change.factor)
        + (f", noticed at {float(change.noticed) * unit_ms:.4g} ms" if change.unnoticed else "")
        for change in sorted(question.changes, key=lambda change: change.time)
    ]
    lines.append(f"# fault-free ring {float(ring) * unit_ms:.4g} ms")
    lines.append(
        f"# {'':>4}  {'begin (ms)':>10}  {'time (ms)':>10}  {'over ring':>9}  {'resent (bytes)':>14}"
    )
    for number, (begin, timeline) in enumerate(zip(_begins(timelines), timelines, strict=True), start=1):
        time = timeline.completion
        lines.append(
            f"  {number:>4}  {float(begin) * unit_ms:10.4g}  {float(time) * unit_ms:10.4g}"
            f"  {float(time / ring):9.4f}  {_bytes(question, timeline.resent):14.0f}"
        )
    return lines


def _what_happens(factor: Fraction) -> str:
    if not factor:
        return "dies"
    return "runs at its full rate" if factor == 1 else f"runs at {factor} of its rate"


def _ports(question: Question, timelines: Sequence[Timeline]) -> list[str]:
    """Say what each NIC carried and how long it stood still, all collectives together."""
    ports, total = timelines[0].ports, sum((one.completion for one in timelines), Fraction(0))
    uses, loads = [one.uses() for one in timelines], [one.rail_loads() for one in timelines]

    def busy(port: int) -> str:
        return f"{float(sum((use[port].busy for use in uses), Fraction(0)) / total):.1%}"

    def bubbles(port: int) -> str:
        return f"{float(sum((use[port].idle for use in uses), Fraction(0)) / total):.1%}"

    lines = ["#          sent (MB)  received (MB)  send busy  receive busy  send bubbles  receive bubbles"]
    nics = [Nic(node, rail) for node in range(ports.nodes) for rail in range(ports.rails)]
    for nic in nics[:MOST_SHOWN]:
        sent, received = (
            _bytes(question, sum((load[nic][way] for load in loads), Fraction(0))) / 1e6 for way in (0, 1)
        )
        out, into = ports.sending(nic), ports.receiving(nic)
        name = f"{nic.node}:{nic.rail}"
        lines.append(
            f"  {name:>6}  {sent:10.3f}  {received:13.3f}  {busy(out):>9}  {busy(into):>12}"
            f"  {bubbles(out):>12}  {bubbles(into):>15}"
        )
    if len(nics) > MOST_SHOWN:
        lines.append(f"# only {MOST_SHOWN} NICs are shown; --json has all")
    return lines


def _path(timeline: Simulation) -> str:
    """Count the links of the critical path, and what they waited for."""
    links = timeline.critical_path()
    tasks = timeline.tasks
    hops = sum(1 for link in links if tasks.is_hop[link.task])
    waits = Counter(link.cause.value for link in links if tasks.is_hop[link.task])
    reasons = ", ".join(f"{count} for {cause}" for cause, count in waits.items() if cause != "begin")
    return f"{hops} messages one after another" + (f"; waited {reasons}" if reasons else "")


def _path_json(timeline: Timeline, unit: float) -> list[JsonObject] | None:
    if not isinstance(timeline, Simulation) or len(timeline.stripes) > PATH_LIMIT:
        return None
    tasks, time, found = timeline.tasks, timeline.clock.time, []
    for task, cause in timeline.critical_path():
        stripe = timeline.stripes[int(tasks.stripe[task])]
        found.append(
            {
                "transfer": stripe.transfer.index,
                "stage": stripe.transfer.stage,
                "source": stripe.transfer.source,
                "target": stripe.transfer.target,
                "rail": stripe.home,
                "lands": bool(task == tasks.landing[tasks.stripe[task]]),
                "begin_s": float(time(int(timeline.task_start[task]))) * unit,
                "end_s": float(time(int(timeline.task_end[task]))) * unit,
                "waited_for": cause.value,
            }
        )
    return found


def _ports_json(timeline: Timeline, unit: float) -> JsonObject:
    uses, ports = timeline.uses(), timeline.ports

    def one(use: PortUse) -> JsonObject:
        parts = {"first_s": use.first, "last_s": use.last, "busy_s": use.busy, "idle_s": use.idle}
        return {name: float(value) * unit for name, value in parts.items()}

    return {
        f"{node}:{rail}": {
            "send": one(uses[ports.sending(Nic(node, rail))]),
            "receive": one(uses[ports.receiving(Nic(node, rail))]),
        }
        for node in range(ports.nodes)
        for rail in range(ports.rails)
    }


def _ring(question: Question) -> Fraction:
    """Time of the healthy ring, alpha included."""
    return with_alpha.ring(question.rates.nodes, question.rules.alpha)


def _bound(question: Question) -> Fraction | None:
    return rail_bound.optimum(question.rates).time


def _begins(timelines: Sequence[Timeline]) -> list[Fraction]:
    return list(accumulate((one.completion for one in timelines[:-1]), initial=Fraction(0)))


def _bytes(question: Question, load: Fraction) -> float:
    return float(load * question.size_bytes)


def _bandwidths(question: Question) -> str:
    rates = question.rates
    return ", ".join(map(str, rates.bandwidths())) if rates.nodes <= 16 else "see --json"
