"""``python -m benchmarks.worlds``: every environment that is installed, tried as a new user would.

Each id gets a process of its own and 60 seconds of processor time: a model, a trial with 20 iterations and a horizon of
30, and the same played in the real environment. Then the way back into its states is audited: with other seeds, and for
longer, than the library tests it itself. The table says which way in was taken and how fast it is, or what was said
instead. ``--out rows.jsonl`` keeps the rows and goes on from those that are there; with ``--page`` they are written
into docs/guide/worlds.md.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import importlib.util
import json
import multiprocessing
import os
import resource
import time
import warnings
from pathlib import Path
from typing import Any

SECONDS, ITERATIONS, HORIZON = 60, 20, 30
SLOW, DEPTH = 50.0, 5  # iterations per second below which simulations look so many steps ahead, or fewer
AUDIT = 40  # seconds for the audit
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "worlds.md"
MARK = "<!-- the table, by benchmarks/worlds.py -->"
WORLDS: dict[str, tuple[str, ...]] = {  # what to install: ids that come with it
    "gymnasium": (
        "FrozenLake-v1", "FrozenLake8x8-v1", "Taxi-v4", "CliffWalking-v1", "Blackjack-v1", "CartPole-v1",
        "MountainCar-v0", "Acrobot-v1", "Pendulum-v1",
        "CliffWalkingSlippery-v1", "MountainCarContinuous-v0", "tabular/Blackjack-v0", "tabular/CliffWalking-v0",
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
        "mo-hopper-v5", "mo-ant-v5", "mo-mountaincarcontinuous-v0", "minecart-rgb-v0", "mo-supermario-v0",
        "water-reservoir-v0",
    ),
    "ale-py": ("ALE/Pong-v5", "ALE/Breakout-v5", "ALE/SpaceInvaders-v5", "ALE/Freeway-v5", "ALE/MontezumaRevenge-v5"),
    "highway-env": (
        "highway-fast-v0", "highway-v0", "merge-v0", "roundabout-v0", "parking-v0", "intersection-v1", "racetrack-v0",
        "exit-v0", "two-way-v0", "u-turn-v0", "lane-keeping-v0", "parking-parked-v0", "intersection-multi-agent-v0",
    ),
    "popgym": (
        "popgym-RepeatPreviousEasy-v0", "popgym-RepeatFirstEasy-v0", "popgym-CountRecallEasy-v0",
        "popgym-ConcentrationEasy-v0", "popgym-MineSweeperEasy-v0", "popgym-BattleshipEasy-v0",
        "popgym-HigherLowerEasy-v0", "popgym-AutoencodeEasy-v0",
        "popgym-MultiarmedBanditEasy-v0",
        "popgym-PositionOnlyCartPoleEasy-v0", "popgym-VelocityOnlyCartpoleEasy-v0",
        "popgym-NoisyPositionOnlyPendulumEasy-v0",
    ),
    "flappy-bird-gymnasium": ("FlappyBird-v0",),
    "tetris-gymnasium": ("tetris_gymnasium/Tetris",),
    "pyRDDLGym": tuple(
        f"pyRDDLGym.make('{domain}', '{instance}')"
        for domain, instance in (
            ("CartPole_Discrete_gym", 0), ("Navigation_MDP_ippc2011", 1), ("SysAdmin_MDP_ippc2011", 1),
        )
    ),
    "mobile-env": ("mobile-small-central-v0", "mobile-medium-central-v0"),
    "gymnasium-robotics": (
        "FetchReach-v4", "FetchPush-v4", "HandReach-v3", "PointMaze_UMaze-v3", "PointMaze_Medium-v3",
        "AntMaze_UMaze-v5", "AdroitHandDoor-v1", "AdroitHandHammer-v1", "FrankaKitchen-v1",
    ),
    "vizdoom": ("VizdoomBasic-v1", "VizdoomHealthGathering-v1", "VizdoomMyWayHome-v1", "VizdoomTakeCover-v1"),
    "bluesky-gym": ("bluesky_gym:DescentEnv-v0", "bluesky_gym:MergeEnv-v0"),
}  # fmt: skip
COMPILING = (
    "FrozenLake-v1",
    "CartPole-v1",
    "MountainCar-v0",
    "Acrobot-v1",
    "Pendulum-v1",
)  # each its own
MODULES = {"gymnasium": "gymnasium", "box2d": "Box2D", "tetris-gymnasium": "tetris_gymnasium"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worlds", description=__doc__)
    parser.add_argument("names", nargs="*", help="ids or packages; all that are installed by default")
    parser.add_argument("--page", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument("--out", type=Path, help="write the rows as JSON, one a line, as they come")
    parser.add_argument("--rows", type=Path, help="write the page of the rows in this file, and try nothing")
    arguments = parser.parse_args()
    os.environ |= {"SDL_VIDEODRIVER": "dummy", "MUJOCO_GL": "egl", "GUMDP_QUIET": "1"}
    if arguments.rows:
        write(read(arguments.rows))
        return
    rows = read(arguments.out) if arguments.out and arguments.out.exists() else []
    known = {row["id"] for row in rows}
    warm_up()
    for package, ids in WORLDS.items():
        if importlib.util.find_spec(MODULES.get(package, package.replace("-", "_"))) is None:
            continue
        for name in ids:
            wanted = not arguments.names or name in arguments.names or package in arguments.names
            if wanted and name not in known:
                if name in COMPILING:
                    in_a_process(name, 10 * SECONDS)  # compiles what its second turn only loads
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


def read(path: Path) -> list[dict[str, Any]]:
    """Rows that were kept, in the order of the list."""
    order = [name for ids in WORLDS.values() for name in ids]
    rows = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    return sorted(rows, key=lambda row: order.index(row["id"]) if row["id"] in order else len(order))


def in_a_process(name: str, limit: int = SECONDS) -> dict[str, Any]:
    """The row of one id, from a process of its own that has all compiled code already; or that it took too long."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=one, args=(name, sender, limit + AUDIT))
    began, until = processor(), time.monotonic() + 10 * (limit + AUDIT)
    process.start()
    sender.close()
    found: dict[str, Any] = {}
    with contextlib.suppress(EOFError):
        while receiver.poll(max(0.0, until - time.monotonic())):
            found |= receiver.recv()
    process.kill()
    process.join()
    if found and found["seconds"] <= limit:
        return found
    used = processor() - began
    if found or used >= limit or time.monotonic() > until:
        return found | {"works": False, "said": f"not within {limit} s", "seconds": found.get("seconds", used)}
    return {"works": False, "said": f"crash with exit code {process.exitcode}", "seconds": used}


def processor(who: int = resource.RUSAGE_CHILDREN) -> float:
    """Seconds of processor time."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def one(name: str, sender: Any, most: int) -> None:
    """Send the row of an id, and then what its audit says."""
    resource.setrlimit(resource.RLIMIT_CPU, (most - AUDIT + 1, most))
    with open(os.devnull, "w") as nowhere:  # what packages have to say
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    row = attempt(name)
    spent = processor(resource.RUSAGE_SELF) + processor()
    model = row.pop("model", None)
    sender.send(row | {"seconds": spent})
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    if model is not None:
        sender.send({"audit": audit(model)})
    sender.close()
    os._exit(0)


def warm_up() -> None:
    """Load or compile what all processes need, once and for all."""
    import gumdp

    for name, options in (("Blackjack-v1", {}), ("Blackjack-v1", {"depth": 2})):
        model = gumdp.from_gymnasium(name)
        problem = gumdp.Problem(model, gumdp.normalized(gumdp.StateEntropy()), discount=1.0, horizon=HORIZON)
        gumdp.run_trial(problem, gumdp.MCTS(iterations=2, **options), seed=0)
        gumdp.play(name, problem, gumdp.MCTS(iterations=2, **options), seed=0, at_limit="restart")


def audit(model: Any) -> str:
    """What differs between the environment and what is brought back, on seeds and steps that nobody tried yet."""
    import numpy as np

    from gumdp.models.gymnasium import examine

    if not hasattr(model, "stage"):
        return "compiled"
    way = model.stage.way
    rng = np.random.default_rng(1)
    began, told = time.process_time(), 0
    for seed in range(1001, 1004):
        env = way.make()
        first, _ = env.reset(seed=seed)
        played, *_ = examine._wander(env, way.commands, first, rng, 40 if model.rate > SLOW else 8)
        half = len(played) // 2
        script = examine.Script(seed, tuple(played[:half]), tuple(played[half:]), way.chance, True, way.mask)
        verdict = examine.examine(way, way.make(), script)
        if verdict.fault:
            return f"DIFFERENT: {verdict.fault}"
        told += "can't be checked" in verdict.note
        if time.process_time() - began > AUDIT / 8:
            break
    return "unsteady, and said so" if told else "the same"


def attempt(name: str) -> dict[str, Any]:
    """A model, a trial and the real environment, as a new user would try them."""
    import gumdp

    warnings.simplefilter("ignore")
    options: dict[str, Any] = {}
    world = made(name)
    began = time.perf_counter(), time.process_time()
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model, options = first_model(world)
        passed, used = time.perf_counter() - began[0], time.process_time() - began[1]
        heard = " ".join(str(w.message) for w in told)
        problem = gumdp.Problem(model, gumdp.normalized(gumdp.StateEntropy()), discount=1.0, horizon=HORIZON)
        source = str(model.source)
        speed = source.partition("about ")[2].partition(" iterations")[0] if "iterations per second" in source else ""
        rate = float(speed.replace(",", "") or "inf") * max(1.0, passed / used)  # on a machine with nothing else to do
        depth = None if rate >= SLOW else max(1, min(DEPTH, int(rate)))
        planner = gumdp.MCTS(iterations=ITERATIONS, depth=depth)
        value = gumdp.run_trial(problem, planner, seed=0).value
        trial = gumdp.play(world, problem, planner, seed=0, at_limit="restart")
    except gumdp.GumdpError as error:
        return {"works": False, "said": str(error), "options": repr(options)}
    except Exception as error:
        return {"works": False, "said": f"{type(error).__name__}: {error}", "raw": True, "options": repr(options)}
    way = getattr(model, "way", "table" if isinstance(model, gumdp.Tabular) else "twin")
    assert trial.reality is not None
    if depth:
        options["depth"] = depth
    model.rate = rate
    return {
        "works": True, "way": way, "speed": f"{float(f'{rate:.1g}'):,g}" if speed else "", "value": value,
        "played": trial.value, "cells": model.shape[0], "actions": model.shape[1],
        "surprises": int(trial.reality.surprises.size), "foreseen": "knows the future" in heard,
        "unsteady": "can't be checked" in heard, "model": model,
        "options": ", ".join(f"{k}={v}" for k, v in options.items()),
    }  # fmt: skip


def made(name: str) -> Any:
    """An id, or a function where the package has none: ``package.make(…)``."""
    if "(" not in name:
        return name
    package = name.partition(".")[0]
    return eval(f"lambda: {name}", {package: importlib.import_module(package)})  # names are those of the list above


def first_model(name: Any) -> tuple[Any, dict[str, Any]]:
    """The model with the fewest options: none; else what the sentences that refuse it ask for."""
    import gumdp

    options: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    for _ in range(4):
        try:
            model = gumdp.from_gymnasium(name, **options)
            gumdp.Problem(model, gumdp.StateEntropy(), discount=1.0, horizon=1)  # which there can be too many cells for
            return model, shown
        except gumdp.GumdpError as error:
            said = str(error)
            if "actions" not in options and ("Give actions=" in said or "to choose from" in said):
                options["actions"], shown["actions"] = some_actions(name), "four"
            elif "actions" not in options and "a list of those" in said:
                options["actions"] = allowed_actions(name)
                shown["actions"] = f"{len(options['actions'])} that are allowed"
            elif "bins" not in options and ("give bins=" in said or "bins of some" in said):
                options["bins"] = shown["bins"] = two_dimensions(name, options.get("actions"))
            else:
                raise
    raise gumdp.GumdpError(f"{name}: four tries were not enough.")


def some_actions(name: Any) -> list[Any]:
    """Four actions of a space that has too many."""
    from gumdp.models.gymnasium.opening import open_environment

    env = open_environment(name)
    env.action_space.seed(0)
    return [env.action_space.sample() for _ in range(4)]


def allowed_actions(name: Any) -> list[Any]:
    """The first eight actions that the environment takes at its start."""
    from gumdp.models.gymnasium.opening import actions_of, open_environment

    env = open_environment(name)
    found: list[Any] = []
    for action in actions_of(env):
        env.reset(seed=0)
        with contextlib.suppress(Exception):
            env.step(action)
            found.append(action)
        if len(found) == 8:
            break
    return found


def two_dimensions(name: Any, actions: list[Any] | None = None) -> dict[str, tuple[int, float, float]]:
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
        action = actions[len(seen) % len(actions)] if actions else env.action_space.sample()
        observation, _, over, cut, _ = env.step(action)
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
    audits = [row["audit"] for row in rows if row.get("audit", "compiled") != "compiled"]
    different = sum(audit.startswith("DIFFERENT") for audit in audits)
    return (
        f"{sum(row['works'] for row in rows)} of {len(rows)} ids work. Of {len(audits)} that are played themselves, "
        f"the audit found {different} whose states are not restored exactly."
    )


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown, with the versions that they were tried with."""
    lines = [
        summary(rows),
        "",
        "| id | way in | iterations per second | seconds | cells × actions | options |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row["works"]:
            note = " (the plan knows the future, and a warning says so)" if row["foreseen"] else ""
            lines.append(
                f"| `{row['id']}` | {row['way']}{note} | {row['speed'] or 'compiled'} "
                f"| {row['seconds']:.0f} | {row['cells']} × {row['actions']} "
                f"| {'`' + row['options'] + '`' if row['options'] else ''} |"
            )
        else:
            lines.append(f"| `{row['id']}` | none: {' '.join(row['said'].split())[:300].replace('|', '/')} | | | | |")
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
