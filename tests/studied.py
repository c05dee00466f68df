"""The modules of the study, and its own planner, which the registry knows only while a test needs it."""

import sys
from pathlib import Path

import pytest

from gumdp.run import registry

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # ``studies`` is run from the project's folder and not installed
sys.path.append(str(ROOT / "studies"))  # where ``gumdp run`` finds the modules that an experiment file names

import candidates  # noqa: E402
from studies import data, report, tables  # noqa: E402

registry._entries.pop("candidate", None)
_ENTRY = registry.PlannerEntry("candidate", "", candidates.Candidate, candidates.OPTIONS)

__all__ = ["ROOT", "candidates", "data", "registered", "report", "tables"]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry knows the planner ``candidate``."""
    monkeypatch.setitem(registry._entries, "candidate", _ENTRY)
