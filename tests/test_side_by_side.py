"""Trials that are searched two at a time in one loop: each has the bits that it has alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gumdp
from gumdp.jit.ahead import fetch
from gumdp.jit.cells import cells
from gumdp.jit.random import mix_all, mixed, next_rng
from gumdp.jit.record import copied, kernel, part, record, u64
from gumdp.models import tabular
from gumdp.models.compiled import RaggedTable, Table
from gumdp.seeding import streams

NEVER = np.zeros(1, np.uint8)
ODD = 5  # trials: two, two and one


def chances(states: int = 5, actions: int = 2) -> np.ndarray:
    """Transitions with rows of several lengths."""
    rng, table = np.random.default_rng(3), np.zeros((states, actions, states))
    for s, a in np.ndindex(states, actions):
        among = rng.choice(states, size=1 + (s + a) % 3, replace=False)
        table[s, a, among] = rng.dirichlet(np.ones(among.size))
    return table


def walk(x: Any, a: int) -> tuple[float, float]:
    """Steps of fractions from a start of whole numbers."""
    return min(max(x[0] + 0.3 * (a - 0.5), -1.0), 1.0), x[1] + 0.25


def windy(x: Any, a: int, u: Any) -> tuple[float]:
    return (min(max(x[0] + 0.2 * (a - 1.0) + 0.7 * (u[0] - 0.5), 0.0), 0.999),)


FROM_WHOLE_NUMBERS = gumdp.Simulator(walk, (0, 0), gumdp.Bins((7, 1), low=(-1.0, 0.0), high=(1.0, 9.0)), actions=2)
WINDY = gumdp.Simulator(windy, lambda u: (u[0],), lambda x: int(x[0] * 4), 4, 3)
TABLE, SMALL = gumdp.Tabular(chances()), gumdp.Tabular(chances(3))
MASKED = gumdp.Tabular(chances(4, 3), available=np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1]], bool))
SEVERAL = np.random.default_rng(1).random((5, 2, 2))
M1 = gumdp.zoo.load("m1-entropy", horizon=20)


def problem(model: Any, objective: Any = None, **options: Any) -> gumdp.Problem:
    return gumdp.Problem(model, objective or gumdp.Entropy(), **{"discount": 0.95, "horizon": 12, **options})


CASES = {
    "the paper's": (M1, gumdp.MCTS.paper(150)),
    "ours": (M1, gumdp.MCTS(60)),
    "several episodes": (problem(TABLE, horizon=5, episodes=3), gumdp.MCTS.paper(60)),
    "several episodes, ours": (problem(TABLE, horizon=5, episodes=3), gumdp.MCTS(40)),
    "not every action": (problem(MASKED), gumdp.MCTS(40)),
    "closed early": (problem(SMALL, horizon=4), gumdp.MCTS(400)),
    "a budget of the trial": (problem(TABLE), gumdp.MCTS(trial_iterations=400)),
    "a depth": (problem(TABLE), gumdp.MCTS(40, depth=4)),
    "no reuse": (problem(TABLE, gumdp.StateEntropy()), gumdp.MCTS(40, reuse=False)),
    "plans": (problem(FROM_WHOLE_NUMBERS), gumdp.MCTS(60)),
    "plans, the paper's": (problem(FROM_WHOLE_NUMBERS), gumdp.MCTS.paper(60)),
    "a simulator with chance": (problem(WINDY), gumdp.MCTS(40)),
    "totals": (problem(TABLE, gumdp.Minimum(), counts=gumdp.Features(SEVERAL), scale="sum"), gumdp.MCTS(40)),
    "hashed": (problem(WINDY, counts=gumdp.Hashed()), gumdp.MCTS(40)),
    "a function": (problem(TABLE, lambda d: (d * d).sum()), gumdp.MCTS(40)),
    "by imitation": (gumdp.zoo.load("m2-imitation", horizon=15), gumdp.MCTS(40)),
    "kinks": (gumdp.zoo.load("m3-adversarial", horizon=10), gumdp.MCTS(40)),
}


QUICK = ("the paper's", "ours")  # the others compile for seconds each


def cases(names: Iterable[str]) -> list[Any]:
    """Cases as parameters."""
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.thorough) for name in names]


@pytest.mark.parametrize("name", cases(CASES))
def test_trials_two_at_a_time_have_the_bits_of_each_alone(name: str) -> None:
    task, planner = CASES[name]
    seeds = streams(4, ODD)
    together = planner.trials(task, seeds, NEVER)
    alone = [float(planner.trials(task, seeds[k : k + 1], NEVER)[0]) for k in range(ODD)]
    assert [v.hex() for v in together.tolist()] == [v.hex() for v in alone]
    if name != "closed early":  # where all trials of so few steps may well be the same
        assert len(set(alone)) > 1


@pytest.mark.parametrize("name", cases((*QUICK, "several episodes", "plans", "totals")))
def test_they_are_the_trials_that_are_played_step_by_step(name: str) -> None:
    task, planner = CASES[name]
    stepped = [gumdp.run_trial(task, planner, seed=4, trial=k).value for k in range(3)]
    assert planner.trials(task, streams(4, 3), NEVER).tolist() == stepped


def test_they_are_played_two_at_a_time() -> None:
    """Interpreted, so that what the loop is asked to do can be seen."""
    script = (
        "import test_side_by_side as t; from gumdp.search import loop; from gumdp.seeding import streams\n"
        "asked, search = [], loop.search\n"
        "loop.search = lambda *a: asked.append(a[3]) or search(*a)\n"
        "t.gumdp.MCTS.paper(2).trials(t.M1, streams(0, 3), t.NEVER); print(*sorted(set(map(int, asked))), len(asked))"
    )
    assert interpreted(script) == [f"1 2 {2 * M1.steps}"]


def hexes() -> list[str]:
    """A few trials, and what kernels make of cells, to the last bit."""
    shown = []
    for name in ("the paper's", "several episodes", "plans, the paper's"):
        values = gumdp.MCTS.paper(12).trials(CASES[name][0], streams(4, 3), NEVER)
        shown.append(" ".join(float(v).hex() for v in values))
    return [*shown, str(cells_used())]


def interpreted(script: str) -> list[str]:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.thorough
def test_compiled_and_interpreted_trials_and_cells_agree_to_the_last_bit() -> None:
    assert interpreted("import test_side_by_side as t; print(*t.hexes(), sep='\\n')") == hexes()


# --- cells ---


class Inner(NamedTuple):
    count: Any
    flag: Any


class Outer(NamedTuple):
    array: Any
    number: Any
    inner: Any


@part
def bump(kept, k):
    one = kept[k]
    kept[k] = Outer(one.array, one.number + 1.5, Inner(one.inner.count + u64(1), not one.inner.flag))
    return 0


@kernel
def use(x, y, turns):
    """Whole values and fields of them, read and written by a number that is known only when this runs."""
    kept = cells((Outer(x, 0.0, Inner(u64(1), True)), Outer(y, 0.5, Inner(u64(7), False))))
    plain = cells((u64(3), u64(4)))
    for turn in range(turns):
        k = (turn * 3 + 1) % 2
        bump(kept, k)
        kept[k].array[turn % 2] += turn + 1.0
        kept.number[1 - k] = kept.number[1 - k] * 2.0
        kept.inner.count[k] = kept.inner.count[k] + plain[1 - k]
        plain[k] = plain[k] + u64(1)
        if turn % 3 == 2:  # an array changes places
            one, two = kept.array[0], kept.array[1]
            kept.array[0] = two
            kept.array[1] = one
    one, two = kept[0], kept[1]
    return one.number, two.number, one.inner, two.inner, one.array.size, two.array.size, plain[0], plain[1]


def cells_used(turns: int = 7) -> list[Any]:
    """What is in the cells at last, and in the two arrays."""
    x, y = np.zeros(2), np.ones(3)
    one, two, inner, inner_too, *rest = use(x, y, turns)
    insides = [(int(each.count), bool(each.flag)) for each in (inner, inner_too)]
    return [float(one).hex(), float(two).hex(), *insides, *map(int, rest), x.tolist(), y.tolist()]


def test_cells_hold_what_was_written_last() -> None:
    """After one turn, at k = 1."""
    assert cells_used(1) == [
        (0.0).hex(),
        (2.0).hex(),
        (1, True),
        (7 + 1 + 3, True),
        2,
        3,
        3,
        5,
        [0.0] * 2,
        [2.0, 1.0, 1.0],
    ]


# --- random bits ahead of time ---


@kernel
def filled(rng, draws, first, end):
    return mix_all(u64(rng), draws, u64(first), u64(end))


@pytest.mark.parametrize(("first", "end"), [(0, 40), (3, 20), (7, 7), (39, 40)])
def test_bits_made_all_at_once_are_those_made_one_by_one(first: int, end: int) -> None:
    draws = np.zeros(40, np.uint64)
    last = filled(np.uint64(2**64 - 5), draws, first, end)
    rng, expected = 2**64 - 5, np.zeros(40, np.uint64)
    for k in range(first, end):
        rng = int(next_rng(np.uint64(rng)))
        expected[k] = mixed(np.uint64(rng))
    assert int(last) == rng
    assert draws.tolist() == expected.tolist()


# --- records of one's own ---


@record
class Pair:
    one: Any
    two: Any


def test_a_copy_has_arrays_of_its_own_and_one_array_stays_one() -> None:
    array, other = np.arange(3.0), np.arange(2)
    value = Pair((array, 5), Inner(array, other))
    made = copied(value)
    assert type(made) is Pair
    assert type(made.two) is Inner
    assert made.one[0] is made.two.count
    assert made.one[0] is not array
    made.one[0][0] = 9.0
    assert array[0] == 0.0
    assert made.two.flag.tolist() == [0, 1]
    assert made.one[1] == 5


# --- rows of one length, and of any ---


def one_long_row(states: int, actions: int) -> np.ndarray:
    """Transitions to one state each, but for one pair that leads anywhere."""
    table = np.zeros((states, actions, states))
    for s, a in np.ndindex(states, actions):
        table[s, a, (s * actions + a + 1) % states] = 1.0
    table[0, 0] = np.random.default_rng(2).dirichlet(np.ones(states))
    return table


MASK = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 0, 0]], bool)


@pytest.mark.thorough
@pytest.mark.parametrize("mask", [None, MASK])
def test_padded_rows_and_rows_of_any_length_lead_to_the_same_states(mask: Any, monkeypatch: Any) -> None:
    table, kinds, found = one_long_row(5, 3), [], []
    for most in (tabular.PADDED, 0):
        monkeypatch.setattr(tabular, "PADDED", most)
        model = gumdp.Tabular(table, available=mask)
        kinds.append(type(getattr(model.compiled(), "table", model.compiled())))
        planners = gumdp.Random(), gumdp.MCTS.paper(40)
        found.append([planner.trials(problem(model), streams(2, 3), NEVER).tolist() for planner in planners])
    assert kinds == [Table, RaggedTable]
    assert found[0] == found[1]
    assert len({v for values in found[0] for v in values}) > 1


def test_a_long_row_among_many_short_ones_is_not_padded_for() -> None:
    states = 400
    table = one_long_row(states, 2)
    compiled = gumdp.Tabular(table).compiled()
    assert isinstance(compiled, RaggedTable)
    assert compiled.limits.size == 2 * states - 1 + states
    table[0, 0] = np.eye(states)[1]
    assert isinstance(gumdp.Tabular(table).compiled(), Table)


@kernel
def asked_for(array, i):
    """An entry that is fetched before it is read."""
    fetch(array, i)
    return array[i]


def test_asking_for_memory_early_changes_nothing() -> None:
    array = np.arange(5, dtype=np.int32)
    assert asked_for(array, u64(3)) == asked_for.py_func(array, u64(3)) == 3
    assert array.tolist() == [0, 1, 2, 3, 4]
    assert any("prefetch" in code for code in asked_for.inspect_asm().values())
