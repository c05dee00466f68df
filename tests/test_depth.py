"""Simulations that look only a few steps ahead, for slow simulators."""

import gymnasium
import numpy as np
import pytest

import gumdp
from gumdp.cli.main import main

pytestmark = pytest.mark.thorough  # most of its time is compiling

# Two states; action 0 stays, action 1 changes. Without chance, every value can be written down.
MOVES = gumdp.Tabular(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]), start=0)
PAST = [(0, 1), (1, 1), (0, 0)]  # (state, action): what happened before the decision, in state 0
MARKS = np.random.default_rng(0).normal(size=(2, 2, 3))
GIVEN = {"randomness": 1.0, "reuse": False, "commitment": np.inf}  # nothing is left to try out
COUNTED = {
    "a sum over pairs": {"objective": gumdp.Entropy()},
    "plain Python": {"objective": gumdp.Function(lambda d: float(np.abs(d - 0.25).max()))},
    "hashed cells": {"objective": gumdp.Entropy(), "counts": gumdp.Hashed()},
    "totals": {"objective": gumdp.Chebyshev([3.0, 2.0, 1.0], [9.0, 9.0, 9.0]), "counts": gumdp.Features(MARKS)},
}


def forecast(problem: gumdp.Problem, pairs: list[tuple[int, int]]) -> float:
    """The cost of a run that goes on as these pairs did: each its share of the whole weight."""
    weights = problem.weights[: len(pairs)] * problem.weights.sum() / problem.weights[: len(pairs)].sum()
    d = np.zeros((2, 2))
    for (s, a), w in zip(pairs, weights, strict=True):
        d[s, a] += w
    if problem.features is not None:
        return problem.objective(np.tensordot(d, MARKS, 2))
    return problem.objective(d)


@pytest.mark.filterwarnings("ignore:the objective .* runs as plain Python")
@pytest.mark.parametrize("discount", [0.8, 1.0])
@pytest.mark.parametrize("kind", COUNTED)
def test_what_lies_beyond_goes_on_as_the_run_did(kind: str, discount: float) -> None:
    problem = gumdp.Problem(MOVES, discount=discount, horizon=9, **COUNTED[kind])
    policy = gumdp.MCTS(iterations=40, depth=1, **GIVEN).start(problem, seed=0)
    for state, action in PAST:
        policy.act(state)
        policy.tell(action)
    decision = policy.act(0)
    told = [forecast(problem, [*PAST, (0, a)]) for a in (0, 1)]
    np.testing.assert_allclose(decision.values, told, rtol=0.0, atol=1e-12)
    assert decision.action == int(np.argmin(told))


@pytest.mark.parametrize("name", ["m1-entropy", pytest.param("m3-adversarial", marks=pytest.mark.slow)])
def test_as_many_steps_as_there_are_is_no_limit(name: str) -> None:
    problem = gumdp.zoo.load(name, horizon=12)
    options = {
        "randomness": 0.3,
        "reuse": True,
        "exploration": 2.0,
        "commitment": np.inf,
        "solve": False,
        "control_variate": False,
    }
    whole = gumdp.evaluate(problem, gumdp.MCTS(30, **options), trials=5, seed=0).values
    for depth in (12, 500):
        limited = gumdp.evaluate(problem, gumdp.MCTS(30, depth=depth, **options), trials=5, seed=0).values
        assert whole.tolist() == limited.tolist()


def test_values_are_biased_where_what_matters_comes_late() -> None:
    rows = np.zeros((7, 2, 7))  # 0 leads to 1 2 3 (dear at the end), or to 4 5 6 (dear at first, then free)
    for s, after in enumerate(((1, 4), (2, 2), (3, 3), (3, 3), (5, 5), (6, 6), (6, 6))):
        rows[s, 0, after[0]] = rows[s, 1, after[1]] = 1.0
    costs = np.repeat(np.array([0.0, 0.0, 0.0, 5.0, 1.0, 0.0, 0.0])[:, None], 2, axis=1)
    problem = gumdp.Problem(gumdp.Tabular(rows, start=0), gumdp.Linear(costs), 1.0, 8)
    near, far = (gumdp.MCTS(200, depth=depth, **GIVEN).start(problem, seed=0).act(0) for depth in (3, 5))
    assert gumdp.solve_exact(problem).value == pytest.approx(1.0 / 8.0)
    assert (near.action, far.action) == (0, 1)
    assert near.values[0] == 0.0  # where 25/8 is to come
    assert far.values[1] == pytest.approx(1.0 / 5.0)


class Slow(gymnasium.Env):  # type: ignore[type-arg]
    """A ring that counts the steps of all its copies."""

    observation_space = gymnasium.spaces.Discrete(5)
    action_space = gymnasium.spaces.Discrete(2)
    steps = 0

    def reset(self, *, seed=None, options=None):  # type: ignore[no-untyped-def]
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action):  # type: ignore[no-untyped-def]
        Slow.steps += 1
        self.place = (self.place + (1 if action else -1)) % 5
        return self.place, 0.0, False, False, {}


def test_a_slow_simulator_is_asked_for_so_many_steps_at_most() -> None:
    model = gumdp.from_gymnasium(Slow(), method="copy")
    problem = gumdp.Problem(model, gumdp.StateEntropy(), 1.0, 40)
    spent = {}
    for depth in (4, None):
        Slow.steps = 0
        trial = gumdp.run_trial(problem, gumdp.MCTS(10, depth=depth, **GIVEN), seed=0)
        spent[depth] = Slow.steps
    assert spent[4] <= 40 * 10 * 4 + 40 < spent[None] / 2
    assert trial.value < gumdp.run_trial(problem, gumdp.Random(), seed=0).value


@pytest.mark.parametrize("depth", [0, -1, 2.5, "three", True])
def test_a_depth_is_a_number_of_steps(depth: object) -> None:
    with pytest.raises(gumdp.GumdpError, match="MCTS: depth must be"):
        gumdp.MCTS(depth=depth)  # type: ignore[arg-type]


def test_the_shell_knows_it_beside_the_depth_of_the_tree_that_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "m1-entropy", "--iterations", "9", "--option", "depth=4", "--tree", "--depth", "1"]) == 0
    assert "MCTS(iterations=9, depth=4)" in capsys.readouterr().out
    assert main(["evaluate", "m1-entropy", "--iterations", "9", "--depth", "4", "--trials", "2"]) == 0
    assert "MCTS(iterations=9, depth=4)" in capsys.readouterr().out
