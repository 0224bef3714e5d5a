"""What a job prints before it measures: nccl-tests' lines about parameters and devices."""

from __future__ import annotations

from algorithms.nic import Nic
from r2cc_mpi.cli.description import Description, Device
from r2cc_mpi.cli.options import RunOptions


def preamble(job: Description) -> list[str]:
    """Write the lines."""
    sweep, method = job.sweep, job.method
    step = f"{sweep.step_factor}(factor)" if sweep.step_factor else f"{sweep.step_bytes}(bytes)"
    return [
        f"# r2cc-mpi version {job.version}",
        f"# Collective test starting: {job.collective}",
        (
            f"# nThread 1 nGpus 1 minBytes {sweep.minimum_bytes} maxBytes {sweep.maximum_bytes} step: {step} "
            f"warmup iters: {method.warmup_iterations} iters: {method.iterations} agg iters: {method.calls} "
            f"validation: {int(method.check)} graph: 0 unalign: 0"
        ),
        *_per_iteration(job),
        "#",
        "# Using devices",
        *(_device(one) for one in job.devices),
        "#",
    ]


def _per_iteration(job: Description) -> list[str]:
    if not job.method.per_iteration:
        return []
    skipped = job.method.skipped
    summary = f"; summary skips first {skipped} iterations" if skipped else ""
    return [f"# Per-Iteration Report: host clock timing; i_* uses max over process rows{summary}"]


def _device(one: Device) -> str:
    return (
        f"#  Rank {one.rank:2d} Group {0:2d} Pid {one.pid:6d} on {one.host:>10} "
        f"device {one.nic.rail:2d} [{one.address}] {one.info}"
    )


def layout_lines(options: RunOptions) -> list[str]:
    """Write how the network is laid out, and what is to happen to it."""
    rate = _rate(options, " each way")
    rails = f"interfaces {', '.join(options.interfaces)}" if options.interfaces else "virtual rails"
    if options.interfaces and options.rail_rate_bytes_per_s is None:
        rate += " (no driver says it, or they differ; predictions need --rail-rate)"
    replayed = ", planned once and replayed" if options.method.persistent else ""
    return [
        f"# r2cc {options.collective}: {options.layout} ({options.layout.ranks} ranks)",
        f"# {rails}, {rate}; strategy {options.strategy}{replayed}",
        *(
            f"# fault: {fault.option}{' (silent)' if fault.silent else ''}{' (late)' if fault.late else ''}"
            for fault in options.faults
        ),
    ]


def device_info(options: RunOptions, nic: Nic) -> str:
    """Say what a rank's NIC is."""
    if nic not in options.layout:
        return "owns no rail"
    if options.interfaces:
        return f"interface {options.interfaces[nic.rail]}, {_rate(options)}"
    return f"virtual rail {nic.rail} of node {nic.node}, {_rate(options)}"


def _rate(options: RunOptions, more: str = "") -> str:
    rate = options.rail_rate_bytes_per_s
    if rate is None:
        return "rate not known" if options.interfaces else "unpaced"
    return f"{rate / 1e6:g} MB/s{more}"
