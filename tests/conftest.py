"""What holds for all tests: in CI the same examples on every run; what needs a POSIX system is skipped elsewhere."""

import importlib.util
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Where CI is set, hypothesis tries the same examples every time: a change fails for what it changed. On a desk it goes
# on looking for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# A shell starts what it runs in the background with Ctrl-C ignored, and processes inherit that: those that tests
# interrupt would go on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if os.name != "posix" and item.get_closest_marker("posix"):
        pytest.skip("needs the signals, processes and permissions of a POSIX system")


@pytest.fixture(autouse=True)
def _names_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers, a problem or a planner, is gone after it: tests pass in any order."""
    from gumdp.run import registry as planners
    from gumdp.zoo import registry as problems

    problems.entries()  # ours are there before the copy is made
    for registry in (planners, problems):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))


@pytest.fixture(scope="session")
def uct() -> Any:
    """The guide's search in plain Python, as a module; its planner's name is given back afterwards."""
    from gumdp.run import registry

    path = Path(__file__).parents[1] / "docs" / "guide" / "uct_from_scratch.py"
    spec = importlib.util.spec_from_file_location("uct_from_scratch", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["uct_from_scratch"] = module  # dataclasses and pickle look it up there
    spec.loader.exec_module(module)
    yield module
    registry._entries.pop("uct", None)
    del sys.modules["uct_from_scratch"]
