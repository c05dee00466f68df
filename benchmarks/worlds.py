"""``python -m benchmarks.worlds``: every environment that is installed, tried as a new user would.

Each id gets a process of its own and 60 seconds: a model, a trial with 20 iterations and a horizon of 30, and the same
played in the real environment. The table says which way in was taken and how fast it is, or what was said instead.
With ``--page`` it is written into docs/guide/worlds.md.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

SECONDS, ITERATIONS, HORIZON = 60, 20, 30
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "worlds.md"
MARK = "<!-- the table, by benchmarks/worlds.py -->"
WORLDS: dict[str, tuple[str, ...]] = {  # what to install: ids that come with it
    "gymnasium": (
        "FrozenLake-v1", "FrozenLake8x8-v1", "Taxi-v4", "CliffWalking-v1", "Blackjack-v1", "CartPole-v1",
        "MountainCar-v0", "Acrobot-v1", "Pendulum-v1",
        "MountainCarContinuous-v0", "tabular/Blackjack-v0", "tabular/CliffWalking-v0",
        "phys2d/CartPole-v1", "phys2d/Pendulum-v0",
    ),
    "box2d": (
        "LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3", "BipedalWalkerHardcore-v3", "CarRacing-v3",
    ),
    "mujoco": (
        "Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "HumanoidStandup-v5", "InvertedDoublePendulum-v5",
        "InvertedPendulum-v5", "Pusher-v5", "Reacher-v5", "Swimmer-v5", "Walker2d-v5",
    ),
    "minigrid": (
        "MiniGrid-Empty-5x5-v0", "MiniGrid-Empty-8x8-v0", "MiniGrid-FourRooms-v0", "MiniGrid-DoorKey-5x5-v0",
        "MiniGrid-DoorKey-8x8-v0", "MiniGrid-MultiRoom-N2-S4-v0", "MiniGrid-Dynamic-Obstacles-6x6-v0",
        "MiniGrid-LavaCrossingS9N1-v0", "MiniGrid-KeyCorridorS3R1-v0", "MiniGrid-MemoryS7-v0", "MiniGrid-Unlock-v0",
        "BabyAI-GoToRedBall-v0", "BabyAI-GoToObj-v0",
    ),
    "mo-gymnasium": (
        "deep-sea-treasure-v0", "deep-sea-treasure-concave-v0", "deep-sea-treasure-mirrored-v0",
        "resource-gathering-v0", "breakable-bottles-v0", "fishwood-v0", "fruit-tree-v0", "four-room-v0", "minecart-v0",
        "minecart-deterministic-v0", "mo-mountaincar-v0", "mo-lunar-lander-v3", "mo-highway-fast-v0", "mo-reacher-v5",
        "mo-hopper-v5", "water-reservoir-v0",
    ),
    "ale-py": ("ALE/Pong-v5", "ALE/Breakout-v5", "ALE/SpaceInvaders-v5", "ALE/Freeway-v5", "ALE/MontezumaRevenge-v5"),
    "highway-env": (
        "highway-fast-v0", "highway-v0", "merge-v0", "roundabout-v0", "parking-v0", "intersection-v1", "racetrack-v0",
        "exit-v0", "two-way-v0", "u-turn-v0", "lane-keeping-v0",
    ),
    "popgym": (
        "popgym-RepeatPreviousEasy-v0", "popgym-RepeatFirstEasy-v0", "popgym-CountRecallEasy-v0",
        "popgym-ConcentrationEasy-v0", "popgym-MineSweeperEasy-v0", "popgym-BattleshipEasy-v0",
        "popgym-HigherLowerEasy-v0", "popgym-AutoencodeEasy-v0",
        "popgym-MultiarmedBanditEasy-v0",
        "popgym-PositionOnlyCartPoleEasy-v0", "popgym-VelocityOnlyCartpoleEasy-v0",
    ),
    "flappy-bird-gymnasium": ("FlappyBird-v0",),
    "tetris-gymnasium": ("tetris_gymnasium/Tetris",),
    "mobile-env": ("mobile-small-central-v0", "mobile-medium-central-v0"),
    "gymnasium-robotics": (
        "FetchReach-v4", "FetchPush-v4", "HandReach-v3", "PointMaze_UMaze-v3", "PointMaze_Medium-v3",
        "AntMaze_UMaze-v5", "AdroitHandDoor-v1", "AdroitHandHammer-v1", "FrankaKitchen-v1",
    ),
    "vizdoom": ("VizdoomBasic-v1", "VizdoomHealthGathering-v1", "VizdoomMyWayHome-v1", "VizdoomTakeCover-v1"),
}  # fmt: skip
COMPILING = (
    "FrozenLake-v1",
    "CartPole-v1",
    "MountainCar-v0",
    "Acrobot-v1",
    "Pendulum-v1",
    "Blackjack-v1",
)  # each its own
MODULES = {"gymnasium": "gymnasium", "box2d": "Box2D", "tetris-gymnasium": "tetris_gymnasium"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worlds", description=__doc__)
    parser.add_argument("names", nargs="*", help="ids or packages; all that are installed by default")
    parser.add_argument("--page", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument("--out", type=Path, help="write the rows as JSON, one a line, as they come")
    parser.add_argument("--rows", type=Path, help="write the page of the rows in this file, and try nothing")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print("ROW", json.dumps(attempt(arguments.one)))
        return
    if arguments.rows:
        write([json.loads(text) for text in arguments.rows.read_text(encoding="utf-8").splitlines()])
        return
    for name in COMPILING if not arguments.names else ("Blackjack-v1",):
        in_a_process(name, 10 * SECONDS)  # compiles once and for all what the others only load
    rows = []
    for package, ids in WORLDS.items():
        if importlib.util.find_spec(MODULES.get(package, package.replace("-", "_"))) is None:
            continue
        for name in ids:
            if not arguments.names or name in arguments.names or package in arguments.names:
                rows.append({"package": package, "id": name} | in_a_process(name))
                print(line(rows[-1]), flush=True)
                if arguments.out:
                    with arguments.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
    print(summary(rows))
    if arguments.page:
        write(rows)


def write(rows: list[dict[str, Any]]) -> None:
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(head + MARK + "\n\n" + table(rows), encoding="utf-8")


def in_a_process(name: str, limit: float = SECONDS) -> dict[str, Any]:
    """The row of one id, or that it took too long."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.worlds", "--one", name]
    environment = os.environ | {"SDL_VIDEODRIVER": "dummy", "MUJOCO_GL": "egl"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env=environment, check=False, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return {"works": False, "said": f"not within {SECONDS} s", "seconds": float(SECONDS)}
    found = [text[4:] for text in done.stdout.splitlines() if text.startswith("ROW ")]
    if not found:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        return {"works": False, "said": f"crash: {said[:200]}", "seconds": time.perf_counter() - began}
    row: dict[str, Any] = json.loads(found[-1])
    return row | {"seconds": time.perf_counter() - began}


def attempt(name: str) -> dict[str, Any]:
    """A model, a trial and the real environment, as a new user would try them."""
    import gumdp

    warnings.simplefilter("ignore")
    options: dict[str, Any] = {}
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model, options = first_model(name)
        foreseen = any("knows the future" in str(w.message) for w in told)
        problem = gumdp.Problem(model, gumdp.normalized(gumdp.StateEntropy()), discount=1.0, horizon=HORIZON)
        planner = gumdp.MCTS(iterations=ITERATIONS)
        value = gumdp.run_trial(problem, planner, seed=0).value
        trial = gumdp.play(name, problem, planner, seed=0, at_limit="restart")
    except gumdp.GumdpError as error:
        return {"works": False, "said": str(error), "options": repr(options)}
    except Exception as error:
        return {"works": False, "said": f"{type(error).__name__}: {error}", "raw": True, "options": repr(options)}
    source = str(model.source)
    speed = source.partition("about ")[2].partition(" iterations")[0] if "iterations a second" in source else ""
    way = getattr(model, "way", "table" if isinstance(model, gumdp.Tabular) else "twin")
    assert trial.reality is not None
    return {
        "works": True, "way": way, "speed": speed, "value": value, "played": trial.value, "cells": model.shape[0],
        "actions": model.shape[1], "surprises": int(trial.reality.surprises.size), "foreseen": foreseen,
        "options": ", ".join(f"{k}={v}" for k, v in options.items()),
    }  # fmt: skip


def first_model(name: str) -> tuple[Any, dict[str, Any]]:
    """The model with the fewest options: none; else what the sentences that refuse it ask for."""
    import gumdp

    options: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    for _ in range(3):
        try:
            return gumdp.from_gymnasium(name, **options), shown
        except gumdp.GumdpError as error:
            said = str(error)
            if "actions" not in options and ("Give actions=" in said or "to choose from" in said):
                options["actions"], shown["actions"] = some_actions(name), "four"
            elif "bins" not in options and "give bins=" in said:
                options["bins"] = shown["bins"] = two_dimensions(name)
            else:
                raise
    raise gumdp.GumdpError(f"{name}: three tries were not enough.")


def some_actions(name: str) -> list[Any]:
    """Four actions of a space that has too many."""
    from gumdp.models.gymnasium.opening import open_environment

    env = open_environment(name)
    env.action_space.seed(0)
    return [env.action_space.sample() for _ in range(4)]


def two_dimensions(name: str) -> dict[str, tuple[int, float, float]]:
    """Bins of the two dimensions of an observation that vary most in a hundred random steps."""
    import numpy as np

    from gumdp.models.gymnasium.observations import dimensions, flat
    from gumdp.models.gymnasium.opening import open_environment

    env = open_environment(name)
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    seen = [flat(env.observation_space, observation)]
    began = time.perf_counter()
    while len(seen) < 100 and time.perf_counter() - began < 5.0:
        observation, _, over, cut, _ = env.step(env.action_space.sample())
        seen.append(flat(env.observation_space, observation))
        if over or cut:
            env.reset()
    low, high = np.min(seen, axis=0), np.max(seen, axis=0)
    parts = dimensions(env.observation_space) or []
    spread = np.std(seen, axis=0) / np.maximum(high - low, 1e-9) * (high > low)
    chosen = np.argsort(-spread, kind="stable")[:2]
    return {parts[k].name: (5, round(float(low[k]), 6), round(float(high[k]), 6)) for k in chosen if high[k] > low[k]}


def line(row: dict[str, Any]) -> str:
    if not row["works"]:
        return f"{row['id']:36s} no   {row['seconds']:5.1f} s  {row['said']}"
    speed = f"{row['speed']} it/s" if row["speed"] else "compiled"
    return f"{row['id']:36s} {row['way']:7s}{row['seconds']:5.1f} s  {speed}{'  foreseen' if row['foreseen'] else ''}"


def summary(rows: list[dict[str, Any]]) -> str:
    return f"{sum(row['works'] for row in rows)} of {len(rows)} ids work."


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown, with the versions that they were tried with."""
    lines = [
        summary(rows),
        "",
        "| id | way in | iterations a second | cells × actions | options |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        if row["works"]:
            note = " (the plan knows the future, and a warning says so)" if row["foreseen"] else ""
            lines.append(
                f"| `{row['id']}` | {row['way']}{note} | {row['speed'] or 'compiled'} "
                f"| {row['cells']} × {row['actions']} | {'`' + row['options'] + '`' if row['options'] else ''} |"
            )
        else:
            lines.append(f"| `{row['id']}` | none: {' '.join(row['said'].split())[:300].replace('|', '/')} | | | |")
    tried = {row["package"] for row in rows} | {"gymnasium"}
    pins = []
    for package in sorted(tried):
        distribution = {"box2d": "Box2D"}.get(package, package)
        try:
            pins.append(f"{distribution} {importlib.metadata.version(distribution)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return "\n".join([*lines, "", f"Tried with {', '.join(pins)}."]) + "\n"


if __name__ == "__main__":
    main()
