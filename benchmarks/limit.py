"""The limit: a bare loop of uniform rollouts with the same tables and the same generator, and the same in C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import gumdp
from gumdp.jit.random import advance, below, high, low, mix
from gumdp.jit.record import kernel, record, u64


@record
class Rows:
    """A table as it is stored, row after row: what the limit walks through, whatever searches make of it."""

    actions: int
    offsets: Any  # uint32 [S·A + 1]
    successors: Any  # int32 [n]
    limits: Any  # uint32 [n]

    def step(self, s, a, bits):
        j, draw = u64(self.offsets[s * u64(self.actions) + a]), low(bits)
        while draw > self.limits[j]:
            j += u64(1)
        return u64(self.successors[j])

    def pick(self, s, draw):
        return below(draw, self.actions)

    def cell(self, s):
        return s


def rows_of(model: Any) -> Any:
    """The model that the limit simulates: a table as its rows, any other as it is."""
    if not isinstance(model, gumdp.Tabular):
        return model.compiled()
    return Rows(model.shape[1], model.offsets.astype(np.uint32), model.successors, model.limits())


@kernel
def bare(model, start, n, steps, rng):
    """``n`` uniform rollouts of ``steps`` steps from ``start``, and nothing else."""
    last = u64(0)
    for _ in range(n):
        s = start
        t = u64(0)
        while t < steps:
            rng = advance(rng)
            bits = mix(rng)
            s = model.step(s, model.pick(s, high(bits)), bits)
            t += u64(1)
        last += u64(model.cell(s))
    return last


@kernel
def bare_both(model, start, n, steps, rng):
    """``bare``, two rollouts side by side, step by step."""
    last, other = u64(0), mix(rng)
    for _ in range(n // 2):
        s, s_too = start, start
        t = u64(0)
        while t < steps:
            rng, other = advance(rng), advance(other)
            bits, bits_too = mix(rng), mix(other)
            s = model.step(s, model.pick(s, high(bits)), bits)
            s_too = model.step(s_too, model.pick(s_too, high(bits_too)), bits_too)
            t += u64(1)
        last += u64(model.cell(s)) + u64(model.cell(s_too))
    return last


SOURCE = """
#include <stdint.h>
uint64_t bare(const uint32_t *offsets, const int32_t *successors, const uint32_t *limits, uint64_t actions,
              uint64_t start, uint64_t n, uint64_t steps, uint64_t rng) {
    uint64_t last = 0;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t s = start;
        for (uint64_t t = 0; t < steps; t++) {
            rng += 0x9E3779B97F4A7C15ull;
            uint64_t z = rng;
            z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
            z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
            z ^= z >> 31;
            uint64_t a = ((z >> 32) * actions) >> 32, draw = z & 0xFFFFFFFFull;
            uint64_t j = offsets[s * actions + a];
            while (draw > limits[j]) j++;
            s = (uint64_t)successors[j];
        }
        last += s;
    }
    return last;
}
"""


def in_c(table: Rows) -> Any:
    """``bare`` of a table, by gcc -O3 -march=native; None where there is no gcc."""
    if shutil.which("gcc") is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="gumdp-bench-"))
    (folder / "bare.c").write_text(SOURCE)
    library = folder / "bare.so"
    subprocess.run(
        ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", str(library), str(folder / "bare.c")], check=True
    )
    function = ctypes.CDLL(str(library)).bare
    function.restype = ctypes.c_uint64
    arrays = [table.offsets, table.successors, table.limits]

    def run(start: int, n: int, steps: int, rng: int) -> int:
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in arrays]
        return int(function(*pointers, *(ctypes.c_uint64(x) for x in (table.actions, start, n, steps, rng))))

    return run


def start_of(problem: Any) -> Any:
    """A start state of the problem, as kernels take it."""
    from gumdp.models.compiled import start_state

    model = problem.model
    return model.state(model.public(start_state(model.compiled(), np.uint64(1))))
