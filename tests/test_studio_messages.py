"""What is said to the studio: anything at all, and it never falls over."""

import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
import urllib.request
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packaging.requirements import Requirement

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

import gumdp
from gumdp.cli.main import main
from gumdp.errors import GumdpError
from gumdp.report.data import plain
from gumdp.results import Decision
from gumdp.studio import messages
from gumdp.studio.run import Run
from gumdp.studio.scene import scene
from gumdp.studio.words import price, sentence
from studio_client import Client, mcts, open_studio

WORLD = gumdp.zoo.find("painted").options["world"]
PROBLEM = {"name": "m1-entropy", "options": {"horizon": 5}}
PAINTED = {"name": "painted", "options": {"world": WORLD}, "code": None}
VALID: list[dict[str, Any]] = [
    {"do": "open", "run": 1, "problem": PROBLEM, "planner": {"name": "greedy"}, "seed": 1, "until": 2},
    {"do": "open", "run": 2, "problem": PAINTED, "planner": mcts(5), "actions": {"1": 2}, "iterations": {"2": 9}},
    *({"do": kind} for kind in ("play", "pause", "step", "stop", "stores")),
    {"do": "stop", "what": "race"},
    {"do": "speed", "value": 50},
    {"do": "wheel", "on": True},
    {"do": "choose", "step": 0, "action": 1},
    {"do": "back", "step": 0},
    {"do": "budget", "iterations": 20},
    {"do": "side", "problem": PROBLEM, "planners": [{"name": "random"}], "trial": 3},
    {"do": "race", "problem": PROBLEM, "planners": [{"name": "random"}, {"name": "greedy"}], "trials": 3},
    {"do": "certify", "problem": PROBLEM, "planner": {"name": "random"}, "trials": 3, "seconds": 0.1, "run": 4},
    {"do": "check", "world": WORLD},
    {"do": "allow", "code": "def cost(d): return 0.0"},
    {"do": "home", "problem": PAINTED, "planner": mcts(5), "planners": [mcts(7)], "trials": 3},
    {"do": "arms", "store": 0},
    {"do": "compare", "store": 0, "arm": 0, "other": 1},
    {"do": "trials", "store": 0, "arm": 0},
]
ANYTHING: list[Any] = [
    None, True, -1, 0, 1, 2**31, 2**70, 1e308, -0.0, 0.5, "", "x", "\ud800", "__import__('os')", "../../etc/passwd",
    "<script>", "@given", "painted", [], [[]], {}, {"name": {}}, {"": 1}, [1] * 50, "9" * 5000, {"1": "2"},
]  # fmt: skip


def spoilt(rng: random.Random, message: Any, share: float = 0.12) -> Any:
    """A message with some of its parts replaced, dropped or doubled."""
    if rng.random() < share:
        return rng.choice(ANYTHING)
    if isinstance(message, dict):
        found = {key: spoilt(rng, value, share) for key, value in message.items() if rng.random() > share / 4}
        if rng.random() < share / 2:
            found[rng.choice(["x", "do", "problem", "__class__"])] = rng.choice(ANYTHING)
        return found
    return [spoilt(rng, item, share) for item in message] if isinstance(message, list) else message


def spoilt_text(rng: random.Random) -> str:
    text = json.dumps(spoilt(rng, rng.choice(VALID)))
    kind = rng.random()
    if kind < 0.05:
        return text[: rng.randrange(len(text) + 1)]
    if kind < 0.1:
        place = rng.randrange(len(text) + 1)
        return text[:place] + rng.choice(["\0", "{", '"', "NaN", "[" * 2000, "é", "1e999"]) + text[place:]
    return text


def test_every_message_of_the_list_is_read() -> None:
    assert {message["do"] for message in VALID} | {"bound"} == set(messages.MESSAGES)
    for message in VALID:
        assert messages.read(json.dumps(message))["do"] == message["do"]


@pytest.mark.parametrize("seed", range(4))
def test_what_is_no_message_is_a_sentence(seed: int) -> None:
    rng = random.Random(seed)
    refused = []
    for _ in range(1000):
        try:
            messages.read(spoilt_text(rng))
        except GumdpError as error:
            refused.append(str(error))
    assert 100 < len(refused) < 1000
    assert not any("\n" in sentence for sentence in refused)


@pytest.mark.parametrize(
    "message",
    [
        {"do": "open", "run": 1, "problem": {"name": "patrol", "options": {"rows": 10**6}}, "planner": mcts(5)},
        {"do": "open", "run": 1, "problem": {"name": "m1-entropy", "options": {"horizon": 10**9}}, "planner": mcts(5)},
        {"do": "open", "run": 1, "problem": PROBLEM, "planner": mcts(10**9)},
        {"do": "open", "run": 1, "problem": PROBLEM, "planner": {"name": "mcts", "options": {"threads": 10**6}}},
        {"do": "race", "problem": PROBLEM, "planners": [mcts(5)] * 50, "trials": 5},
        {"do": "race", "problem": PROBLEM, "planners": [mcts(5)], "trials": 10**8},
        {"do": "speed", "value": 1e9},
    ],
)
def test_a_page_can_not_ask_for_more_than_the_machine_has(message: dict[str, Any]) -> None:
    with pytest.raises(GumdpError, match="must be"):
        messages.read(json.dumps(message))


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_spoilt_messages_do_not_bring_it_down(tmp_path: Path, count: int) -> None:
    rng = random.Random(1)
    with open_studio(tmp_path) as studio, Client(studio) as client, Client(studio) as other:
        answers: list[str] = []

        def listen() -> None:
            with contextlib.suppress(Exception):
                while True:
                    message = json.loads(client.socket.recv())
                    answers.append("the end" if "the end" in message.get("world", "") else message["say"])

        listener = threading.Thread(target=listen)
        listener.start()
        for _ in range(count):
            client.socket.send(spoilt_text(rng).encode("utf-8", "replace").decode())
        other.do("check", world=WORLD)
        other.hear("checked")
        client.do("stop")
        end = json.dumps(json.loads(WORLD) | {"name": "the end"})
        for _ in range(600):  # it may still be busy, and say so
            client.do("check", world=end)
            if "the end" in answers or not listener.is_alive():
                break
            threading.Event().wait(0.2)
        assert "the end" in answers
        assert answers.count("error") > count // 10
        assert len(studio.sessions) == 2
        client.socket.close()
        listener.join(10)


# --- in words ---


def decided(values: list[float], errors: list[float], action: int = 0) -> Decision:
    return Decision(action, "", np.array(values), np.array(errors), np.array([5, 5]), 10)


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (decided([1.0, 2.0], [0.3, 0.4]), "go: 2.0 standard errors better than wait, after 10 iterations"),
        (decided([1.0, 1.2], [0.3, 0.4]), "go: hardly different from wait, 0.4 standard errors, after 10 iterations"),
        (
            decided([2.0, 1.0], [0.3, 0.4]),
            "go: tried most; wait has the lower mean by 2.0 standard errors, after 10 iterations",
        ),
        (
            Decision(0, "", np.array([2.0, 1.0]), np.array([0.3, 0.4]), np.array([1, 9]), 10, plan=0.5),
            "go: begins the best plan found, which ends with 0.5; wait has the lower mean by 2.0 standard errors, "
            "after 10 iterations",
        ),
        (decided([1.0, 1.0], [0.3, 0.4]), "go: just as good as wait, after 10 iterations"),
        (decided([1.0, 1.5], [0.0, 0.0]), "go: better than wait by 0.5, after 10 iterations"),
        (decided([1.0, 1.5], [np.nan, 0.1]), "go: better than wait by 0.5, after 10 iterations"),
        (decided([1.0, np.nan], [0.1, np.nan]), "go: nothing else was worth a try, after 10 iterations"),
        (Decision(1), "wait: decided without a search"),
    ],
)  # fmt: skip
def test_a_decision_in_a_sentence(decision: Decision, words: str) -> None:
    assert sentence(decision, ["go", "wait"]) == words


def test_what_a_choice_costs() -> None:
    assert price(decided([1.0, 3.0], [0.1, 0.1]), 1) == 2.0
    assert price(decided([1.0, 3.0], [0.1, 0.1]), 0) == 0.0
    assert np.isnan(price(Decision(0), 1))


# --- the command ---


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch, capsys) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["studio"]) == 2
    said = capsys.readouterr().err
    assert "pip install 'gumdp[studio]'" in said
    assert said.count("\n") == 1


def test_the_extra_adds_at_most_twenty_megabytes() -> None:
    def needed(name: str, extra: str) -> set[str]:
        marked = (Requirement(text) for text in metadata.requires(name) or ())
        wanted = [one.name for one in marked if one.marker is None or one.marker.evaluate({"extra": extra})]
        return {normal for one in wanted for normal in (one.lower().replace("_", "-"), *needed(one, ""))}

    sizes = {
        name: sum(f.locate().stat().st_size for f in metadata.files(name) or () if f.locate().is_file())
        for name in needed("gumdp", "studio") - needed("gumdp", "")
    }
    assert {"starlette", "uvicorn", "websockets"} <= sizes.keys()
    assert sum(sizes.values()) < 20e6


def test_a_name_that_there_is_not_is_refused(capsys) -> None:
    assert main(["studio", "m1-entrop", "--no-browser"]) == 2
    assert "did you mean 'm1-entropy'" in capsys.readouterr().err


@pytest.mark.posix
def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import gumdp\nproblem = gumdp.zoo.load('m1-entropy')\n", encoding="utf-8")
    code = "import sys; from gumdp.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "studio", "mine.py:problem", "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path) as process:
        assert process.stdout is not None
        try:
            address = json.loads(process.stdout.readline())["address"]
            for _ in range(100):
                with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=10) as response:
                    assert b"gumdp studio" in response.read()
                    break
                threading.Event().wait(0.05)
            else:
                pytest.fail("it does not answer")
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130
        finally:
            process.kill()


# --- every kind of problem ---


def brought() -> list[gumdp.Problem]:
    """Problems that count totals, hashed cells, and copies of an environment."""
    model = gumdp.zoo.load("m1-entropy").model
    features = gumdp.Features(np.arange(12.0).reshape(3, 2, 2), names=["wood", "fish"])
    hashed = gumdp.Hashed(lambda s: int(s[0] * 10.0))
    car = gumdp.zoo.load("mountaincar-entropy").model
    copies = gumdp.from_gymnasium("CartPole-v1", method="copy", bins=gumdp.Bins((5, 1, 1, 1), -2.4, 2.4))
    return [
        gumdp.Problem(model, gumdp.Linear([1.0, -2.0]), 0.9, 6, counts=features),
        gumdp.Problem(car, gumdp.StateEntropy(), 1.0, 6, counts=hashed),
        gumdp.Problem(copies, gumdp.StateEntropy(), 1.0, 6),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in gumdp.zoo.names() if "imitation" not in name or name[0] == "m"])
def test_every_named_problem_can_be_shown_and_played(name: str) -> None:
    shown_and_played(gumdp.zoo.load(name))


@pytest.mark.parametrize("k", range(3))
def test_what_people_bring_can_be_shown_and_played(k: int) -> None:
    shown_and_played(brought()[k])


def shown_and_played(problem: gumdp.Problem) -> None:
    facts = json.loads(json.dumps(plain(scene(problem)), allow_nan=False))
    assert len(facts["actions"]) == problem.shape[1]
    run = Run(problem, gumdp.Random(), 1, 0, np.zeros(1, np.uint8))
    for t in range(min(3, problem.steps)):
        step = json.loads(json.dumps(plain(run.take()), allow_nan=False))
        assert step["t"] == t
        assert 0 <= step["cell"] < problem.shape[0]
        assert step["action"] in range(problem.shape[1])
        assert isinstance(step["cost"], float)
