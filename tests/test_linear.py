"""Linear problems are solved by plain dynamic programming, as everybody else solves them."""

import time
from typing import Any

import numpy as np
import pytest

import gumdp
from clock import within
from gumdp.exact.planner import Exact


def random_model(seed: int, states: int, actions: int, masked: bool = False) -> gumdp.Tabular:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(states), (states, actions))
    mask = rng.random((states, actions)) < 0.6
    mask[:, 0] = True
    return gumdp.Tabular(rows, start=rng.dirichlet(np.ones(states)), available=mask if masked else None)


COSTS = np.random.default_rng(5).normal(size=(3, 2))
OBJECTIVES = {
    "linear": gumdp.Linear(COSTS),
    "sum": gumdp.Linear(COSTS) + 0.5 * gumdp.Linear(COSTS[::-1]),
    "multiple": 3.0 * gumdp.Linear(COSTS),
    "normalized": gumdp.normalized(gumdp.Linear(COSTS) + gumdp.Linear(COSTS**2)),
}


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize(("discount", "episodes", "masked"), [(0.9, 1, True), (1.0, 1, False), (0.7, 2, False)])
def test_the_optimum_is_that_of_the_unfolded_occupancy_mdp(
    name: str, discount: float, episodes: int, masked: bool
) -> None:
    model = random_model(3, 3, 2, masked)
    problem = gumdp.Problem(model, OBJECTIVES[name], discount, 4, episodes=episodes)
    solution = gumdp.solve_exact(problem)
    assert abs(solution.value - Exact().solve(problem).expected) < 1e-12
    assert abs(gumdp.exact_value(problem, solution.planner) - solution.value) < 1e-12


def forest(states: int = 50, fire: float = 0.1, mature: float = 4.0, cut: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """The forest management problem of the MDP toolbox: transitions [S, A, S] and rewards [S, A]."""
    rows = np.zeros((states, 2, states))
    rows[:, 0, 0] = fire
    for s in range(states):
        rows[s, 0, min(s + 1, states - 1)] += 1 - fire
    rows[:, 1, 0] = 1.0
    rewards = np.zeros((states, 2))
    rewards[-1, 0] = mature
    rewards[1:, 1] = 1.0
    rewards[-1, 1] = cut
    return rows, rewards


def by_hand(rows: np.ndarray, rewards: np.ndarray, discount: float, horizon: int) -> np.ndarray:
    """The greatest discounted reward from every state, by the recursion forward in the steps to go."""
    value = np.zeros(len(rows))
    for _ in range(horizon):
        value = (rewards + discount * np.einsum("sat,t->sa", rows, value)).max(axis=1)
    return value


def growth(most: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """How much of a stock to keep: what is kept doubles, or not, by a coin; the root of the rest is the reward."""
    rows, rewards = np.zeros((most, most, most)), np.full((most, most), -10.0)
    for s in range(most):
        for a in range(most):
            kept = min(a, s)
            rows[s, a, min(most - 1, 2 * kept)] += 0.5
            rows[s, a, kept] += 0.5
            rewards[s, a] = np.sqrt(s - kept) if a <= s else -10.0
    return rows, rewards


def at_random(states: int = 40, actions: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.dirichlet(np.ones(states), (states, actions)), rng.normal(size=(states, actions))


MODELS = {"forest": forest, "random": at_random, "growth": growth}
DISCOUNT, HORIZON = 0.96, 300


def quantecon_values(rows: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    markov = pytest.importorskip("quantecon", reason="QuantEcon is not installed").markov
    return markov.backward_induction(markov.DiscreteDP(rewards, rows, DISCOUNT), HORIZON)[0][0]


def toolbox_values(rows: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    toolbox = pytest.importorskip("mdptoolbox.mdp", reason="pymdptoolbox is not installed")
    solver = toolbox.FiniteHorizon(rows.transpose(1, 0, 2), rewards, DISCOUNT, HORIZON)
    solver.run()
    return solver.V[:, 0]


def by_recursion(rows: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    return by_hand(rows, rewards, DISCOUNT, HORIZON)


@pytest.mark.parametrize("theirs", [by_recursion, quantecon_values, toolbox_values])
@pytest.mark.parametrize("kind", MODELS)
def test_long_ordinary_problems_are_solved_at_once_as_others_solve_them(kind: str, theirs: Any) -> None:
    rows, rewards = MODELS[kind]()
    values = theirs(rows, rewards)
    scale = (1 - DISCOUNT**HORIZON) / (1 - DISCOUNT)  # weights are normalised to sum 1
    for start in (0, 1, len(rows) - 1):
        problem = gumdp.Problem(gumdp.Tabular(rows, start=start), gumdp.Linear(-rewards), DISCOUNT, HORIZON)
        with within(1.0, time.process_time):
            solution = gumdp.solve_exact(problem)
        assert abs(-solution.value * scale - values[start]) < 1e-9


@pytest.mark.parametrize("kind", MODELS)
def test_without_end_the_values_are_those_of_policy_iteration(kind: str) -> None:
    quantecon = pytest.importorskip("quantecon", reason="QuantEcon is not installed")
    rows, rewards = MODELS[kind]()
    discount, horizon = 0.9, 400
    theirs = quantecon.markov.DiscreteDP(rewards, rows, discount).solve(method="policy_iteration").v[0]
    problem = gumdp.Problem(gumdp.Tabular(rows, start=0), gumdp.Linear(-rewards), discount, horizon)
    ours = -gumdp.solve_exact(problem).value * (1 - discount**horizon) / (1 - discount)
    left_out = discount**horizon * np.abs(rewards).max() / (1 - discount)  # after the horizon
    assert abs(ours - theirs) < 1e-9 + left_out
