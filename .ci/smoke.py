"""The first things that somebody does with the installed package. To be run where it is installed, not from a checkout.

It fails when a file of the source did not get into the wheel, when a named problem can't be loaded, or when planning,
solving, drawing or the command line don't work with nothing but the declared dependencies.
"""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import gumdp

CHECKOUT = Path(__file__).resolve().parents[1]
FLEETING = {".pyc", ".nbi", ".nbc", ".tmp"}


def files(root: Path) -> set[str]:
    """The files below a folder, without what Python and Numba leave there."""
    found = (path for path in root.rglob("*") if path.is_file() and path.suffix not in FLEETING)
    return {path.relative_to(root).as_posix() for path in found}


def command(*args: str) -> str:
    """What ``gumdp`` with these arguments prints."""
    done = subprocess.run([sys.executable, "-m", "gumdp", *args], capture_output=True, encoding="utf-8", check=True)
    return done.stdout


def main() -> None:
    """Try everything once."""
    installed = Path(gumdp.__file__).resolve().parent
    assert CHECKOUT not in installed.parents, f"{installed} is the checkout: install the wheel elsewhere"
    assert files(installed) == files(CHECKOUT / "src" / "gumdp"), files(installed) ^ files(CHECKOUT / "src" / "gumdp")
    assert version("gumdp") == gumdp.__version__

    for name in gumdp.zoo.names():
        gumdp.zoo.load(name)
    problem = gumdp.zoo.load("m1-entropy", horizon=20)
    trials = [gumdp.run_trial(problem, gumdp.MCTS(iterations=50), seed=0) for _ in range(2)]
    assert trials[0].value == trials[1].value
    assert abs(trials[0].occupancy.sum() - 1.0) < 1e-12
    assert gumdp.solve_infinite(problem).value <= gumdp.evaluate(problem, gumdp.Random(), trials=200, seed=0).mean
    gumdp.plot.occupancy(problem, trials[0].occupancy)

    listed = json.loads(command("list", "--json"))
    assert {entry["name"] for entry in listed["problems"]} == set(gumdp.zoo.names())
    assert "value" in json.loads(command("plan", "m1-entropy", "--planner", "greedy", "--seed", "1", "--json"))
    print(f"gumdp {gumdp.__version__} works: {len(gumdp.zoo.names())} problems, value {trials[0].value:.6f}")


if __name__ == "__main__":
    main()
