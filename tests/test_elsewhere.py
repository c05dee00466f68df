"""Copies in processes of their own do what copies in this one do, side by side."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

import gumdp
from gumdp.models.gymnasium.chance import Chance
from gumdp.models.gymnasium.copying import pack
from gumdp.models.gymnasium.elsewhere import Remote
from slow_world import Slow


def problem_of(method: str) -> gumdp.Problem:
    model = gumdp.from_gymnasium(Slow(), method=method)
    return gumdp.Problem(model, gumdp.normalized(gumdp.StateEntropy()), 1.0, 8)


@pytest.fixture(scope="module")
def far() -> gumdp.Problem:
    return problem_of("process")


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_trials_here_and_elsewhere(far: gumdp.Problem) -> None:
    near = problem_of("copy")
    assert far.model.way == "process"
    assert "in a process for each thread" in str(far.model.source)
    for planner in (gumdp.Random(), gumdp.MCTS(10)):
        one, two = (gumdp.evaluate(each, planner, trials=3, seed=1).values for each in (near, far))
        assert one.tolist() == two.tolist()
    trials = [gumdp.play(Slow(), each, gumdp.MCTS(10), seed=2) for each in (near, far)]
    assert [state.observation for state in trials[0].states] == [state.observation for state in trials[1].states]
    assert len(set(one)) > 1


def test_every_thread_has_a_process_and_leaves_it_to_the_next(far: gumdp.Problem) -> None:
    policy = gumdp.MCTS(10, threads=2).start(far, seed=0)
    state = far.model.start_state(np.random.default_rng(0))
    for _ in range(3):
        state = far.model.sample(state, policy.act(state).action, np.random.default_rng(1))
    homes = [live.env.home for _, live in far.model.stage._lives]
    assert len(set(homes)) == len(homes) <= 4  # of this thread, of two that search, and of none that they left
    assert os.getpid() not in homes


def test_a_state_can_be_taken_from_one_process_to_another() -> None:
    one, two = (Remote(pack(Slow()), Chance()) for _ in range(2))
    one.reset(seed=3)
    for action in (0, 1, 1):
        one.step(action)
    two.load(one.save())
    assert one.home != two.home
    one.bits = two.bits = 5
    assert one.step(1)[0] == two.step(1)[0] == two.place


def test_what_goes_wrong_elsewhere_comes_out_here() -> None:
    env = Remote(pack(Slow()), Chance())
    env.reset(seed=0)
    with pytest.raises(ValueError, match="backwards"):
        env.step(-1)
    env.close()
    with pytest.raises(gumdp.GumdpError, match="has ended"):
        env.reset(seed=0)


def test_a_class_that_nobody_else_can_import_is_refused_with_a_reason() -> None:
    class Inner(Slow):
        pass

    with pytest.raises(gumdp.GumdpError, match=r"no copies in processes, as .*Inner"):
        gumdp.from_gymnasium(Inner(), method="process")


def test_such_a_model_goes_to_another_process_itself(far: gumdp.Problem) -> None:
    twin = pickle.loads(pickle.dumps(far))
    assert gumdp.run_trial(twin, gumdp.Random(), seed=4).value == gumdp.run_trial(far, gumdp.Random(), seed=4).value
