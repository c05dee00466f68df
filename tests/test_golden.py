"""The same seed, the same bits: values of the paper's search and of the baselines as they were in version 0.1.0.

``golden.json`` holds them as hexadecimal floats; it was written once and is not made again. A change of one of these
bits is a change of what people have published with this package.
"""

import json
from pathlib import Path

import pytest

import gumdp

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))
PLANNERS = {
    "random": gumdp.Random(),
    "greedy": gumdp.Greedy(),
    "paper": gumdp.MCTS.paper(iterations=30),
    "solver": gumdp.BestOnAverage(),
}
OPTIONS = {("cliffwalking-budget", "solver"): {"horizon": 6}}  # its linear programs take minutes beyond that


def test_every_named_problem_has_its_bits() -> None:
    assert set(GOLDEN) <= set(gumdp.zoo.names())
    assert all(set(values) == set(PLANNERS) for values in GOLDEN.values())


QUICK = ("m1-entropy", "m2-imitation", "m3-adversarial", "frozenlake-entropy", "frozenlake-imitation", "taxi-entropy")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in GOLDEN]
)
def test_the_bits_are_those_of_the_first_version(name: str) -> None:
    for planner, expected in GOLDEN[name].items():
        problem = gumdp.zoo.load(name, **OPTIONS.get((name, planner), {}))
        values = gumdp.evaluate(problem, PLANNERS[planner], trials=len(expected), seed=20, workers=1).values
        assert [float(value).hex() for value in values] == expected, planner
