"""The choices a simulation leaves open: who may use a port next, and what a hazard holds back."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from fractions import Fraction

from analysis.errors import ModelError


class PortRule(enum.Enum):
    """Which of the transfers that want a port gets it."""

    CHANNELS = "channels"
    """As the executor does it, but that its receiving ports queue (`analysis.simulation.executor`). Each
    channel sends its stripes in program order; among the channels whose next stripe may go, a port serves the
    lowest program index first."""
    READY = "ready"
    """A port serves the lowest program index among all stripes that may go, also past one of the same channel
    that still has to wait. No real channel does this; it shows in which order to write a schedule."""
    STRICT = "strict"
    """A port serves its stripes in program order, and waits for one that may not go yet."""
    FAIR = "fair"
    """Ports are shared: the next stripes of all channels flow at once, at max-min fair rates."""


class Gate(enum.Enum):
    """What a hazard at the target of a stripe holds back."""

    LANDING = "landing"
    """The landing: the data may be on the wire before, and waits in a landing slot, as in the executor."""
    START = "start"
    """The start of the wire: for comparison."""


@dataclass(frozen=True)
class Rules:
    """How a simulation runs.

    Attributes:
        alpha: What a message costs on top of its bytes, in D/B. It occupies the port as the bytes do.
        port: Who may use a port next.
        gate: What hazards at the target hold back.
        node_rate: What one node can hand over between its rails and apply to its buffer, in units of B, one
            stripe after another. None: inside a node everything is free, as in the closed forms.

    Raises:
        ModelError: Alpha is below zero, or a node handles nothing.
    """

    alpha: Fraction = Fraction(0)
    port: PortRule = PortRule.CHANNELS
    gate: Gate = Gate.LANDING
    node_rate: Fraction | None = None

    def __post_init__(self) -> None:
        if self.alpha < 0:
            raise ModelError(f"alpha = {self.alpha}: no message costs less than nothing, give 0 or more")
        if self.node_rate is not None and self.node_rate <= 0:
            raise ModelError(f"node_rate = {self.node_rate}: give a rate above zero, or None for a free node")
