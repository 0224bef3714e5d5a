"""Stripes: a transfer's parts, one per rail, and the healthy way to cut them.

A *stripe* is what of a transfer travels over one rail; its *home* is the rail whose channel it belongs to,
its *route* the hops it really takes. On a healthy network the route is one hop over the home rail. HotRepair
changes routes and leaves stripes and homes alone (`algorithms.hot_repair`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np

from algorithms.columns import GRID_LIMIT, IntColumn, compress
from algorithms.nic import Hop, Nic, Route, describe_route, nics_of
from algorithms.schedule import Schedule
from algorithms.transfer import Region, ScheduleError, Transfer


@dataclass(frozen=True, slots=True)
class Stripe:
    """One row of `Stripes`, to read and print. Regions are on the grid of the stripes."""

    index: int
    transfer: Transfer
    source_region: Region
    target_region: Region
    home: int
    route: Route

    def __str__(self) -> str:
        region = f"[{self.source_region[0]}, {self.source_region[1]})"
        if self.target_region != self.source_region:
            region += f" to [{self.target_region[0]}, {self.target_region[1]})"
        path = describe_route(self.transfer.source, self.route)
        return f"stripe {self.index} of {self.transfer}: {region}, home rail {self.home}, route {path}"


@dataclass(frozen=True, eq=False)
class Stripes:
    """All stripes of a schedule, in program order of their transfers.

    `len(stripes)`, `stripes[index]` and iteration present the rows as `Stripe` objects.

    Attributes:
        schedule: What the stripes are parts of.
        rails: g, the number of rails.
        grid: A multiple of `schedule.grid`, fine enough for the boundaries of the stripes.
        transfer: For each stripe the index of its transfer. This and the columns below: read-only int32
            arrays.
        source_lo: Where the stripe begins at the source, on `grid`.
        source_hi: Where it ends there.
        target_lo: Where it begins at the target.
        target_hi: Where it ends there.
        home: Its home rail.
        route: Index into `routes`.
        routes: Table of routes.
    """

    schedule: Schedule
    rails: int
    grid: int
    transfer: IntColumn
    source_lo: IntColumn
    source_hi: IntColumn
    target_lo: IntColumn
    target_hi: IntColumn
    home: IntColumn
    route: IntColumn
    routes: tuple[Route, ...]

    def __post_init__(self) -> None:
        for field in fields(self):
            column = getattr(self, field.name)
            if isinstance(column, np.ndarray):
                column.setflags(write=False)

    def __len__(self) -> int:
        return len(self.transfer)

    def __getitem__(self, index: int) -> Stripe:
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no stripe {index} among {len(self)}")
        row = index % len(self)
        return Stripe(
            index=row,
            transfer=self.schedule[int(self.transfer[row])],
            source_region=(int(self.source_lo[row]), int(self.source_hi[row])),
            target_region=(int(self.target_lo[row]), int(self.target_hi[row])),
            home=int(self.home[row]),
            route=self.routes[self.route[row]],
        )

    def __iter__(self) -> Iterator[Stripe]:
        return (self[index] for index in range(len(self)))

    def paths(self) -> tuple[list[tuple[int, Route]], IntColumn]:
        """List the distinct pairs of source node and route.

        Returns:
            The pairs, and for each stripe the position of its own.
        """
        source = self.schedule.columns.source[self.transfer].astype(np.int64)
        keys, path = compress(source * len(self.routes) + self.route, self.schedule.nodes * len(self.routes))
        pairs = [divmod(key, len(self.routes)) for key in keys]
        return [(source, self.routes[route]) for source, route in pairs], path

    def rail_loads(self) -> dict[Nic, tuple[Fraction, Fraction]]:
        """Count what passes through each NIC. Every hop of a route counts, at a relay too.

        Returns:
            For each NIC (sent, received), in units of the data: the whole grid is 1.
        """
        sent = {Nic(node, rail): 0 for node in range(self.schedule.nodes) for rail in range(self.rails)}
        received = dict(sent)
        paths, path = self.paths()
        lengths = np.zeros(len(paths), np.int64)
        np.add.at(lengths, path, self.source_hi - self.source_lo)
        for (source, route), length in zip(paths, lengths.tolist(), strict=True):
            for departure, arrival in nics_of(source, route):
                sent[departure] += length
                received[arrival] += length
        return {nic: (Fraction(sent[nic], self.grid), Fraction(received[nic], self.grid)) for nic in sent}


def healthy_mapping(schedule: Schedule, rails: int) -> Stripes:
    """Split every transfer evenly over the rails it may use, each stripe going straight over its home rail.

    A transfer of [lo, hi) that may use s rails gives its r-th rail [lo + (hi-lo) r/s, lo + (hi-lo) (r+1)/s).
    In a ring a section is thus cut the same way in every step, so that each rail runs a ring of its own.

    Args:
        schedule: What to map.
        rails: g, the number of rails.

    Returns:
        The stripes, those of one transfer in the order of their rails.

    Raises:
        ScheduleError: A transfer asks for a rail that does not exist, or the grid becomes too fine.
    """
    if rails < 1:
        raise ScheduleError(f"cannot map a schedule to {rails} rails; give at least one")
    columns = schedule.columns
    allowed = allowed_rails(schedule, rails)
    sizes = np.array([len(choice) for choice in allowed], np.int32)
    refinement = math.lcm(*sizes.tolist())
    if schedule.grid * refinement >= GRID_LIMIT:
        raise ScheduleError(
            f"grid {schedule.grid} is too fine to be cut for {rails} rails (limit {GRID_LIMIT})"
        )

    # int32 throughout: no product below exceeds the refined grid.
    shares = sizes[columns.rails]
    transfer = np.repeat(np.arange(len(schedule), dtype=np.int32), shares)
    first_stripe = np.cumsum(shares, dtype=np.int32) - shares
    share = np.arange(len(transfer), dtype=np.int32) - first_stripe[transfer]
    table = np.array([choice + choice[:1] * (max(sizes) - len(choice)) for choice in allowed], np.int32)
    home = table[columns.rails[transfer], share]
    length = ((columns.source_hi - columns.source_lo) * (refinement // shares))[transfer]
    source_lo = (columns.source_lo * refinement)[transfer] + length * share
    target_lo = (columns.target_lo * refinement)[transfer] + length * share
    arrivals, route = compress(columns.target[transfer] * rails + home, schedule.nodes * rails)
    return Stripes(
        schedule=schedule,
        rails=rails,
        grid=schedule.grid * refinement,
        transfer=transfer,
        source_lo=source_lo,
        source_hi=source_lo + length,
        target_lo=target_lo,
        target_hi=target_lo + length,
        home=home,
        route=route,
        routes=tuple((Hop(arrival % rails, arrival // rails),) for arrival in arrivals),
    )


def allowed_rails(schedule: Schedule, rails: int) -> list[list[int]]:
    """Write out each entry of the schedule's table of rail sets; the unused ones too, they do no harm.

    Raises:
        ScheduleError: A transfer asks for a rail that does not exist.
    """
    every = list(range(rails))
    allowed = [every if choice is None else sorted(choice) for choice in schedule.rail_sets]
    for entry, choice in enumerate(allowed):
        if choice[-1] >= rails:
            first = int(np.argmax(schedule.columns.rails == entry))
            raise ScheduleError(f"{schedule[first]}: there is no rail {choice[-1]}, only 0..{rails - 1}")
    return allowed
