"""The MDP of running totals level by level: see ``gumdp.exact.totals``; as in ``gumdp.exact.unfold_kernels``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.counts.running import settle
from gumdp.exact.unfold_kernels import slot_of
from gumdp.jit.record import kernel, part, u64


class Amounts(NamedTuple):
    """What steps add to the totals: by pair, or by transition."""

    late: bool
    values: Any  # float64 [S·A, k] or [transitions, k]
    grain: float  # totals that agree in their multiples of it are the same
    rounds: bool  # whether totals become those multiples


@part
def add_up(amounts, w, row, j, z, into, code):
    """``into`` becomes ``z`` with what transition ``j`` of ``row`` adds, and ``code`` what tells it from others."""
    at = j if amounts.late else row
    for k in range(into.size):
        multiple = np.rint((z[k] + w * amounts.values[at, k]) / amounts.grain)
        into[k] = multiple * amounts.grain if amounts.rounds else z[k] + w * amounts.values[at, k]
        code[k] = np.int64(multiple)


@kernel
def unfold_totals(
    amounts, moves, taken, w, states, z, table, into, code, first, links, next_states, next_z, next_codes
):
    """Fill the next level; return how many nodes it has, or -1 if there is not room for them.

    Nodes are (state, totals ``z`` [k]); ``table`` is an empty hash table (all -1), ``into`` and ``code`` are scratch.
    """
    made, k = 0, 0
    for n in range(states.size):
        first[n] = k
        for a in range(moves.actions):
            row = int(states[n]) * moves.actions + a
            if not taken[row]:
                continue
            at = 0 if moves.fresh else row
            for j in range(moves.offsets[at], moves.offsets[at + 1]):
                if amounts.late or j == moves.offsets[at]:
                    add_up(amounts, w, row, j, z[n], into, code)
                slot = slot_of(table, next_states, next_codes, moves.successors[j], code)
                child = table[slot]
                if child < 0:
                    if made == next_states.size:
                        return -1
                    child = made
                    table[slot] = made
                    next_states[made] = moves.successors[j]
                    for i in range(into.size):
                        next_z[made, i] = into[i]
                        next_codes[made, i] = code[i]
                    made += 1
                links[k] = child
                k += 1
    return made


@kernel
def final_totals(objective, running, amounts, moves, taken, w, scale, states, z, into, code, q):
    """Fill ``q[n, a]`` with the expected objective once action ``a`` was taken in node ``n`` at the last step.

    The objective is taken at ``scale`` times the totals. The running totals must be empty, and are left so.
    """
    for n in range(states.size):
        for a in range(moves.actions):
            row = int(states[n]) * moves.actions + a
            q[n, a] = np.nan
            if not taken[row]:
                continue
            total = 0.0
            for j in range(moves.offsets[row], moves.offsets[row + 1]):
                if amounts.late or j == moves.offsets[row]:
                    add_up(amounts, w, row, j, z[n], into, code)
                    for k in range(into.size):
                        running.d[k] = scale * into[k]
                    value, _ = settle(objective, running, u64(into.size))
                total += moves.probabilities[j] * value
            q[n, a] = total
