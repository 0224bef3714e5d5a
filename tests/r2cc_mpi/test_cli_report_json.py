from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from r2cc_mpi.cli.method import Method
from r2cc_mpi.cli.report import Measurement, Verdict
from r2cc_mpi.cli.report_json import to_json, write_json
from r2cc_mpi.cli.size_table import write_time
from r2cc_mpi.errors import MachineError
from tests.r2cc_mpi.nccl_tests_json import check_consistent, check_document
from tests.r2cc_mpi.reports import HALF_ROW, JOB, NOON, OUT_OF_PLACE, REPORT, ROW


def written(report=REPORT):
    """Give the document as a program reads it."""
    return json.loads(json.dumps(to_json(report, NOON + 60), allow_nan=False))


def test_keys_and_types_are_those_of_nccl_tests():
    """Every key of version 3 is there, in its place and with its type; so it is without `-I` and `-f`."""
    check_document(written())
    plain = replace(JOB, method=Method(), sweep=replace(JOB.sweep, step_factor=None))
    document = written(replace(REPORT, description=plain))
    check_document(document)
    assert "out_of_place_per_iter" not in document["results"][0]


def paths(value, so_far=()):
    """List the places of all keys of a document, of lists in their first element."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key == "r2cc":
                continue
            yield (*so_far, key)
            yield from paths(one, (*so_far, key))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*so_far, 0))


OPTIONAL = {"out_of_place_per_iter", "in_place_per_iter", "per_process_max_times_us"}
FULL = replace(REPORT, sizes=(ROW,))


@pytest.mark.parametrize("path", list(paths(written(FULL))), ids=lambda path: ".".join(map(str, path)))
def test_missing_or_wrong_key_would_be_seen(path):
    """The check misses no key that is missing, and none that holds something else."""
    for spoil in ("remove", "replace"):
        document = copy.deepcopy(written(FULL))
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        if spoil == "replace":
            parent[path[-1]] = {"something": "else"}
        elif path[-1] in OPTIONAL:
            continue
        else:
            del parent[path[-1]]
        with pytest.raises(AssertionError):
            check_document(document)


def test_values_by_hand():
    """Numbers are microseconds, GB/s and elements, as in the table."""
    half, whole = written()["results"]
    assert whole["out_of_place"] == {"time": 2000, "alg_bw": 0.000512, "bus_bw": 0.000512, "nwrong": 0}
    assert whole["in_place"]["nwrong"] is None
    assert half["in_place"] is None
    assert "in_place_per_iter" not in half
    found = whole["out_of_place_per_iter"]
    assert found["cv_pct"] == pytest.approx(100 / 3)
    assert {key: value for key, value in found.items() if key != "cv_pct"} == {
        "skipped_iterations": 1,
        "min_us": 2000,
        "max_us": 4000,
        "avg_us": 3000,
        "p50_us": 4000,
        "p95_us": 4000,
        "p99_us": 4000,
        "stdev_us": pytest.approx(1000),
        "times_us": [3000, 2000, 4000],
        "per_process_max_times_us": [[1000, 2000, 4000], [3000, 1000, 2000]],
    }


def test_head_by_hand():
    """What the job was is told as it was given."""
    document = written()
    assert (document["start_time"], document["end_time"]) == (write_time(NOON), write_time(NOON + 60))
    assert (document["args"], document["env"]) == (["r2cc", "run", "allreduce"], ["FI_PROVIDER=tcp"])
    config = document["config"]
    assert (config["minimum_bytes"], config["maximum_bytes"], config["step_factor"]) == (8, 1024, 2)
    assert (config["warmup_iters"], config["iterations"], config["aggregated_iterations"]) == (2, 3, 4)
    assert (config["validation"], config["per_iter_timing"], config["per_iter_skip"]) == (1, "true", 1)
    assert config["devices"][1] == {
        "rank": 1,
        "group": 0,
        "pid": 45678,
        "hostname": "a-longer-name",
        "device": 0,
        "device_hex": "0001:00:00",
        "device_info": "virtual rail 0 of node 1, 20 MB/s",
    }


def test_ends_by_hand():
    """A good run has no errors; a bad one has its reason, and wrong elements are counted."""
    document = written()
    assert (document["errors"], document["out_of_bounds"]) == ([], {"count": 0, "okay": "true"})
    assert document["average_bus_bandwidth"]["bandwidth"] == pytest.approx((2 * 0.000512 + 0.001024) / 3)
    wrong = replace(HALF_ROW, out_of_place=replace(OUT_OF_PLACE, wrong=3))
    document = written(replace(REPORT, sizes=(wrong,), verdict=Verdict(2, "3 wrong elements")))
    check_document(document)
    assert (document["errors"], document["out_of_bounds"]) == (
        ["3 wrong elements"],
        {"count": 3, "okay": "false"},
    )


def test_job_that_failed_has_a_whole_report():
    """Without a single measurement all keys are there."""
    document = written(replace(REPORT, sizes=(), iterations=(), verdict=Verdict(4, "node 1 is cut off")))
    check_document(document)
    assert (document["results"], document["average_bus_bandwidth"]["bandwidth"]) == ([], 0)


def test_times_are_those_of_the_slowest_process():
    """The rule of NVIDIA's analyser holds in every measurement, and a time that breaks it would be seen."""
    document = written()
    assert check_consistent(document) == 3
    document["results"][1]["in_place_per_iter"]["times_us"][2] += 0.002
    with pytest.raises(AssertionError, match="in_place_per_iter"):
        check_consistent(document)


def test_single_process_has_no_process_rows():
    """Of one rank there are no rows by process, as in nccl-tests."""
    alone = replace(ROW, out_of_place=Measurement(0.001, 0, ((0.001,),)), in_place=None)
    document = written(replace(REPORT, sizes=(alone,)))
    check_document(document)
    assert "per_process_max_times_us" not in document["results"][0]["out_of_place_per_iter"]


def test_not_a_number_is_a_string():
    """A number that is none is written as nccl-tests does, since JSON has no word for it."""
    odd = replace(ROW, out_of_place=replace(OUT_OF_PLACE, time_s=float("nan")))
    document = written(replace(REPORT, sizes=(odd,)))
    assert document["results"][0]["out_of_place"]["time"] == "nan"


def test_our_own_key():
    """Under `r2cc` there are version, layout, verdict and iterations, in seconds."""
    document = written()["r2cc"]
    assert (document["version"], document["layout"]) == ("1.2.3", {"nodes": 2, "rails": 1})
    assert (document["verdict"], document["exit_code"], document["reason"]) == ("PASS", 0, "fine")
    assert document["dropped_chunks"] == 5
    assert document["iterations"] == [
        {
            "time_s": 0.5,
            "network_s": 0.45,
            "strategy": "hot-repair",
            "predicted_s": 0.36,
            "bound_s": 0.18,
            "wrong": 0,
            "rail_bytes": {"1:0": {"tx": 0, "rx": 7}},
            "kernel_bytes": {"1:0": {"tx": 1, "rx": 9}},
            "failovers": [
                {
                    "node": 1,
                    "rail": 0,
                    "cause": "announced",
                    "detected_s": 0.0125,
                    "resent_bytes": 4096,
                    "path": "node 1 -(rail 0)-> node 0",
                    "known_at": NOON,
                }
            ],
        }
    ]


def test_document_goes_to_a_file_or_standard_output(tmp_path, capsys):
    """A dash is standard output, anything else a file."""
    write_json({"a": 1}, str(tmp_path / "x.json"))
    write_json({"a": 2}, "-")
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": 1}
    assert json.loads(capsys.readouterr().out) == {"a": 2}


def test_document_that_cannot_be_written_is_reported(tmp_path):
    """A file that cannot be written is an error that names it."""
    with pytest.raises(MachineError, match=f"--json {tmp_path}: cannot write"):
        write_json({}, str(tmp_path))
