"""The search against the truth: exact optima, the paper's figures, and the reference written in plain Python."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import stats

import gumdp
from gumdp import MCTS

pytestmark = pytest.mark.slow


@functools.cache
def problems() -> dict[str, gumdp.Problem]:
    m1, m3 = (gumdp.zoo.load(name, horizon=5) for name in ("m1-entropy", "m3-adversarial"))
    costs = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    return {
        "entropy": m1,
        "imitation": gumdp.zoo.load("m2-imitation", horizon=4),
        "worst case": m3,
        "undiscounted": gumdp.Problem(m1.model, gumdp.Entropy(), 1.0, 5),
        "two episodes": gumdp.Problem(m1.model, gumdp.Entropy(), 0.9, 3, episodes=2),
        "states": gumdp.Problem(m1.model, gumdp.StateEntropy(), 0.9, 5),
        "target": gumdp.Problem(m1.model, gumdp.Target(costs, 0.2), 0.9, 5),
        "a function": gumdp.Problem(m1.model, lambda d: np.abs(d - 1.0 / 6.0).max(), 0.9, 5),
    }


@pytest.mark.parametrize("planner", [MCTS.paper(40_000), MCTS(4000)], ids=["paper", "ours"])
@pytest.mark.parametrize("name", list(problems()))
def test_a_large_budget_meets_the_optimum(name, planner):
    """1000 trials, whose mean is within 4 standard errors of the exact optimum.

    The paper's constant √2 is large against these returns, which differ by hundredths: it needs ten times as many.
    """
    problem = problems()[name]
    optimum = gumdp.solve_exact(problem).value
    result = gumdp.evaluate(problem, planner, trials=1000 if planner.reuse else 250, seed=11)
    if name == "target":  # misses so rare that there may be none, and no spread to estimate: their exact distribution
        misses = stats.binomtest(int(result.values.sum()), result.values.size, optimum)
        assert misses.pvalue > 2.0 * stats.norm.sf(4.0)
    else:
        assert abs(result.mean - optimum) <= 4.0 * result.standard_error


@pytest.mark.parametrize("make", [MCTS.paper, MCTS], ids=["paper", "ours"])
def test_more_iterations_make_better_first_decisions(make):
    """The regret of the first action, by the exact values, over 200 seeds."""
    problem = problems()["worst case"]
    truth = gumdp.Exact().start(problem).act(0).values
    assert np.ptp(truth) > 0.01

    def regret(iterations: int) -> float:
        chosen = [make(iterations).start(problem, seed=k).act(0).action for k in range(200)]
        return float(np.mean(truth[chosen] - truth.min()))

    few, some, many = regret(40), regret(400), regret(40_000)
    assert few > some >= many
    assert many <= 0.01 * np.ptp(truth)


def test_a_short_horizon_shows_that_the_last_action_counts():
    """M_f2 with H = 4: a search that scores before the last action settles at 0.03928 at any budget."""
    problem = problems()["imitation"]
    optimum = gumdp.solve_exact(problem).value
    assert optimum == pytest.approx(0.02786, abs=5e-6)
    result = gumdp.evaluate(problem, MCTS.paper(40_000), trials=250, seed=0)
    assert abs(result.mean - optimum) <= 4.0 * result.standard_error
    assert result.mean + 4.0 * result.standard_error < 0.03928


@pytest.mark.parametrize(
    ("name", "mean", "error"),
    [("m1-entropy", 0.0089, 0.0024), ("m2-imitation", 0.0014, 0.0006), ("m3-adversarial", 1.0699, 0.0050)],
)
def test_the_papers_search_gets_the_papers_figures(name, mean, error):
    """100 trials at 4000 iterations; 10 trials of the published program gave ``mean`` ± ``error``."""
    result = gumdp.evaluate(gumdp.zoo.load(name), MCTS.paper(4000), trials=100, seed=0)
    assert result.mean <= mean + error


def test_the_plain_search_of_the_guide_and_the_compiled_one_agree(uct):
    """Two programs of one algorithm: their means over independent trials agree within 4 standard errors."""
    problem = gumdp.zoo.load("m2-imitation", horizon=6)
    plain = gumdp.evaluate(problem, uct.UCT(30), trials=150, seed=6)
    compiled = gumdp.evaluate(problem, MCTS.paper(30), trials=3000, seed=5)
    assert abs(plain.mean - compiled.mean) <= 4.0 * np.hypot(plain.standard_error, compiled.standard_error)
