"""The modules of the study, with its own planner and problems, which the registries know only while a test needs it."""

import sys
from pathlib import Path

import pytest

from gumdp.run import registry
from gumdp.zoo import registry as problems

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # ``studies`` is run from the project's folder and not installed
sys.path.append(str(ROOT / "studies"))  # where ``gumdp run`` finds the modules that an experiment file names

import candidates  # noqa: E402
import unseen_problems  # noqa: E402
from studies import data, report, tables  # noqa: E402

registry._entries.pop("candidate", None)
for _name in unseen_problems.FAMILIES:
    problems._entries.pop(_name, None)
_ENTRY = registry.PlannerEntry("candidate", "", candidates.Candidate, candidates.OPTIONS)

__all__ = ["ROOT", "candidates", "data", "registered", "report", "tables"]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registries know the planner ``candidate`` and the study's own problems."""
    monkeypatch.setitem(registry._entries, "candidate", _ENTRY)
    for name, (build, options) in unseen_problems.FAMILIES.items():
        problems.register_problem(name, build, options)  # given back after the test: see conftest
