from __future__ import annotations

import importlib.util
import os
import shutil
import sys

import pytest

from r2cc_mpi.errors import MachineError
from scripts.network import build, requirements
from tests.launch.launcher import launch


@pytest.fixture
def name(namespaces):
    """A name for a network, which is taken down after the test."""
    name = f"cli{os.getpid()}"
    yield name
    build.take_apart(name)


def scripts_testbed(*words, status=0):
    """Run a command line; give what it printed, or its complaint if it is to fail."""
    answer = launch([sys.executable, "-m", "scripts.network", *words])
    assert answer.status == status, str(answer)
    return answer.stderr if status else answer.stdout


def states(name):
    """Read the states of the links from `status`: node, rail, state, rate."""
    lines = scripts_testbed("status", "--name", name).splitlines()[2:]
    return [tuple(line.split()[:4]) for line in lines]


def test_life_of_a_network(name):
    """What is built is shown, cut, healed and taken down."""
    made = scripts_testbed(
        "up", "--name", name, "--nodes", "2", "--rails", "1", "--rate", "80Mbit/s", "--slow", "1:0=1/2"
    )
    assert made == f"testbed {name}: 2 nodes x 1 rails, 80 Mbit/s each way\n"
    assert states(name) == [("0", "0", "up", "80"), ("1", "0", "up", "40")]
    said = scripts_testbed("cut", "--name", name, "1:0", "--how", "port-down", "--after", "0.1")
    assert said.startswith("node 1 rail 0: port-down between ")
    assert states(name) == [("0", "0", "up", "80"), ("1", "0", "port-down", "40")]
    assert scripts_testbed("heal", "--name", name, "1:0").startswith("node 1 rail 0: healed between ")
    assert states(name)[1] == ("1", "0", "up", "40")
    assert scripts_testbed("down", "--name", name) == f"testbed {name} is gone\n"
    assert name not in scripts_testbed("status")


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["up", "--nodes", "two", "--rails", "1"], "--nodes 'two' is not a whole number"),
        (["up", "--nodes", "2", "--rails", "1", "--rate", "fast"], "--rate 'fast' is not a rate"),
        (["up", "--nodes", "2", "--rails", "1", "--slow", "1:0"], "--slow '1:0': write NODE:RAIL=F"),
        (["up", "--nodes", "2", "--rails", "1", "--without", "1"], "--without '1' is no NIC"),
        (["run", "--name", "nowhere", "--", "allreduce"], "there is no testbed nowhere"),
        (["cut", "--name", "nowhere", "0:0"], "there is no testbed nowhere"),
        (["cut", "0:0", "--how", "politely"], "invalid choice: 'politely'"),
        (["down", "--name", "nowhere"], "there is no testbed nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes(words, complaint):
    """A mistake gets one line and status 1."""
    said = scripts_testbed(*words, status=1)
    assert said.startswith("scripts/testbed: ")
    assert complaint in said
    assert said.count("\n") == 1


def test_unknown_rail(name):
    """A rail that the network does not have is refused, with those that it has."""
    scripts_testbed("up", "--name", name, "--nodes", "1", "--rails", "1")
    said = scripts_testbed("cut", "--name", name, "0:1", status=1)
    assert said == f"scripts/testbed: testbed {name} has no node 0 rail 1: nodes are 0 to 0, rails 0 to 0\n"


def test_not_root(monkeypatch):
    """Without root nothing is tried, and the message says so."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MachineError, match="only root can make"):
        requirements.check()


def test_missing_tool(monkeypatch):
    """A program that is not there is named."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "nsenter" else f"/bin/{tool}")
    with pytest.raises(MachineError, match="nsenter is not on PATH"):
        requirements.check()


def test_no_namespaces(monkeypatch):
    """Where the kernel or a container forbids namespaces, the message has the reason."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    refused = ("sh", "-c", "echo unshare failed: not permitted >&2; exit 1")
    monkeypatch.setattr(requirements, "NAMESPACES", refused)
    with pytest.raises(MachineError, match=r"cannot be made here \(unshare failed: not permitted\)"):
        requirements.check()


def test_no_pyroute2(monkeypatch):
    """Without pyroute2 the message says how to get it."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MachineError, match=r"pip install 'r2cc-mpi\[testbed\]'"):
        requirements.check()
