"""What nccl-tests' JSON report, version 3, is made of: every key, in order, with its type."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Check = Callable[[Any, str], None]


def is_a(kind: type) -> Check:
    """Check the type, where true is no number."""

    def check(value: Any, where: str) -> None:
        assert type(value) is kind, f"{where} is {value!r}, no {kind.__name__}"

    return check


def one_of(*values: Any) -> Check:
    """Check for one of a few values."""

    def check(value: Any, where: str) -> None:
        assert value in values, f"{where} is {value!r}"
        assert type(value) is type(values[0]), f"{where} is {value!r}"

    return check


def list_of(element: Check) -> Check:
    """Check every element."""

    def check(value: Any, where: str) -> None:
        is_a(list)(value, where)
        for number, one in enumerate(value):
            element(one, f"{where}[{number}]")

    return check


def or_null(check: Check) -> Check:
    """Also allow null."""
    return lambda value, where: None if value is None else check(value, where)


def matches(pattern: str) -> Check:
    """Check for a string of some form."""

    def check(value: Any, where: str) -> None:
        is_a(str)(value, where)
        assert re.fullmatch(pattern, value), f"{where} is {value!r}"

    return check


def record(keys: dict[str, Check], optional: tuple[str, ...] = ()) -> Check:
    """Check for exactly these keys, in this order; some may be missing."""

    def check(value: Any, where: str) -> None:
        is_a(dict)(value, where)
        expected = [key for key in keys if key in value or key not in optional]
        assert list(value) == expected, f"{where} has {list(value)}, not {expected}"
        for key, one in value.items():
            keys[key](one, f"{where}.{key}")

    return check


INT, FLOAT, STR = is_a(int), is_a(float), is_a(str)
TRUTH = one_of("true", "false")
TIME = matches(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
DEVICE = record(
    {
        "rank": INT,
        "group": INT,
        "pid": INT,
        "hostname": STR,
        "device": INT,
        "device_hex": matches(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}"),
        "device_info": STR,
    }
)
CONFIG = record(
    {
        "nthreads": one_of(1),
        "ngpus": one_of(1),
        "minimum_bytes": INT,
        "maximum_bytes": INT,
        "step_factor": INT,
        "step_bytes": INT,
        "warmup_iters": INT,
        "iterations": INT,
        "aggregated_iterations": INT,
        "validation": INT,
        "graph": one_of(0),
        "blocking_collectives": TRUTH,
        "per_iter_timing": TRUTH,
        "per_iter_skip": INT,
        "parallel_init": TRUTH,
        "devices": list_of(DEVICE),
    },
    optional=("step_factor", "step_bytes"),
)
MEASURED = or_null(record({"time": FLOAT, "alg_bw": FLOAT, "bus_bw": FLOAT, "nwrong": or_null(FLOAT)}))
PER_ITERATION = record(
    {
        "skipped_iterations": INT,
        **dict.fromkeys(["min_us", "max_us", "avg_us", "p50_us", "p95_us", "p99_us"], FLOAT),
        "stdev_us": FLOAT,
        "cv_pct": FLOAT,
        "times_us": list_of(FLOAT),
        "per_process_max_times_us": list_of(list_of(FLOAT)),
    },
    optional=("per_process_max_times_us",),
)
RESULT = record(
    {
        "size": INT,
        "count": INT,
        "type": STR,
        "redop": STR,
        "root": one_of("    -1"),
        "out_of_place": MEASURED,
        "out_of_place_per_iter": PER_ITERATION,
        "in_place": MEASURED,
        "in_place_per_iter": PER_ITERATION,
        "actual_iterations": INT,
        "experiment_name": STR,
    },
    optional=("out_of_place_per_iter", "in_place_per_iter"),
)
DOCUMENT = record(
    {
        "version": one_of(3),
        "start_time": TIME,
        "args": list_of(STR),
        "env": list_of(matches(r"\w+=.*")),
        "nccl_version": INT,
        "config": CONFIG,
        "results": list_of(RESULT),
        "out_of_bounds": record({"count": INT, "okay": TRUTH}),
        "average_bus_bandwidth": record({"bandwidth": FLOAT, "okay": one_of("unchecked", "true", "false")}),
        "errors": list_of(STR),
        "end_time": TIME,
        "r2cc": is_a(dict),
    }
)


def check_document(document: Any) -> None:
    """Make sure that a report has the keys and types of nccl-tests'.

    Raises:
        AssertionError: It has not; the message names the first place.
    """
    DOCUMENT(document, "report")
    config = document["config"]
    assert ("step_factor" in config) != ("step_bytes" in config), "one of both steps"


def check_consistent(document: Any) -> int:
    """Apply the rule of NVIDIA's analyser: each iteration's time is the maximum over its process rows.

    Returns:
        How many measurements it was applied to.

    Raises:
        AssertionError: A time differs by a nanosecond, or there are more or fewer of them.
    """
    applied = 0
    for result in document["results"]:
        for placing in ("out_of_place_per_iter", "in_place_per_iter"):
            found = result.get(placing, {})
            rows = found.get("per_process_max_times_us", [])
            if rows:
                applied += 1
                slowest = [max(times) for times in zip(*rows, strict=True)]
                assert len(slowest) == len(found["times_us"])
                pairs = zip(found["times_us"], slowest, strict=True)
                assert all(abs(one - other) < 0.001 for one, other in pairs), placing
    return applied
