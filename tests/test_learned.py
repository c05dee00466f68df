"""Tables learned from logged transitions."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

import gumdp
from gumdp import GumdpError, learn
from gumdp.models.logs import from_minari


def lake_log(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Transitions from states and actions drawn uniformly, by the lake's true table."""
    model = gumdp.from_gymnasium("FrozenLake-v1")
    rng = np.random.default_rng(seed)
    states, actions = rng.integers(16, size=n), rng.integers(4, size=n)
    table = model.dense()[states, actions].cumsum(axis=1)
    return states, actions, (table < rng.random(n)[:, None]).sum(axis=1)


def test_frequencies_become_probabilities() -> None:
    model = learn(([0, 0, 0, 1], [0, 0, 0, 1], [0, 1, 1, 1]), shape=(2, 2))
    np.testing.assert_allclose(model.dense()[0, 0], [1 / 3, 2 / 3])
    np.testing.assert_allclose(model.dense()[1, 1], [0, 1])
    assert model.samples.tolist() == [[3, 0], [0, 1]]


def test_a_prior_is_added_to_every_successor_of_rows_that_were_seen() -> None:
    model = learn(([0, 0, 0], [0, 0, 0], [0, 1, 1]), shape=(3, 1), prior=0.5)
    np.testing.assert_allclose(model.dense()[0, 0], np.array([1.5, 2.5, 0.5]) / 4.5)
    np.testing.assert_allclose(model.dense()[2, 0], [0, 0, 1])


def test_pairs_never_seen_loop_lead_anywhere_or_are_excluded() -> None:
    data = ([0, 1], [0, 0], [1, 0])
    np.testing.assert_allclose(learn(data, shape=(2, 2)).dense()[0, 1], [1, 0])
    np.testing.assert_allclose(learn(data, shape=(2, 2), unseen="uniform").dense()[0, 1], [0.5, 0.5])
    excluded = learn(data, shape=(2, 2), unseen="exclude")
    assert excluded.available is not None
    assert excluded.available.tolist() == [[True, False], [True, False]]
    unreached = learn(data, shape=(3, 2), unseen="exclude")
    assert unreached.available is not None
    assert unreached.available[2].all()  # a state needs an action
    np.testing.assert_allclose(unreached.dense()[2, 1], [0, 0, 1])


def test_the_start_is_where_episodes_began() -> None:
    data = ([2, 1, 2, 0], [0, 0, 0, 0], [1, 0, 1, 1])
    np.testing.assert_allclose(learn(data, episodes=[0, 0, 1, 2]).start, [1 / 3, 0, 2 / 3])
    np.testing.assert_allclose(learn(data, terminated=[False, True, False, False]).start, [0, 0, 1])
    np.testing.assert_allclose(learn(data, start=1).start, [0, 1, 0])


def test_terminal_states_absorb_or_restart() -> None:
    data, over = ([0, 0], [0, 1], [1, 2]), [True, False]
    absorb = learn(data, shape=(3, 2), terminated=over)
    np.testing.assert_allclose(absorb.dense()[1], [[0, 1, 0]] * 2)
    restart = learn(data, shape=(3, 2), terminated=over, terminal="restart")
    np.testing.assert_allclose(restart.dense()[1], [[1, 0, 0]] * 2)
    assert "1 terminal states" in str(absorb.source)


def test_a_learned_table_approaches_the_true_one() -> None:
    """Each entry of a row of n samples is within 5 standard errors √(p(1-p)/n)."""
    truth = gumdp.from_gymnasium("FrozenLake-v1")
    model = learn(lake_log(60_000), shape=(16, 4))
    p, n = truth.dense(), model.samples[:, :, None]
    assert (np.abs(model.dense() - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-12).all()


def test_sampling_an_environment_gives_its_dynamics_and_its_start() -> None:
    model = learn("FrozenLake-v1", samples=20_000, seed=1)
    truth = gumdp.from_gymnasium("FrozenLake-v1", terminal="absorb")
    assert model.start_states.tolist() == [0]
    assert model.grid == (4, 4)
    often = model.samples > 100
    assert np.abs(model.dense() - truth.dense())[often].max() < 5 * np.sqrt(2 / 9 / 100)
    again = learn("FrozenLake-v1", samples=20_000, seed=1)
    np.testing.assert_array_equal(model.dense(), again.dense())


def test_sampling_a_simulator_gives_the_papers_estimate_of_its_table() -> None:
    model = learn(gumdp.from_gymnasium("MountainCar-v0"), samples=50_000)
    assert model.shape == (100, 3)
    assert set(model.start_states) <= {35, 45}  # position -0.66…-0.3, velocity 0…0.014
    assert model.samples.sum() == 50_000
    assert "never seen stay where they are" in str(model.source)


def test_a_model_learned_from_a_model_keeps_its_mask() -> None:
    stay = np.tile(np.eye(2)[:, None, :], (1, 2, 1))
    masked = gumdp.Tabular(stay, available=[[True, False], [True, True]])
    model = learn(masked, samples=100)
    assert model.available is not None
    assert model.available.tolist() == [[True, False], [True, True]]


def test_continuous_logs_are_binned_and_what_lies_outside_is_counted() -> None:
    bins = gumdp.Bins((2,), low=0.0, high=1.0)
    model = learn(([[0.1], [0.6], [1.7]], [0, 0, 0], [[0.6], [0.2], [0.9]]), bins=bins)
    assert model.outside == 1
    np.testing.assert_allclose(model.dense()[1, 0], [0.5, 0.5])
    assert "1 observations were outside the bins" in str(model.source)


def test_a_pandas_frame_is_read_by_its_columns() -> None:
    pandas = pytest.importorskip("pandas", reason="the extra gumdp[pandas] is not installed")
    states, actions, successors = lake_log(500)
    frame = pandas.DataFrame({"state": states, "action": actions, "next_state": successors, "episode": 0})
    one, two = learn(frame, shape=(16, 4)), learn((states, actions, successors), shape=(16, 4))
    np.testing.assert_array_equal(one.dense(), two.dense())
    with pytest.raises(GumdpError, match="needs a column 'next_state'"):
        learn(frame.drop(columns=["next_state", "episode"]))
    with pytest.raises(GumdpError, match="not one transition"):
        learn(frame.iloc[:0])


@pytest.mark.filterwarnings("ignore:.*is set to None")
def test_a_minari_dataset_is_read_episode_by_episode(tmp_path, monkeypatch) -> None:
    minari = pytest.importorskip("minari", reason="the extra gumdp[minari] is not installed")
    pytest.importorskip("h5py", reason="the extra gumdp[minari] is not installed")
    from minari.data_collector.episode_buffer import EpisodeBuffer

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = gymnasium.make("FrozenLake-v1")
    rng = np.random.default_rng(0)
    rows, buffers = [], []
    for number in range(10):
        seen, taken, ends = [env.reset(seed=number)[0]], [], [False]
        while not ends[-1]:
            taken.append(int(rng.integers(4)))
            observation, _, terminated, _, _ = env.step(taken[-1])
            rows.append((seen[-1], taken[-1], observation, terminated))
            seen.append(observation)
            ends.append(terminated)
        quiet = [0.0] * len(taken)
        buffers.append(EpisodeBuffer(number, number, None, seen, taken, quiet, ends[1:], [False] * len(taken)))
    dataset = minari.create_dataset_from_buffers(
        "test/lake-v0", buffers, env=env, algorithm_name="random", author="a", author_email="a@b", code_permalink="c"
    )
    model = learn(dataset)
    states, actions, successors, terminated = (np.array(x) for x in zip(*rows, strict=True))
    by_hand = learn((states, actions, successors), shape=(16, 4), terminated=terminated)
    np.testing.assert_allclose(model.dense(), by_hand.dense())
    np.testing.assert_array_equal(model.samples, by_hand.samples)


def test_bad_logs_get_a_sentence() -> None:
    good = ([0, 1], [0, 0], [1, 0])
    for data, message in (
        (([0, 5], [0, 0], [1, 0]), r"states\[1\] is 5; it must be from 0 to 1"),
        (([0, 1], [0, -1], [1, 0]), r"actions\[1\] is -1"),
        (([0, 1], [0.3, 0.7], [1, 0]), r"actions\[0\] is 0.3; it must be a whole number \(put continuous actions into"),
        (([0, 1], [[0.3, 0.1], [0.7, 0.1]], [1, 0]), r"shape \(2, 2\) \(put continuous actions into groups"),
        (([0.0, np.nan], [0, 0], [1, 0]), r"states\[1\] is nan; it must be a whole number"),
        (([0, 1], [0, 0], [1.5, 0]), r"next_states\[0\] is 1.5"),
        (([], [], []), "not one transition"),
        (([0, 1], [0], [1, 0]), "equally long"),
        (([[0.0, 1.0]], [0], [[0.0, 1.0]]), "give bins for continuous states"),
        (([0, 1],), "data must be"),
        (7, "data must be"),
    ):
        with pytest.raises(GumdpError, match=message):
            learn(data, shape=(2, 2))
    with pytest.raises(GumdpError, match="unknown unseen 'ignore'"):
        learn(good, unseen="ignore")
    with pytest.raises(GumdpError, match="prior must be a finite number at least 0"):
        learn(good, prior=-1)
    with pytest.raises(GumdpError, match="NaN"):
        learn(([[np.nan]], [0], [[0.0]]), bins=gumdp.Bins((2,), low=0.0, high=1.0))
    with pytest.raises(GumdpError, match="samples must be a whole number"):
        learn("FrozenLake-v1", samples=0)


def test_recorded_continuous_actions_get_advice_about_the_data() -> None:
    space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
    data = SimpleNamespace(id="d", observation_space=gymnasium.spaces.Discrete(2), action_space=space)
    with pytest.raises(GumdpError, match=r"recorded actions of .* are not finitely many; put them into") as refused:
        from_minari(data, None, None, None)
    assert "actions=3" not in str(refused.value)  # which is for environments


def test_an_action_that_the_mask_forbids_is_refused() -> None:
    with pytest.raises(GumdpError, match="transition 1 takes action 1 in state 1, which available forbids"):
        learn(([0, 1], [0, 1], [1, 0]), available=[[True, True], [True, False]])
    model = learn(([0, 1], [0, 0], [1, 0]), shape=(2, 2), available=[[True, True], [True, False]])
    policy = gumdp.Random().start(gumdp.Problem(model, gumdp.Entropy(), 0.9, 5), seed=0)
    policy.act(1)
    with pytest.raises(GumdpError, match="action 1 is not available in state 1"):
        policy.tell(1)


@pytest.mark.slow
def test_planning_on_20_000_random_transitions_is_within_a_tenth_of_planning_on_the_truth() -> None:
    """In the true environment, FrozenLake entropy; the bound holds with the uncertainty of 60 trials on either side."""
    learned = learn("FrozenLake-v1", samples=20_000, seed=0)
    truth = gumdp.zoo.load("frozenlake-entropy")
    guess = gumdp.Problem(learned, truth.objective, truth.discount, truth.horizon)
    planner = gumdp.MCTS(iterations=300)
    real = gymnasium.make("FrozenLake-v1", max_episode_steps=200)
    with_guess = np.array([gumdp.play(real, guess, planner, seed=0, trial=k).value for k in range(60)])
    with_truth = np.array([gumdp.play(real, truth, planner, seed=0, trial=k).value for k in range(60)])
    gap = with_guess - 1.1 * with_truth
    assert gap.mean() < 2 * gap.std(ddof=1) / np.sqrt(60)


def test_a_cell_where_some_episodes_ended_is_terminal_with_their_share() -> None:
    # three visits to cell 1: one ended the episode, two went on to cell 2
    states, actions, successors = [0, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 2, 1, 2]
    over = [True, False, True, False, True]
    restart = learn((states, actions, successors), terminated=over, terminal="restart", start=0)
    np.testing.assert_allclose(restart.dense()[1, 0], [1 / 3, 0.0, 2 / 3])
    np.testing.assert_allclose(restart.dense()[2, 0], [1.0, 0.0, 0.0])  # all of them ended there
    absorb = learn((states, actions, successors), terminated=over, start=0)
    np.testing.assert_allclose(absorb.dense()[1, 0], [0.0, 1 / 3, 2 / 3])
    assert "in 1 states some visits ended an episode" in str(absorb.source)


TABLE = {
    "state": ["hall", "hall", "roof"], "action": ["up", "wait", "up"], "next_state": ["roof", "hall", "roof"],
    "terminated": [False, False, True],
}  # fmt: skip


def check_table(model: gumdp.Learned) -> None:
    assert (model.state_names, model.action_names) == (("hall", "roof"), ("up", "wait"))
    assert model.samples.tolist() == [[1, 1], [1, 0]]


def test_names_become_numbers_in_their_order() -> None:
    check_table(learn(TABLE))
    check_table(learn((TABLE["state"], TABLE["action"], TABLE["next_state"])))


def test_files_are_read_by_their_columns(tmp_path) -> None:
    path = tmp_path / "log.csv"
    lines = [",".join(TABLE), *(",".join(map(str, row)) for row in zip(*TABLE.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    check_table(learn(path))
    check_table(learn(str(path)))
    with pytest.raises(gumdp.GumdpError, match="there is no file"):
        learn(tmp_path / "nothing.csv")
    other = tmp_path / "log.txt"
    other.write_text("")
    with pytest.raises(gumdp.GumdpError, match=r"must be of the kinds \.csv and \.parquet"):
        learn(other)


def test_arrow_tables_and_parquet_files_are_read(tmp_path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="the extra gumdp[parquet] is not installed")
    from pyarrow import parquet

    table = arrow.table(TABLE)
    check_table(learn(table))
    parquet.write_table(table, tmp_path / "log.parquet")
    check_table(learn(tmp_path / "log.parquet"))


def test_recorded_actions_of_several_numbers_are_numbered() -> None:
    class Episode(SimpleNamespace):
        def __len__(self) -> int:
            return len(self.actions)

    taken = np.array([[0, 2], [1, 0], [1, 2]])
    dataset = SimpleNamespace(
        id="pairs-v0",
        observation_space=gymnasium.spaces.Discrete(4),
        action_space=gymnasium.spaces.MultiDiscrete([2, 3]),
        iterate_episodes=lambda: [Episode(observations=np.arange(4), actions=taken, terminations=np.zeros(3, bool))],
    )
    log = from_minari(dataset, None, None, None)
    assert log.actions.tolist() == [2, 3, 5]
    assert log.shape == (4, 6)


def test_two_columns_of_one_name_are_refused(tmp_path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("state,state,action,next_state\n0,1,0,1\n")
    with pytest.raises(GumdpError, match="two columns 'state'"):
        learn(file)


def test_names_in_quotes_may_hold_anything(tmp_path) -> None:
    file = tmp_path / "log.csv"
    file.write_text('state,action,next_state\n"a\nb",go,"c, d"\n"c, d",go,e\x0cf\n')
    assert learn(file).state_names == ("a\nb", "c, d", "e\x0cf")


def test_a_word_among_numbers_is_shown(tmp_path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("state,action,next_state\n0,0,1\n1,0,null\n")
    with pytest.raises(GumdpError, match="next_states must be whole numbers, not 'null'"):
        learn(file)
