"""The zoo's list: what entries declare is what they build."""

import subprocess
import sys

import pytest

import gumdp
from gumdp.errors import GumdpError


@pytest.mark.parametrize("entry", gumdp.zoo.entries(), ids=lambda entry: entry.name)
def test_an_entry_builds_what_it_declares(entry) -> None:
    problem = gumdp.zoo.load(entry.name)
    assert problem.name == entry.name
    assert problem.shape == entry.shape
    assert entry.objective
    assert entry.summary
    for option in ("discount", "horizon"):
        if entry.options.get(option) is not None:
            assert getattr(problem, option) == entry.options[option]


def test_names_are_different() -> None:
    names = gumdp.zoo.names()
    assert len(set(names)) == len(names)
    with pytest.raises(GumdpError, match="already"):
        gumdp.zoo.register(gumdp.zoo.find("m1-entropy"))


def test_every_problem_of_the_paper_is_there_with_its_published_values() -> None:
    paper = [f"{world}-{goal}" for world in ("frozenlake", "taxi", "mountaincar") for goal in ("entropy", "imitation")]
    for name in ["m1-entropy", "m2-imitation", "m3-adversarial", *paper]:
        assert set(gumdp.zoo.find(name).published) == {"random", "solver", "mcts"}


def test_the_list_is_the_same_whatever_was_imported_first() -> None:
    show = "import gumdp.zoo; print(gumdp.zoo.names())"
    first, second = (
        subprocess.run([sys.executable, "-c", begin + show], capture_output=True, text=True, check=True).stdout
        for begin in ("", "import gumdp.zoo.worlds, gumdp.zoo.theory; ")
    )
    assert first == second
