"""Unpaced whole calls beside the MPI library's own AllReduce and a bare ring, on the same ranks in one run.

Writes everything as JSON, and compares the ratios with those of an earlier file. Times of two runs must not
be compared with each other, ratios may.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from r2cc_mpi.cli.mpiexec import find_mpiexec, identify
from r2cc_mpi.pinning import has_mpich_wheel, transport_environment

LAYOUTS = ((2, 2), (3, 3))
SIZES = (8, 1 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20)
LIMIT_S = 300


def measure(nodes: int, rails: int) -> dict[str, Any]:
    """Run one layout.

    Raises:
        SystemExit: The job failed.
    """
    ranks = Path(__file__).with_name("bench_ranks.py")
    program = [sys.executable, str(ranks), str(rails), ",".join(map(str, SIZES))]
    mpiexec = identify(find_mpiexec(os.environ, Path(sys.executable)))
    command = mpiexec.command(nodes * rails, program, as_root=os.geteuid() == 0)
    environment = {**transport_environment(mpich_wheel=has_mpich_wheel()), **os.environ}
    root = str(ranks.parents[1])
    done = subprocess.run(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}exit status {done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def show(name: str, result: dict[str, Any], earlier: dict[str, Any] | None) -> None:
    """Print the table of one layout."""
    print(f"# {name}: whole calls, slowest rank, median; ratio below 1: faster than the MPI library")
    print("# bare: the same copies and messages without any protocol, see scripts/bare_ring.py")
    print("# {:>12}  {:>10}  {:>12}  {:>10}  {:>10}  {:>7}  {:>8}".format(*_TITLES))
    before = {row["size_bytes"]: row for row in (earlier or {}).get("rows", [])}
    for row in result["rows"]:
        old = before.get(row["size_bytes"])
        was = f"{old['ours_s'] / old['mpi_s']:8.3f}" if old else f"{'-':>8}"
        times = [row[name] * 1e3 for name in ("ours_s", "network_s", "bare_s", "mpi_s")]
        ratio = row["ours_s"] / row["mpi_s"]
        print(
            "  {:12d}  {:10.3f}  {:12.3f}  {:10.3f}  {:10.3f}".format(row["size_bytes"], *times),
            f" {ratio:7.3f}  {was}",
        )
    latency = ", ".join(f"{part} {seconds * 1e3:.3f}" for part, seconds in result["latency"].items())
    print(f"# 8 bytes, mean rank (ms): {latency}")
    for size, profile in result["profiles"].items():
        parts = ", ".join(f"{group} {share:.0%}" for group, share in profile.items() if share >= 0.005)
        print(f"# CPU time at {size} B: {parts}")
    print(f"# paced rails: {result['paced']:.4f} of the model")


_TITLES = ("size (B)", "ours (ms)", "network (ms)", "bare (ms)", "MPI (ms)", "ratio", "earlier")


def main() -> None:
    """Parse the command line, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="file (default %(default)s)")
    parser.add_argument("--compare", type=Path, help="an earlier file, whose ratios are shown too")
    options = parser.parse_args()
    earlier = json.loads(options.compare.read_text()) if options.compare else {}
    results = {}
    for nodes, rails in LAYOUTS:
        name = f"{nodes} x {rails}"
        results[name] = measure(nodes, rails)
        show(name, results[name], earlier.get(name))
    options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
