"""The least time of an allreduce on nodes as a linear program over trees. Knows no bound.

Each part of the data is reduced along some tree to some root and broadcast along some tree from that root.
Every choice of trees is a variable: the part of the data that takes it. Links join any two nodes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable

from analysis.linear_program import Sum, minimise


def spanning_trees(nodes):
    """List all trees on numbered nodes, each as its links (Prüfer's bijection: p^(p-2) of them)."""
    if nodes == 1:
        return [[]]
    trees = []
    for code in itertools.product(range(nodes), repeat=nodes - 2):
        degree = Counter(code)
        degree.update(range(nodes))
        links = []
        for neighbour in code:
            leaf = min(node for node in range(nodes) if degree[node] == 1)
            links.append((leaf, neighbour))
            degree[leaf] -= 1
            degree[neighbour] -= 1
        first, second = (node for node in range(nodes) if degree[node] == 1)
        links.append((first, second))
        trees.append(links)
    return trees


def children(links, root):
    """Count the children of each node in a tree hung up at a root."""
    count: Counter[int] = Counter()
    reached = [root]
    for here in reached:
        beyond = [u if v == here else v for u, v in links if here in (u, v)]
        new = [node for node in beyond if node not in reached]
        count[here] = len(new)
        reached += new
    return count


def least_time(bandwidths):
    """Time of the best packing of reduction and broadcast trees, in units of D/B."""
    nodes = range(len(bandwidths))
    sends: list[dict[Hashable, float]] = [{} for _ in nodes]
    receives: list[dict[Hashable, float]] = [{} for _ in nodes]
    roots: list[dict[Hashable, float]] = [{} for _ in nodes]
    everything: dict[Hashable, float] = {}
    for root in nodes:
        for index, links in enumerate(spanning_trees(len(bandwidths))):
            up, down = ("up", root, index), ("down", root, index)
            roots[root] |= {up: 1.0, down: -1.0}
            everything[up] = 1.0
            below = children(links, root)
            for node in nodes:
                receives[node] |= {up: float(below[node]), down: float(node != root)}
                sends[node] |= {up: float(node != root), down: float(below[node])}
    limits: list[tuple[Sum, float]] = [
        ({**load, "time": -float(bandwidths[node])}, 0.0)
        for loads in (sends, receives)
        for node, load in enumerate(loads)
    ]
    # What is reduced to a root is broadcast from there, and all of the data is reduced.
    equal: list[tuple[Sum, float]] = [(both, 0.0) for both in roots]
    return minimise({"time": 1.0}, at_most=limits, equal=[*equal, (everything, 1.0)])["time"]
