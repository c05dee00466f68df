"""Counts of what was tried and what came of it, printed when all is over."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "import sys; from gumdp.cli.main import main; sys.exit(main())"]
_counts: dict[str, Counter[str]] = {}
LONGEST = 180  # seconds that an attack may take before it counts as a hang


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("posix")


@pytest.fixture
def count() -> Callable[[str, str], None]:
    """Note that an attack of a kind had an end."""

    def add(kind: str, end: str) -> None:
        _counts.setdefault(kind, Counter())[end] += 1

    return add


@pytest.fixture(autouse=True)
def no_hang(request: pytest.FixtureRequest) -> Iterator[None]:
    """A hang is an error, not a test that never ends."""
    if request.node.get_closest_marker("slow"):
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"nothing came for {LONGEST} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pytest_terminal_summary(terminalreporter) -> None:
    for kind, ends in sorted(_counts.items()):
        told = ", ".join(f"{n} {end}" for end, n in sorted(ends.items()))
        terminalreporter.write_line(f"chaos: {sum(ends.values())} {kind}: {told}")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A plan that takes no time."""
    path = tmp_path / "plan.toml"
    path.write_text('trials = 3\nproblems = [{name = "m1-entropy", horizon = 5}]\nplanners = ["random"]\n')
    return path


NURSERY = """
import os, sys, threading
from gumdp.cli.main import main
stdout = sys.stdout
sys.stdout = open(os.devnull, "w")
main(eval(sys.stdin.readline()))  # imports and loads all that the others need
sys.stdout = stdout
print(threading.active_count(), flush=True)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(0, 1)
        sys.argv = ["gumdp", *eval(line)]
        os._exit(main())
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Nursery:
    """A process that runs a command once and then forks one each time it is asked: nobody waits for imports."""

    def __init__(self, *line: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

        assert self.start(*line) == 1, "a process with several threads should not be forked"

    def start(self, *line: object) -> int:
        """The id of a process that runs the command."""
        self.process.stdin.write(f"{list(map(str, line))}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self) -> int:
        """How the last one ended, when it has."""
        return int(self.process.stdout.readline())


@pytest.fixture
def nursery(plan: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = Nursery("run", plan, "--out", tmp_path_factory.mktemp("nursery") / "out")
    yield made
    made.process.stdin.close()
    made.process.wait()
    made.process.stdout.close()


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command in a process of its own, which ends with the test at the latest."""
    started: list[subprocess.Popen[str]] = []

    def command(*line: object, **options: object) -> subprocess.Popen[str]:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        started.append(subprocess.Popen([*COMMAND, *map(str, line)], text=True, **streams))
        return started[-1]

    yield command
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
