"""MCTS as users meet it: its options, its evidence, its errors."""

from __future__ import annotations

import inspect
import math
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import gumdp
from clock import PATIENCE, in_time
from gumdp import MCTS, GumdpError
from gumdp.search.options import OPTIONS
from gumdp.search.tree import bytes_per_node

M1 = gumdp.zoo.load("m1-entropy")
SHORT = gumdp.zoo.load("m1-entropy", horizon=8)


def test_the_same_seed_gives_the_same_trial_compiled_as_a_whole_or_step_by_step():
    for planner in (MCTS.paper(50), MCTS(50), MCTS(50, choice="value", reuse=False)):
        values = gumdp.evaluate(M1, planner, trials=4, seed=7, workers=2).values
        again = gumdp.evaluate(M1, planner, trials=4, seed=7, workers=1).values
        assert values.tolist() == again.tolist()
        assert gumdp.run_trial(M1, planner, seed=7, trial=2).value == values[2]


def test_a_search_on_two_threads_is_repeatable_and_does_all_its_iterations():
    one, two = (gumdp.run_trial(SHORT, MCTS(101, threads=2), seed=1) for _ in range(2))
    assert one.actions.tolist() == two.actions.tolist()
    assert one.decisions[0].visits.tolist() == two.decisions[0].visits.tolist()
    assert one.decisions[0].iterations == 102  # the same share for both threads, rounded up


def test_the_evidence_adds_up():
    decision = MCTS.paper(200).start(M1).act(0)
    assert decision.visits.sum() == decision.iterations == 200
    assert decision.nodes == 201
    assert 2 <= decision.depth <= 100
    assert (decision.errors > 0).all()
    assert decision.value == decision.values[decision.action]
    assert decision.action == decision.visits.argmax()


def test_the_standard_error_is_that_of_the_returns():
    """With a horizon of 1 a return is the objective itself: no spread. With 2 it is that of a coin."""
    model = gumdp.Tabular([[[0.5, 0.5]], [[1.0, 0.0]]])
    sure = MCTS.paper(50).start(gumdp.Problem(model, gumdp.Entropy(), 1.0, 1)).act(0)
    assert sure.errors[0] == 0.0
    n = 4000
    decision = MCTS.paper(n).start(gumdp.Problem(model, gumdp.Entropy(), 1.0, 2)).act(0)
    spread = 0.5 * math.log(2.0)  # returns are 0 or -log 2, each with probability 1/2
    assert decision.errors[0] == pytest.approx(spread / math.sqrt(n), rel=4 / math.sqrt(n))
    assert decision.values[0] == pytest.approx(-0.5 * math.log(2.0), abs=4 * spread / math.sqrt(n))


@pytest.mark.slow
def test_unavailable_actions_are_never_taken():
    available = np.array([[True, True], [False, True], [True, False]])
    model = gumdp.Tabular(M1.model.dense(), 0, available=available)
    problem = gumdp.Problem(model, gumdp.Entropy(), 0.9, 30)
    for planner in (MCTS.paper(40), MCTS(40), gumdp.Random(), gumdp.Greedy()):
        for trial in range(3):
            played = gumdp.run_trial(problem, planner, seed=0, trial=trial)
            assert (played.occupancy[~available] == 0.0).all()


def test_a_time_limit_is_kept_and_used():
    policy = MCTS(time_limit=0.05, randomness=1.0, reuse=True, commitment=np.inf).start(M1)  # no tuning to pay back
    policy.act(0)  # loads the compiled code
    decision = policy.act(1)
    assert decision.seconds > 0.04
    assert in_time(decision.seconds, 0.06)
    assert decision.iterations > 100


def test_a_full_tree_grows_no_more_but_still_learns(monkeypatch):
    monkeypatch.setattr("gumdp.search.policy.MEMORY", bytes_per_node(2) * 100)
    decision = MCTS.paper(5000).start(M1).act(0)
    assert decision.iterations == decision.visits.sum() == 5000
    assert decision.nodes == 100


def test_whichever_limit_comes_first_ends_the_search():
    policy = MCTS(iterations=20, time_limit=60.0).start(M1)
    assert policy.act(0).iterations == 20


@pytest.mark.thorough
def test_several_episodes_restart_the_world():
    problem = gumdp.Problem(M1.model, gumdp.Entropy(), 0.9, 5, episodes=3)
    trial = gumdp.run_trial(problem, MCTS(30), seed=0)
    assert trial.actions.size == 15
    assert trial.states[[0, 5, 10]].tolist() == [0, 0, 0]
    assert trial.occupancy.sum() == pytest.approx(1.0)


def test_the_policy_believes_what_it_is_told():
    policy = MCTS(20).start(SHORT)
    action = policy.act(0).action
    policy.tell(1 - action)
    policy.act(1)
    assert policy.occupancy[0, 1 - action] == pytest.approx(SHORT.weights[0])
    assert policy.occupancy[0, action] == 0.0


@pytest.mark.slow
def test_a_deterministic_simulator_plans_as_its_table_does():
    """The same chain as a table and as a function: the same draws, hence the same decisions.

    Of the paper's search: ours knows more of a table, and is tuned to what it knows.
    """
    table = np.zeros((5, 2, 5))
    for s in range(5):
        table[s, 0, max(0, s - 1)] = table[s, 1, min(4, s + 1)] = 1.0
    model = gumdp.Tabular(table, start=2)

    def step(x, a):
        return (min(4.0, x[0] + 1.0),) if a == 1 else (max(0.0, x[0] - 1.0),)

    simulator = gumdp.Simulator(step, (2.0,), lambda x: int(x[0]), cells=5, actions=2)
    problems = [gumdp.Problem(m, gumdp.Entropy(), 0.9, 12) for m in (model, simulator)]
    trials = [gumdp.run_trial(problem, MCTS.paper(60), seed=4) for problem in problems]
    assert trials[0].actions.tolist() == trials[1].actions.tolist()
    assert trials[0].cells.tolist() == trials[1].cells.tolist()
    assert trials[0].value == trials[1].value


def test_the_tree_comes_along_on_request():
    decision = MCTS(100, keep_tree=True).start(M1).act(0)
    tree = decision.tree
    assert len(tree) == decision.nodes
    assert tree.visits[0].tolist() == decision.visits.tolist()
    assert tree.label[0] == 0
    assert (tree.parent[1:] < np.arange(1, len(tree))).all()
    assert MCTS(100).start(M1).act(0).tree is None


@pytest.mark.thorough
def test_an_objective_that_python_alone_can_run_is_planned_for_with_a_warning():
    weird = {"spread": lambda d: float(np.std(sorted(d.ravel().tolist(), key=lambda x: -x)))}
    problem = gumdp.Problem(M1.model, lambda d: weird["spread"](d), 0.9, 4)
    with pytest.warns(UserWarning, match="plain Python"):
        trial = gumdp.run_trial(problem, MCTS(20), seed=0)
    assert trial.value == pytest.approx(np.std(trial.occupancy))


@pytest.mark.thorough
def test_an_objective_that_turns_nan_is_reported_and_the_planner_stays_usable():
    def bad(d):
        return np.nan if d[2].sum() > 0.5 else d.max()

    problem = gumdp.Problem(M1.model, bad, 0.9, 10)
    policy = MCTS.paper(2000).start(problem)
    with pytest.raises(GumdpError, match="must be finite"):
        policy.act(0)
    assert policy.occupancy.sum() == 0.0
    planner = MCTS(30)
    with pytest.raises(GumdpError, match="must be finite"):
        gumdp.evaluate(problem, MCTS.paper(2000), trials=2)
    assert gumdp.run_trial(SHORT, planner, seed=0).value > 0.0


@pytest.mark.thorough
def test_an_exception_in_a_python_objective_reaches_the_user():
    calls = {"n": 0}

    def failing(d):
        calls["n"] += 1
        if calls["n"] > 200:
            raise RuntimeError("out of luck")
        return d.max()

    problem = gumdp.Problem(M1.model, failing, 0.9, 4)
    with pytest.warns(UserWarning, match="plain Python"):
        policy = MCTS(1000).start(problem)
    with pytest.raises(GumdpError, match="out of luck"):
        policy.act(0)


@pytest.mark.thorough
def test_a_cell_out_of_range_is_reported():
    model = gumdp.Simulator(lambda x, a: (x[0] + 1.0,), (0.0,), lambda x: int(x[0]), cells=5, actions=2)
    problem = gumdp.Problem(model, gumdp.Entropy(), 0.9, 8)
    planner = MCTS(10, randomness=0.3, reuse=True, commitment=0.0)  # nothing is left to try out
    policy = planner.start(problem)
    with pytest.raises(GumdpError, match="cell outside"):
        policy.act((0.0,))
    short = gumdp.Problem(model, gumdp.Entropy(), 0.9, 4)
    assert gumdp.run_trial(short, planner).value < 0.0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"iterations": 0}, "iterations must be a whole number of at least 1"),
        ({"iterations": 2.5}, "iterations must be"),
        ({"exploration": -1.0}, "exploration must be"),
        ({"exploration": float("nan")}, "exploration must be"),
        ({"time_limit": -1}, "time_limit must be"),
        ({"time_limit": 0}, "no time to search"),
        ({"randomness": 1.5}, "randomness must be"),
        ({"rollout": "gredy"}, "did you mean 'greedy'"),
        ({"choice": "visit"}, "did you mean 'visits'"),
        ({"threads": 0}, "threads must be"),
    ],
)
def test_bad_options_get_a_sentence(options, sentence):
    with pytest.raises(GumdpError, match=sentence):
        MCTS(**options)


@pytest.mark.parametrize("policy", [np.full((2, 2), 0.5), np.full((3, 2), 0.4), np.full((7, 3, 2), 0.5), [["a"]]])
def test_a_rollout_policy_must_fit_the_problem(policy):
    with pytest.raises(GumdpError, match="rollout"):
        MCTS(10, rollout=policy).start(M1).act(0)


def test_states_and_actions_of_the_users_loop_are_checked():
    policy = MCTS(10).start(SHORT)
    with pytest.raises(GumdpError, match="act"):
        policy.tell(0)
    for state in (3, -1, 1.5, "a", None):
        with pytest.raises(GumdpError, match="state must be"):
            policy.act(state)
    policy.act(0)
    with pytest.raises(GumdpError, match="action must be"):
        policy.tell(2)
    masked = gumdp.Tabular(M1.model.dense(), 0, available=[[True, False]] + [[True, True]] * 2)
    careful = MCTS.paper(10).start(gumdp.Problem(masked, gumdp.Entropy(), 0.9, 4))
    careful.act(0)
    with pytest.raises(GumdpError, match="not available"):
        careful.tell(1)
    for _ in range(SHORT.steps - 1):
        policy.act(0)
    with pytest.raises(GumdpError, match="over"):
        policy.act(0)


@pytest.mark.posix
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("call", ["evaluate(problem, planner, trials=100)", "run_trial(problem, planner)"])
def test_ctrl_c_stops_at_once(threads, call):
    script = f"""
import gumdp
from gumdp.search.options import OPTIONS
problem = gumdp.zoo.load("m1-entropy")
gumdp.run_trial(problem, gumdp.MCTS(iterations=10, threads={threads}))
gumdp.evaluate(problem, gumdp.MCTS(iterations=10, threads={threads}), trials=2)
planner = gumdp.MCTS(iterations=50_000_000, threads={threads})
print("ready", flush=True)
gumdp.{call}
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=2.0 * PATIENCE)
        finally:
            process.kill()
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_names_say_what_differs_from_the_defaults():
    assert repr(MCTS(100)) == "MCTS(iterations=100)"
    assert repr(MCTS.paper()) == "MCTS.paper(iterations=4000)"
    assert repr(MCTS.paper(time_limit=0.5)) == "MCTS.paper(time_limit=0.5)"
    assert repr(MCTS(10, exploration=0.25, reuse=False)) == "MCTS(iterations=10, exploration=0.25, reuse=False)"
    assert repr(MCTS(time_limit=0.5)) == "MCTS(time_limit=0.5)"


def test_the_class_takes_the_options_that_are_declared_with_their_defaults():
    parameters = inspect.signature(MCTS).parameters
    declared = {option.name: option.default for option in OPTIONS}
    assert {name: p.default for name, p in parameters.items() if name != "former"} == declared
