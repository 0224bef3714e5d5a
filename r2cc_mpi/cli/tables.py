"""What is printed of a job's iterations: a line each, their failovers, and the verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from algorithms.nic import Nic
from r2cc_mpi.cli.report import FailoverRecord, IterationRecord, RailBytes, Verdict


def iteration_table(iterations: Sequence[IterationRecord], nics: Collection[Nic]) -> list[str]:
    """Write a line for each iteration: times, strategy, and what some NICs carried.

    Of a NIC that is an interface, the kernel's count stands beside our own: it has the headers in it, and
    what was given to a dead link has never left.

    The ratio is the time on the network over the predicted time; the bound is what no strategy could beat.

    Args:
        iterations: The iterations, in order; they count from 1.
        nics: The NICs to show, usually all of the nodes that lost one.
    """
    kernel = any(one.kernel_bytes for one in iterations)
    names = [
        f"{nic.node}:{nic.rail} {counter} (MB)"
        for nic in sorted(nics)
        for counter in ("tx/rx", *(["kernel"] if kernel else []))
    ]
    columns = "# {:>4}  {:>10}  {:>12}  {:>14}  {:>10}  {:>14}  {:>6}"
    columns += "".join(f"  {{:>{len(name)}}}" for name in names) + "  {:>9}"
    titles = ("iter", "time (ms)", "network (ms)", "predicted (ms)", "bound (ms)", "strategy", "ratio")
    lines = [columns.format(*titles, *names, "failovers")]
    for number, one in enumerate(iterations, start=1):
        models = ("-" if model is None else f"{model * 1e3:.2f}" for model in (one.predicted_s, one.bound_s))
        ratio = f"{one.network_s / one.predicted_s:.3f}" if one.predicted_s else "-"
        times = (f"{one.time_s * 1e3:.2f}", f"{one.network_s * 1e3:.2f}", *models)
        counts = (one.rail_bytes, one.kernel_bytes) if kernel else (one.rail_bytes,)
        carried = [_carried(counted, nic) for nic in sorted(nics) for counted in counts]
        lines.append(columns.format(number, *times, one.strategy, ratio, *carried, len(one.failovers)))
    return lines


def _carried(counted: Mapping[Nic, RailBytes], nic: Nic) -> str:
    if nic not in counted:
        return "-"
    carried = counted[nic]
    return f"{carried.tx / 1e6:.2f}/{carried.rx / 1e6:.2f}"


def failover_line(iteration: int, record: FailoverRecord) -> str:
    """Write what was lost in an iteration (from 1), and how it went on."""
    known = "" if record.detected_s is None else f" detected after {record.detected_s * 1e3:.1f} ms,"
    return (
        f"# failover in iteration {iteration}: rail {record.rail} of node {record.node} failed "
        f"({record.cause}),{known} {record.resent_bytes} bytes resent, route {record.path}"
    )


def failover_lines(iterations: Iterable[IterationRecord]) -> list[str]:
    """Write the failover lines of all iterations, which count from 1."""
    return [
        failover_line(number, record)
        for number, one in enumerate(iterations, start=1)
        for record in one.failovers
    ]


def verdict_line(verdict: Verdict) -> str:
    """Write how the run ended, in one line."""
    status = f" (exit {verdict.exit_code})" if verdict.exit_code else ""
    return f"# verdict: {verdict.word}{status} {' '.join(verdict.reason.split())}".rstrip()
