"""What compiled code reaches is edited, one kind of thing at a time, and the new answer is demanded:

in a new process that finds the old one's compiled code on disk, and in the same process.
"""

import argparse
import contextlib
import dis
import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

import gumdp
from gumdp.jit.bytecode import anatomy
from gumdp.jit.code import Code
from gumdp.jit.meaning import AFRESH, package_digest
from gumdp.jit.pointer import Pointer
from gumdp.jit.record import Record, allocating, record, verbs_of

PACKAGE = Path(gumdp.__file__).parent

# Each line is a kind of thing: OLD in it is edited.
CONSTANTS = """
import enum, typing
import numba, numpy as np
K = OLD
TUPLE = (1.0, OLD)
NESTED = {nested}
ARRAY = np.array([1.0, OLD])
TABLE = np.array([[1.0, 2.0], [OLD, 4.0]]).T
NUMBER = np.float64(OLD)
class Point(typing.NamedTuple):
    {fields}
POINT = Point(OLD, OLD)
class Colour(enum.IntEnum):
    RED = {whole}
@numba.njit
def helper(x):
    return OLD * x
@numba.njit
def reads_global(x):
    return K * x
def plain(x):
    return OLD * x
@numba.njit("float64(float64)")
def declared(x):
    return OLD * x
"""

KINDS = """
import numba, numpy as np
import deep.sub, shelf
import shelf as alias
from shelf import K, POINT, TUPLE, NESTED, ARRAY, helper as borrowed, reads_global

def closure(k):
    def f(x):
        return k * x
    return f

def inner(k):
    def f(x):
        def g(y):
            return k * y
        return g(x)
    return f

def array_in_closure(k):
    table = np.array([k, 1.0])
    return lambda x: table[0] * x

def module_in_closure():
    import shelf as local
    return lambda x: local.K * x

def default(x, k=OLD):
    return k * x

class Holder:
    @staticmethod
    def static(x):
        return OLD * x + 1.0

def recursive(x):
    return x if x > 100.0 else recursive(x * 2.0) + OLD

@numba.njit
def even(x):  # Numba's code for functions that call each other can't be kept on disk
    return OLD if x <= 0.0 else odd(x - 1.0)

@numba.njit
def odd(x):
    return OLD if x <= 0.0 else even(x - 1.0)

def pack(first):
    return first[0]

def from_import(x): return K * x
def module_attribute(x): return shelf.K * x
def module_alias(x): return alias.K * x
def nested_module(x): return deep.sub.K * x
def helper_of_nested_module(x): return deep.sub.helper(x)
def module_of_module(x): return deep.sub.again.K * x
def helper(x): return shelf.helper(x)
def helper_that_was_imported(x): return borrowed(x)
def global_of_a_helper(x): return reads_global(x)
def plain_helper(x): return shelf.plain(x)
def declared_helper(x): return shelf.declared(x)
def global_tuple(x): return TUPLE[1] * x
def nested_tuple(x): return len(NESTED) * x
def global_array(x): return ARRAY[1] * x
def transposed_array(x): return shelf.TABLE[0, 1] * x
def number(x): return shelf.NUMBER * x
def named_tuple(x): return POINT.y * x
def named_tuple_class(x): return shelf.Point(x, 2.0 * x).y
def enumeration(x): return shelf.Colour.RED.value * x
def constant(x): return OLD * x
def nested_code(x): return sum([OLD * y for y in (x, x)])

FUNCTIONS = [
    from_import, module_attribute, module_alias, nested_module, helper_of_nested_module, module_of_module, helper,
    helper_that_was_imported, global_of_a_helper, plain_helper, declared_helper, global_tuple, nested_tuple,
    global_array, transposed_array, number, named_tuple, named_tuple_class, enumeration, constant, nested_code,
    default, recursive, even, closure(OLD), inner(OLD), array_in_closure(OLD), module_in_closure(),
    Holder.static,
]
"""

NAMES = [
    line.strip(" ,") for part in KINDS.split("FUNCTIONS = [")[1].split("]")[0].split(",") if (line := part.strip())
]

ASK = """
import json
import kinds
from gumdp.jit.code import Code
from gumdp.jit.record import Record, allocating, record, verbs_of

@allocating
def ask(code, x):
    return 1.0 * code.call1(x)

answers = []
for function in kinds.FUNCTIONS:
    before = sum(ask.stats.cache_hits.values())
    python = getattr(function, "py_func", function)
    answers.append([ask(Code(function), 3.0), float(python(3.0)), sum(ask.stats.cache_hits.values()) - before])
print(json.dumps(answers))
"""


def write(folder: Path, old: str, nested: str) -> None:
    """The modules of a user, with ``old`` in all places that are edited."""
    fields = "x: float; y: float" if old == "2.0" else "y: float; x: float"
    shelf = CONSTANTS.format(nested=nested, whole=int(float(old)), fields=fields).replace("OLD", old)
    (folder / "shelf.py").write_text(shelf)
    (folder / "kinds.py").write_text(KINDS.replace("OLD", old))
    (folder / "deep").mkdir(exist_ok=True)
    (folder / "deep" / "__init__.py").write_text("")
    (folder / "deep" / "sub.py").write_text(
        f"import numba, shelf as again\nK = {old}\n@numba.njit\ndef helper(x):\n    return {old} * x\n"
    )


def ask_in_a_new_process(folder: Path) -> list[list[float]]:
    (folder / "ask.py").write_text(ASK)
    environment = {
        **os.environ,
        "GUMDP_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": str(PACKAGE.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run([sys.executable, folder / "ask.py"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.thorough
def test_an_edit_of_any_kind_gives_the_new_answer_in_a_new_process(tmp_path: Path) -> None:
    write(tmp_path, "2.0", "((1, 2),)")
    first, again = ask_in_a_new_process(tmp_path), ask_in_a_new_process(tmp_path)
    write(tmp_path, "5.0", "((1,), 2)")
    edited = ask_in_a_new_process(tmp_path)
    for name, old, same, new in zip(NAMES, first, again, edited, strict=True):
        assert old[0] == old[1], name  # what the function itself says
        assert (old[2], same[2]) == (0, name != "even"), f"{name}: the second process should find the first one's code"
        assert same[:2] == old[:2], name
        assert new[0] == new[1] != old[0], name
        assert new[2] == 0, name


@allocating
def ask(code, x):
    return 1.0 * code.call1(x)


def load(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The user's modules, imported into this process."""
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("shelf", "deep.sub", "deep", "kinds"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()
    return importlib.import_module("kinds")


@pytest.mark.thorough
def test_an_edit_of_any_kind_gives_the_new_answer_after_a_reload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "2.0", "((1, 2),)")
    kinds = load(tmp_path, monkeypatch)
    old = [Code(f) for f in kinds.FUNCTIONS]
    before = [ask(code, 3.0) for code in old]
    write(tmp_path, "5.0", "((1,), 2)")
    importlib.invalidate_caches()
    for name in ("shelf", "deep.sub", "kinds"):
        importlib.reload(sys.modules[name])
    for name, code, was, function in zip(NAMES, old, before, kinds.FUNCTIONS, strict=True):
        python = getattr(function, "py_func", function)
        assert ask(Code(function), 3.0) == python(3.0) != was, name
        assert ask(code, 3.0) == was, f"{name}: what was made before the edit means what it meant"


@pytest.mark.thorough
def test_names_in_machine_code_from_different_processes_do_not_mix(tmp_path: Path) -> None:
    """Two processes compile functions of one name that are too long to be inlined; a third one loads both."""
    lines = "".join(f"        x = x * 1.0000001 + table[{k} % 3] if x > {k} else x - {k}\n" for k in range(60))
    (tmp_path / "maker.py").write_text(
        f"import numpy as np\ndef make(k):\n    table = np.array([k, 2.0 * k, 3.0 * k])\n"
        f"    def f(x):\n{lines}        return x * k\n    return f\n"
    )
    kinds = "from maker import make\nFUNCTIONS = [make(float(k)) for k in {}]\n"
    found = []
    for numbers in ((1,), (2,), (1, 2)):
        (tmp_path / "kinds.py").write_text(kinds.format(numbers))
        found.append(ask_in_a_new_process(tmp_path))
    assert [hits for *_, hits in found[2]] == [1, 1]
    for compiled, python, _ in (*found[0], *found[1], *found[2]):
        assert compiled == pytest.approx(python, rel=1e-12)


def edits() -> list[Any]:
    """Changes of values in a running process, without any file: (what is changed, how, who reads it)."""

    def attribute(owner: str, name: str, value: Any) -> Callable[[pytest.MonkeyPatch], None]:
        return lambda patch: patch.setattr(sys.modules[owner], name, value)

    def entry(owner: str, name: str) -> Callable[[pytest.MonkeyPatch], None]:
        return lambda patch: getattr(sys.modules[owner], name).__setitem__(1, 5.0)

    return [
        pytest.param(attribute("shelf", "K", 5.0), "module_attribute", id="attribute of a module"),
        pytest.param(attribute("shelf", "K", 5.0), "module_of_module", id="attribute of a module of a module"),
        pytest.param(attribute("deep.sub", "K", 5.0), "nested_module", id="attribute of a nested module"),
        pytest.param(attribute("kinds", "K", 5.0), "from_import", id="global"),
        pytest.param(attribute("kinds", "TUPLE", (1.0, 5.0)), "global_tuple", id="global tuple"),
        pytest.param(entry("kinds", "ARRAY"), "global_array", id="array, in place"),
        pytest.param(attribute("shelf", "K", 5.0), "global_of_a_helper", id="global of a compiled helper"),
    ]


@pytest.mark.parametrize("edit, reader", edits())
def test_a_change_in_a_running_process_is_met_by_what_is_made_anew(
    edit: Any, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "2.0", "()")
    kinds = load(tmp_path, monkeypatch)
    function = getattr(kinds, reader)
    old = Code(function)
    assert ask(old, 3.0) == 6.0
    edit(monkeypatch)
    assert ask(Code(function), 3.0) == 15.0
    assert ask(old, 3.0) == ask(old, 3) == 6.0


RECORD = """
from gumdp.jit.record import allocating, record
K = OLD

@record
class Whole:
    factor: float
    def value(self, d):
        return K * self.factor * d

@allocating
def ask(r, x):
    return r.value(x)
"""


def test_an_edit_of_what_a_record_s_method_reads_gives_the_new_answer(tmp_path: Path) -> None:
    say = (
        "\nimport json\nvalue = ask(Whole(1.0), 3.0)\nprint(json.dumps([value, sum(ask.stats.cache_hits.values())]))\n"
    )
    found = []
    for old in ("2.0", "2.0", "5.0"):
        (tmp_path / "whole.py").write_text(RECORD.replace("OLD", old) + say)
        environment = {**os.environ, "GUMDP_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(PACKAGE.parent)}
        done = subprocess.run([sys.executable, tmp_path / "whole.py"], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert found == [[6.0, 0], [6.0, 1], [15.0, 0]]


def test_a_change_in_a_running_process_is_met_by_a_record_that_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recorded.py").write_text(RECORD.replace("OLD", "2.0"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "recorded", raising=False)
    recorded = importlib.import_module("recorded")
    old = recorded.Whole(1.0)
    assert recorded.ask(old, 3.0) == 6.0
    monkeypatch.setattr(recorded, "K", 5.0)
    assert recorded.ask(recorded.Whole(1.0), 3.0) == 15.0
    assert recorded.ask(old, 3.0) == recorded.ask(old, 3) == 6.0
    assert isinstance(recorded.Whole(1.0), recorded.Whole)
    (tmp_path / "recorded.py").write_text(RECORD.replace("OLD", "7.0"))
    ask = recorded.ask
    importlib.reload(recorded)
    assert ask(recorded.Whole(1.0), 3.0) == 21.0
    assert ask(old, 3.0) == 6.0


def test_a_record_means_again_what_it_meant_when_a_change_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "undone.py").write_text(RECORD.replace("OLD", "2.0"))
    monkeypatch.syspath_prepend(tmp_path)
    recorded = importlib.import_module("undone")
    old = recorded.Whole(1.0)
    monkeypatch.setattr(recorded, "K", 5.0)
    assert type(recorded.Whole(1.0)) is not type(old)
    monkeypatch.setattr(recorded, "K", 2.0)
    assert type(recorded.Whole(1.0)) is type(old)


def test_records_of_one_name_and_shape_are_not_mixed_up() -> None:
    def make(k):
        @record
        class Same:
            factor: float

            def value(self, d):
                return k * self.factor * d

        return Same

    @allocating
    def value(r, x):
        return r.value(x)

    assert [value(make(k)(1.0), 3.0) for k in (2.0, 5.0)] == [6.0, 15.0]


def test_a_function_that_is_made_again_meets_the_machine_code_that_is_there() -> None:
    """Numba can't give machine code back: a function that was forgotten must not be compiled into new memory."""

    def make(k):
        def cost(d):
            return k * d[0, 0]

        return cost

    def met(k):
        code = Code(make(k)).of_table()
        return code.compiled, Pointer(code, 2).address

    first = met(2.0)
    gc.collect()
    assert met(2.0) == first
    assert met(5.0) != first


def digest(function: Any) -> str:
    return Code(function).digest


def reading(value: Any) -> str:
    """The digest of a function that reads ``value``."""
    return digest(lambda x: value)


def test_containers_that_look_alike_have_different_digests() -> None:
    alike = [
        ((1, 2),), ((1,), 2), (1, 2), (1, (2,)), (12,), ("1", "2"), ("12",), ("1, 2",), (), ((),), ((), ()), None,
        [1, 2], [[1], 2], {1: 2}, {1: (2,)}, {2: 1}, {1, 2}, frozenset({1, 2}), {(1, 2)},
        1, 1.0, True, "1", b"1", 1j, np.int64(1), np.int32(1), np.float32(1), np.bool_(True), -0.0, 0.0, 0,
        np.array([1, 2]), np.array([[1, 2]]), np.array([1.0, 2.0]), np.array([[1], [2]]), np.array([1, 2], np.int32),
        np.dtype("f8"), np.dtype("f4"), np.dtype([("a", "f8")]), np.dtype([("b", "f8")]), range(3), range(4), slice(3),
        10**5000, 10**5000 + 1, "𝄞", "\ud800",
    ]  # fmt: skip
    digests = [reading(value) for value in alike]
    assert len(set(digests)) == len(alike)
    assert not any(d.startswith(AFRESH) for d in digests)
    assert digests == [reading(value) for value in alike]


def test_defaults_of_keywords_count() -> None:
    """Numba can't compile them; if it will one day, they are in the digest."""
    digests = {digest(lambda x, *, k=k: k * x) for k in (1.0, 2.0, 2.0)}
    assert len(digests) == 2


def test_what_an_array_holds_counts_and_not_how_it_lies() -> None:
    wide = np.arange(12.0).reshape(3, 4)
    assert reading(wide[:, ::2]) == reading(np.array([[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]]))


def test_byte_code_is_read_as_python_s_own_disassembler_reads_it() -> None:
    """Python's byte code changes with its version: the module ``dis`` knows how."""

    def codes(code: CodeType) -> Iterator[CodeType]:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from codes(constant)

    def expected(code: CodeType) -> list[tuple[bool, str, tuple[str, ...]]]:
        found, open_ = [], False
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
                found.append((step.opname.endswith("DEREF"), step.argval, ()))
                open_ = True
            elif open_ and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                found[-1] = (*found[-1][:2], (*found[-1][2], step.argval))
            elif step.opname not in ("EXTENDED_ARG", "CACHE"):
                open_ = False
        return list(dict.fromkeys(found))

    for module in (argparse, typing):
        top = compile(Path(module.__file__).read_text("utf-8"), module.__file__, "exec")
        for code in codes(top):
            if "LOAD_FROM_DICT" not in "".join(step.opname for step in dis.get_instructions(code)):
                assert [tuple(read) for read in anatomy(code).reads] == expected(code), code


def test_docstrings_comments_and_line_numbers_do_not_matter() -> None:
    texts = [
        "def f(x):\n    x[0] = 1.0\n",
        "def f(x):\n    '''What it does.'''\n    x[0] = 1.0\n",
        "\n\n# a comment\ndef f(x):\n    # another\n\n    x[0] = 1.0\n",
    ]
    digests = set()
    for text in texts:
        space: dict[str, Any] = {}
        exec(text, space)
        digests.add(digest(space["f"]))
    assert len(digests) == 1


def test_what_can_t_be_known_again_is_compiled_afresh() -> None:
    class Opaque:
        pass

    thing = Opaque()
    code = Code(lambda x: thing)
    assert code.digest.startswith(AFRESH)
    assert "Opaque" in code.unknown[0]
    assert code.digest != Code(lambda x: thing).digest


def test_a_module_that_is_handed_on_is_compiled_afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "2.0", "()")
    load(tmp_path, monkeypatch)
    shelf = sys.modules["shelf"]

    def by_another_name(x):
        m = shelf
        return m.K * x

    code = Code(by_another_name)
    assert code.unknown == ("the module shelf as a whole",)
    assert ask(code, 3.0) == 6.0
    monkeypatch.setattr(shelf, "K", 5.0)
    assert ask(Code(by_another_name), 3.0) == 15.0


def test_a_function_that_numba_was_taught_is_compiled_afresh() -> None:
    import numba

    def taught(x):
        return x

    @numba.extending.overload(taught)
    def _taught(x):
        return lambda x: 7.0 * x

    @numba.extending.overload_method(numba.types.Float, "taught_method")
    def _taught_method(x):
        return lambda x: 7.0 * x

    assert Code(lambda x: taught(x)).unknown
    assert Code(lambda x: x.taught_method()).unknown
    assert ask(Code(lambda x: taught(x)), 3.0) == 21.0


def test_a_function_of_the_user_s_that_says_it_is_numpy_s_is_read_all_the_same() -> None:
    import functools

    def make(k):
        @functools.wraps(np.sum)
        def f(x):
            return k * x

        return f

    assert digest(make(1.0)) != digest(make(2.0))


def test_every_kernel_and_record_of_the_package_can_be_known_again() -> None:
    for module in pkgutil.walk_packages(gumdp.__path__, "gumdp."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # an extra that is not installed
                importlib.import_module(module.name)
    ours = [vars(module) for name, module in list(sys.modules.items()) if name.startswith("gumdp.")]
    kernels = {value for space in ours for value in space.values() if isinstance(value, CPUDispatcher)}
    records = {r for space in ours for r in space.values() if isinstance(r, type) and Record in r.__mro__[1:]}
    assert len(kernels) > 60
    assert len(records) > 30
    assert {kernel: package_digest(kernel)[1] for kernel in kernels if package_digest(kernel)[1]} == {}
    assert [r for r in records if verbs_of(r).digest.startswith(AFRESH)] == []


FACTOR = np.array([2.0])


def test_a_problem_whose_functions_have_changed_is_not_played() -> None:
    def cost(d):
        return FACTOR[0] * d[0, 0]

    def step(x, a):
        return (x[0] + FACTOR[0],)

    still = gumdp.Tabular([[[1.0]]])
    line = gumdp.Simulator(step, (0.0,), lambda x: 0, cells=1, actions=1)
    problems = [
        gumdp.Problem(still, cost, 1.0, 3),
        gumdp.Problem(still, gumdp.Function(cost) + gumdp.Linear([[1.0]]), 1.0, 3),
        gumdp.Problem(line, gumdp.Entropy(), 1.0, 3),
        gumdp.Problem(still, gumdp.Entropy(), 1.0, 3, counts=gumdp.Hashed(lambda s: int(FACTOR[0]))),
    ]
    before = [gumdp.run_trial(problem, gumdp.Random(), seed=0).value for problem in problems]
    assert before[:2] == [2.0, 3.0]
    FACTOR[0] = 5.0
    again = problems[0].replace(horizon=4)  # another problem with the same objective
    assert gumdp.run_trial(again, gumdp.Random(), seed=0).value == gumdp.solve_exact(again).value == 5.0
    for problem in problems:
        with pytest.raises(gumdp.GumdpError, match="was changed after it was compiled"):
            gumdp.run_trial(problem, gumdp.Random(), seed=0)
    with pytest.raises(gumdp.GumdpError, match="the function cost"):
        gumdp.solve_exact(problems[0])
    FACTOR[0] = 2.0
    assert [gumdp.run_trial(problem, gumdp.Random(), seed=0).value for problem in problems] == before
