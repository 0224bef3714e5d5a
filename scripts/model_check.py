"""Measure what the project claims about time: the ring and HotRepair against their formulas, and detection.

One job has healthy iterations, a rail that dies, repaired iterations, its recovery, and healthy iterations
again, so that all ratios come from one run. A second job lets every rail of a 3 x 3 layout die in turn,
announced.
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

from scripts.paced_jobs import run_job

NODES, RAILS = 3, 3
HEALTHY, REPAIRED = 5, 5


def run(*words: str) -> list[dict[str, Any]]:
    """Run a job on the layout and return its iterations."""
    return run_job("--nodes", str(NODES), "--rails", str(RAILS), *words)


def check_model(size: str, rate: str) -> None:
    """Print measured over predicted time before, during and after a failure."""
    hit = HEALTHY + 1
    recover = hit + REPAIRED + 1
    count = recover + 1 + HEALTHY
    faults = ["--fail", f"1:1@iter={hit},50%", "--recover", f"1:1@iter={recover},0%"]
    words = ("--strategy", "hot-repair", "--rail-rate", rate, "-b", size, "-n", str(count))
    iterations = run(*words, *faults)
    phases = {
        "ring, before": iterations[:HEALTHY],
        "HotRepair": iterations[hit : hit + REPAIRED],
        "ring, after": iterations[count - HEALTHY :],
    }
    ring_s = phases["ring, before"][0]["predicted_s"]
    medians = {name: median(one["time_s"] for one in part) for name, part in phases.items()}
    healthy_s = median(one["time_s"] for name in ("ring, before", "ring, after") for one in phases[name])
    print(f"# {NODES} nodes x {RAILS} rails, {size}, {rate} per rail and direction; median of {HEALTHY}")
    titles = ("phase", "model (ms)", "network (ms)", "ratio", "call (ms)", "ratio", "over healthy")
    print("# {:14} {:>11} {:>13} {:>7} {:>11} {:>7} {:>13}".format(*titles))
    for name, part in phases.items():
        model_s = part[0]["predicted_s"]
        network_s = median(one["network_s"] for one in part)
        call_s = medians[name]
        columns = [model_s * 1e3, network_s * 1e3, network_s / model_s]
        columns += [call_s * 1e3, call_s / model_s, call_s / healthy_s]
        print("  {:14} {:11.1f} {:13.1f} {:7.4f} {:11.1f} {:7.4f} {:13.4f}".format(name, *columns))
    failover = iterations[hit - 1]["failovers"][0]
    print(
        f"# the iteration that was hit: {iterations[hit - 1]['time_s'] / ring_s:.3f} of the healthy model, "
        f"{failover['resent_bytes']} bytes resent, "
        f"known at both ends after {failover['detected_s'] * 1e3:.1f} ms"
    )


def check_detection(failures: int, rate: str) -> None:
    """Print how long announced failures take to be known at both ends."""
    faults = []
    for number in range(failures):
        nic = f"{number % NODES}:{number // NODES % RAILS}"
        faults += [
            "--fail",
            f"{nic}@iter={3 * number + 1},30%",
            "--recover",
            f"{nic}@iter={3 * number + 2},0%",
        ]
    iterations = run("--rail-rate", rate, "-b", "4M", "-n", str(3 * failures), *faults)
    times = [failover["detected_s"] for one in iterations for failover in one["failovers"]]
    print(
        f"# {len(times)} announced failures, known at both ends: median {median(times) * 1e3:.2f} ms, "
        f"largest {max(times) * 1e3:.2f} ms"
    )


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="64M", help="bytes of one rank's array (default %(default)s)")
    parser.add_argument(
        "--rate", default="20MB/s", help="rate of one rail in one direction (default %(default)s)"
    )
    parser.add_argument("--failures", type=int, default=20, help="failures to detect (default %(default)s)")
    options = parser.parse_args()
    check_model(options.size, options.rate)
    check_detection(options.failures, options.rate)


if __name__ == "__main__":
    main()
