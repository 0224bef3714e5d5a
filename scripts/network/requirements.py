"""What this machine must have for a test network."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess

from r2cc_mpi.errors import MachineError

TOOLS = ("mount", "nsenter", "setpriv", "unshare")
"""Programs of util-linux that `on_node` calls."""
NAMESPACES = ("unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--mount-proc", "true")


def check() -> None:
    """Make sure that a test network can be built here.

    Raises:
        MachineError: If not; it says what is missing, and the remedy.
    """
    if os.geteuid() != 0:
        raise MachineError("a testbed is made of network namespaces, which only root can make: use sudo")
    if importlib.util.find_spec("pyroute2") is None:
        raise MachineError("pyroute2 is not installed: run pip install 'r2cc-mpi[testbed]'")
    for tool in TOOLS:
        if shutil.which(tool) is None:
            raise MachineError(f"{tool} is not on PATH: install util-linux (Debian: apt install util-linux)")
    answer = subprocess.run(NAMESPACES, capture_output=True, text=True, check=False, timeout=30)
    if answer.returncode:
        raise MachineError(
            f"namespaces cannot be made here ({answer.stderr.strip()}): "
            "in a container, start that with --privileged"
        )
