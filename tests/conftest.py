"""What holds for all tests: in CI the same examples on every run; what needs a POSIX system is skipped elsewhere."""

import os

import pytest
from hypothesis import settings

# Where CI is set, hypothesis tries the same examples every time: a change fails for what it changed. On a desk it goes
# on looking for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if os.name != "posix" and item.get_closest_marker("posix"):
        pytest.skip("needs the signals, processes and permissions of a POSIX system")
