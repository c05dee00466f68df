"""Kernels, which Python calls, and their parts, which only kernels call and which never become machine code alone.

Numba makes of every function that another one calls a library: optimised, turned into machine code, with wrappers
that Python could call, and then linked into the caller, which is optimised as a whole, twice. For a kernel of some
hundred small functions that is most of the time that it takes to compile. Here a callee stays what the front end made
of it, and the kernel that it is linked into is optimised once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any, NamedTuple

import numba
from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from numba.core.untyped_passes import InlineClosureLikes, MakeFunctionToJitFunction

from gumdp.jit.quick import quick


class _NoEnvironments:
    """A code generator for a library that is never loaded: there is nowhere to put an environment."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        pass


class Need(NamedTuple):
    """Machine code that must be in the process before the code that calls it."""

    kernel: Any  # the ``Shared`` kernel
    arguments: tuple[Any, ...]  # the types that it is compiled for
    symbol: str


_shared: dict[Any, Need] = {}  # by library
WRAPPER = "_ZN7cpython"  # how the names of functions begin that unpack arguments from Python


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is there to be linked into other code: of one function, and a list of what that calls."""

    _whole: Any = None

    @property
    def codegen(self) -> Any:
        return _NoEnvironments(self._codegen)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._raise_if_finalized()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"  # several libraries may have it, and drop it when it is inlined
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """All of it, for libraries of Numba's own, which ask nobody for more."""
        if self._whole is None:
            self._whole = self._final_module.clone()
            link(self._whole, self._linking_libraries, self._reload_init)
        return self._whole

    def get_pointer_to_function(self, name: str) -> int:
        return 0


def link(module: Any, libraries: Iterable[Any], reload_init: set[Any]) -> list[Need]:
    """Put into ``module`` what the libraries hold and all that it calls, each once; return what it calls elsewhere."""
    waiting = list(dict.fromkeys(libraries))
    seen, needs = set(waiting), []
    for library in waiting:
        reload_init.update(library._reload_init)
        if library in _shared:
            needs.append(_shared[library])
        elif isinstance(library, LinkedLibrary):
            module.link_in(library._final_module, preserve=True)
            new = [each for each in dict.fromkeys(library._linking_libraries) if each not in seen]
            waiting.extend(new)
            seen.update(new)
        else:
            module.link_in(library._get_module_for_linking(), preserve=True)
    return needs


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that Python calls and that counts no references, which is what Numba optimises twice for."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.name.startswith(WRAPPER) and not function.is_declaration:  # it runs once a call
                function.add_function_attribute("noinline")
                function.add_function_attribute("optnone")
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    needs: Sequence[Need] = ()

    def finalize(self) -> None:
        self.needs = link(self._final_module, self._linking_libraries, self._reload_init)
        self._linking_libraries.clear()
        super().finalize()


class QuickCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, which remembers, and does nothing about inner functions where there are none."""

    def __init__(self, typingctx: Any, targetctx: Any, *rest: Any) -> None:
        super().__init__(*quick(typingctx, targetctx), *rest)

    def define_pipelines(self) -> list[Any]:
        (pipeline,) = super().define_pipelines()
        constants = self.state.func_id.code.co_consts
        if not any(isinstance(constant, CodeType) for constant in constants):
            idle = (InlineClosureLikes, MakeFunctionToJitFunction)
            pipeline.passes[:] = [each for each in pipeline.passes if each[0] not in idle]
        return [pipeline]


class KernelCompiler(QuickCompiler):
    """Numba's compiler, which goes over the machine code once."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any) -> None:
        if library is None:
            library = KernelLibrary(targetctx.codegen(), "kernel")
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *rest)


class LinkedCompiler(QuickCompiler):
    """Numba's compiler, which stops where the machine begins."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any) -> None:
        library = library or LinkedLibrary(targetctx.codegen(), "linked")
        super().__init__(typingctx, targetctx, library, *rest)


# What Numba is told of a function that Python never calls.
OPTIONS = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": LinkedCompiler}


class Part(CPUDispatcher):  # type: ignore[misc]
    """A function for kernels. Called from Python it is compiled once more, as any other."""

    def __init__(self, function: Callable[..., Any]) -> None:
        options = {name: value for name, value in OPTIONS.items() if name != "pipeline_class"}
        targetoptions = {"nopython": True, "nogil": True, "_nrt": False, **options}
        super().__init__(function, targetoptions=targetoptions, pipeline_class=LinkedCompiler)
        self._alone: Any = None

    def __call__(self, *args: Any) -> Any:
        self._alone = self._alone or numba.njit(nogil=True, _nrt=False)(self.py_func)
        return self._alone(*args)


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A function for Python. Called from another kernel it is a part of that."""

    def __init__(self, function: Callable[..., Any]) -> None:
        targetoptions = {"nopython": True, "nogil": True, "_nrt": False, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=targetoptions, pipeline_class=KernelCompiler)
        self.part = Part(function)

    @property
    def _numba_type_(self) -> Any:
        return self.part._numba_type_


class Shared(Kernel):
    """A kernel that Python and other kernels call, the same machine code for both: for what takes long to compile."""

    @property
    def _numba_type_(self) -> Any:
        return super(Kernel, self)._numba_type_

    def compile(self, sig: Any) -> Any:
        entry = super().compile(sig)
        for arguments, result in self.overloads.items():
            _shared.setdefault(result.library, Need(self, tuple(arguments), result.fndesc.llvm_func_name))
        return entry
