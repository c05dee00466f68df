"""How two observations differ, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.errors import show

TOLERANCE = 1e-9  # of numbers that should be the same


def difference(x: Any, y: Any) -> str | None:
    """How two observations differ, or None: of arrays, numbers, strings, and of what is made of those."""
    if isinstance(x, dict) and isinstance(y, dict):
        return next((f"{found} in {k!r}" for k in x if (found := difference(x[k], y.get(k))) is not None), None)
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        if len(x) != len(y):
            return f"{len(x)} long and {len(y)} long"
        return next((found for a, b in zip(x, y, strict=True) if (found := difference(a, b)) is not None), None)
    if hasattr(x, "nodes") and hasattr(y, "nodes"):  # a graph
        return difference((x.nodes, x.edges, x.edge_links), (y.nodes, y.edges, y.edge_links))
    try:
        a, b = np.asarray(x), np.asarray(y)
        if a.dtype.kind in "biufc" and b.dtype.kind in "biufc":
            same = a.shape == b.shape and bool(np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
            return None if same else _numbers(a, b)
        return None if bool(np.all(a == b)) else f"{show(x)} and {show(y)}"
    except Exception:  # observations can be anything
        return None if type(x) is type(y) else f"{show(x)} and {show(y)}"


def _numbers(a: Any, b: Any) -> str:
    if a.shape != b.shape or a.ndim == 0:
        return f"{show(a[()])} and {show(b[()])}"
    k = int(np.argmax(~np.isclose(a.ravel(), b.ravel(), rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)))
    return f"{a.ravel()[k]:g} and {b.ravel()[k]:g} in place {k}"
