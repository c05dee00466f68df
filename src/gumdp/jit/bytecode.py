"""What byte code reads, and what it says apart from names of files, line numbers and docstrings."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

_NAME = set(dis.hasname)
_CONSTANT = set(dis.hasconst)
_GLOBAL = {dis.opmap[n] for n in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS") if n in dis.opmap}
_CELL = {dis.opmap[n] for n in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF") if n in dis.opmap}
_ATTRIBUTE = {dis.opmap[n] for n in ("LOAD_ATTR", "LOAD_METHOD") if n in dis.opmap}
_SHIFTED = {dis.opmap["LOAD_GLOBAL"]} | ({dis.opmap["LOAD_ATTR"]} if sys.version_info >= (3, 12) else set())
_CACHE = dis.opmap.get("CACHE", -1)  # room that the interpreter uses while it runs


class Read(NamedTuple):
    """A variable that is read, and the attributes that are asked of it at once: ``a.b.c`` is (…, "a", ("b", "c"))."""

    cell: bool  # from a closure, not from the globals
    name: str
    attributes: tuple[str, ...]


class Anatomy(NamedTuple):
    """The parts of a code object that matter to what it computes."""

    text: bytes  # the instructions, with constants left out
    constants: tuple[Any, ...]  # those that are used, in the order of their use; nested code is among them
    reads: tuple[Read, ...]  # of this code alone


@functools.lru_cache(maxsize=4096)
def anatomy(code: CodeType) -> Anatomy:
    """Take ``code`` apart.

    >>> anatomy((lambda x: math.tau * x).__code__).reads
    (Read(cell=False, name='math', attributes=('tau',)),)
    """
    text, constants = bytearray(), []
    reads: dict[Read, None] = {}
    slots = _slots(code)
    last: Read | None = None  # what is on top of the stack, if that was just read
    for op, arg in instructions(code):
        if op in _CONSTANT:
            constants.append(code.co_consts[arg])
            arg = 0
        text += f"{op},{arg};".encode()
        if last is not None and op in _ATTRIBUTE:
            last = last._replace(attributes=(*last.attributes, _name(code, op, arg)))
            continue
        if last is not None:
            reads[last] = None
        last = None
        if op in _GLOBAL:
            last = Read(False, _name(code, op, arg), ())
        elif op in _CELL:
            last = Read(True, slots[arg], ())
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~_HAS_DOCSTRING)
    names = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
    text += repr((shape, names, code.co_exceptiontable)).encode("utf-8", "backslashreplace")
    return Anatomy(bytes(text), tuple(constants), tuple(reads))


_HAS_DOCSTRING = 0x4000000  # Python 3.13 sets it


def instructions(code: CodeType) -> Iterator[tuple[int, int]]:
    """The (operation, argument) pairs, with long arguments put together."""
    raw, extra = code.co_code, 0
    for i in range(0, len(raw), 2):
        op, arg = raw[i], raw[i + 1] | extra
        if op == dis.EXTENDED_ARG:
            extra = arg << 8
        elif op != _CACHE:
            extra = 0
            yield op, arg


def _name(code: CodeType, op: int, arg: int) -> str:
    return code.co_names[arg >> 1 if op in _SHIFTED else arg]


def _slots(code: CodeType) -> tuple[str, ...]:
    """The variables in the order in which instructions number them."""
    own = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
    return code.co_varnames + own + code.co_freevars
