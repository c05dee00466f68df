"""The occupancy MDP level by level: unfolding it forwards, valuing it backwards.

A level holds the occupancy states (s, o) of one step. The running occupancy is kept as whole numbers, so that
equal ones are equal to the last bit: either how often each pair was visited, or the visited pairs themselves,
sorted among the steps of the same weight (see ``Coding``). No float is ever compared.

Levels are arrays: node n has the state ``states[n]`` and the code ``codes[n]``; ``links[first[n]]`` and on are
its children in the next level, for each action that is taken, for each successor in the order of the model's row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.counts.running import settle, visit, visit_pair
from gumdp.jit.random import MASK, mix
from gumdp.jit.record import kernel, part, u64

PRIME = 0x100000001B3


class Coding(NamedTuple):
    """How a running occupancy is written down as a row of whole numbers."""

    counting: bool  # entry i is the number of visits to pair i; else entries are pairs
    begin: Any  # int64 [steps]: where the steps of the same weight as step t begin
    place: Any  # int64 [steps]: where step t would stand if it were in time order


class Moves(NamedTuple):
    """Where an action can lead: row s·A + a of a table, or the same ``fresh`` start from everywhere."""

    actions: int
    fresh: bool
    offsets: Any  # int64
    successors: Any  # int32
    probabilities: Any  # float64


@part
def note(coding, code, pair, t):
    """Write down that ``pair`` was visited at step ``t``."""
    if coding.counting:
        code[pair] += 1
    else:
        j = coding.place[t]
        while j > coding.begin[t] and code[j - 1] > pair:
            code[j] = code[j - 1]
            j -= 1
        code[j] = pair


@part
def slot_of(table, states, codes, s, code):
    """Where node (s, code) stands in the hash table, or the empty slot where it belongs."""
    h = u64(s) + u64(1)
    for j in range(code.size):
        h = ((h ^ u64(code[j])) * u64(PRIME)) & u64(MASK)
    last = u64(table.size - 1)
    slot = mix(h) & last
    while table[slot] >= 0:
        n = table[slot]
        if states[n] == s:
            j = 0
            while j < code.size and codes[n, j] == code[j]:
                j += 1
            if j == code.size:
                break
        slot = (slot + u64(1)) & last
    return slot


@kernel
def unfold(coding, moves, taken, t, states, codes, merge, table, scratch, first, links, next_states, next_codes):
    """Fill the next level; return how many nodes it has, or -1 if there is not room for them.

    ``taken`` [S·A] says which actions there are. ``table`` is an empty hash table (all -1), used if ``merge``,
    and ``scratch`` has room for a code.
    """
    made = 0
    k = 0
    slot = u64(0)
    for n in range(states.size):
        s = int(states[n])
        first[n] = k
        for a in range(moves.actions):
            row = s * moves.actions + a
            if not taken[row]:
                continue
            for j in range(scratch.size):
                scratch[j] = codes[n, j]
            note(coding, scratch, row, t)
            at = 0 if moves.fresh else row
            for j in range(moves.offsets[at], moves.offsets[at + 1]):
                child = made
                if merge:
                    slot = slot_of(table, next_states, next_codes, moves.successors[j], scratch)
                    if table[slot] >= 0:
                        child = table[slot]
                if child == made:
                    if made == next_states.size:
                        return -1
                    if merge:
                        table[slot] = made
                    next_states[made] = moves.successors[j]
                    for i in range(scratch.size):
                        next_codes[made, i] = scratch[i]
                    made += 1
                links[k] = child
                k += 1
    return made


@kernel
def action_values(moves, taken, states, first, links, after, q):
    """Fill ``q[n, a]`` with the expected value ``after`` action ``a`` in node ``n``; NaN where it is not taken."""
    for n in range(states.size):
        k = first[n]
        for a in range(moves.actions):
            row = int(states[n]) * moves.actions + a
            q[n, a] = np.nan
            if taken[row]:
                at = 0 if moves.fresh else row
                total = 0.0
                for j in range(moves.offsets[at], moves.offsets[at + 1]):
                    total += moves.probabilities[j] * after[links[k]]
                    k += 1
                q[n, a] = total


@kernel
def final_values(objective, running, coding, weights, actions, taken, states, codes, q):
    """Fill ``q[n, a]`` with the objective once action ``a`` was taken in node ``n`` at the last step.

    The running occupancy must be open on an empty occupancy, and is left so.
    """
    final = weights.size - 1
    for n in range(states.size):
        for a in range(actions):
            row = int(states[n]) * actions + a
            q[n, a] = np.nan
            if taken[row]:
                length = visit(objective, running, u64(states[n]), u64(a), weights[final], u64(0), False)
                if coding.counting:  # all weights are the same
                    for i in range(codes.shape[1]):
                        if codes[n, i] > 0:
                            length = visit_pair(objective, running, u64(i), codes[n, i] * weights[0], length)
                else:
                    for t in range(final):
                        pair = u64(codes[n, coding.place[t]])
                        length = visit_pair(objective, running, pair, weights[t], length)
                q[n, a], _ = settle(objective, running, length)
