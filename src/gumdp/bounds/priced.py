"""Paths of a simulator whose states can be moved box by box: prices are improved, and trees grown on them, in turn."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from gumdp.bounds.grid_kernels import Grid, Window, lay_boxes, open_window
from gumdp.bounds.paths_kernels import Ahead, Items, Paths, plant
from gumdp.bounds.priced_kernels import Rest, lean, settle, spread
from gumdp.objectives.base import Array

FINE = (900, 800)  # boxes in each dimension, at most: how far one may drift for nothing loosens the bound
BOXES = (80_000, 10_000)  # in all, at least and for each second
LENGTH = 40  # steps that are looked at on the grid
LEAVES = 300  # of a tree, whose paths say where prices should go
SMALLEST = 20_000  # paths of a tree at first, on the finest grid;
ROUNDS = 32  # or this part of all that may be looked at,
PART = 5  # and later this part of all that were
STEP, SLOWER = 0.5, 6.0  # of the ascent, relative, and the number of rounds after which it is half of it
CROWDED, FIRST = 1.2, (0.3, 0.2)  # visits from which on an item gets a price; x then, of what they bring and of a step
LEADERS, LEAD = 2, 12  # pieces that go ahead, and so many rounds; the others begin with the prices of the nearest
GO = 20_000  # paths between two looks at the clock


class PricedPaths:
    """Bounds of the pieces of a start, by rounds: prices, a tree of paths on them, and where prices should go."""

    def __init__(
        self,
        boxes: Any,
        bins: tuple[int, ...],
        compiled: Any,
        items: Items,
        ahead: Ahead,
        pieces: Any,
        seconds: float,
        nodes: int,
    ) -> None:
        self.world, lowest, highest = boxes
        self.compiled, self.items, self.ahead, self.pieces = compiled, items, ahead, pieces
        self.nodes = nodes
        part = min(1.0, np.sqrt(max(BOXES[0], BOXES[1] * seconds) / np.prod(FINE)))
        counts = np.array([n * max(1, int(part * fine) // n) for n, fine in zip(bins, FINE, strict=True)])
        low, total = np.array(lowest), int(counts.prod())
        self.grid = Grid(
            low, (np.array(highest) - low) / counts, counts, np.array(bins, np.int64),
            np.zeros((total, 2), np.int32), np.zeros((total * items.actions, 4), np.int32),
        )  # fmt: skip
        lay_boxes(self.world, compiled.where, items.actions, self.grid)
        self.smallest = int(SMALLEST * min(1.0, total / np.prod(FINE)))
        self.known: list[Piece | None] = [None] * len(pieces)

    @property
    def bounds(self) -> Array:
        """The bound of each piece."""
        return np.array([-np.inf if piece is None else piece.bound for piece in self.known])

    @property
    def paths(self) -> int:
        """How many were looked at."""
        return sum(piece.paths for piece in self.known if piece is not None)

    @property
    def complete(self) -> bool:
        """Whether the bound of each piece is the value of a whole path."""
        return all(piece is not None and piece.complete for piece in self.known)

    def workspace(self) -> Workspace:
        """What one thread works with."""
        n, steps = self.items.least.size, min(LENGTH, self.ahead.weights.size)
        names = ("z", "touch", "slope", "offset", "turn", "visits", "mass", "small", "large")
        rest = Rest(
            trail=np.zeros(self.ahead.weights.size, np.int32), charges=np.zeros((steps, self.items.costs.size)),
            values=np.zeros(0), tail=np.zeros(self.ahead.weights.size + 1), **{name: np.zeros(n) for name in names},
        )  # fmt: skip
        return Workspace(new_tree(self.nodes), rest)

    def turn(self, number: int) -> range:
        """The pieces whose turn it is; nothing else goes on while this is asked."""
        stride = max(1, len(self.pieces) // LEADERS)
        if number < LEAD:
            return range(stride // 2, len(self.pieces), stride)
        for k, piece in enumerate(self.known if number == LEAD else ()):
            leader = self.known[k // stride * stride + stride // 2]
            if leader is not None and (piece is None or piece.rounds < leader.rounds):
                piece = self.known[k] = piece or self._open(k)
                piece.touch[:], piece.rounds = leader.touch, leader.rounds
        return range(len(self.pieces))

    def go(self, k: int, workspace: Workspace, deadline: float, most: float) -> bool:
        """A round for piece ``k``, or what there is time for; whether nothing is left to do."""
        piece = self.known[k] = self.known[k] or self._open(k)
        if piece.complete or piece.paths >= most:
            return True
        rest, tree = workspace.rest_for(piece), workspace.tree
        settle(self.items, self.ahead, self.grid, piece.window, rest)
        plant(tree)
        size = int(max(2, min(max(min(self.smallest, most // ROUNDS), piece.paths // PART), most - piece.paths)))
        while time.perf_counter() < deadline:
            if self._spread(piece, k, workspace, size) < GO:
                break
        piece.paths += int(tree.size[0])
        piece.bound = max(piece.bound, float(tree.bound[tree.heap[0]]))
        piece.complete = path_length(tree) == self.ahead.weights.size
        lean(self.world, self.items, self.ahead, self.grid, piece.window, tree, *self.pieces[k], rest, LEAVES)
        piece.move(rest, self.ahead.weights[rest.charges.shape[0] - 1])
        return piece.complete

    def _open(self, k: int) -> Piece:
        length, rows = min(LENGTH, self.ahead.weights.size), int(self.grid.counts[0])
        window = Window(*(np.zeros((length + 1, rows), kind) for kind in (np.int32, np.int32, np.int64)))
        size = open_window(self.grid, self.items.actions, *self.pieces[k], window)
        return Piece(window, size, self.items.least.size)

    def _spread(self, piece: Piece, k: int, workspace: Workspace, size: int) -> int:
        done: int = spread(
            self.world, self.compiled, self.items, self.ahead, self.grid, piece.window, workspace.tree, *self.pieces[k],
            workspace.rest, size, GO,
        )  # fmt: skip
        return done


class Piece:
    """What is known of one piece of the start."""

    def __init__(self, window: Window, size: int, items: int) -> None:
        self.window, self.size, self.touch = window, size, np.zeros(items)
        self.bound, self.rounds, self.paths, self.complete = -np.inf, 0, 0, False

    def move(self, rest: Rest, last: float) -> None:
        """Go on to the next prices."""
        step = STEP / (1.0 + self.rounds / SLOWER)
        crowded = (self.touch == 0.0) & (rest.visits > CROWDED)
        self.touch *= np.exp(step * np.clip(rest.turn, -1.0, 1.0))
        self.touch[crowded] = FIRST[0] * rest.mass[crowded] + FIRST[1] * last
        self.rounds += 1


class Workspace:
    """What one thread works with."""

    def __init__(self, tree: Paths, rest: Rest) -> None:
        self.tree, self.rest = tree, rest

    def rest_for(self, piece: Piece) -> Rest:
        """``rest``, large enough for a piece and with its prices."""
        if self.rest.values.size < piece.size:
            self.rest = self.rest._replace(values=np.zeros(piece.size))
        self.rest.touch[:] = piece.touch
        return self.rest


def new_tree(nodes: int) -> Paths:
    """A tree with the empty path."""
    paths = Paths(
        np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes), np.empty(nodes, bool),
        np.empty(nodes, np.int32), np.zeros(2, np.int64),
    )  # fmt: skip
    plant(paths)
    return paths


def path_length(paths: Paths) -> int:
    """The length of the path of the least bound."""
    node, length = int(paths.heap[0]), 0
    while paths.parent[node] >= 0:
        node, length = int(paths.parent[node]), length + 1
    return length
