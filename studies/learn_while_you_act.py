"""What planning to learn is worth: ``python -m studies.learn_while_you_act FILE [PART …]``; some twenty minutes in all.

Two grids of which little is known, 200 trials, all planners in the same worlds: what the page *Learn while you act* is
about. Settings were fixed before the run: ``MCTS(100)`` with uniform rollouts, seed 1. FILE keeps what is done; a PART
is a word that the names of the parts to be played contain ("true", "patrol").

``python -m studies.learn_while_you_act limits`` shows what limits it, in the true tables, with fewer trials: the share
of the way with more iterations, and with runs beforehand that cost nothing and teach; some forty minutes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import gumdp
from gumdp.seeding import streams

TRIALS, SEED, HORIZON, PRIOR = 200, 1, 200, 0.5
SEARCH = gumdp.MCTS(100, rollout="uniform", reuse=True)  # nothing to be tuned: all of them search alike
WHAT = ("neighbours", "neighbours, slipping alike everywhere")
OBJECTIVE = gumdp.normalized(gumdp.StateEntropy())
WAYS = ((-1, 0), (0, 1), (1, 0), (0, -1), (0, 0))


def tables() -> dict[str, gumdp.Tabular]:
    """The two grids. In the lake, holes and the goal lead back to the start."""
    lake = gumdp.from_gymnasium("FrozenLake-v1", terminal="restart")
    patrol = gumdp.zoo.load("patrol", rows=6, columns=6, slip=0.3).model
    return {"FrozenLake 4 × 4": lake, "patrol 6 × 6": patrol}


def beliefs(table: gumdp.Tabular) -> dict[str, gumdp.Belief]:
    """Nothing is known but that a step leads to a neighbour or stays; or also that slipping is the same everywhere.

    The map is known: squares from which every action leads back to the start are holes, and no others are.
    """
    states, actions = table.shape
    rows, columns = table.grid
    r, c = np.divmod(np.arange(states), columns)
    holes = (table.dense()[:, :, 0] == 1.0).all(axis=1)
    near = np.abs(r[:, None] - r) + np.abs(c[:, None] - c) <= 1
    near[holes] = np.arange(states) == 0
    moves = [np.clip(r + x, 0, rows - 1) * columns + np.clip(c + y, 0, columns - 1) for x, y in WAYS]
    back, way = np.zeros(states, int), np.arange(len(WAYS) + 1)
    possible = np.where(holes[:, None], way == len(WAYS), way < len(WAYS))
    options: dict[str, Any] = {"prior": PRIOR, "start": table.start, "grid": table.grid}
    alike = gumdp.Belief(
        states, actions, moves=np.stack([*moves, back], axis=1),
        support=np.repeat(possible[:, None], actions, axis=1),
        tied=np.where(holes[:, None], actions, np.arange(actions)), **options,
    )  # fmt: skip
    return {WHAT[0]: gumdp.Belief(states, actions, support=near, **options), WHAT[1]: alike}


def known(problem: gumdp.Problem, world: gumdp.Tabular | None) -> np.ndarray:
    """The values of trials in the same worlds by a search that knows them."""
    values = []
    for pair in streams(SEED, TRIALS):
        table = problem.model.draw(int(pair[0])) if world is None else world
        told = gumdp.Problem(table, OBJECTIVE, 1.0, HORIZON)
        values.append(SEARCH.trials(told, pair[None], np.zeros(1, np.uint8))[0])
    return np.array(values)


def planners() -> dict[str, gumdp.Planner | None]:
    """Who plays; None is who knows the world."""
    return {
        "at random": gumdp.Random(),
        "planning to learn": SEARCH,
        "`CertaintyEquivalent`": gumdp.CertaintyEquivalent(SEARCH),
        "`Thompson`": gumdp.Thompson(SEARCH),
        "the world is known": None,
    }


def played(belief: gumdp.Belief, planner: gumdp.Planner | None, world: gumdp.Tabular | None) -> np.ndarray:
    """The values of the trials of a planner."""
    problem = gumdp.Problem(belief, OBJECTIVE, 1.0, HORIZON)
    if planner is None:
        return known(problem, world)
    return gumdp.evaluate(problem, planner, TRIALS, SEED, workers=1, world=world).values


def page(found: dict[str, dict[str, list[float]]]) -> str:
    """A table for each part that is whole: means, shares of the way, and who is better than planning to learn."""
    lines = []
    for name, values in found.items():
        if len(values) < len(planners()):
            continue
        means = {who: float(np.mean(v)) for who, v in values.items()}
        way = means["at random"] - means["the world is known"]
        lines += [f"\n{name}\n", "| planner | cost | of the way | minus planning to learn, 95 % |", "|---|---|---|---|"]
        for who, v in values.items():
            error = np.std(v, ddof=1) / np.sqrt(len(v))
            row = f"| {who} | {means[who]:.4f} ± {error:.4f} | {(means['at random'] - means[who]) / way:.0%} |"
            other = gumdp.compare(v, values["planning to learn"], 0.95)
            lines.append(
                row + (" |" if who == "planning to learn" else " {:+.4f} to {:+.4f} |".format(*other.interval))
            )
    return "\n".join(lines)


def main(path: Path, parts: list[str]) -> None:
    """Play what is not in the file yet, and write it after each planner of each part; print what is whole."""
    found: dict[str, dict[str, list[float]]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for drawn in (False, True):
        for what in WHAT:
            for place, table in tables().items():
                name = f"{place}, {what}, {'worlds drawn from the belief' if drawn else 'the true table'}"
                if not all(part in name for part in parts):
                    continue
                for who, planner in planners().items():
                    done = found.setdefault(name, {})
                    if who not in done:
                        done[who] = played(beliefs(table)[what], planner, None if drawn else table).tolist()
                        path.write_text(json.dumps(found) + "\n", encoding="utf-8")
    print(page(found))


def share_of_way(table: gumdp.Tabular, search: gumdp.Planner, values: np.ndarray) -> str:
    """How far these values are from acting at random to the same search in the known table, with a standard error."""
    told = gumdp.Problem(table, OBJECTIVE, 1.0, HORIZON)
    worst = gumdp.evaluate(told, gumdp.Random(), TRIALS, SEED, workers=1).mean
    way = worst - gumdp.evaluate(told, search, len(values), SEED, workers=1).mean
    return f"{(worst - values.mean()) / way:.0%} ± {np.std(values, ddof=1) / np.sqrt(len(values)) / way:.0%}"


def run_after(belief: gumdp.Belief, free: int, search: gumdp.Planner, table: gumdp.Tabular, trial: int) -> float:
    """The value of a run of ``search`` after so many runs of the study's own search that only teach."""
    for k in range(free):
        lesson = gumdp.Problem(belief, OBJECTIVE, 1.0, HORIZON)
        belief = gumdp.run_trial(lesson, SEARCH, seed=100 + k, trial=trial, world=table).belief
    problem = gumdp.Problem(belief, OBJECTIVE, 1.0, HORIZON)
    return float(gumdp.run_trial(problem, search, seed=SEED, trial=trial, world=table).value)


def limits(trials: int = 40) -> None:
    """Print the share of the way by iterations, and by free runs beforehand."""
    for place, table in tables().items():
        for what, belief in beliefs(table).items():
            for iterations, free in ((100, 0), (1000, 0), (4000, 0), (1000, 1), (1000, 2), (1000, 4)):
                search = gumdp.MCTS(iterations, rollout="uniform", reuse=True)
                values = np.array([run_after(belief, free, search, table, k) for k in range(trials)])
                way = share_of_way(table, search, values)
                print(f"{place}, {what}: {iterations} iterations, {free} free runs: {way}", flush=True)


if __name__ == "__main__" and sys.argv[1:] == ["limits"]:
    limits()
elif __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "learn_while_you_act.json"), sys.argv[2:])
