"""Tuning: rollouts and commitment chosen by playing, and what the choice must keep to."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gumdp
from gumdp.jit.folder import Folder
from gumdp.search import tuning as stage
from gumdp.search.tuning import SAFE, Choice, extent, shortened, tune

CHANGES = [{"randomness": 0.3}, {"randomness": 0.0}, {"commitment": 0.0}, {"reuse": False}]


class Cast:
    """A player who knows beforehand what each candidate is worth, and counts the trials it plays of each."""

    def __init__(self, worth, noise: float = 0.01) -> None:
        self.worth, self.noise, self.played = worth, noise, {}

    def __call__(self, problem, choice, iterations, seeds):
        if iterations > 1:
            self.played[choice] = self.played.get(choice, 0) + len(seeds)
        luck = np.array([np.random.default_rng(int(seed)).normal() for seed in seeds[:, 0]])  # the same for all
        own = np.array([np.random.default_rng([int(seed), hash(choice) % 2**32]).normal() for seed in seeds[:, 0]])
        return self.worth(choice) + luck + self.noise * own


def small():
    return gumdp.zoo.load("m1-entropy", horizon=10)


def agreement(wanted: Choice):
    return lambda choice: -float(sum(a == b for a, b in zip(choice, wanted, strict=True)))


@pytest.mark.parametrize("share", [1.0, *stage.SHARES])
@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("commitment", [math.inf, *stage.PLANS])
def test_the_best_candidate_wins(share, reuse, commitment):
    wanted = Choice(share, reuse, SAFE.exploration, commitment)
    assert tune(small(), Cast(agreement(wanted)), "key", SAFE, CHANGES).choice == wanted


def test_the_safe_choice_stays_where_nothing_is_better_by_two_standard_errors():
    """A gain of 0.2 own deviations: its standard error over 32 trials, √2/√32 = 0.25 deviations, is larger."""
    cast = Cast(lambda choice: 0.0 if choice == SAFE else -0.002)
    found = tune(small(), cast, "key", SAFE, CHANGES)
    assert found.choice == SAFE
    assert all(not duel.taken and duel.gain <= stage.CLEAR * duel.error for duel in found.duels)


def test_what_ties_races_again_with_few_iterations():
    few = stage.SCARCE * small().shape[1]
    asked = []

    def play(problem, choice, iterations, seeds):
        asked.append(iterations)
        noise = np.linspace(0.0, 0.01, len(seeds))  # the candidates' differences vary a little
        return np.zeros(len(seeds)) - (noise + 0.1) * (iterations == few and choice.randomness == 0.0)

    found = tune(small(), play, "key", SAFE, CHANGES)
    assert found.choice == SAFE._replace(randomness=0.0, commitment=0.0)
    assert [duel.taken for duel in found.duels] == [False, True, True, False]  # level: plans are kept
    assert f"with {few} iterations, greedy rollouts: cost lower by 0.105" in str(found)
    assert set(asked) == {1, few, found.iterations}


@pytest.mark.thorough
def test_on_taxi_every_trial_reaches_what_none_can_be_below():
    problem = gumdp.zoo.load("taxi-entropy")
    bound = gumdp.lower_bound(problem, methods=["distinct"]).value
    assert gumdp.evaluate(problem, gumdp.MCTS(100), trials=100, seed=11).values == pytest.approx(bound, abs=1e-6)


def test_a_race_ends_early_where_it_is_clear_and_goes_on_where_it_is_not():
    clear = Cast(lambda choice: 1.0 if choice != SAFE else 0.0)
    tune(small(), clear, "key", SAFE, CHANGES)
    assert set(clear.played.values()) == {stage.BLOCKS[0]}
    better = Cast(lambda choice: 0.0 if choice == SAFE else -0.004, noise=0.01)
    found = tune(small(), better, "key", SAFE, CHANGES[:1])
    assert found.duels[0].trials > stage.BLOCKS[0]


def test_the_evidence_is_that_of_the_trials_played():
    """Without noise of its own, a candidate that is better by 0.5 is so in each trial."""
    found = tune(small(), Cast(lambda choice: -0.5 * (choice.randomness == 0.3), noise=0.0), "key", SAFE, CHANGES[:1])
    (duel,) = found.duels
    assert duel.taken
    assert duel.gain == pytest.approx(0.5)
    assert duel.error < 1e-12
    assert "greedy rollouts with 0.3 at random: cost lower by 0.5 ±" in str(found)


def test_a_problem_is_tuned_once_for_each_kind_of_search():
    problem, cast = small(), Cast(lambda choice: 0.0)
    first = tune(problem, cast, "key", SAFE, CHANGES)
    played = dict(cast.played)
    assert tune(problem, cast, "key", SAFE, CHANGES) is first
    assert cast.played == played
    tune(problem, cast, "other key", SAFE, CHANGES)
    assert sum(cast.played.values()) == 2 * sum(played.values())


def test_a_fault_in_tuning_leaves_the_usual_choice():
    def fails(*args):
        raise gumdp.GumdpError("the objective has failed.")

    found = tune(small(), fails, "key", SAFE, CHANGES)
    assert found.choice == SAFE
    assert "failed" in str(found)


def test_too_long_a_problem_is_not_tuned():
    cast = Cast(lambda choice: 0.0)
    found = tune(gumdp.zoo.load("patrol", horizon=5000), cast, "key", SAFE, CHANGES)
    assert found.choice == SAFE
    assert cast.played == {}
    assert "horizon" in str(found)


def test_the_end_of_a_discounted_run_is_left_out_but_no_more_than_its_share():
    problem = gumdp.zoo.load("m1-entropy")
    short = shortened(problem)
    tail = problem.weights[short.horizon :].sum()
    assert 0.0 < tail < stage.TAIL
    assert tail / problem.discount**2 > stage.TAIL / 2
    assert shortened(small()).horizon == 10
    assert shortened(gumdp.zoo.load("patrol")).horizon == 200


def test_the_work_of_tuning_is_limited_and_every_action_gets_some():
    for horizon in (5, 40, 100, 200, 400):
        for actions in (2, 7, 30):
            problem = gumdp.zoo.load("random-small", states=5, actions=actions, horizon=horizon, discount=1.0)
            trials, iterations = extent(problem)
            assert trials * iterations * horizon**2 / 2 <= stage.WORK
            assert iterations >= stage.EACH * actions
            assert trials in (0, *stage.BLOCKS)


def test_what_is_given_is_not_tuned():
    given = {"randomness": 0.0, "reuse": False, "exploration": 3.0, "commitment": 0.0}
    found = gumdp.MCTS(10, **given).tuned(gumdp.zoo.load("taxi-entropy"))
    assert found.choice._asdict() == given
    assert found.duels == ()


def test_the_published_search_is_not_tuned():
    rules, reuse = gumdp.MCTS.paper(10).rules(gumdp.zoo.load("taxi-entropy"))
    assert not reuse
    assert rules.select.exploration == math.sqrt(2.0)
    assert not rules.incumbent.holds()
    assert not rules.known.lists()


def test_the_choice_and_its_evidence_can_be_seen():
    problem = small()
    planner = gumdp.MCTS(9)
    words = str(planner.tuned(problem))
    assert "trials" in words
    assert gumdp.evaluate(problem, planner, trials=2).setup == words
    assert planner.start(problem).act(0).setup == words
    assert gumdp.evaluate(problem, gumdp.Random(), trials=2).setup == ""


def test_tuning_finds_the_better_rollouts():
    problem = gumdp.zoo.load("random-small", states=12, actions=3, horizon=20)
    found = gumdp.evaluate(problem, gumdp.MCTS(50), trials=100).values
    for share in (1.0, *stage.SHARES):
        other = gumdp.evaluate(problem, gumdp.MCTS(50, randomness=share), trials=100).values
        gain = other - found
        assert gain.mean() >= -3.0 * gain.std(ddof=1) / 10.0


# --- on disk ---


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """A folder of this test's own for what is kept on disk."""
    monkeypatch.setattr(Folder, "_standard", Folder(tmp_path / "kernels"))
    return tmp_path / "kernels"


def kept(problem, worth=lambda choice: 0.0):
    """What tuning says, and whether it had to play."""
    cast = Cast(worth)
    found = tune(problem, cast, ("key",), SAFE, CHANGES, keep=True)
    return found, bool(cast.played)


@pytest.mark.usefixtures("own_folder")
def test_the_next_process_finds_the_choice_on_disk_with_its_evidence():
    first, played = kept(small(), agreement(SAFE._replace(randomness=0.3, commitment=0.0)))
    again, played_again = kept(small())
    assert played
    assert not played_again
    assert again == first


def squares(d):
    return (d**2).sum()


def cubes(d):
    return (d**3).sum()


@pytest.mark.usefixtures("own_folder")
def test_another_problem_is_tuned_anew():
    """Another horizon, discount, table or cost, also where that is a function; the same function is known again."""
    model, other = small().model, gumdp.zoo.load("random-small", states=3, actions=2, seed=5).model
    problems = [
        gumdp.Problem(model, squares, 0.9, 10),
        gumdp.Problem(model, squares, 0.9, 11),
        gumdp.Problem(model, squares, 0.8, 10),
        gumdp.Problem(other, squares, 0.9, 10),
        gumdp.Problem(model, cubes, 0.9, 10),
        gumdp.Problem(model, gumdp.Entropy(), 0.9, 10),
    ]
    assert all(kept(problem)[1] for problem in problems)
    assert not kept(gumdp.Problem(model, squares, 0.9, 10))[1]


@pytest.mark.usefixtures("own_folder")
def test_what_python_answers_is_not_kept():
    """A function that can't be compiled may answer anything in the next process."""
    names = {"a": 1.0}

    def dictionary(d):
        return names["a"] * float(d.max())

    with pytest.warns(UserWarning, match="Numba"):
        problem = gumdp.Problem(small().model, dictionary, 0.9, 5)
        assert kept(problem)[1]
    with pytest.warns(UserWarning, match="Numba"):
        assert kept(gumdp.Problem(small().model, dictionary, 0.9, 5))[1]


def test_a_damaged_file_is_played_again(own_folder):
    kept(small())
    (file,) = own_folder.glob("tuning-*")
    whole = file.read_bytes()
    file.write_bytes(whole[:-3])
    assert kept(small())[1]
    assert file.read_bytes()[:6] == whole[:6]
    assert not kept(small())[1]
    Folder(own_folder).write(file.stem, b'{"choice": [1]}')
    assert kept(small())[1]
