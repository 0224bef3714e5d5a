"""`r2cc plan`: every scheme's predicted time on a cluster, the bound, and the choice."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import dataclass
from fractions import Fraction

from algorithms.transfer import ScheduleError
from analysis import planner, with_alpha
from analysis.candidates import Candidate
from analysis.errors import ModelError
from analysis.planner import Plan
from analysis.rail_rates import RailRates
from r2cc_mpi.cli.cluster import read_cluster
from r2cc_mpi.cli.options import COLLECTIVES
from r2cc_mpi.cli.report_json import JsonObject, write_json
from r2cc_mpi.cli.units import format_size, parse_duration, parse_rate, parse_size
from r2cc_mpi.cli.values import convert, one_of
from r2cc_mpi.errors import UsageError
from r2cc_mpi.planning import chunking_for


@dataclass(frozen=True)
class Question:
    """What the plan is for.

    Attributes:
        rates: What each NIC can carry.
        size_bytes: D, bytes to reduce per node.
        node_bytes_per_s: B, bandwidth of a healthy node in one direction.
        alpha_s: Cost of one message in seconds.
    """

    rates: RailRates
    size_bytes: int
    node_bytes_per_s: Fraction
    alpha_s: Fraction

    @property
    def unit_s(self) -> Fraction:
        """D/B in seconds, the unit of the models."""
        return self.size_bytes / self.node_bytes_per_s


def run(words: Namespace) -> int:
    """Print the plan.

    Args:
        words: What the parser found.

    Returns:
        0.

    Raises:
        UsageError: An option is wrong, or no scheme can serve the cluster.
    """
    one_of("COLLECTIVE", words.collective, COLLECTIVES)
    rates = read_cluster(words.nodes, words.rails, words.fail, words.slow)
    size = convert("-b", words.minbytes, parse_size)
    if size == 0:
        raise UsageError("-b 0: there is nothing to reduce, give at least one byte")
    rate = Fraction(convert("--rail-rate", words.rail_rate, parse_rate))
    alpha = convert("--alpha", words.alpha, parse_duration)
    question = Question(rates, size, rate * rates.rails, alpha)
    try:
        plan = planner.plan(rates, alpha=alpha / question.unit_s, chunking=chunking_for(rate, size))
    except (ModelError, ScheduleError) as error:
        raise UsageError(str(error)) from error
    stream = sys.stderr if words.json == "-" else sys.stdout
    print("\n".join(to_lines(question, plan)), file=stream)
    if words.json is not None:
        write_json(to_json(question, plan), words.json)
    return 0


def to_lines(question: Question, plan: Plan) -> list[str]:
    """Write a plan for people."""
    rates = question.rates
    bandwidths = ", ".join(map(str, rates.bandwidths())) if rates.nodes <= 16 else "see --json"
    unit_ms = float(question.unit_s) * 1e3
    healthy = with_alpha.ring(rates.nodes, question.alpha_s / question.unit_s)
    bound = plan.bound.time or Fraction(0)
    rate, alpha_us = float(question.node_bytes_per_s) / 1e6, float(question.alpha_s) * 1e6
    size = format_size(question.size_bytes)
    lines = [
        f"# r2cc plan allreduce: {rates.nodes} nodes x {rates.rails} rails, {size} per node",
        f"# B = {rate:g} MB/s each way, D/B = {unit_ms:.4g} ms, alpha = {alpha_us:g} us",
        f"# bandwidths of the nodes / B: {bandwidths}",
        f"# bound T* = {float(bound):.4f} D/B = {float(bound) * unit_ms:.4g} ms{_binding(plan)}",
        f"# {'scheme':<30}  {'K':>5}  {'Y':>8}  {'time':>10}  {'x ring':>9}  {'over T*':>8}  runs",
        f"# {'':<30}  {'':>5}  {'':>8}  {'(ms)':>10}",
    ]
    for one in plan.candidates:
        if one.time is None:
            lines.append(f"  {one.name:<30}  {'-':>5}  {'-':>8}  {'-':>10}  {one.note}")
            continue
        over = f"{float(one.time / healthy):9.3f}" if healthy else f"{'-':>9}"
        gap = plan.gap(one)
        lines.append(
            f"  {one.name:<30}  {one.pieces or '-':>5}  {_partial(one):>8}  {float(one.time) * unit_ms:10.4g}"
            f"  {over}  {'-' if gap is None else f'{float(gap):+.1%}':>8}  {_status(one)}"
        )
    lines.append(f"# chosen: {plan.chosen.name}: {plan.reason}")
    return lines


def to_json(question: Question, plan: Plan) -> JsonObject:
    """Turn a plan into what `json.dump` takes: seconds, bytes, and times in D/B as floats."""
    unit = float(question.unit_s)
    return {
        "layout": {"nodes": question.rates.nodes, "rails": question.rates.rails},
        "size_bytes": question.size_bytes,
        "node_bytes_per_s": float(question.node_bytes_per_s),
        "alpha_s": float(question.alpha_s),
        "bandwidths": [float(bandwidth) for bandwidth in question.rates.bandwidths()],
        "bound": None if plan.bound.time is None else float(plan.bound.time),
        "bound_s": None if plan.bound.time is None else float(plan.bound.time) * unit,
        "partition": [list(part) for part in plan.bound.partition],
        "candidates": [
            {
                "scheme": one.scheme,
                "form": one.form,
                "time": None if one.time is None else float(one.time),
                "predicted_s": None if one.time is None else float(one.time) * unit,
                "gap": None if (gap := plan.gap(one)) is None else float(gap),
                "pieces": one.pieces,
                "partial": None if one.partial is None else str(one.partial),
                "order": None if one.order is None else list(one.order),
                "runs": one.scheme in planner.BUILT,
                "note": one.note,
            }
            for one in plan.candidates
        ],
        "chosen": plan.chosen.name,
        "reason": plan.reason,
    }


def _binding(plan: Plan) -> str:
    parts = plan.bound.partition
    if not parts or len(parts) > 8:
        return ""
    return ", bound by " + " | ".join(",".join(map(str, part)) for part in parts)


def _partial(one: Candidate) -> str:
    return "-" if one.partial is None else str(one.partial)


def _status(one: Candidate) -> str:
    status = "yes" if one.scheme in planner.BUILT else "prediction"
    order = "" if one.order is None else f"; order {_shorten(one.order)}"
    return status + order + (f"; {one.note}" if one.note else "")


def _shorten(order: tuple[int, ...]) -> str:
    text = " ".join(map(str, order[:12]))
    return text if len(order) <= 12 else f"{text} ..."
