"""What is on the screen as a Python script and as an experiment's TOML: the same bits without the studio."""

from __future__ import annotations

import json
from typing import Any

from gumdp.errors import GumdpError
from gumdp.studio.messages import GIVEN
from gumdp.zoo.painted import canonical

CLASSES = {
    "random": "gumdp.Random",
    "greedy": "gumdp.Greedy",
    "solver": "gumdp.BestOnAverage",
    "exact": "gumdp.Exact",
    "dual": "gumdp.Dual",
    "mcts": "gumdp.MCTS",
    "mcts-paper": "gumdp.MCTS.paper",
}


def take_home(message: dict[str, Any], source: str) -> dict[str, Any]:
    """The script of a run, and the experiment of a race, each with the name of its file."""
    parts = {"script": script(message, source), "toml": None}
    if message["problem"]["name"] != GIVEN and message["problem"]["code"] is None:
        parts["toml"] = toml(message)
    return parts


def script(message: dict[str, Any], source: str = "") -> str:
    """A Python script that plays the run of ``message`` and prints its value.

    >>> from gumdp.studio.messages import read
    >>> run = {"do": "home", "problem": {"name": "m1-entropy"}, "planner": {"name": "random"}, "seed": 3}
    >>> print(script(read(json.dumps(run))).splitlines()[-1])
    print(repr(trial.value))
    """
    lines = ['"""Made by gumdp studio: plays the run that was on the screen, to the last bit."""', ""]
    lines += ["import gumdp"]
    lines += _problem(message["problem"], source)
    lines += [f"planner = {_planner(message['planner'])}"]
    if message["actions"] or message["iterations"]:
        lines += ["# Steps that were taken by hand, and budgets that were changed on the way."]
        lines += [f"planner = gumdp.ByHand(planner, {message['actions']}, {message['iterations']})"]
    seed = ", ".join([f"seed={message['seed']}", *([f"trial={message['trial']}"] if message["trial"] else [])])
    lines += [f"trial = gumdp.run_trial(problem, planner, {seed})", "print(repr(trial.value))"]
    return "\n".join(lines) + "\n"


def _problem(spec: dict[str, Any], source: str) -> list[str]:
    """The lines that make ``problem``."""
    if spec["name"] == GIVEN and source.endswith(".npz"):
        goal = "gumdp.normalized(gumdp.StateEntropy()), discount=1.0, horizon=100"
        return ["", f"problem = gumdp.Problem(gumdp.load_model({source!r}), {goal})"]
    if spec["name"] == GIVEN:
        path, _, name = source.rpartition(":") if source.rpartition(":")[0].endswith(".py") else (source, "", "")
        return ["import runpy", "", f"made = runpy.run_path({path!r})[{name or 'problem'!r}]",
                "problem = made if isinstance(made, gumdp.Problem) else made()"]  # fmt: skip
    options = dict(spec["options"])
    world = canonical(options.pop("world")) if "world" in options else None
    lines = ["", f"WORLD = {_text(world)}", ""] if world is not None else [""]
    given = "".join(f", {key}={value!r}" for key, value in options.items())
    if spec["code"] is not None:
        made = [f"problem = painted({'WORLD' if world else ''}, function=cost)"]
        return ["import math", "", "import numpy as np", "", "from gumdp.zoo.painted import painted", *lines, "",
                *spec["code"].splitlines(), "", "", *made]  # fmt: skip
    return [*lines, f"problem = gumdp.zoo.load({spec['name']!r}{given}{', world=WORLD' if world else ''})"]


def _text(world: str | None) -> str:
    """A world as a raw text on lines that people can read."""
    assert world is not None
    data = json.loads(world)
    rows = ",\n".join(f"  {json.dumps(key)}: {_value(value)}" for key, value in data.items())
    return f"r'''{{\n{rows}\n}}'''".replace("\\'", "'") if "'''" not in world else repr(world)


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], str):
        return "[\n" + ",\n".join(f"    {json.dumps(row)}" for row in value) + "\n  ]"
    return json.dumps(value)


def _planner(spec: dict[str, Any]) -> str:
    options = ", ".join(f"{key}={value!r}" for key, value in spec["options"].items())
    if spec["name"] in CLASSES:
        return f"{CLASSES[spec['name']]}({options})"
    return f"gumdp.run.registry.make({spec['name']!r}{', ' + options if options else ''})  # a planner of your own"


def toml(message: dict[str, Any]) -> str:
    """An experiment for ``gumdp run`` with this problem and these planners, on the same random numbers."""
    if message["problem"]["name"] == GIVEN:
        raise GumdpError("an experiment needs a problem with a name; register yours.")
    planners = message["planners"] or [message["planner"]]
    lines = ['name = "studio"', f"trials = {message['trials']}", f"seed = {message['seed']}", "", "[[problems]]"]
    lines += [f"name = {json.dumps(message['problem']['name'])}"]
    for key, value in message["problem"]["options"].items():
        lines.append(f"{key} = {_toml_value(canonical(value) if key == 'world' else value)}")
    for spec in planners:
        lines += ["", "[[planners]]", f"name = {json.dumps(spec['name'])}"]
        lines += [f"{key} = {_toml_value(value)}" for key, value in spec["options"].items()]
    return "\n".join(lines) + "\n"


def _toml_value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=True)  # JSON's texts are TOML's
    return json.dumps(value)
