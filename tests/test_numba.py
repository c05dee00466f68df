"""What this package takes from Numba's private parts. A release that breaks one of these must not go unnoticed.

A new Numba: raise the bound in pyproject.toml, run these, then everything.
"""

import inspect
import operator
import re
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import caching, compiler, types
from numba.core.datamodel import default_manager
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typing.templates import builtin_registry

from gumdp.jit.folder import Folder
from gumdp.jit.linked import KernelLibrary, LinkedLibrary
from gumdp.jit.quick import Remembered, quick
from gumdp.jit.record import allocating, kernel, part, part_of, record, shared
from gumdp.jit.trust import taught_names


@pytest.fixture(autouse=True)
def _nothing_was_compiled_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code is made here and now: what comes from a disk lacks what these tests look at."""
    monkeypatch.setattr(Folder, "_standard", Folder(tmp_path / "kernels"))


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


def test_a_part_is_linked_into_its_kernel_and_has_no_machine_code_of_its_own() -> None:
    @part
    def double(x):
        return 2.0 * x

    @numba.njit(_nrt=False)
    def twice(x):
        return double(double(x))

    assert twice(1.5) == 6.0
    (found,) = double.overloads.values()
    assert isinstance(found.library, LinkedLibrary)
    assert found.library.get_pointer_to_function(found.fndesc.llvm_cpython_wrapper_name) == 0
    (whole,) = twice.overloads.values()
    assert found.fndesc.llvm_func_name not in whole.library.get_llvm_str()  # inlined
    assert double(4) == 8.0  # and Python can call it all the same


def test_a_kernel_is_a_part_of_the_kernel_that_calls_it() -> None:
    @kernel
    def double(x):
        return 2.0 * x

    @kernel
    def twice(x):
        return double(double(x))

    assert twice(1.5) == 6.0
    assert not double.overloads  # no machine code of its own
    (inner,) = double.part.overloads.values()
    assert isinstance(inner.library, LinkedLibrary)
    (whole,) = twice.overloads.values()
    assert isinstance(whole.library, KernelLibrary)
    assert inner.fndesc.llvm_func_name not in whole.library.get_llvm_str()  # inlined
    assert double(4.0) == 8.0
    assert double.overloads


class Others(NamedTuple):
    x: Any
    y: Any


def test_our_records_are_handed_on_whole_and_the_named_tuples_of_others_as_numba_has_it() -> None:
    @record
    class Ours:
        x: Any
        y: Any

    inner = np.arange(3.0)
    values = (Ours(inner, Others(2.0, 3)), Others(inner, Ours(2.0, 3)), Others(inner, 3.0))
    models = [default_manager.lookup(numba.typeof(value)) for value in values]
    assert [isinstance(model.get_argument_type(), tuple) for model in models] == [False, True, True]

    @kernel
    def total(ours, others):
        return ours.x.sum() + ours.y.x + ours.y.y + others.x.sum() + others.y.x + others.y.y

    @kernel
    def through(ours, others):
        return total(ours, others)

    assert total(*values[:2]) == through(*values[:2]) == 16.0


def test_a_method_is_compiled_once_whoever_calls_it() -> None:
    @record
    class Scaled:
        factor: float

        def value(self, d):
            return self.factor * d[0]

    @part
    def through(scaled, d):
        return scaled.value(d)

    @kernel
    def both(scaled, d):
        return scaled.value(d) + through(scaled, d)

    scaled = Scaled(2.0)
    assert both(scaled, np.ones(1)) == 4.0
    method = part_of(numba.typeof(scaled).methods["value"])
    assert len(method.overloads) == 1
    assert isinstance(next(iter(method.overloads.values())).library, LinkedLibrary)


def test_what_an_operation_means_is_remembered_for_our_compiler_and_for_nobody_else() -> None:
    typing, target = cpu_target.typing_context, cpu_target.target_context
    view, code = quick(typing, target)
    assert view == typing
    assert hash(view) != hash(object())
    assert code.typing_context is view
    assert target.typing_context is typing
    assert quick(view, code) == (view, code)
    addition = view.resolve_value_type(operator.add)
    args = (types.int64, types.float64)
    assert isinstance(addition, Remembered)
    assert type(typing.resolve_value_type(operator.add)) is types.Function
    first = view.resolve_function_type(operator.add, args, {})
    assert first is view.resolve_function_type(addition, args, {})  # remembered
    assert first == typing.resolve_function_type(operator.add, args, {})
    typing.refresh()  # what is taught later is a new function type
    assert view._globals is typing._globals

    @kernel
    def by_another_name(x):
        larger = max
        return larger(x, 1.0)

    assert by_another_name(3.0) == 3.0


def test_passes_for_inner_functions_are_left_out_where_there_are_none() -> None:
    names = {"inline_closure_likes", "make_function_op_code_to_jit_function"}

    def plain(x):
        return x + 1

    def closing(x):
        def inner(y):
            return y + 1

        return inner(x)

    for function, idle in ((plain, names), (closing, set())):
        compiled = kernel(function)
        assert compiled(1) == 2
        (result,) = compiled.overloads.values()
        ((_, times),) = result.metadata["pipeline_times"].items()
        run = {name.partition("_")[2] for name in times}
        assert names - run == idle


def test_a_shared_kernel_is_called_by_its_name_and_not_taken_in() -> None:
    @shared
    def double(x):
        return 2.0 * x

    @part
    def between(x):
        return double(x)

    @kernel
    def twice(x):
        return between(double(x))

    assert twice(1.5) == 6.0
    assert double(1.5) == 3.0
    (inner,) = double.overloads.values()
    (whole,) = twice.overloads.values()
    assert [need.symbol for need in whole.library.needs] == [inner.fndesc.llvm_func_name]
    text = whole.library.get_llvm_str()
    assert f"declare i32 @{inner.fndesc.llvm_func_name}" in text.replace('"', "")


def test_a_record_is_unpacked_by_one_function_for_each_type_and_wrappers_are_left_as_they_are() -> None:
    class Both(NamedTuple):
        first: Any
        second: Any
        more: Any

    Both.__module__ = "gumdp.both"  # as those of the package

    @record
    class Holder:
        name: int
        data: Any
        inside: Any

    @kernel
    def last_of(both):
        return both.first.data[0] + both.second.inside[1][2] + both.second.name

    one, two = (Holder(k, np.arange(4.0) + k, (np.int64(7), np.arange(3) * k)) for k in (1, 2))
    assert last_of(Both(one, two, 0.5)) == 1.0 + 4 + 2
    (code,) = last_of.inspect_llvm().values()
    wrapper = next(text for text in code.split("\ndefine ") if "_ZN7cpython" in text.split("{")[0])
    assert len(re.findall(r"call .* @gumdp\.unpack", wrapper)) == 1
    unpackers = re.findall(r"\ndefine internal .*@(gumdp\.unpack\.\w+)", code)
    # of both, of a holder, of its number, of two kinds of arrays, of a pair, of the number in it, and of a share
    assert len(unpackers) == len(set(unpackers)) <= 8
    assert code.count(f"@{unpackers[0]}") > 1
    (attributes,) = re.findall(r"#(\d+)", wrapper.split("{")[0])
    assert "optnone" in next(line for line in code.splitlines() if line.startswith(f"attributes #{attributes} "))


def test_what_is_no_such_record_is_refused_by_the_code_that_unpacks_it() -> None:
    @record
    class Pair:
        left: Any
        right: Any

    @kernel
    def total(pair):
        return pair.left + pair.right

    assert total(Pair(1.0, 2.0)) == 3.0
    (compiled,) = total.overloads.values()
    with pytest.raises(ValueError, match="another number of fields"):
        compiled.entry_point((1.0,))
    with pytest.raises(TypeError):
        compiled.entry_point(("a", 2.0))
