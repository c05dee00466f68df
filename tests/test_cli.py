"""The command line: what it prints, where, and how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numba.core import event
from rich.console import Console

import gumdp
from gumdp.cli.main import main
from gumdp.report import terminal
from gumdp.run import registry


@pytest.fixture
def run(capsys):
    def call(*args: str) -> tuple[int, str, str]:
        code = main(list(args))
        out, err = capsys.readouterr()
        return code, out, err

    return call


def as_json(answer: tuple[int, str, str]) -> dict:
    code, out, err = answer
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


# --- list ---


def test_list_shows_every_problem(run) -> None:
    code, out, err = run("list")
    assert (code, err) == (0, "")
    for name in gumdp.zoo.names():
        assert name in out
    assert "3 × 2" in out
    assert max(map(len, out.splitlines())) <= 120


def test_list_of_one_problem_says_what_it_takes_and_what_is_known(run) -> None:
    code, out, _ = run("list", "m1-entropy")
    assert code == 0
    assert "random 0.1159" in out
    assert "horizon=100" in out
    assert run("list", "m1")[0] == 2


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("plan", "gumdp list"),
        ("evaluate", "gumdp list"),
        ("run", "study.toml"),
        ("report", "gumdp run"),
        ("learn", "CSV"),
    ],
)
def test_what_is_missing_is_said_with_where_to_find_it(run, line: str, where: str) -> None:
    code, _, err = run(line)
    assert code == 2
    assert err.startswith(f"gumdp: gumdp {line} needs ")
    assert where in err


def test_an_option_without_its_argument_is_told_where_to_look(run) -> None:
    code, _, err = run("plan", "m1-entropy", "--planner")
    assert code == 2
    assert "--planner" in err
    assert "--help shows what it takes" in err


def test_the_parts_of_a_value_add_up_as_printed(run) -> None:
    _, out, _ = run("plan", "cliffwalking-budget", "--planner", "random", "--set", "horizon=10")
    value = float(re.search(r"^value (\S+)", out, re.MULTILINE)[1])
    terms = re.search(r"^of which (.*)$", out, re.MULTILINE)[1]
    assert sum(float(x) for x in re.findall(r" (-?[\d.]+)(?:,|$)", terms)) == pytest.approx(value, abs=1e-3)


def test_list_as_json_has_what_is_known(run) -> None:
    problems = {row["name"]: row for row in as_json(run("list", "--json"))["problems"]}
    assert set(problems) == set(gumdp.zoo.names())
    row = problems["m1-entropy"]
    assert (row["states"], row["actions"], row["options"]) == (3, 2, {"discount": 0.9, "horizon": 100})
    assert row["published"]["random"] == 0.1159


def test_list_as_json_has_options_of_any_kind(run) -> None:
    gumdp.register_problem("filed", lambda model: gumdp.zoo.load("m1-entropy"), {"model": Path("world.npz")})
    problems = {row["name"]: row for row in as_json(run("list", "--json"))["problems"]}
    assert problems["filed"]["options"] == {"model": "world.npz"}


# --- evaluate ---


def test_evaluate_as_json_is_what_python_gives(run) -> None:
    data = as_json(run("evaluate", "m1-entropy", "--planner", "random", "--trials", "50", "--seed", "3", "--json"))
    result = gumdp.evaluate(gumdp.zoo.load("m1-entropy"), gumdp.Random(), trials=50, seed=3)
    assert data["values"] == result.values.tolist()
    assert data["ci90"] == list(result.ci(0.9))
    assert data["mean"] == result.mean
    assert (data["setting"], data["planner"], data["trials"], data["seed"]) == ("m1-entropy", "random", 50, 3)
    assert data["seconds"] > 0


def test_evaluate_for_people_has_mean_and_interval(run) -> None:
    code, out, _ = run("evaluate", "m1-entropy", "--planner", "random", "--trials", "50")
    assert code == 0
    assert "mean 0.0" in out
    assert "90 % interval [" in out
    assert "50 trials" in out


def test_a_standard_error_that_does_not_exist_is_null(run) -> None:
    data = as_json(run("evaluate", "m1-entropy", "--planner", "random", "--trials", "1", "--json"))
    assert data["standard_error"] is None


def test_options_of_the_problem_can_be_set(run) -> None:
    data = as_json(
        run("plan", "m1-entropy", "--planner", "random", "--set", "horizon=7", "--set", "discount=1", "--json")
    )
    assert len(data["actions"]) == 7
    assert np.allclose(np.array(data["occupancy"]) * 7, np.rint(np.array(data["occupancy"]) * 7))


# --- plan ---


def test_plan_as_json_has_the_trial(run) -> None:
    data = as_json(run("plan", "m1-entropy", "--planner", "greedy", "--seed", "5", "--json"))
    trial = gumdp.run_trial(gumdp.zoo.load("m1-entropy"), gumdp.Greedy(), seed=5)
    assert data["value"] == trial.value
    assert data["states"] == trial.states.tolist()
    assert data["actions"] == trial.actions.tolist()
    assert data["occupancy"] == trial.occupancy.tolist()
    assert data["decisions"] == []


@pytest.mark.thorough
def test_plan_with_search_has_its_evidence(run) -> None:
    args = ("plan", "m1-entropy", "--set", "horizon=5", "--iterations", "20")
    decisions = as_json(run(*args, "--json"))["decisions"]
    assert [sum(d["visits"]) >= 20 for d in decisions[:2]] == [True] * 2  # the last ones are proved with fewer
    assert "simulated runs ended at 0." in run(*args)[1]


def test_plan_for_people_shows_trajectory_and_occupancy(run) -> None:
    code, out, _ = run("plan", "m1-entropy", "--planner", "greedy")
    assert code == 0
    assert "s0 –a" in out
    assert "occupancy" in out
    assert "\x1b" not in out  # no colours where there is no terminal


def test_a_stationary_policy_comes_from_a_file(run, tmp_path: Path) -> None:
    file = tmp_path / "policy.npy"
    np.save(file, np.array([[1.0, 0.0]] * 3))
    data = as_json(run("plan", "m1-entropy", "--planner", "stationary", "--policy", str(file), "--json"))
    assert set(data["actions"]) == {0}


# --- solve ---


def test_solve_exact_gives_the_optimum(run) -> None:
    args = ("solve", "m1-entropy", "--exact", "--set", "horizon=4")
    data = as_json(run(*args, "--json"))
    assert data["value"] == gumdp.solve_exact(gumdp.zoo.load("m1-entropy", horizon=4)).value
    assert (data["setting"], data["method"], data["gap"]) == ("m1-entropy", "exact", 0.0)
    assert len(data["sizes"]) in (4, 5)
    code, out, _ = run(*args)
    assert code == 0
    assert f"value {data['value']:.9g}" in out


def test_a_problem_too_large_for_the_exact_solver_is_refused(run) -> None:
    code, out, err = run("solve", "m1-entropy", "--exact", "--limit", "1000")
    assert (code, out) == (2, "")
    assert "1,000" in err


def test_solve_gives_the_policy_that_is_optimal_on_average(run) -> None:
    data = as_json(run("solve", "m3-adversarial", "--json"))
    assert abs(data["value"] - 1.0565) < 5e-5
    assert data["gap"] < 1e-6
    assert np.shape(data["policy"]) == (3, 2)
    code, out, _ = run("solve", "m3-adversarial", "--method", "mirror", "--horizon", "finite")
    assert code == 0
    assert "mirror descent" in out


# --- bound and certify ---


@pytest.mark.slow
def test_bound_shows_the_bounds_as_they_tighten(run) -> None:
    args = ("bound", "m2-imitation", "--nodes", "500", "--method", "range", "--method", "jensen-tree")
    data = as_json(run(*args, "--json"))
    assert data["method"] == "jensen-tree"
    assert 0.0007 < data["value"] < 0.0013
    assert [part["method"] for part in data["parts"]] == ["range", "jensen-tree"]
    code, out, err = run(*args)
    assert (code, err) == (0, "")
    assert "no policy is below" in out
    assert out.count("jensen-tree") >= 1


@pytest.mark.slow
def test_certify_says_how_far_a_planner_can_be_from_optimal(run) -> None:
    args = ("certify", "m2-imitation", "--planner", "mcts", "--iterations", "50", "--trials", "10")
    data = as_json(run(*args, "--bound-seconds", "0.5", "--json"))
    assert 0.0 < data["gap"] < 0.01
    assert data["lower"] == data["bound"]["value"]
    assert len(data["values"]) == data["trials"] == 10
    code, out, _ = run(*args, "--bound-seconds", "0.5")
    assert code == 0
    assert "with 99 % confidence within" in out


# --- drawing ---


def drawn(problem: gumdp.Problem, planner: object, width: int = 80) -> str:
    trial = gumdp.run_trial(problem, planner, seed=0)
    console = Console(width=width, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(terminal.trial_view("title", problem, trial, "", width))
    console.file.close()
    return console.export_text()


def ring(states: int, **options: object) -> gumdp.Tabular:
    """Action 0 stays, action 1 goes to the next state."""
    stay, go = np.eye(states), np.roll(np.eye(states), 1, axis=1)
    return gumdp.Tabular.from_matrices([stay, go], **options)


def test_repeated_steps_are_drawn_once() -> None:
    always_stay = gumdp.Stationary([[1.0, 0.0]] * 3)
    text = drawn(gumdp.Problem(ring(3), gumdp.Entropy(), 0.9, 10), always_stay)
    assert "s0 –a0×10→" in text


def test_actions_in_one_state_are_drawn_together() -> None:
    model = gumdp.Tabular([[[1.0], [1.0]]], action_names=["left", "right"])
    swing = gumdp.Markov([[[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 1.0]], [[1.0, 0.0]]])
    assert "s0 –left right×2 left→" in drawn(gumdp.Problem(model, gumdp.Entropy(), 0.9, 4), swing)
    longer = gumdp.Markov([[[1.0, 0.0]], [[0.0, 1.0]]] * 5)
    assert "s0 –left right left right … ×10→" in drawn(gumdp.Problem(model, gumdp.Entropy(), 0.9, 10), longer)


def test_long_names_give_way_to_numbers_in_a_trajectory() -> None:
    model = ring(2, state_names=["the room upstairs", "the room downstairs"])
    text = drawn(gumdp.Problem(model, gumdp.Entropy(), 0.9, 10), gumdp.Stationary([[0.0, 1.0]] * 2))
    assert "s0 –a1→ s1 –a1→ s0" in text
    assert "the room upstairs  52.6 " in text


def test_names_are_drawn_and_lines_keep_to_the_width() -> None:
    model = ring(3, state_names=["hall", "kitchen", "garden"], action_names=["wait", "walk"])
    text = drawn(gumdp.Problem(model, gumdp.Entropy(), 0.9, 200), gumdp.Random(), width=60)
    assert "hall –wa" in text
    assert "more steps" in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 60


def test_a_grid_is_drawn_as_a_grid() -> None:
    model = ring(6, grid=(2, 3), action_names=["stay", "right"])
    walk = gumdp.Stationary([[0.0, 1.0]] * 6)
    lines = drawn(gumdp.Problem(model, gumdp.Entropy(), 1.0, 6), walk).splitlines()
    heading = next(k for k, line in enumerate(lines) if line.startswith("occupancy"))
    assert [line.count("16.7→") for line in lines[heading + 1 :]] == [3, 3]


def test_a_large_model_shows_where_most_of_the_time_went() -> None:
    model = ring(500)
    stay_then_walk = gumdp.Stationary([[0.0, 1.0]] * 500)
    text = drawn(gumdp.Problem(model, gumdp.Entropy(), 1.0, 100), stay_then_walk)
    assert "100 of 500 states were visited; those not shown hold 84.0 %" in text


def test_bars_are_as_long_as_their_shares() -> None:
    model = ring(2)
    occupancy = np.array([[0.5, 0.25], [0.0, 0.25]])
    lines = terminal.bars(model, occupancy, width=41)  # 30 columns for the bars
    assert [str(line).count("█") for line in lines[1:]] == [20, 0]
    assert [str(line).count("▒") for line in lines[1:]] == [10, 10]


# --- bad input ---

SENTENCES = {
    "plan m1-entropi": "unknown problem 'm1-entropi'; did you mean 'm1-entropy'? gumdp list shows all of them.",
    "plan m1-entropy --planner mtcs": "unknown planner 'mtcs'; did you mean 'mcts'? "
    "gumdp plan --help shows all of them, and --module adds those of a file of yours.",
    "plan m1-entropy --set horizn=3": "unknown option of m1-entropy 'horizn'; did you mean 'horizon'? "
    "gumdp list m1-entropy shows all of them.",
    "plan m1-entropy --set horizon": "--set takes NAME=VALUE, for instance --set horizon=20, not 'horizon'.",
    "plan m1-entropy --set horizon=0": "Problem: horizon must be a whole number of at least 1, not 0.",
    "plan m1-entropy --set horizon=x": "Problem: horizon must be a whole number of at least 1, not 'x'.",
    "plan m1-entropy --set discount=7": "Problem: discount must be a finite number at least 0 and at most 1, not 7.",
    "plan m1-entropy --seed -1": "seed must be a whole number of at least 0, not -1.",
    "plan m1-entropy --planner random --threads 5": "the planner random has no option 'threads'; it takes none.",
    "plan m1-entropy --planner greedy --threads 5": "the planner greedy has no option 'threads'; it takes randomness.",
    "plan m1-entropy --planner greedy --randomness 2": "Greedy: randomness must be a finite number at least 0 and at "
    "most 1, not 2.",
    "plan m1-entropy --planner stationary": "stationary: policy must name a .npy file with an array [S, A] of action "
    "probabilities.",
    "solve m1-entropy --limit 5": "solve: --limit goes with --exact.",
    "solve m1-entropy --exact --horizon finite": "solve: --horizon goes without --exact.",
    "solve m1-entropy --exact --method mirror": "unknown method of solve_exact 'mirror'; there are: "
    "backward-induction, branch-and-bound.",
    "solve m1-entropy --method mosek": "unknown method of solve_infinite 'mosek'; there are: auto, cvxpy, mirror, "
    "frank-wolfe.",
    "bound m1-entropy --method magic": "unknown method of lower_bound 'magic'; there are: range, distinct, jensen, "
    "clairvoyant, jensen-tree, decomposition, totals, paths.",
    "certify m1-entropy --level 1": "certify: level must be between 0 and 1, not 1.",
    "evaluate m1-entropy --trials 0": "trials must be a whole number of at least 1, not 0.",
    "evaluate m1-entropy --workers 0": "workers must be a whole number of at least 1, not 0.",
    "evaluate m1-entropy --iterations 0": "MCTS: iterations must be a whole number of at least 1, not 0.",
}


@pytest.mark.parametrize("line", SENTENCES)
def test_bad_input_ends_with_2_and_one_sentence(run, line: str) -> None:
    assert run(*line.split()) == (2, "", f"gumdp: {SENTENCES[line]}\n")


@pytest.mark.parametrize(
    "line",
    [
        "plan",
        "plam m1-entropy",
        "plan m1-entropy --itterations 3",
        "plan m1-entropy --seed x",
        "plan m1-entropy --planner stationary --policy no/such/file.npy",
        "evaluate m1-entropy --trials 2.5",
        "list extra",
    ],
)
def test_what_the_shell_gets_wrong_is_one_line_too(run, line: str) -> None:
    code, out, err = run(*line.split())
    assert (code, out) == (2, "")
    assert err.startswith("gumdp: ")
    assert err.count("\n") == 1


def test_a_bug_is_one_line_too(run, monkeypatch) -> None:
    def broken(*args: object, **options: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(gumdp, "run_trial", broken)
    code, out, err = run("plan", "m1-entropy")
    assert (code, out) == (1, "")
    assert err == "gumdp: RuntimeError: boom (a bug; GUMDP_TRACEBACK=1 shows where)\n"


def test_no_arguments_print_the_help(run) -> None:
    code, out, _ = run()
    assert code == 0
    assert "evaluate" in out


def test_the_version_is_the_package_s(run) -> None:
    assert run("--version") == (0, f"gumdp {gumdp.__version__}\n", "")


def test_every_planner_is_offered_with_its_options(run) -> None:
    _, out, _ = run("evaluate", "--help")
    for entry in registry.entries():
        assert entry.name in " ".join(out.split()).replace("- ", "-")
        for option in entry.options:
            assert f"--{option.name.replace('_', '-')}" in out


# --- real processes ---

COMMAND = [sys.executable, "-c", "import sys; from gumdp.cli.main import main; sys.exit(main())"]


def test_a_process_ends_with_the_exit_code() -> None:
    good = subprocess.run([*COMMAND, "list", "--json"], capture_output=True, text=True)
    assert good.returncode == 0
    assert json.loads(good.stdout)["problems"]
    bad = subprocess.run([*COMMAND, "plan", "nothing-like-it"], capture_output=True, text=True)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "Traceback" not in bad.stderr


@pytest.mark.posix
def test_ctrl_c_ends_with_130_and_one_line() -> None:
    args = ["evaluate", "m1-entropy", "--planner", "mcts", "--iterations", "4000", "--trials", "100000"]
    code = (  # all is imported and compiled when the signal comes: compiling itself can't be interrupted
        "import sys, gumdp; from gumdp.cli.main import main; "
        "gumdp.evaluate(gumdp.zoo.load('m1-entropy'), gumdp.MCTS(iterations=4000), trials=1); "
        "print('ready', flush=True); sys.exit(main())"
    )
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", code, *args], stdout=pipe, stderr=pipe, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "gumdp: interrupted.\n")


def test_plan_shows_the_search_tree_on_request(capsys):
    assert main(["plan", "m1-entropy", "--set", "horizon=8", "--iterations", "50", "--tree"]) == 0
    shown = capsys.readouterr().out
    assert "search tree of the first decision" in shown
    assert "50 visits, 51 nodes" in shown
    assert main(["plan", "m1-entropy", "--planner", "random", "--tree"]) == 2
    assert "does not search" in capsys.readouterr().err


@pytest.mark.thorough
def test_what_is_warm_is_not_compiled_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm", "m1-entropy", "--workers", "1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["problems"]
    assert row["problem"] == "m1-entropy"
    problem, compiled = gumdp.zoo.load("m1-entropy"), []

    class Listener(event.Listener):
        def on_start(self, event: event.Event) -> None:
            compiled.append(event.data["dispatcher"])

        def on_end(self, event: event.Event) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        for planner in (gumdp.MCTS(7), gumdp.MCTS.paper(7)):
            gumdp.run_trial(problem, planner, seed=0)
            gumdp.evaluate(problem, planner, trials=2, seed=0, workers=1)
    assert not compiled


@pytest.mark.thorough
def test_processes_warm_up_side_by_side_and_say_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm", "m1-entropy", "m2-imitation", "--workers", "2"]) == 0
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines()] == ["m1-entropy", "m2-imitation", "2"]
    assert main(["warm", "m1-entropi"]) == 2
    assert "did you mean 'm1-entropy'?" in capsys.readouterr().err
