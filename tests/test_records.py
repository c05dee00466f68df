"""Compiled code on disk: found again, never stale, and safe to share between processes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gumdp
from gumdp.jit.record import record

PACKAGE = Path(gumdp.__file__).parent

USER = """
import json, numba, numpy, gumdp
from gumdp.objectives.record import whole_value

@numba.njit
def weight(s):
    return {weight}

def cost(d):
    return weight(0) * d[0].sum() + weight(1) * d[1].sum()

model = gumdp.Tabular([[[0.0, 1.0]], [[1.0, 0.0]]])
problem = gumdp.Problem(model, cost, 1.0, 4)
value = whole_value(problem.record, numpy.array([0.5, 0.5]))
print(json.dumps([value, sum(whole_value.stats.cache_hits.values())]))
"""


def python(file: Path, cache: Path, source: Path = PACKAGE.parent) -> list:
    """What a new process prints that runs ``file`` with its compiled code in ``cache``."""
    environment = {**os.environ, "GUMDP_CACHE_DIR": str(cache), "PYTHONPATH": str(source)}
    answer = subprocess.run([sys.executable, file], env=environment, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


@pytest.mark.thorough
def test_an_edited_callee_of_a_user_s_function_gives_the_new_answer(tmp_path: Path) -> None:
    file, cache = tmp_path / "user.py", tmp_path / "cache"
    file.write_text(USER.format(weight="1.0 + s"))
    assert python(file, cache) == [1.5, 0]
    assert python(file, cache) == [1.5, 1]  # the second process finds the first one's code
    file.write_text(USER.format(weight="3.0 + s"))
    assert python(file, cache) == [3.5, 1]  # the search is the same for every function; the answer is the new one


def test_a_function_that_can_t_be_compiled_works_all_the_same() -> None:
    memory = {}

    def cost(d):
        memory["seen"] = True
        return float(sum(d.ravel().tolist()[:1]))

    model = gumdp.Tabular([[[0.0, 1.0]], [[1.0, 0.0]]])
    problem = gumdp.Problem(model, cost, 1.0, 3)
    with pytest.warns(UserWarning, match="plain Python"):
        value = gumdp.run_trial(problem, gumdp.Random()).value
    assert value == pytest.approx(2 / 3)
    assert memory["seen"]


def test_an_edited_kernel_gives_the_new_answer(tmp_path: Path) -> None:
    """``between_once`` adds a constant that stands in another file than its own."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "gumdp", ignore=shutil.ignore_patterns("__pycache__"))
    file, cache = tmp_path / "user.py", tmp_path / "cache"
    file.write_text(
        "import numpy as np\nfrom gumdp.search.outcome import between_once, Outcomes\n"
        "rng = between_once(Outcomes(True, False), np.uint64(0))\n"
        "print([int(rng), sum(between_once.stats.cache_hits.values())])"
    )
    assert python(file, cache, tmp_path / "src") == [0x9E3779B97F4A7C15, 0]
    assert python(file, cache, tmp_path / "src") == [0x9E3779B97F4A7C15, 1]
    random = tmp_path / "src" / "gumdp" / "jit" / "random.py"
    random.write_text(random.read_text().replace("STEP = 0x9E3779B97F4A7C15", "STEP = 7"))
    assert python(file, cache, tmp_path / "src") == [7, 0]


def test_one_process_s_records_don_t_trouble_another_without_them(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (tmp_path / "mine.py").write_text(
        "from gumdp.jit.record import record\n"
        "from gumdp.objectives.record import Separable\n"
        "@record\n"
        "class Twice(Separable):\n"
        "    actions: int\n"
        "    def term(self, m, i, x):\n"
        "        return 2.0 * x\n"
        "    def price(self, i, x, w, z, at):\n"
        "        return 2.0\n"
    )
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    body = "import json, numpy as np\nfrom gumdp.objectives.record import whole_value\n"
    first.write_text(body + "from mine import Twice\nprint(whole_value(Twice(1), np.array([0.5, 1.0])))")
    assert python(first, cache) == 3.0
    (tmp_path / "mine.py").unlink()
    second.write_text(
        body + "from gumdp.objectives.linear import LinearRecord\n"
        "print(whole_value(LinearRecord(np.array([1.0, 3.0])), np.array([0.5, 1.0])))"
    )
    assert python(second, cache) == 3.5


def test_a_field_of_a_record_can_t_be_called_like_a_verb() -> None:
    with pytest.raises(TypeError, match="step"):

        @record
        class Wrong:
            step: int
