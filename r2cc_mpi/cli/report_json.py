"""The report for programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from r2cc_mpi.cli.report import FailoverRecord, IterationRecord, Report
from r2cc_mpi.errors import MachineError

JsonObject = dict[str, object]


def to_json(report: Report) -> JsonObject:
    """Turn a report into what `json.dump` takes: one key, `r2cc`.

    Seconds and bytes; what is not known is null.
    """
    return {
        "r2cc": {
            "layout": {"nodes": report.nodes, "rails": report.rails},
            "verdict": report.verdict.word,
            "exit_code": report.verdict.exit_code,
            "reason": report.verdict.reason,
            "iterations": [_iteration(one) for one in report.iterations],
        }
    }


def write_json(document: JsonObject, target: str) -> None:
    """Write a document.

    Args:
        document: What `to_json` made.
        target: A file, or `-` for standard output.

    Raises:
        MachineError: If the file cannot be written.
    """
    text = json.dumps(document, indent=2) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as error:
        raise MachineError(f"--json {target}: cannot write it ({error.strerror})") from error


def _iteration(one: IterationRecord) -> JsonObject:
    return {
        "time_s": one.time_s,
        "network_s": one.network_s,
        "strategy": one.strategy,
        "predicted_s": one.predicted_s,
        "bound_s": one.bound_s,
        "wrong": one.wrong,
        "rail_bytes": {
            f"{nic.node}:{nic.rail}": {"tx": carried.tx, "rx": carried.rx}
            for nic, carried in sorted(one.rail_bytes.items())
        },
        "failovers": [_failover(failover) for failover in one.failovers],
    }


def _failover(one: FailoverRecord) -> JsonObject:
    return {
        "node": one.node,
        "rail": one.rail,
        "cause": one.cause,
        "detected_s": one.detected_s,
        "resent_bytes": one.resent_bytes,
        "path": one.path,
    }
