"""The oracle: does a schedule achieve what its collective promises, and do its stripes carry all of it?

`check` runs the schedule symbolically: every contribution exactly once, nothing undefined read, the
postcondition met. `check_stripes` compares a mapping to rails with its schedule: every byte on exactly one
stripe, every route real and alive. Both raise and name the transfer at fault.

No schedule can deadlock that passes: every channel carries its stripes in program order and has buffers of
its own, so the earliest transfer that is not finished can always go on.

Not checked here: time (loads are reported, what they cost is for the reader to judge).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from algorithms.diagnosis import first_loss
from algorithms.nic import Nic, Route, nics_of
from algorithms.schedule import Schedule
from algorithms.stripes import Stripes
from algorithms.symbolic import Execution, contributors_text, mask_of
from algorithms.transfer import ScheduleError

Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class Report:
    """What `check` found out about a correct schedule.

    Attributes:
        transfers: Number of transfers.
        steps: Length of the longest chain of transfers in which each one touches what the one before wrote.
        loads: Per node (sent, received), in units of the data.
    """

    transfers: int
    steps: int
    loads: list[tuple[Fraction, Fraction]]


def check(schedule: Schedule) -> Report:
    """Prove that a schedule achieves its collective.

    Args:
        schedule: Any schedule; a 1024-node ring of 2 million transfers takes some seconds.

    Returns:
        Its size, depth and loads.

    Raises:
        ScheduleError: Something undefined is read, a contribution counted twice, or the postcondition missed.
            Names the first transfer at fault; for the postcondition the node, the region, what is missing or
            too much, the transfer that destroyed the last copy of what is missing, and the last one that
            wrote there.
    """
    execution = Execution(schedule)
    execution.run()
    for holding in schedule.collective.postcondition:
        wanted = mask_of(holding.contributors)
        held = execution.held[holding.node]
        for cell in execution.cells(holding.region):
            if held[cell] != wanted or execution.displaced.get((holding.node, cell)):
                raise _missed(execution, holding.node, cell, wanted)
    return Report(len(schedule), execution.steps, schedule.loads())


def _missed(execution: Execution, node: int, cell: int, wanted: int) -> ScheduleError:
    """Explain what is wrong with a cell after the last transfer."""
    held = execution.held[node][cell]
    region = execution.region(cell)
    faults = []
    if offset := execution.displaced.get((node, cell)):
        low, high = execution.region(cell + offset)
        faults.append(f"holds data of region [{low}, {high})")
    if missing := wanted & ~held:
        faults.append(f"lacks the contributions of nodes {contributors_text(missing)}")
    if extra := held & ~wanted:
        faults.append(f"has contributions too many, of nodes {contributors_text(extra)}")
    message = f"{execution.schedule.collective.name}: node {node} region [{region[0]}, {region[1]}) "
    message += " and ".join(faults)
    if missing and (loss := first_loss(execution.schedule, region, missing)):
        message += f"; the last copy of some was overwritten by {loss}"
    writer = execution.last_writer(node, cell)
    return ScheduleError(
        f"{message}; " + (f"last written by {writer}" if writer else "no transfer wrote there")
    )


def check_stripes(stripes: Stripes, dead: Collection[Nic] = ()) -> None:
    """Prove that stripes carry every transfer of their schedule once, over routes that exist and are alive.

    Args:
        stripes: A mapping of a schedule to rails.
        dead: NICs that no route may use.

    Raises:
        ScheduleError: The stripes of a transfer leave a gap or overlap, arrive at another place than the
            transfer's, or have a home rail that it does not allow; a route does not lead from its source to
            its target, or uses a NIC that is dead or does not exist; the stripes are not in program order.
            Names stripe and transfer.
    """
    transfers = len(stripes.schedule)
    if stripes.grid % stripes.schedule.grid:
        raise ScheduleError(
            f"stripe grid {stripes.grid} is no multiple of the schedule's {stripes.schedule.grid}"
        )
    if len(stripes) and not 0 <= stripes.transfer.min() <= stripes.transfer.max() < transfers:
        raise ScheduleError(f"a stripe belongs to none of the {transfers} transfers")
    served = np.bincount(stripes.transfer, minlength=transfers)
    if not served.all():
        raise ScheduleError(f"{stripes.schedule[int(np.argmin(served))]}: has no stripe")
    faults = {**_region_faults(stripes), **_rail_faults(stripes), **_route_faults(stripes, frozenset(dead))}
    found = [(int(np.argmax(rows)), fault) for fault, rows in faults.items() if rows.any()]
    if found:
        row, fault = min(found, key=lambda row_and_fault: row_and_fault[0])
        raise ScheduleError(f"{stripes[row]}: {fault}")


def _region_faults(stripes: Stripes) -> dict[str, Rows]:
    """Compare the regions of all stripes with those of their transfers."""
    columns, transfer = stripes.schedule.columns, stripes.transfer
    scale = stripes.grid // stripes.schedule.grid
    begin = columns.source_lo[transfer].astype(np.int64) * scale
    end = columns.source_hi[transfer].astype(np.int64) * scale
    shift = columns.target_lo[transfer].astype(np.int64) * scale - begin

    order = np.lexsort((stripes.source_lo, transfer))
    first = np.append(True, transfer[order][1:] != transfer[order][:-1])[: len(stripes)]
    last = np.append(first[1:], True)[: len(stripes)]
    before = np.where(first, begin[order], np.roll(stripes.source_hi[order], 1))
    gap, overlap = np.zeros((2, len(stripes)), np.bool_)
    gap[order] = (stripes.source_lo[order] > before) | (last & (stripes.source_hi[order] < end[order]))
    overlap[order] = stripes.source_lo[order] < before
    return {
        "is not in program order": np.append(False, transfer[1:] < transfer[:-1])[: len(stripes)],
        "is empty": stripes.source_lo >= stripes.source_hi,
        "leaves a gap in the transfer": gap,
        "overlaps another stripe or lies outside the transfer": overlap | (stripes.source_hi > end),
        "arrives at another place than the transfer's": (
            (stripes.target_lo != stripes.source_lo + shift)
            | (stripes.target_hi != stripes.source_hi + shift)
        ),
    }


def _rail_faults(stripes: Stripes) -> dict[str, Rows]:
    """Compare the home rails of all stripes with the rails that their transfers may use."""
    every = frozenset(range(stripes.rails))
    rail_set = stripes.schedule.columns.rails[stripes.transfer]
    forbidden = np.zeros(len(stripes), np.bool_)
    for index, allowed in enumerate(stripes.schedule.rail_sets):
        usable = every if allowed is None else every & allowed
        forbidden |= (rail_set == index) & ~np.isin(stripes.home, sorted(usable))
    return {"the transfer may not use this home rail": forbidden}


def _route_faults(stripes: Stripes, dead: frozenset[Nic]) -> dict[str, Rows]:
    """Walk each distinct route once and mark the stripes that take a bad one."""
    if ((stripes.route < 0) | (stripes.route >= len(stripes.routes))).any():
        raise ScheduleError(f"a stripe has a route outside the table of {len(stripes.routes)} routes")
    paths, path = stripes.paths()
    ends = np.array([route[-1].node if route else source for source, route in paths], np.int64)
    target = stripes.schedule.columns.target[stripes.transfer]
    marked = {"the route does not end at the target": ends[path] != target}
    for index, (source, route) in enumerate(paths):
        fault = _route_fault(source, route, stripes.schedule.nodes, stripes.rails, dead)
        if fault:
            marked[fault] = marked.get(fault, np.zeros(len(stripes), np.bool_)) | (path == index)
    return marked


def _route_fault(source: int, route: Route, nodes: int, rails: int, dead: frozenset[Nic]) -> str | None:
    for departure, arrival in nics_of(source, route):
        for nic in (departure, arrival):
            if not (0 <= nic.node < nodes and 0 <= nic.rail < rails):
                return f"the route uses {nic}, which does not exist"
            if nic in dead:
                return f"the route uses {nic}, which is dead"
        if departure.node == arrival.node:
            return f"the route has a hop from {departure} to itself"
    return None
