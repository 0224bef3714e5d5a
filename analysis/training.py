"""What a slower AllReduce means for a training iteration.

The model: an iteration takes its compute time plus the *exposed* communication, the part that no compute
hides. A failure makes all communication longer by the same factor and leaves compute alone. Shares are parts
of the healthy iteration's time. The papers state overheads of training without the exposed share, so what can
be said is which share turns a scheme's AllReduce overhead into the overhead they report.

Not handled here: the iteration that the failure hits, and several jobs on one network.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from algorithms.nic import Nic
from analysis import cost_model, papers
from analysis.errors import ModelError
from analysis.exact import Exact
from analysis.inputs import not_negative, share, whole


def iteration_overhead(allreduce_overhead: Exact, exposed_share: Exact) -> Fraction:
    """Overhead of an iteration whose exposed communication grows in proportion: the product.

    Source: derived here from the model above. It assumes that what was hidden stays hidden.

    Args:
        allreduce_overhead: How much longer the AllReduce takes, 1 for twice as long.
        exposed_share: Part of the healthy iteration that is exposed communication, from 0 to 1.

    Raises:
        ModelError: An argument is out of range.

    >>> iteration_overhead(Fraction(1, 7), Fraction(1, 10))
    Fraction(1, 70)
    """
    return not_negative(allreduce_overhead, "allreduce_overhead") * share(exposed_share, "exposed_share")


def iteration_overhead_with_overlap(
    allreduce_overhead: Exact, communication_share: Exact, hidden_part: Exact, spare: Exact = 0
) -> Fraction:
    """Overhead of an iteration that hides a part of its communication under compute.

    Source: derived here. Of the communication c the part h is hidden. It grows by c o in all. The hidden part
        would like to grow by h c o; compute can hide only `spare` more than it already does. The rest is
        exposed:

            c o - min(h c o, spare)

        With enough to spare this is `iteration_overhead` for the exposed share c (1-h). With nothing to spare
        every added second shows: c o.

    Args:
        allreduce_overhead: o, how much longer the AllReduce takes.
        communication_share: c, all communication over the healthy iteration's time, from 0 to 1.
        hidden_part: h, from 0 to 1.
        spare: Compute that hides nothing yet but could, over the healthy iteration's time.

    Raises:
        ModelError: An argument is out of range, or there is more to hide behind than there is compute.

    >>> iteration_overhead_with_overlap(1, Fraction(1, 5), Fraction(1, 2), spare=Fraction(1, 20))
    Fraction(3, 20)
    """
    o = not_negative(allreduce_overhead, "allreduce_overhead")
    c = share(communication_share, "communication_share")
    h = share(hidden_part, "hidden_part")
    room = not_negative(spare, "spare")
    if c + room > 1:
        # the iteration is exposed communication c (1-h), compute that hides c h, and the other compute
        raise ModelError(
            f"spare = {spare}: beside communication of {communication_share} an iteration has at most "
            f"{1 - c} of compute to spare"
        )
    return c * o - min(h * c * o, room)


def exposed_share_for(target: Exact, allreduce_overhead: Exact) -> Fraction | None:
    """The exposed share at which an AllReduce overhead becomes a given overhead of the iteration.

    Args:
        target: Overhead of the iteration.
        allreduce_overhead: Overhead of the AllReduce.

    Returns:
        The share, from 0 to 1; None if even an iteration of nothing but communication stays below the target.

    Raises:
        ModelError: An argument is below zero.

    >>> exposed_share_for(Fraction(11, 1000), 1)
    Fraction(11, 1000)
    """
    wanted = not_negative(target, "target")
    overhead = not_negative(allreduce_overhead, "allreduce_overhead")
    return wanted / overhead if overhead and wanted <= overhead else None


class SchemeInTraining(NamedTuple):
    """A scheme, its AllReduce overhead, and the exposed share at which that becomes the target."""

    scheme: str
    allreduce_overhead: Fraction
    exposed_share: Fraction | None


def table(
    nodes: int = papers.TRAINING_SERVERS,
    rails: int = papers.TRAINING_RAILS,
    failed: int = 1,
    target: Exact = papers.TRAINING_OVERHEAD,
) -> list[SchemeInTraining]:
    """List the schemes and which exposed share turns each into `target`, one node being degraded.

    The defaults are one NIC of eight in one of paper 1's four servers, and its 1.1 %. Pipelines are fine;
    several dead rails are neighbours, which is the worst for HotRepair.

    Args:
        nodes: Number of nodes, at least 3.
        rails: g, rails per node.
        failed: Dead rails of one node, from 1 to g-1.
        target: Overhead of the iteration.

    Raises:
        ModelError: An argument is out of range.
    """
    rails = whole(rails, "rails", 2)
    if whole(failed, "failed", 1) >= rails:
        raise ModelError(f"failed = {failed}: the node must keep a rail, give at most {rails - 1}")
    lost = Fraction(failed, rails)
    times = {
        "HotRepair": cost_model.hot_repair(nodes, rails, [Nic(0, rail) for rail in range(failed)]),
        "Balance": cost_model.balance(nodes, lost),
        "R2CC-AllReduce": cost_model.r2cc_allreduce(nodes, lost),
        "OptCC, four stages": cost_model.optcc(nodes, lost),
        "OptCC, mixture": cost_model.optcc(nodes, lost, form="mixture"),
    }
    overheads = {scheme: cost_model.overhead(time, nodes) for scheme, time in times.items()}
    return [
        SchemeInTraining(scheme, overhead, exposed_share_for(target, overhead))
        for scheme, overhead in overheads.items()
    ]
