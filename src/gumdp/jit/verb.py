"""Methods of our types, which kernels call: one look-up and one compiled part each.

Numba has a way to teach it methods, ``overload_method``. There every method of a class is asked in turn whether an
attribute is meant for it, and what a method compiles to is kept for each set of flags of the caller: half of our parts
would be compiled twice, and it takes long to find out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types as numba_types
from numba.core.datamodel import register_default
from numba.core.errors import TypingError
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr

types: Any = numba_types


class Verb(types.BoundFunction):  # type: ignore[misc]
    """A method of a value of one of our types, which holds that value."""

    template: Any = None  # Numba looks into it for functions that are to be inlined early: none

    def __init__(self, this: Any, verb: str, part: Any) -> None:
        self.this, self.verb, self.part = this, verb, part
        self.typing_key = (type(this), verb)
        types.Type.__init__(self, f"{verb} of {type(this).__name__}")

    @property
    def key(self) -> Any:
        return self.this, self.verb

    def copy(self, this: Any) -> Verb:
        return Verb(this, self.verb, self.part)

    def get_impl_key(self, sig: Any) -> Any:
        return self.part.get_overload(sig.args)

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        given = (self.this, *args)
        plain = tuple(map(types.unliteral, given))
        part = types.Dispatcher(self.part)
        try:
            return part.get_call_type(context, plain, kws).as_method()
        except TypingError:
            if plain == given:
                raise
        return part.get_call_type(context, given, kws).as_method()

    def get_call_signatures(self) -> Any:
        return self.part.nopython_signatures, True


@register_default(Verb)
def _model(manager: Any, verb: Any) -> Any:
    return manager[verb.this]


def teach(typ: type, verbs: frozenset[str], part_of: Callable[[Any, str], Any]) -> None:
    """Teach Numba that values of ``typ`` have these methods: the parts that ``part_of`` answers for their type."""

    class Methods(AttributeTemplate):  # type: ignore[misc]
        key = typ

        def generic_resolve(self, this: Any, attribute: str) -> Any:
            part = part_of(this, attribute) if attribute in verbs else None
            return None if part is None else Verb(this, attribute, part)

    infer_getattr(Methods)
