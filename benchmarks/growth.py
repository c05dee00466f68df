"""How time an iteration and memory grow with the size of the problem and of the search."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse

import gumdp
from benchmarks.search import Bench
from benchmarks.timing import best
from gumdp.search.tree import bytes_per_node


def grid_model(states: int) -> gumdp.Tabular:
    """A square grid of about so many states: four moves, each slips to one of its sides with probability 0.1."""
    side = max(2, round(states**0.5))
    cell = np.arange(side * side)
    row, column = np.divmod(cell, side)
    moves = [(-1, 0), (0, 1), (1, 0), (0, -1)]
    target = [np.clip(row + dr, 0, side - 1) * side + np.clip(column + dc, 0, side - 1) for dr, dc in moves]
    index = np.concatenate([cell * 4 + a for a in range(4) for _ in range(3)])
    column_index = np.concatenate([target[(a + turn) % 4] for a in range(4) for turn in (0, 1, 3)])
    weight = np.concatenate([np.full(cell.size, p) for _ in range(4) for p in (0.8, 0.1, 0.1)])
    matrix = sparse.coo_array((weight, (index, column_index)), shape=(cell.size * 4, cell.size)).tocsr()
    return gumdp.Tabular(matrix, start=int(cell.size // 2 + side // 2))


def wide_model(actions: int) -> gumdp.Tabular:
    """Ten states, so many actions, three successors each."""
    rng = np.random.default_rng(0)
    table = np.zeros((10, actions, 10))
    for s in range(10):
        for a in range(actions):
            table[s, a, rng.choice(10, 3, replace=False)] = rng.dirichlet(np.ones(3))
    return gumdp.Tabular(table)


def microseconds(problem: Any, iterations: int, repeats: int) -> float:
    """µs an iteration of the paper's search at the root."""
    bench = Bench(problem, gumdp.MCTS.paper(iterations))
    return best({"root": bench.at_root}, repeats)["root"] / iterations * 1e6


def tables(repeats: int, largest: int = 10**6) -> dict[str, dict[str, float]]:
    """µs an iteration, for each size."""
    entropy = gumdp.Entropy()
    sizes = [n for n in (10, 100, 1000, 10**4, 10**5, 10**6) if n <= largest]
    grids = {str(n): grid_model(n) for n in sizes}
    grid = grids["100"]
    return {
        "states": {n: microseconds(gumdp.Problem(m, entropy, 0.9, 100), 4000, repeats) for n, m in grids.items()},
        "actions": {
            str(a): microseconds(gumdp.Problem(wide_model(a), entropy, 0.9, 100), 4000, repeats)
            for a in (2, 4, 8, 16, 32, 64)
        },
        "horizon": {
            str(h): microseconds(gumdp.Problem(grid, entropy, 0.99, h), 4000, repeats) for h in (10, 30, 100, 300, 1000)
        },
        "iterations": {
            str(n): microseconds(gumdp.Problem(grid, entropy, 0.9, 100), n, max(2, repeats // 3))
            for n in (10**2, 10**3, 10**4, 10**5, 10**6)
        },
        "bytes_a_node": {str(a): float(bytes_per_node(a)) for a in (2, 4, 6, 64)},
    }
