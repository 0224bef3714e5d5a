"""Planning: which stripes a collective runs, given the strategy, the agreed health and the size.

A pure function of what every rank knows alike (START, and the arguments of the communicator), so that every
rank plans the same by itself. `auto` asks the planner; the other strategies are what the user says, as far as
they can serve the cluster. R2CC-AllReduce and OptCC need exactly one degraded node, nested OptCC live rails
that nest; else they are Balance, and Balance without a failure is the ring. Results are kept, because calls
repeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from algorithms.catalogue import ALGORITHMS, Case
from algorithms.nic import Nic
from algorithms.re_ranking import common_capacity, re_rank
from algorithms.stripes import Stripes
from analysis import candidates, planner
from analysis.candidates import Candidate, find_straggler, is_nested
from analysis.lower_bound import nested_mixture
from analysis.played import Chunking
from analysis.rail_rates import RailRates
from r2cc_mpi.protocol.settings import Settings
from r2cc_mpi.strategy import Strategy

TYPICAL_RAIL_BYTES_PER_S = Fraction(10**9)
"""What the planner takes for the rate of a rail that is not paced."""

DEFAULT_ALPHA_S = Fraction(1, 1000)
"""What the planner takes for the cost of one message: roughly what it costs here, where ranks share cores."""


@dataclass(frozen=True)
class Wishes:
    """What the user asks of the plan; the same at every rank.

    Attributes:
        strategy: Which strategy.
        pieces: K, pieces of R2CC-AllReduce's second stage or OptCC's segments; None: the planner's best.
        partial: Y, the share of R2CC-AllReduce's partial ring; None: the paper's Y = X.
        form: Of R2CC-AllReduce or OptCC; None: the chain, or ordering 1 alone.
        rail_bytes_per_s: Rate of a healthy rail; None: not known.
        slow: NICs that run at a fraction of that rate from the start.
        alpha_s: Cost of one message in seconds.
    """

    strategy: Strategy
    pieces: int | None = None
    partial: Fraction | None = None
    form: str | None = None
    rail_bytes_per_s: Fraction | None = None
    slow: tuple[tuple[Nic, Fraction], ...] = field(default=())
    alpha_s: Fraction = DEFAULT_ALPHA_S


@dataclass(frozen=True)
class Choice:
    """What a collective runs.

    Attributes:
        strategy: The strategy in force.
        stripes: What to run.
        pieces: K, or None where there is none.
        partial: Y, or None.
        form: Which form of it; None where there is only one.
        order: Order of the ring if it is not the natural one, or None.
    """

    strategy: Strategy
    stripes: Stripes
    pieces: int | None = None
    partial: Fraction | None = None
    form: str | None = None
    order: tuple[int, ...] | None = None


@lru_cache(maxsize=32)
def choose(nodes: int, rails: int, wishes: Wishes, down: tuple[Nic, ...], size_bytes: int) -> Choice:
    """Choose what a collective runs.

    Args:
        nodes: Number of nodes.
        rails: g, rails of each node.
        wishes: What the user asks for.
        down: NICs that START says are down, in order.
        size_bytes: Bytes to reduce per node.

    Returns:
        The choice. Where the live rails do not connect all nodes it is the ring: the protocol finds that out
        and says so.
    """
    rates = RailRates.of(nodes, rails, dead=down, slow=dict(wishes.slow))
    if nodes == 1 or len(rates.groups()) > 1:
        return _ring(nodes, rails, Strategy.HOT_REPAIR if down else Strategy.RING)
    if wishes.strategy in {Strategy.RING, Strategy.HOT_REPAIR}:
        return _ring(nodes, rails, wishes.strategy)
    unit_s = size_bytes / (rails * (wishes.rail_bytes_per_s or TYPICAL_RAIL_BYTES_PER_S))
    alpha = wishes.alpha_s / unit_s if unit_s else Fraction(1)
    if wishes.strategy is Strategy.AUTO:
        chunking = chunking_for(wishes.rail_bytes_per_s, size_bytes)
        chosen = planner.plan(rates, alpha=alpha, chunking=chunking).chosen
    else:
        chosen = _asked_for(rates, wishes, alpha)
    if chosen.scheme in {"ring", "hot-repair"}:
        return _ring(nodes, rails, Strategy.parse(chosen.scheme))
    form = _form(chosen)
    case = Case(rates.rates, chosen.order, chosen.pieces, chosen.partial, form, pairs_of_ports=False)
    if chosen.scheme == "nested-optcc":
        rings = nested_mixture(rates.bandwidths())
        case = replace(case, rings=tuple((ring.members, ring.share) for ring in rings))
    stripes = _stripes(chosen.scheme, case)
    strategy = Strategy.parse(chosen.scheme)
    return Choice(strategy, stripes, chosen.pieces, chosen.partial, form, chosen.order)


def chunking_for(rail_bytes_per_s: Fraction | None, size_bytes: int) -> Chunking:
    """Say how ranks cut a collective into chunks.

    Args:
        rail_bytes_per_s: Rate of a healthy rail; None: not known.
        size_bytes: Bytes to reduce per node.
    """
    settings = Settings.for_rate(None if rail_bytes_per_s is None else float(rail_bytes_per_s))
    # Equal parts of the data, so that the grid need not become fine for an odd size.
    return Chunking(Fraction(1, max(1, -(-size_bytes // settings.chunk_bytes))), settings.window)


def _asked_for(rates: RailRates, wishes: Wishes, alpha: Fraction) -> Candidate:
    """Fill in what the user left open: K, Y, the order of the ring."""
    if min(rates.bandwidths()) == 1:
        return Candidate("ring", "", None)
    straggler = find_straggler(rates)
    if wishes.strategy is Strategy.OPTCC and straggler is not None and rates.nodes > 2:
        return _optcc(rates, wishes, alpha)
    if wishes.strategy in {Strategy.OPTCC, Strategy.NESTED_OPTCC} and is_nested(rates) and rates.nodes > 2:
        nested = candidates.nested_optcc(rates, alpha)
        if nested and nested[0].time is not None:
            return replace(nested[0], pieces=wishes.pieces or nested[0].pieces)
        return _optcc(rates, wishes, alpha)
    is_two_stage = wishes.strategy is Strategy.R2CC_ALLREDUCE
    if is_two_stage and straggler is not None and straggler.whole_rails and rates.nodes > 2:
        form = wishes.form or "chain"
        best = next(one for one in candidates.r2cc_allreduce(rates, alpha) if one.form.startswith(form))
        return Candidate(
            "r2cc-allreduce",
            form,
            None,
            pieces=wishes.pieces or best.pieces,
            partial=straggler.lost if wishes.partial is None else wishes.partial,
        )
    order = re_rank(common_capacity(rates.rates))
    return Candidate("balance", "", None, order=None if order == tuple(range(rates.nodes)) else order)


def _optcc(rates: RailRates, wishes: Wishes, alpha: Fraction) -> Candidate:
    found = {one.form: one for one in candidates.optcc(rates, alpha)}
    form = wishes.form or "simple"
    # Ordering 2 alone has no model of its own; it takes about as long as ordering 1.
    like = found.get(form, found["simple"])
    return Candidate("optcc", form, None, pieces=wishes.pieces or like.pieces)


def _form(chosen: Candidate) -> str | None:
    """Return the form in the catalogue's words; the planner's say which Y, too."""
    return chosen.form.split(",")[0] if chosen.scheme in {"r2cc-allreduce", "optcc"} else None


@lru_cache(maxsize=8)
def _ring(nodes: int, rails: int, strategy: Strategy) -> Choice:
    healthy = RailRates.of(nodes, rails)
    return Choice(strategy, ALGORITHMS["ring"](Case(healthy.rates)))


@lru_cache(maxsize=16)
def _stripes(scheme: str, case: Case) -> Stripes:
    return ALGORITHMS[scheme](case)


def slow_from_the_start(slow: Mapping[Nic, Fraction]) -> tuple[tuple[Nic, Fraction], ...]:
    """Put slow NICs into the form that `Wishes` takes: in order, without those that are not slow."""
    return tuple(sorted((nic, share) for nic, share in slow.items() if share != 1))
