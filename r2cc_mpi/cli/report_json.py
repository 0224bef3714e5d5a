"""The report for programs: the keys and types of nccl-tests' JSON report, version 3, and one key of ours.

Times there are microseconds, rates GB/s (10**9), and truths the strings "true" and "false"; what was not
measured or checked is null. Under `r2cc` times are seconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from algorithms.nic import Nic
from r2cc_mpi.cli.description import Description, Device
from r2cc_mpi.cli.files import write_text
from r2cc_mpi.cli.iteration_statistics import IterationStatistics
from r2cc_mpi.cli.report import (
    FailoverRecord,
    IterationRecord,
    Measurement,
    RailBytes,
    Report,
    SizeRecord,
    algorithm_bandwidth,
    average_bus_bandwidth,
    bus_bandwidth,
    wrong_elements,
)
from r2cc_mpi.cli.size_table import NO_ROOT, write_time

VERSION = 3
NO_NCCL = 0
"""Where nccl-tests has the version of NCCL: there is none in this."""

JsonObject = dict[str, object]


def to_json(report: Report, ended_at: float) -> JsonObject:
    """Turn a report into what `json.dump` takes.

    Args:
        report: The report.
        ended_at: When the job ended, in seconds since the epoch.
    """
    job, verdict = report.description, report.verdict
    wrong = wrong_elements(report.sizes)
    return {
        "version": VERSION,
        "start_time": write_time(job.started_at),
        "args": list(job.arguments),
        "env": list(job.environment),
        "nccl_version": NO_NCCL,
        "config": _config(job),
        "results": [_result(row, job) for row in report.sizes],
        "out_of_bounds": {"count": wrong, "okay": _truth(not wrong)},
        "average_bus_bandwidth": {
            "bandwidth": _number(average_bus_bandwidth(report.sizes) / 1e9),
            "okay": "unchecked",
        },
        "errors": [verdict.reason] if verdict.exit_code else [],
        "end_time": write_time(ended_at),
        "r2cc": {
            "version": job.version,
            "layout": {"nodes": report.nodes, "rails": report.rails},
            "verdict": verdict.word,
            "exit_code": verdict.exit_code,
            "reason": verdict.reason,
            "dropped_chunks": report.dropped_chunks,
            "iterations": [_iteration(one) for one in report.iterations],
        },
    }


def write_json(document: JsonObject, target: str) -> None:
    """Write a document.

    Args:
        document: What `to_json` made.
        target: A file, or `-` for standard output.

    Raises:
        MachineError: If the file cannot be written.
    """
    write_text("--json", target, json.dumps(document, indent=2) + "\n")


def _config(job: Description) -> JsonObject:
    sweep, method = job.sweep, job.method
    step = {"step_factor": sweep.step_factor} if sweep.step_factor else {"step_bytes": sweep.step_bytes}
    return {
        "nthreads": 1,
        "ngpus": 1,
        "minimum_bytes": sweep.minimum_bytes,
        "maximum_bytes": sweep.maximum_bytes,
        **step,
        "warmup_iters": method.warmup_iterations,
        "iterations": method.iterations,
        "aggregated_iterations": method.calls,
        "validation": int(method.check),
        "graph": 0,
        "blocking_collectives": _truth(value=False),
        "per_iter_timing": _truth(method.per_iteration),
        "per_iter_skip": method.skipped,
        "parallel_init": _truth(value=False),
        "devices": [_device(one) for one in job.devices],
    }


def _device(one: Device) -> JsonObject:
    return {
        "rank": one.rank,
        "group": 0,
        "pid": one.pid,
        "hostname": one.host,
        "device": one.nic.rail,
        "device_hex": one.address,
        "device_info": one.info,
    }


def _result(row: SizeRecord, job: Description) -> JsonObject:
    result: JsonObject = {
        "size": row.size_bytes,
        "count": row.count,
        "type": row.datatype,
        "redop": row.op,
        "root": f"{NO_ROOT:6d}",
    }
    for placing, measured in row.placings:
        result[placing] = None if measured is None else _measured(row, measured)
        if measured is not None and job.method.per_iteration:
            result[f"{placing}_per_iter"] = _per_iteration(measured)
    return {**result, "actual_iterations": job.method.iterations, "experiment_name": ""}


def _measured(row: SizeRecord, measured: Measurement) -> JsonObject:
    return {
        "time": _number(measured.time_s * 1e6),
        "alg_bw": _number(algorithm_bandwidth(row.size_bytes, measured.time_s) / 1e9),
        "bus_bw": _number(bus_bandwidth(row.size_bytes, measured.time_s, row.ranks) / 1e9),
        "nwrong": None if measured.wrong is None else float(measured.wrong),
    }


def _per_iteration(measured: Measurement) -> JsonObject:
    one_process = len(measured.process_times_s) == 1
    rows = [_microseconds(times) for times in measured.process_times_s]
    return {
        "skipped_iterations": measured.skipped,
        **statistics_us(measured.statistics),
        "times_us": _microseconds(measured.times_s),
        **({} if one_process else {"per_process_max_times_us": rows}),
    }


def statistics_us(found: IterationStatistics) -> dict[str, float]:
    """Give statistics under nccl-tests' names, in microseconds."""
    return {
        "min_us": found.min_s * 1e6,
        "max_us": found.max_s * 1e6,
        "avg_us": found.avg_s * 1e6,
        "p50_us": found.p50_s * 1e6,
        "p95_us": found.p95_s * 1e6,
        "p99_us": found.p99_s * 1e6,
        "stdev_us": found.stdev_s * 1e6,
        "cv_pct": found.cv_percent,
    }


def _microseconds(times_s: tuple[float, ...]) -> list[float]:
    return [time_s * 1e6 for time_s in times_s]


def _truth(value: bool) -> str:  # noqa: FBT001  (it is the value)
    return "true" if value else "false"


def _number(value: float) -> float | str:
    """Give a number as nccl-tests writes it: NaN, which JSON has not, as a string."""
    return "nan" if value != value else float(value)  # noqa: PLR0124  (only NaN is not itself)


def _iteration(one: IterationRecord) -> JsonObject:
    return {
        "time_s": one.time_s,
        "network_s": one.network_s,
        "strategy": one.strategy,
        "predicted_s": one.predicted_s,
        "bound_s": one.bound_s,
        "wrong": one.wrong,
        "rail_bytes": _bytes(one.rail_bytes),
        "kernel_bytes": _bytes(one.kernel_bytes) if one.kernel_bytes else None,
        "failovers": [_failover(failover) for failover in one.failovers],
    }


def _bytes(carried: Mapping[Nic, RailBytes]) -> JsonObject:
    return {f"{nic.node}:{nic.rail}": {"tx": one.tx, "rx": one.rx} for nic, one in sorted(carried.items())}


def _failover(one: FailoverRecord) -> JsonObject:
    return {
        "node": one.node,
        "rail": one.rail,
        "cause": one.cause,
        "detected_s": one.detected_s,
        "resent_bytes": one.resent_bytes,
        "path": one.path,
        "known_at": one.known_at,
    }
