"""What this package takes from Numba's private parts. A release that breaks one of these must not go unnoticed.

A new Numba: raise the bound in pyproject.toml, run these, then everything.
"""

import inspect
import re
from importlib.metadata import requires, version

import numba
import numpy as np
from numba.core import caching, compiler, types
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import builtin_registry

from gumdp.jit.record import allocating, kernel, part
from gumdp.jit.trust import taught_names


def test_the_numba_in_use_is_one_that_was_tested() -> None:
    (bound,) = re.findall(r"numba.*<(\d+)\.(\d+)", " ".join(requires("gumdp") or ())) or [("0", "69")]
    assert tuple(map(int, version("numba").split(".")[:2])) < tuple(map(int, bound))


def test_a_compiled_function_has_a_cache_that_can_be_replaced_and_is_asked() -> None:
    asked = []

    class Cache(caching.NullCache):
        def load_overload(self, sig, target_context):
            asked.append(("load", sig))

        def save_overload(self, sig, cres):
            asked.append(("save", sig, type(cres)))

    f = numba.njit(lambda x: x + 1)
    f._cache = Cache()
    assert f(1) == 2
    assert [a[0] for a in asked] == ["load", "save"]
    assert asked[1][2] is compiler.CompileResult


def test_a_cache_has_no_other_duties_than_the_ones_we_fulfil() -> None:
    names = {"cache_path", "load_overload", "save_overload", "enable", "disable", "flush"}
    assert caching._Cache.__abstractmethods__ == names
    assert set(re.findall(r"self\._cache\.(\w+)", inspect.getsource(Dispatcher))) <= names


def test_machine_code_is_taken_apart_and_put_together_by_the_same_two_methods() -> None:
    source = inspect.getsource(caching.CompileResultCacheImpl)
    assert "cres._reduce()" in source
    assert "compiler.CompileResult._rebuild(target_context, *payload)" in source
    assert "cres.library.has_dynamic_globals" in source


def test_functions_without_reference_counts_are_marked_so() -> None:
    @numba.njit(_nrt=False)
    def f(a):
        return a[0]

    assert f(np.ones(2)) == 1.0
    assert "NRT_incref" not in next(iter(f.inspect_llvm().values())).split("define ")[1]
    for made, nrt in ((kernel, False), (part, False), (allocating, True)):
        assert made(lambda x: x).targetoptions["_nrt"] is nrt


def test_a_compiled_function_can_be_made_again_with_its_options() -> None:
    f = numba.njit(fastmath=True)(lambda x: x + 1)
    assert {"py_func", "locals", "targetoptions", "pipeline_class"} <= set(inspect.signature(Dispatcher).parameters)
    assert type(f) is CPUDispatcher
    assert f.targetoptions["fastmath"] is True
    assert f._compiler.pipeline_class is compiler.Compiler
    assert f._can_compile
    assert not numba.njit("int64(int64)")(lambda x: x)._can_compile
    assert CPUDispatcher(f.py_func, f.locals, f.targetoptions)(1) == 2


def test_what_someone_teaches_numba_can_be_listed() -> None:
    def taught_one(x):
        return x

    before = taught_names()
    numba.extending.overload(taught_one)(lambda x: lambda x: x)
    numba.extending.overload_method(types.Float, "taught_two")(lambda x: lambda x: x)
    numba.extending.overload_attribute(types.Float, "taught_three")(lambda x: lambda x: x)
    assert taught_names() - before == {"taught_one", "taught_two", "taught_three"}
    assert {type(r) for r in (builtin_registry.functions, builtin_registry.attributes, builtin_registry.globals)} == {
        list
    }


def test_the_name_of_a_function_is_a_part_of_its_symbols() -> None:
    def f(x):
        return x + 1

    f.__qualname__ = "f_with_a_digest"
    g = numba.njit(f)
    g(1)
    assert "f_with_a_digest" in next(iter(g.overloads.values())).fndesc.mangled_name
