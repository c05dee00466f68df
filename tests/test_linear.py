"""Linear problems are solved by plain dynamic programming, as everybody else solves them."""

import time

import numpy as np
import pytest

import gumdp
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


@pytest.mark.parametrize("kind", ["forest", "random", "growth"])
def test_long_ordinary_problems_are_solved_at_once(kind: str) -> None:
    rng = np.random.default_rng(1)
    if kind == "forest":
        rows, rewards = forest()
    elif kind == "random":
        rows, rewards = rng.dirichlet(np.ones(40), (40, 5)), rng.normal(size=(40, 5))
    else:  # how much of a stock to keep: stock s, keep a, and the stock grows by a coin
        rows, rewards = np.zeros((30, 30, 30)), np.full((30, 30), -10.0)
        for s in range(30):
            for a in range(30):
                kept = min(a, s)
                rows[s, a, min(29, 2 * kept)] += 0.5
                rows[s, a, kept] += 0.5
                rewards[s, a] = np.sqrt(s - kept) if a <= s else -10.0
    discount, horizon = 0.96, 300
    problem = gumdp.Problem(gumdp.Tabular(rows, start=1), gumdp.Linear(-rewards), discount, horizon)
    began = time.perf_counter()
    solution = gumdp.solve_exact(problem)
    assert time.perf_counter() - began < 1.0
    scale = (1 - discount**horizon) / (1 - discount)  # weights are normalised to sum 1
    assert abs(-solution.value * scale - by_hand(rows, rewards, discount, horizon)[1]) < 1e-9


def test_quantecon_finds_the_same_value() -> None:
    quantecon = pytest.importorskip("quantecon", reason="QuantEcon is not installed")
    rows, rewards = forest()
    discount, horizon = 0.9, 400
    theirs = quantecon.markov.DiscreteDP(rewards, rows, discount).solve(method="policy_iteration").v[0]
    problem = gumdp.Problem(gumdp.Tabular(rows, start=0), gumdp.Linear(-rewards), discount, horizon)
    ours = -gumdp.solve_exact(problem).value * (1 - discount**horizon) / (1 - discount)
    left_out = discount**horizon * np.abs(rewards).max() / (1 - discount)  # after the horizon
    assert abs(ours - theirs) < 1e-9 + left_out
