"""Lets one node talk to another, to see which rails carry anything."""

from __future__ import annotations

import subprocess
import sys

from scripts.network.build import address_of

LIMIT_S = 20

RECEIVE = """
import socket, sys
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind((sys.argv[1], 7000))
here.settimeout(float(sys.argv[2]))
print("ready", flush=True)
try:
    print(here.recv(100).decode())
except TimeoutError:
    print("nothing")
"""
SEND = """
import socket, sys, time
there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    try:
        there.sendto(b"hello", (sys.argv[1], 7000))
    except OSError:
        pass  # the link is down at this end
    time.sleep(0.05)
"""


def reaches(bed, source, target, rail, patience_s=0.5):
    """Tell whether datagrams from a node get to another one over a rail.

    Args:
        bed: The network.
        source: Node that sends, again and again.
        target: Node that listens.
        rail: The rail.
        patience_s: How long it listens.
    """
    address = address_of(target, rail)
    receive = [sys.executable, "-c", RECEIVE, address, str(patience_s)]
    send = [sys.executable, "-c", SEND, address]
    with bed.start_on_node(target, receive, stdout=subprocess.PIPE) as receiver:
        assert receiver.process.stdout.readline() == "ready\n"
        with bed.start_on_node(source, send):
            assert receiver.wait(LIMIT_S) == 0
        answer = receiver.process.stdout.read().strip()
        receiver.process.stdout.close()
    assert answer in {"hello", "nothing"}
    return answer == "hello"


def on_node(bed, node, *command):
    """Give what a command prints on a node."""
    with bed.start_on_node(node, list(command), stdout=subprocess.PIPE) as job:
        text = job.process.stdout.read()
        job.process.stdout.close()
        assert job.wait(LIMIT_S) == 0
    return text
