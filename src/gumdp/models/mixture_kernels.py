"""Urns that are not known: where two moves lead to the same state nobody sees which it was.

See ``gumdp.models.belief_kernels``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gumdp.jit.random import low, mix
from gumdp.jit.record import kernel, part, u64

HEADER = 2  # entries of an urn before its balls: how many balls there are, and how many a draw adds
TO_UNIT = 2.0**-32
NEGLIGIBLE = 1e-12  # the share of a component of a mixture below which it is dropped
EQUAL = 1e-9  # balls that differ by less are equally many


class Mixtures(NamedTuple):
    """Urns that are not known: mixtures of several, one for each way in which what was seen can have come about.

    Where two moves lead to the same state nobody sees which it was. Row g is of the g-th such urn.
    """

    heads: Any  # int64 [G]: where it stands among the urns
    widths: Any  # int64 [G]: how many outcomes it has, K at most
    sizes: Any  # int64 [G]: how many components it has; 1: the urn is known
    weights: Any  # float64 [G, C], summing to 1
    balls: Any  # float64 [G, C, K]
    new_weights: Any  # float64 [C]: scratch
    new_balls: Any  # float64 [C, K]: scratch
    open: Any  # int64 [2]: how many urns are mixtures; how many of them this simulation has still to draw from


@part
def units(model, head, balls):
    """So many balls of the urn at ``head`` in whole units."""
    return u64(balls * model.scales[head] + 0.5)


@part
def which_mixture(mixtures, head):
    """The number of the urn among those that can be mixtures, or -1."""
    for g in range(mixtures.heads.size):
        if u64(mixtures.heads[g]) == head:
            return g
    return -1


@kernel
def draw_components(model, bits):
    """A simulation begins: each mixture becomes one of its components."""
    mixtures = model.mixtures
    mixtures.open[1] = 0
    for g in range(mixtures.heads.size):
        if mixtures.sizes[g] > 1:
            bits = mix(bits)
            draw, c = float(low(bits)) * TO_UNIT, 0
            while c < mixtures.sizes[g] - 1 and draw >= mixtures.weights[g, c]:
                draw -= mixtures.weights[g, c]
                c += 1
            head = u64(mixtures.heads[g])
            for k in range(mixtures.widths[g]):
                model.urns[head + u64(HEADER + k)] = units(model, head, mixtures.balls[g, c, k])


@kernel
def restore_mixtures(model):
    """A simulation is over: each mixture is as it was, and the next simulation has to draw from it."""
    mixtures = model.mixtures
    for g in range(mixtures.heads.size):
        if mixtures.sizes[g] > 1:
            refill(model, g)
    mixtures.open[1] = mixtures.open[0]


@part
def refill(model, g):
    """The units of mixture ``g`` are those of its mean."""
    head = u64(model.mixtures.heads[g])
    model.urns[head] = units(model, head, model.root[head])
    for k in range(model.mixtures.widths[g]):
        ball = head + u64(HEADER + k)
        model.urns[ball] = units(model, head, model.root[ball])


@kernel
def update_mixture(model, g, first, after):
    """Condition mixture ``g`` on one of its outcomes, those of ``successors[first:]``, having led to ``after``."""
    mixtures, root, successors = model.mixtures, model.root, model.successors
    outcomes, made = mixtures.widths[g], 0
    was_known = mixtures.sizes[g] == 1
    head = u64(mixtures.heads[g])
    more, balls = root[head + u64(1)], head + u64(HEADER)
    if was_known:
        for k in range(outcomes):
            mixtures.balls[g, 0, k] = root[balls + u64(k)]
        mixtures.weights[g, 0] = 1.0
    for c in range(mixtures.sizes[g]):
        for k in range(outcomes):
            if u64(successors[first + u64(k)]) == after:
                made = put_component(mixtures, g, c, k, made, more)
    size = keep_components(mixtures, g, made)
    root[head] += more
    for k in range(outcomes):
        mean = 0.0
        for c in range(size):
            mean += mixtures.weights[g, c] * mixtures.balls[g, c, k]
        root[balls + u64(k)] = mean
    refill(model, g)
    mixtures.open[0] += int(size > 1) - int(not was_known)
    mixtures.open[1] = mixtures.open[0]


@part
def put_component(mixtures, g, c, k, made, more):
    """Add what component ``c`` becomes if it was outcome ``k`` to the ``made`` new ones; return how many there are.

    Equal components are one. Where there is no room, the least likely makes room.
    """
    weights, balls, outcomes = mixtures.new_weights, mixtures.new_balls, mixtures.widths[g]
    weight, place = mixtures.weights[g, c] * mixtures.balls[g, c, k], -1
    for other in range(made):
        same = True
        for i in range(outcomes):
            grown = mixtures.balls[g, c, i] + (more if i == k else 0.0)
            same = same and abs(balls[other, i] - grown) < EQUAL
        if same:
            weights[other] += weight
            return made
    if made < weights.size:
        place = made
        made += 1
    else:
        least = 0
        for other in range(1, made):
            if weights[other] < weights[least]:
                least = other
        if weights[least] < weight:
            place = least
    if place >= 0:
        weights[place] = weight
        for i in range(outcomes):
            balls[place, i] = mixtures.balls[g, c, i] + (more if i == k else 0.0)
    return made


@part
def keep_components(mixtures, g, made):
    """Mixture ``g`` becomes the new components, but for negligible ones; return how many it has."""
    total, kept, size = 0.0, 0.0, 0
    for c in range(made):
        total += mixtures.new_weights[c]
    for c in range(made):
        if mixtures.new_weights[c] > NEGLIGIBLE * total:
            kept += mixtures.new_weights[c]
            mixtures.weights[g, size] = mixtures.new_weights[c]
            for k in range(mixtures.widths[g]):
                mixtures.balls[g, size, k] = mixtures.new_balls[c, k]
            size += 1
    for c in range(size):
        mixtures.weights[g, c] /= kept
    mixtures.sizes[g] = size
    return size
