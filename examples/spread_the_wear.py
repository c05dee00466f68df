"""Six batteries, one month: wear them evenly, and be late for less than 5 % of the
hours of *this* month.

    python examples/spread_the_wear.py

Every hour an order comes in with probability 0.7. A van takes one of six batteries
(full, half full or empty) and brings two orders, or it waits. A trip drains the three
old batteries more often than the others; the charger charges the emptiest one that is
not in use. An order that finds five others waiting, or more, will be late. A month of
240 working hours costs the share of them in which the battery that is used most was in
use, and a penalty where more than 5 % of the hours are late.

Nobody wrote that down as a model. There is the log of a test bench, from which a table
of 11,664 states is learned:

    python spread_the_wear.py fleet.csv
    gumdp learn fleet.csv --unseen exclude --start 222222+00
    gumdp plan spread_the_wear.py:fleet --iterations 200
"""

from __future__ import annotations

import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib import pyplot

import gumdp

BATTERIES, QUEUE, HOURS = 6, 16, 240
# chances in an hour; of a trip, by battery
CARRIES, ORDERS, DRAIN = 2, 0.7, np.array([0.6, 0.6, 0.6, 0.9, 0.9, 0.9])
TIGHT, LIMIT, PENALTY = 5, 0.05, 2.0
MOVES = [*(f"battery {k + 1}" for k in range(BATTERIES)), "wait"]


def write_log(path: str | Path, times: int = 8, hours: int = 5, seed: int = 0) -> None:
    """Write the log of a test bench: tests from each of the 11,664 states, with
    moves at random.
    """
    rng = np.random.default_rng(seed)
    level = np.array(
        [
            each
            for each in product(range(3), repeat=BATTERIES)
            for _ in range(QUEUE * times)
        ]
    )
    queue = np.tile(np.repeat(np.arange(QUEUE), times), 3**BATTERIES)
    tests = np.arange(queue.size)
    lines = []
    for hour in range(hours):
        # an empty battery stays where it is
        free = np.hstack([level > 0, np.ones((tests.size, 1), bool)])
        move = np.argmax(np.where(free, rng.random(free.shape), -1.0), axis=1)
        names = ["".join(map(str, each)) for each in level.tolist()]
        rows = zip(tests.tolist(), names, queue.tolist(), move.tolist(), strict=True)
        lines.append(
            [
                f"{test},{hour},{name}+{orders:02},{MOVES[a]}\n"
                for test, name, orders, a in rows
            ]
        )
        level, queue = step(level, queue, move, rng)
    with open(path, "w", encoding="utf-8") as file:
        file.write("episode,step,state,action\n")
        for rows_of_a_test in zip(*lines, strict=True):
            file.writelines(rows_of_a_test)


def step(
    level: np.ndarray, queue: np.ndarray, move: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Levels [tests, batteries] and orders waiting [tests], an hour later."""
    tests, out = np.arange(move.size), move < BATTERIES
    used = np.where(out, move, 0)
    drained = out & (rng.random(move.size) < DRAIN[used])
    idle = np.where((np.arange(BATTERIES) == move[:, None]) & out[:, None], 3, level)
    emptiest = idle.argmin(axis=1)
    after = level.copy()
    after[tests, emptiest] = np.minimum(2, after[tests, emptiest] + 1)
    after[tests, used] -= drained
    return after, np.minimum(
        QUEUE - 1,
        np.maximum(queue - CARRIES * out, 0) + (rng.random(move.size) < ORDERS),
    )


def fleet(model: str | Path = "fleet.npz", horizon: int = HOURS) -> gumdp.Problem:
    """The month as a problem, in the world that was learned."""
    world = gumdp.load_model(model)
    use, tight = np.zeros((BATTERIES, *world.shape)), np.zeros(world.shape)
    use[range(BATTERIES), :, range(BATTERIES)] = 1.0
    tight[np.arange(world.shape[0]) % QUEUE >= TIGHT] = 1.0
    wear = gumdp.WorstCase(use).named("wear")
    lateness = gumdp.Constrained(
        np.zeros(world.shape), tight, budgets=LIMIT, penalty=PENALTY
    ).named("lateness")
    return gumdp.Problem(
        world, wear + lateness, discount=1.0, horizon=horizon, name="six batteries"
    )


def late(d: np.ndarray) -> float:
    """The share of the hours in which an order that comes will be late."""
    return float(d.reshape(-1, QUEUE, d.shape[1])[:, TIGHT:].sum())


def worst(d: np.ndarray) -> float:
    """The share of the hours in which the battery that is used most was in use."""
    return float(d[:, :BATTERIES].sum(axis=0).max())


class RulePolicy(gumdp.Policy):
    """If an order waits, take the fullest battery; of several, the one that was used
    least.
    """

    def decide(self, state: int) -> gumdp.Decision:
        actions, used = self.problem.model.actions(state), self.occupancy.sum(axis=0)
        charge = state // QUEUE // 3 ** np.arange(BATTERIES)[::-1] % 3
        charged = [a for a in actions if a < BATTERIES and state % QUEUE > 0]
        return gumdp.Decision(
            min(charged, key=lambda a: (-charge[a], used[a]), default=actions[-1])
        )


class Rule(gumdp.Planner):
    """What people do without a plan."""

    def __repr__(self) -> str:
        return "Rule()"

    def bind(self, problem: gumdp.Problem, dice: int) -> gumdp.Policy:
        return RulePolicy(problem, dice)


OPTIONS = {"model": Path("fleet.npz"), "horizon": HOURS}
gumdp.register_problem(
    "six-batteries",
    fleet,
    OPTIONS,
    summary="wear six batteries evenly, and be on time this month",
)
gumdp.register_planner(
    "fullest-first", Rule, summary="the fullest battery, if an order waits"
)


def learned(folder: str | Path) -> Path:
    """The model file that the log leads to."""
    log, model = Path(folder, "fleet.csv"), Path(folder, "fleet.npz")
    write_log(log)
    gumdp.save_model(gumdp.learn(log, unseen="exclude", start="222222+00"), model)
    return model


def main(quick: bool = False) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        problem = fleet(learned(folder), horizon=60 if quick else HOURS)
    search = gumdp.MCTS(iterations=100 if quick else 200)
    planners = {
        "at random": gumdp.Random(),
        "the fullest first": Rule(),
        "planned for this month": search,
    }
    trials, found = 8 if quick else 40, {}
    for name, planner in planners.items():
        months = gumdp.evaluate(
            problem, planner, trials, seed=0, measures={"late": late, "worst": worst}
        )
        found[name] = months.mean
        print(f"{name:24} cost {months.mean:.3f} ± {months.standard_error:.3f}")
        print(f"{'':24} {months.measures['late'].probability(LIMIT)}")
    _, (left, right) = pyplot.subplots(
        1, 2, figsize=(10.2, 3.6), width_ratios=(3, 2), layout="constrained"
    )
    month = gumdp.run_trial(problem, search, seed=0)
    gumdp.plot.measure(
        problem,
        month,
        {"late": late, "the worst battery": worst},
        left,
        limits={"late": LIMIT},
    )
    gumdp.plot.shares(problem, month.occupancy, ax=right)
    pyplot.savefig("spread_the_wear.png", dpi=110)
    return found


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] != "--quick":
        write_log(sys.argv[1])
    else:
        main("--quick" in sys.argv)
