"""Jobs that never ran: what a healthy one would have given back, for tests to spoil."""

from __future__ import annotations

from dataclasses import replace

from algorithms.nic import Nic
from scripts.network.links import Moment
from scripts.reproduction.record import Carried, Iteration, JobRecord, Learned, Plan
from scripts.reproduction.session import Outcome
from scripts.reproduction.setting import VICTIM, Setting

SETTING = Setting(nodes=3, rails=3, link_bytes_per_s=12.5e6, size_bytes=32 * 2**20)
NICS = [Nic(node, rail) for node in range(3) for rail in range(3)]
HEALTHY_BYTES = 15_000_000


def iteration(number, stage, strategy="ring", *, network_s=1.0, carried=HEALTHY_BYTES, wrong=0):
    """Make an iteration that begins `number` times 10 s after the clock's start."""
    kernel = {nic: Carried(carried if nic == VICTIM else HEALTHY_BYTES, HEALTHY_BYTES) for nic in NICS}
    if not carried:
        kernel[VICTIM] = Carried(0, 0)
    began_at = 10.0 * number
    return Iteration(stage, number, began_at, began_at + network_s, network_s, strategy, wrong, 0, kernel)


def plan(stage, strategy, predicted_s=1.0, excluded=(VICTIM,)):
    """Make a plan."""
    return Plan(stage, strategy, 0.01, predicted_s, excluded)


def learned(at, nic=VICTIM, *, is_up=False, cause="netlink event: set down"):
    """Let every rank on the rail learn of a change, each a millisecond after the other."""
    return tuple(Learned(Nic(node, nic.rail), nic, at + 0.001 * node, is_up, cause) for node in range(3))


def outcome(iterations, plans, known, moments, *, ended_s=1.0, **changes):
    """Make a job that passed."""
    record = JobRecord(tuple(iterations), tuple(plans), tuple(known), stall_s=0.64, probe_s=0.32)
    ended_at = iterations[-1].ended_at + ended_s
    return replace(Outcome(0, record, moments, ended_at, "said"), **changes)


def at(seconds):
    """Make a moment a tenth of a millisecond long."""
    return Moment(seconds - 0.0001, seconds)
