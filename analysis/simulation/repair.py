"""HotRepair as it happens: a collective whose NICs change on its way (paper 1, arXiv 2512.25059, figure 4).

When a NIC dies, what is on the wire through it is lost. As soon as both ends know, each channel that used it
takes another route (`algorithms.hot_repair`) and sends again whatever has not arrived; what has arrived
stays, also if it waits for a hazard before it lands. As long as they do not know, a channel goes on sending
into the void, up to a window of stripes. A NIC that slows down goes on with what it has. One that comes back
is used by the next collective, not by this one.

A stripe is sent again as a whole, so cut stripes into chunks first (`analysis.simulation.chunks`). Not
handled: the messages of the repair itself, and the time an acknowledgement takes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.columns import IntColumn
from algorithms.hot_repair import repaired_route
from algorithms.nic import Nic, Route, nics_of
from algorithms.stripes import Stripes
from analysis.rail_rates import RailRates
from analysis.simulation import clock as clocks
from analysis.simulation.clock import Ticks
from analysis.simulation.order import Order, order_of
from analysis.simulation.ports import NOT_YET, Progress, Run
from analysis.simulation.rules import Rules
from analysis.simulation.tasks import NONE, Tasks, tasks_of
from analysis.simulation.timeline import Timeline

Rows = NDArray[np.bool_]

WINDOW = 8
"""Stripes that a channel sends without an answer; the executor's window is so many chunks."""


class Repair:
    """One collective over a network that changes.

    Args:
        stripes: The schedule, mapped to rails.
        rates: What every NIC can carry.
        rules: Any rule for ports but FAIR.
        instants: When NICs will change, in D/B.
        changed: The rates they will have then, in B.
    """

    def __init__(
        self,
        stripes: Stripes,
        rates: RailRates,
        rules: Rules,
        instants: Sequence[Fraction],
        changed: Collection[Fraction],
    ) -> None:
        self._planned, self._stripes, self._rates, self._rules = stripes, stripes, rates, rules
        self._dead = set(rates.dead())
        self._silent: set[Nic] = set()
        self._attempt = np.zeros(len(stripes), np.int64)
        self._log: list[list[NDArray[Any]]] = []
        tasks = tasks_of(stripes, rates, rules.node_rate)
        live = {rate for rate in (*changed, *tasks.rates, *sum(rates.rates, ())) if rate > 0}
        # What is on the wire when rates change goes on at old/new times the pace: whole ticks again.
        ratios = math.lcm(*((old / new).denominator for old in live for new in live))
        finer = ratios ** sum(1 for rate in changed if rate)
        self._clock = clocks.choose(tasks, live, rules.alpha, instants, finer)
        self._run = self._network(tasks, None)
        self._is_noted = np.zeros(len(tasks), np.bool_)

    def advance(self, time: Fraction) -> None:
        """Go on until this time, in D/B. What happens at one time happens before anything starts then."""
        instant = self._clock.ticks(time)
        if instant > self._run.now:
            self._run.advance(instant)
            self._run.now = instant

    def die(self, nic: Nic) -> None:
        """Let a NIC die without a word: what goes through it from now on never arrives."""
        self._silent.add(nic)
        self._run.lose(self._silent)

    def reroute(self, nic: Nic) -> None:
        """Let everybody know that a NIC is dead: HotRepair."""
        self._silent.discard(nic)
        self._dead.add(nic)
        run, old = self._run, self._run.tasks
        arrival = run.end[old.landing - 1]
        has_arrived = (arrival != NOT_YET) & (arrival <= run.now)
        paths, path = self._stripes.paths()
        uses = np.array([_goes_through(nic, *one) for one in paths], np.bool_)
        again = uses[path] & ~has_arrived
        self._note(again)
        self._attempt[again & (run.start[old.first] != NOT_YET)] += 1

        self._stripes, moves = self._with_new_routes(again)
        self._rates = with_rate(self._rates, nic, Fraction(0))
        tasks = tasks_of(self._stripes, self._rates, self._rules.node_rate, has_arrived)
        place = np.arange(len(tasks), dtype=np.int32) - tasks.first[tasks.stripe]
        origin = old.first[tasks.stripe] + place
        # A stripe that has arrived keeps only that: its channel's route may be longer or shorter now.
        is_landing = place == (tasks.landing - tasks.first)[tasks.stripe]
        origin = np.where(moves[tasks.stripe], old.landing[tasks.stripe] - 1 + is_landing, origin)
        origin[again[tasks.stripe]] = NONE
        self._go_on(tasks, origin)

    def change_rate(self, nic: Nic, rate: Fraction) -> None:
        """Let a NIC run faster or slower. One that is known to be dead stays out of this collective."""
        if nic in self._dead:
            return
        self._note(np.zeros(len(self._stripes), np.bool_))
        self._rates = with_rate(self._rates, nic, rate)
        run, old = self._run, self._run.tasks
        has_left = run.end[old.landing - 1] != NOT_YET
        tasks = tasks_of(self._stripes, self._rates, self._rules.node_rate, has_left)
        alpha = self._clock.ticks(self._rules.alpha)
        for task in np.flatnonzero((run.end > run.now) & old.is_hop).tolist():
            before, after = old.rates[old.rate[task]], tasks.rates[tasks.rate[task]]
            of_alpha = max(0, int(run.start[task]) + alpha - run.now)
            of_bytes = int(run.end[task]) - run.now - of_alpha
            run.end[task] = run.now + of_alpha + round(of_bytes * before / after)
        self._go_on(tasks, np.arange(len(tasks), dtype=np.int32))

    def finish(self) -> Timeline:
        """Go on to the end.

        Returns:
            All that happened.

        Raises:
            ScheduleError: Some tasks wait for ever; names the first one.
        """
        self._run.finish()
        self._note(np.zeros(len(self._planned), np.bool_))
        stripe, one, other, start, end, atoms, attempt = (
            np.concatenate(parts) for parts in zip(*self._log, strict=True)
        )
        return Timeline(
            stripes=self._planned,
            ports=self._run.tasks.ports,
            clock=self._clock,
            stripe=stripe.astype(np.int32),
            one=one.astype(np.int32),
            other=other.astype(np.int32),
            start=start.astype(np.int64),
            end=end.astype(np.int64),
            atoms=atoms.astype(np.int64),
            is_lost=attempt < self._attempt[stripe],
            landed=self._run.end[self._run.tasks.landing],
        )

    def _network(self, tasks: Tasks, progress: Progress | None) -> _FailingRun:
        order = order_of(tasks, self._rules)
        return _FailingRun(tasks, order, clocks.measure(tasks, self._rules.alpha, self._clock), progress)

    def _go_on(self, tasks: Tasks, origin: IntColumn) -> None:
        """Go on with other tasks; `origin` names for each what it was before, or NONE if it starts anew."""
        run, is_new = self._run, origin == NONE
        start, end = (np.where(is_new, NOT_YET, column[origin]) for column in (run.start, run.end))
        self._is_noted = ~is_new & self._is_noted[origin]
        self._run = self._network(tasks, Progress(run.now, start, end))
        self._run.lose(self._silent)

    def _note(self, cut: Rows) -> None:
        """Write down what has occupied ports until now and is not written down yet.

        Args:
            cut: Stripes that end now, wherever they are.
        """
        run, tasks = self._run, self._run.tasks
        vanished = run.vanished != NOT_YET
        has_ended = (run.end != NOT_YET) & (run.end <= run.now)
        is_cut = (run.end > run.now) & cut[tasks.stripe]
        rows = np.flatnonzero((vanished | has_ended | is_cut) & (tasks.one != NONE) & ~self._is_noted)
        stripe = tasks.stripe[rows]
        length = (self._stripes.source_hi - self._stripes.source_lo)[stripe]
        end = np.where(vanished, run.vanished, np.minimum(run.end, run.now))[rows]
        occupied: list[NDArray[Any]] = [stripe, tasks.one[rows], tasks.other[rows], run.start[rows], end]
        self._log.append([*occupied, length * tasks.is_hop[rows], self._attempt[stripe]])
        self._is_noted[rows] = True

    def _with_new_routes(self, again: Rows) -> tuple[Stripes, Rows]:
        """Take other routes for the channels of these stripes; say which stripes are in such channels."""
        stripes, channel = self._stripes, self._run.tasks.channel
        routes: dict[Route, int] = {route: index for index, route in enumerate(stripes.routes)}
        route, moves = stripes.route.copy(), np.zeros(len(stripes), np.bool_)
        for one in np.unique(channel[again]).tolist():
            of_channel = channel == one
            first = stripes[int(np.argmax(of_channel))]
            found = repaired_route(
                first.transfer.source,
                first.transfer.target,
                first.home,
                nodes=self._rates.nodes,
                rails=self._rates.rails,
                dead=self._dead,
            )
            route[of_channel] = routes.setdefault(found, len(routes))
            moves |= of_channel
        return replace(stripes, route=route, routes=tuple(routes)), moves


class _FailingRun(Run):
    """A simulation in which stripes vanish.

    Attributes:
        vanished: Per task when it ended in the void, or NOT_YET. Such a task has no end.
    """

    def __init__(self, tasks: Tasks, order: Order, durations: Ticks, progress: Progress | None) -> None:
        self.vanished = np.full(len(tasks), NOT_YET, np.int64)
        self._will_vanish = np.zeros(len(tasks), np.bool_)
        self._unanswered = np.zeros(int(tasks.channel.max(initial=0)) + 1, np.int64)
        super().__init__(tasks, order, durations, progress)
        for task in np.flatnonzero((self.start != NOT_YET) & (self.end == NOT_YET)).tolist():
            self._send_on(task)

    def lose(self, nics: Collection[Nic]) -> None:
        """From now on, what goes through one of these NICs vanishes."""
        ports = self.tasks.ports
        dead = [port for nic in nics for port in (ports.sending(nic), ports.receiving(nic))]
        self._will_vanish = np.isin(self.tasks.one, dead) | np.isin(self.tasks.other, dead)

    def _release(self, ended: IntColumn) -> None:
        void = self._will_vanish[ended]
        super()._release(ended[~void])
        for task in ended[void].tolist():
            self.vanished[task], self.end[task] = self.now, NOT_YET
            self._send_on(task)

    def _send_on(self, task: int) -> None:
        """Let the channel of a stripe that vanished send its next one, as long as there is a window left."""
        tasks, following = self.tasks, self._order.in_channel
        if following is None or task != tasks.first[tasks.stripe[task]] or following[task] == NONE:
            return
        channel = tasks.channel[tasks.stripe[task]]
        self._unanswered[channel] += 1
        if self._unanswered[channel] < WINDOW:
            self._reasons[following[task]] -= 1
            if self._reasons[following[task]] == 0:
                self._open(following[task : task + 1])


def _goes_through(nic: Nic, source: int, route: Route) -> bool:
    return any(nic in hop for hop in nics_of(source, route))


def with_rate(rates: RailRates, nic: Nic, rate: Fraction) -> RailRates:
    """Replace the rate of one NIC."""
    of_node = rates.rates[nic.node]
    changed = (*of_node[: nic.rail], rate, *of_node[nic.rail + 1 :])
    return RailRates((*rates.rates[: nic.node], changed, *rates.rates[nic.node + 1 :]))
