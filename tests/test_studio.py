"""The studio's server: the same bits as without it, for this machine and this tab alone, whatever is said to it."""

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

import gumdp
from clock import in_time, within
from gumdp.cli.files import load_problem
from gumdp.cli.main import main
from gumdp.cli.studio import _settings
from gumdp.experiments.plan.reading import read_experiment
from gumdp.experiments.store.store import Store
from gumdp.jit.compiling import clock
from gumdp.report.results import read_results
from gumdp.results import Decision
from gumdp.studio import messages
from gumdp.studio.home import script, toml
from gumdp.studio.run import Run
from gumdp.studio.server import Studio
from gumdp.studio.words import sentence
from studio_client import Client, mcts, open_studio

FUNCTION = "def cost(d):\n    m = d.sum(axis=1)\n    return (m ** 2).sum()\n"
WORLD = gumdp.zoo.find("painted").options["world"]


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with open_studio(tmp_path_factory.mktemp("studio")) as made:
        yield made


@pytest.fixture
def client(studio):
    with Client(studio) as made:
        yield made


def played(problem: gumdp.Problem, planner: gumdp.Planner, seed: int, trial: int = 0) -> Run:
    return Run(problem, planner, seed, trial, np.zeros(1, np.uint8))


# --- the same bits ---


@pytest.mark.slow
@pytest.mark.parametrize("name", ["m1-entropy", "mountaincar-entropy"])
def test_a_run_is_the_trial_of_the_same_seed_to_the_bit(name: str) -> None:
    problem, planner = gumdp.zoo.load(name, horizon=25), gumdp.MCTS(iterations=30)
    run = played(problem, planner, 3, 2)
    while not run.over:
        run.take()
    trial = gumdp.run_trial(problem, planner, seed=3, trial=2)
    assert run.actions == trial.actions.tolist()
    assert run.end()["value"] == trial.value


def test_episodes_start_afresh_as_in_a_trial() -> None:
    inner = gumdp.zoo.load("m2-imitation", horizon=5)
    problem = gumdp.Problem(inner.model, inner.objective, inner.discount, 5, episodes=3)
    run = played(problem, gumdp.Random(), 4)
    while not run.over:
        run.take()
    assert run.end()["value"] == gumdp.run_trial(problem, gumdp.Random(), seed=4).value


@pytest.mark.parametrize("scale", ["mean", "sum"])
def test_totals_are_counted_as_in_a_trial(scale: str) -> None:
    model = gumdp.zoo.load("m1-entropy").model
    counts = gumdp.Features(np.arange(12.0).reshape(3, 2, 2), names=["wood", "fish"])
    problem = gumdp.Problem(model, gumdp.Linear([1.0, -2.0]), 0.9, 12, counts=counts, scale=scale)
    run = played(problem, gumdp.Random(), 4)
    while not run.over:
        step = run.take(1 if run.t == 3 else None)
    trial = gumdp.run_trial(problem, gumdp.ByHand(gumdp.Random(), {3: 1}), seed=4)
    assert step["totals"] == trial.totals
    assert step["cost"] == pytest.approx(trial.value)
    assert run.end()["value"] == trial.value


@pytest.mark.thorough
def test_hands_and_budgets_are_what_by_hand_plays_to_the_bit() -> None:
    problem, planner = gumdp.zoo.load("painted"), gumdp.MCTS(iterations=50)
    run = played(problem, planner, 1)
    while not run.over:
        if run.t == 20:
            run.search_for(400)
        run.take({3: 1, 4: 2, 30: 4}.get(run.t))
    trial = gumdp.run_trial(problem, gumdp.ByHand(planner, {3: 1, 4: 2, 30: 4}, {20: 400}), seed=1)
    assert run.actions == trial.actions.tolist()
    assert run.end()["value"] == trial.value


def test_a_run_over_the_socket_is_the_trial(client: Client) -> None:
    client.open({"name": "m1-entropy", "options": {"horizon": 40}}, mcts(60), seed=5)
    value, steps = client.play()
    trial = gumdp.run_trial(gumdp.zoo.load("m1-entropy", horizon=40), gumdp.MCTS(iterations=60), seed=5)
    assert value == trial.value
    assert [step["action"] for step in steps] == trial.actions.tolist()
    assert [step["values"] for step in steps] == [d.values.tolist() for d in trial.decisions]


def test_going_back_and_choosing_otherwise_is_a_run_with_that_step(client: Client) -> None:
    client.open("painted", mcts(60), seed=2)
    client.play()
    client.do("choose", step=7, action=4)
    assert client.hear("rewound")["step"] == 7
    assert client.hear("step")["hand"]
    value, _ = client.play()
    planner = gumdp.ByHand(gumdp.MCTS(iterations=60), {7: 4})
    assert value == gumdp.run_trial(gumdp.zoo.load("painted"), planner, seed=2).value


def test_with_the_wheel_in_hand_the_run_waits_and_says_what_a_choice_costs(client: Client) -> None:
    client.open({"name": "m1-entropy", "options": {"horizon": 7}}, mcts(200))  # longer than there are pairs
    client.do("wheel", on=True)
    client.do("play")
    for t in range(7):
        asks = client.hear("asks")
        assert asks["t"] == t
        client.do("choose", step=t, action=1)
        step = client.hear("step")
        assert step["price"] == pytest.approx(asks["values"][1] - min(asks["values"]))
    assert client.hear("over")["value"] >= 0.0


@pytest.mark.parametrize("until", [0, 12])
def test_a_run_is_taken_up_again_where_it_was(client: Client, until: int) -> None:
    facts = {"seed": 2, "actions": {"5": 0}, "iterations": {"8": 90}, "until": until}
    client.open("painted", mcts(60), **facts)
    for t in range(until):
        assert client.hear("step")["t"] == t
    if until:
        value, _ = client.play()
        planner = gumdp.ByHand(gumdp.MCTS(iterations=60), {5: 0}, {8: 90})
        assert value == gumdp.run_trial(gumdp.zoo.load("painted"), planner, seed=2).value


def test_two_tabs_do_not_disturb_each_other(studio: Studio) -> None:
    def play(seed: int, found: dict[int, float]) -> None:
        with Client(studio) as tab:
            tab.open("painted", mcts(150), seed=seed)
            found[seed] = tab.play()[0]

    found: dict[int, float] = {}
    threads = [threading.Thread(target=play, args=(seed, found)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    problem = gumdp.zoo.load("painted")
    assert found == {k: gumdp.run_trial(problem, gumdp.MCTS(iterations=150), seed=k).value for k in range(3)}


# --- taking it home ---


def home(**facts: Any) -> dict[str, Any]:
    return messages.read(json.dumps({"do": "home", **facts}))


def outcome(text: str) -> float:
    printed: list[str] = []  # the script's own print: sys.stdout belongs to every thread of the process
    exec(compile(text, "<script>", "exec"), {"__name__": "__main__", "print": printed.append})
    return float(printed[-1])


def test_the_script_is_the_run(client: Client) -> None:
    world = json.loads(WORLD) | {"name": "it's \"mine\" '''\\", "horizon": 20}
    run = {"problem": {"name": "painted", "options": {"world": json.dumps(world)}}, "planner": mcts(40), "seed": 6}
    changes = {"actions": {"3": 2}, "iterations": {"5": 100}}
    client.do("home", **run, **changes)
    text = client.hear("home")["script"]
    client.open(run["problem"], run["planner"], seed=6, **changes, until=20)
    assert outcome(text) == client.hear("over")["value"]


def test_a_script_with_a_function_has_the_function(client: Client) -> None:
    world = json.dumps(json.loads(WORLD) | {"objective": {"kind": "function"}, "horizon": 8})
    problem = {"name": "painted", "options": {"world": world}, "code": FUNCTION}
    client.do("allow", code=FUNCTION)
    client.hear("allowed")
    client.open(problem, {"name": "random"}, until=8)
    assert outcome(script(home(problem=problem, planner={"name": "random"}))) == client.hear("over")["value"]


def test_the_experiment_plays_the_same_trials(tmp_path: Path) -> None:
    problem = {"name": "painted", "options": {"world": WORLD}}
    planners = [{"name": "random"}, mcts(20), {"name": "mcts", "options": {"iterations": 10, "reuse": False}}]
    text = toml(home(problem=problem, planner=mcts(5), planners=planners, seed=4, trials=3))
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    plan = read_experiment(tmp_path / "plan.toml")
    assert plan.trials == 3
    arms = [(arm.planner, dict(arm.planner_options), arm.seed) for arm in plan.arms]
    assert arms == [("random", {}, 4), ("mcts", {"iterations": 20}, 4), ("mcts", {"iterations": 10, "reuse": False}, 4)]
    assert plan.arms[0].make_problem().model.row(0, 1)[0].tolist() == [1]


def test_a_problem_of_a_file_goes_into_the_script(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import gumdp\nshop = gumdp.zoo.load('inventory-service', horizon=6)\n", encoding="utf-8")
    text = script(home(problem={"name": "@given"}, planner={"name": "greedy"}), f"{path}:shop")
    problem = gumdp.zoo.load("inventory-service", horizon=6)
    assert outcome(text) == gumdp.run_trial(problem, gumdp.Greedy()).value


def test_a_model_file_goes_into_the_script(tmp_path: Path) -> None:
    path = tmp_path / "rooms.npz"
    gumdp.save_model(gumdp.zoo.load("m1-entropy").model, path)
    text = script(home(problem={"name": "@given"}, planner={"name": "greedy"}), str(path))
    assert outcome(text) == gumdp.run_trial(load_problem(str(path)), gumdp.Greedy()).value


# --- what can be proved ---


SHORT = {"name": "m1-entropy", "options": {"horizon": 10}}
TINY = {"name": "m1-entropy", "options": {"horizon": 5}}


@pytest.mark.thorough
def test_the_bound_along_a_run_is_told_for_past_and_future_steps(client: Client) -> None:
    client.open(SHORT, {"name": "greedy"}, seed=1, until=4)
    client.do("bound", problem=SHORT, seconds=0.2)
    past = client.hear("floors")["values"]
    assert len(past) == 4
    value, steps = client.play()
    floors = past + [step["floor"] for step in steps]
    assert all(floor <= 1.0 for floor in floors)
    assert floors[-1] == pytest.approx(value)
    client.open(SHORT, {"name": "greedy"}, seed=1, until=10)
    again = [client.hear("step")["floor"] for _ in range(10)]
    assert again == pytest.approx(floors, abs=2e-5)


@pytest.mark.thorough
def test_a_certificate_is_what_certify_says(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock._any, "before", clock._any.before + 3600.0)  # as if much had been compiled before
    client.do("certify", problem=TINY, planner={"name": "random"}, seed=3, trials=60, seconds=0.2, run=7)
    while (end := client.hear("certificate"))["phase"] != "end":
        pass
    assert end["seconds"] > 0.0
    problem = gumdp.zoo.load("m1-entropy", horizon=5)
    expected = gumdp.certify(problem, gumdp.Random(), 60, seed=3, nodes=100)
    assert end["run"] == 7
    assert (end["mean"], end["upper"]) == (expected.mean, expected.upper)
    assert end["lower"] <= gumdp.solve_exact(problem).value + 1e-9
    assert end["gap"] == end["upper"] - end["lower"]


def idle(session: Any) -> float:
    """Seconds until nothing goes on beside the run."""
    began = time.monotonic()
    while session._tasks and time.monotonic() - began < 60.0:
        time.sleep(0.01)
    return time.monotonic() - began


@pytest.mark.thorough
@pytest.mark.parametrize("closing", [False, True])
def test_a_certificate_can_be_stopped_within_a_second(studio: Studio, closing: bool) -> None:
    with Client(studio) as client:
        (session,) = studio.sessions
        client.do("certify", problem={"name": "painted"}, planner=mcts(2_000_000, "mcts-paper"), trials=4, seconds=0.1)
        while client.hear("certificate")["phase"] != "trials":
            pass
        assert session._tasks == 1
        if not closing:
            client.do("stop", what="certify")
            assert in_time(idle(session), 1.0)
    assert in_time(idle(session), 1.0)


# --- races and results ---


def test_a_race_is_stored_and_goes_on_where_it_was(tmp_path: Path) -> None:
    problem = {"name": "m1-entropy", "options": {"horizon": 20}}
    planners = [{"name": "random"}, mcts(10), {"name": "solver"}]
    with open_studio(tmp_path) as studio, Client(studio) as client:
        for trials in (6, 10):
            client.do("race", problem=problem, planners=planners, seed=3, trials=trials)
            while (end := client.hear("race"))["phase"] != "end":
                pass
        assert end["verdict"]["trials"] == 10
        assert end["verdict"]["leader"] == 1
    made = gumdp.zoo.load("m1-entropy", horizon=20)
    with Store.read(end["folder"]) as store:
        found = {result.arm.planner: result.values.tolist() for result in read_results(store)}
        assert [run["status"] for run in store.runs()] == ["complete", "complete"]
    for name, planner in {"random": gumdp.Random(), "mcts": gumdp.MCTS(10), "solver": gumdp.BestOnAverage()}.items():
        assert found[name] == gumdp.evaluate(made, planner, trials=10, seed=3).values.tolist()
    assert main(["report", end["folder"], "--out", str(tmp_path / "report")]) == 0


def raced(client: Client, **race: Any) -> dict[str, Any]:
    client.do("race", **race)
    while (end := client.hear("race"))["phase"] != "end":
        pass
    return end


def test_a_race_in_a_file_is_stored_and_told_from_one_in_another_file(tmp_path: Path) -> None:
    path, race = tmp_path / "shop.py", {"problem": {"name": "@given"}, "planners": [{"name": "random"}], "trials": 4}
    means = []
    for horizon in (5, 6):
        path.write_text(
            f"import gumdp\nmine = gumdp.zoo.load('inventory-service', horizon={horizon})\n", encoding="utf-8"
        )
        settings, _ = _settings(f"{path}:mine", tmp_path / "results", True)
        with open_studio(tmp_path, **settings) as studio, Client(studio) as client:
            assert "shop.py:mine" not in [problem["name"] for problem in client.hello["problems"]]  # it is @given
            end = raced(client, **race)
            client.do("stores")
            store = client.hear("stores")["stores"].index(Path(end["folder"]).name)
            client.do("arms", store=store)
            arms = client.hear("arms")["arms"]
        assert [(arm["problem"], arm["trials"]) for arm in arms if arm["known"]] == [("shop.py:mine", 4)]
        assert arms[0]["spec"]["name"] == "@given"  # what plays it again
        expected = gumdp.evaluate(gumdp.zoo.load("inventory-service", horizon=horizon), gumdp.Random(), trials=4)
        means.append(expected.mean)
        assert end["verdict"]["means"] == [expected.mean]
    assert means[0] != means[1]
    assert main(["report", end["folder"], "--out", str(tmp_path / "report")]) == 0


def test_a_race_with_a_typed_function_is_stored_with_the_function(tmp_path: Path) -> None:
    world = json.dumps(json.loads(WORLD) | {"objective": {"kind": "function"}, "horizon": 8})
    problem = {"name": "painted", "options": {"world": world}, "code": FUNCTION}
    with open_studio(tmp_path) as studio, Client(studio) as client:
        client.do("allow", code=FUNCTION)
        client.hear("allowed")
        end = raced(client, problem=problem, planners=[{"name": "random"}], trials=3)
        client.do("stores")
        client.hear("stores")
        client.do("arms", store=0)
        (arm,) = client.hear("arms")["arms"]
    assert arm["spec"] == problem
    assert arm["mean"] == end["verdict"]["means"][0]
    assert main(["report", end["folder"], "--out", str(tmp_path / "report")]) == 0


def test_a_race_that_is_stopped_keeps_what_it_has(tmp_path: Path) -> None:
    with open_studio(tmp_path) as studio, Client(studio) as client:
        client.do("race", problem={"name": "m1-entropy"}, planners=[{"name": "random"}, mcts(2000)], trials=10_000)
        while client.hear("race")["phase"] != "go":
            pass
        client.do("stop")
        while (end := client.hear("race", seconds=5))["phase"] != "end":
            pass
    assert end["stopped"]
    with Store.read(end["folder"]) as store:
        results = read_results(store)
        assert all(0 < result.trials < 10_000 for result in results)
        assert store.runs()[-1]["status"] == "stopped"


def test_two_races_of_the_same_problem_do_not_meet(tmp_path: Path) -> None:
    race = {"problem": {"name": "m1-entropy"}, "planners": [mcts(3000)], "trials": 10_000}
    with open_studio(tmp_path) as studio, Client(studio) as one, Client(studio) as two:
        for tab in (one, two):
            tab.do("race", **race)
            while tab.hear("race")["phase"] != "go":
                pass
        for tab in (one, two):
            tab.do("stop")
        folders = []
        for tab in (one, two):
            while (end := tab.hear("race"))["phase"] != "end":
                pass
            folders.append(end["folder"])
    assert len(set(folders)) == 2


def test_side_by_side_is_one_trial_of_each(client: Client) -> None:
    client.do("side", problem={"name": "painted"}, planners=[{"name": "random"}, mcts(30)], seed=2, trial=4)
    assert client.hear("sides")["labels"] == ["random", "mcts(iterations=30)"]
    problem = gumdp.zoo.load("painted")
    for planner in (gumdp.Random(), gumdp.MCTS(iterations=30)):
        side = client.hear("side")
        trial = gumdp.run_trial(problem, planner, seed=2, trial=4)
        assert side["cells"] == trial.cells.tolist()
        assert side["costs"][-1] == pytest.approx(trial.value, abs=1e-12)


def test_who_cannot_play_a_problem_is_told_and_the_others_go_on(client: Client) -> None:
    race = {
        "problem": {"name": "patrol"},
        "planners": [{"name": "exact", "options": {"limit": 100}}, {"name": "random"}],
        "seed": 0,
    }
    expected = gumdp.evaluate(gumdp.zoo.load("patrol"), gumdp.Random(), trials=5, seed=0).values
    client.do("side", **race, trial=0)
    client.hear("sides")
    refused, played = client.hear("side"), client.hear("side")
    assert refused["k"] == 0
    assert "limit allows 100" in refused["sorry"]
    assert played["value"] == expected[0]
    client.do("race", **race, trials=5)
    values: list[float] = []
    while (message := client.hear("race"))["phase"] != "end":
        if message["phase"] == "out":
            assert (message["k"], message["text"]) == (0, refused["sorry"])
            refused["told"] = True
        elif message["phase"] == "go":
            values += message["values"][1]
    assert refused["told"]
    assert values + message["values"][1] == expected.tolist()
    verdict = message["verdict"]
    assert verdict["leader"] == 1
    assert verdict["means"] == [None, pytest.approx(expected.mean())]
    assert verdict["against"] == []


def test_a_difference_of_rounding_is_none() -> None:
    values = np.array([0.39203, 0.39203 + 1.2e-16, 0.5])
    found = sentence(Decision(0, "left", values, np.zeros(3), np.ones(3, int), 0), ["left", "down", "up"])
    assert found == "left: just as good as down"


def test_results_are_browsed_and_compared(tmp_path: Path) -> None:
    plan = gumdp.Experiment.grid(["m1-entropy"], ["random", "greedy"], trials=8)
    gumdp.run_experiment(plan, tmp_path / "deep" / "study")
    with open_studio(tmp_path, results=tmp_path) as studio, Client(studio) as client:
        client.do("stores")
        assert client.hear("stores")["stores"] == [str(Path("deep", "study"))]
        client.do("arms", store=0)
        arms = client.hear("arms")["arms"]
        assert [(arm["planner"], arm["trials"]) for arm in arms] == [("random", 8), ("greedy", 8)]
        assert all(arm["known"] for arm in arms)
        client.do("compare", store=0, arm=1, other=0)
        random_values, greedy_values = (gumdp.evaluate(gumdp.zoo.load("m1-entropy"), p, trials=8).values
                                        for p in (gumdp.Random(), gumdp.Greedy()))  # fmt: skip
        assert client.hear("compared")["difference"] == pytest.approx((greedy_values - random_values).mean())
        client.do("trials", store=0, arm=0)
        assert [value for _, value in client.hear("trials")["trials"]] == random_values.tolist()
        client.do("arms", store=7)
        assert "no such store" in client.hear("error")["text"]


@pytest.mark.posix
def test_no_path_outside_the_folder_is_read(tmp_path: Path) -> None:
    gumdp.run_experiment(gumdp.Experiment.grid(["m1-entropy"], ["random"], trials=1), tmp_path / "other")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "link").symlink_to(tmp_path / "other")
    with open_studio(tmp_path, results=tmp_path / "mine") as studio, Client(studio) as client:
        client.do("stores")
        assert client.hear("stores")["stores"] == []
        client.do("open", run=1, problem={"name": "m1-entropy"},
                  planner={"name": "stationary", "options": {"policy": "/etc/passwd"}})  # fmt: skip
        assert "reads no files" in client.hear("error")["text"]


# --- this machine and this tab alone ---


def answer(studio: Studio, path: str, **headers: str) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{studio.port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_without_the_token_or_under_another_name_there_is_nothing(studio: Studio) -> None:
    assert answer(studio, f"/{studio.token}/") == 200
    assert answer(studio, "/") in (403, 404)
    assert answer(studio, "/wrong/") == 403
    assert answer(studio, f"/{studio.token[:-1]}/app.js") == 403
    assert answer(studio, f"/{studio.token}/", Host="evil.example") == 403
    assert answer(studio, f"/{studio.token}/", Host=f"evil.example:{studio.port}") == 403
    assert answer(studio, f"/{studio.token}/", Origin=f"http://127.0.0.1:{studio.port}") == 200
    for origin in ("http://evil.example", "http://127.0.0.1:1", "null"):
        assert answer(studio, f"/{studio.token}/", Origin=origin) == 403
    for name in ("..%2fserver.py", "server.py", "%2e%2e", "nothing.js", "../session.py"):
        assert answer(studio, f"/{studio.token}/{name}") in (403, 404)


def test_the_page_forbids_what_is_not_its_own(studio: Studio) -> None:
    with urllib.request.urlopen(studio.address, timeout=10) as response:
        policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert f"ws://127.0.0.1:{studio.port}" in policy


@pytest.mark.parametrize("origin", [None, "http://evil.example", "http://127.0.0.1:1", "null"])
def test_a_socket_must_come_from_our_own_page(studio: Studio, origin: str | None) -> None:
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus), Client(studio, origin=origin):
        pass


def test_it_listens_to_this_machine_alone(studio: Studio) -> None:
    assert studio.socket.getsockname()[0] == "127.0.0.1"
    elsewhere = socket.gethostbyname(socket.gethostname())
    if not elsewhere.startswith("127."):
        with pytest.raises(OSError):
            socket.create_connection((elsewhere, studio.port), timeout=5)


def test_an_oversized_message_closes_the_tab_and_nothing_else(studio: Studio) -> None:
    from websockets.exceptions import ConnectionClosed

    with Client(studio) as other, Client(studio) as client:
        client.socket.send("x" * 400_000)
        assert "at most" in client.hear("error")["text"]
        client.socket.send("x" * 3_000_000)  # beyond what the socket itself takes
        with pytest.raises(ConnectionClosed):
            client.hear("nothing", seconds=10)
        other.do("check", world=WORLD)
        other.hear("checked")


@pytest.mark.posix
def test_closing_the_page_stops_the_search_within_a_second(studio: Studio) -> None:
    with Client(studio) as client:
        client.open("patrol", mcts(2_000_000))
        client.do("step")
        client.hear("think")
        (session,) = studio.sessions
        assert session._thread.is_alive()
    with within(1.0):
        session._thread.join(20)
        assert not session._thread.is_alive()


def test_another_problem_ends_the_search_of_the_last_one(client: Client) -> None:
    short = {"name": "m1-entropy", "options": {"horizon": 5}}
    client.open(short, {"name": "random"}, until=5)  # compiled before the clock starts
    client.hear("over")
    client.open("patrol", mcts(2_000_000))
    client.do("step")
    client.hear("think")
    with within(1.0):
        client.open(short, {"name": "random"})
    assert client.play()[0] == gumdp.run_trial(gumdp.zoo.load("m1-entropy", horizon=5), gumdp.Random()).value


# --- code ---


def test_a_function_runs_only_after_it_was_confirmed(client: Client) -> None:
    world = json.dumps(json.loads(WORLD) | {"objective": {"kind": "function"}})
    problem = {"name": "painted", "options": {"world": world}, "code": FUNCTION}
    client.do("open", run=1, problem=problem, planner={"name": "random"})
    assert "not confirmed" in client.hear("error")["text"]
    client.do("allow", code=FUNCTION + "\n")  # another one
    client.hear("allowed")
    client.do("open", run=1, problem=problem, planner={"name": "random"})
    assert "not confirmed" in client.hear("error")["text"]


def test_no_code_means_none(tmp_path: Path) -> None:
    world = json.dumps(json.loads(WORLD) | {"objective": {"kind": "function"}})
    problem = {"name": "painted", "options": {"world": world}, "code": FUNCTION}
    with open_studio(tmp_path, code=False) as studio, Client(studio) as client:
        assert client.hello["code"] is False
        client.do("allow", code=FUNCTION)
        assert "--no-code" in client.hear("error")["text"]
        client.do("open", run=1, problem=problem, planner={"name": "random"})
        assert "not confirmed" in client.hear("error")["text"]


@pytest.mark.parametrize("code", ["def cost(d:", "1 / 0", "x = 1", "def cost(d):\n    return d.nothing\n"])
def test_a_function_that_fails_is_a_sentence(client: Client, code: str) -> None:
    world = json.dumps(json.loads(WORLD) | {"objective": {"kind": "function"}})
    client.do("allow", code=code)
    client.hear("allowed")
    client.do("open", run=1, problem={"name": "painted", "options": {"world": world}, "code": code}, planner=mcts(5))
    assert "Traceback" not in client.hear("error")["text"]
    client.open("m1-entropy", {"name": "random"})
