"""Models as files: a table is data, in NumPy's npz format with a version, and reading one never runs anything."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np
import scipy.sparse as sparse

from gumdp.errors import GumdpError, check_path, check_type, show
from gumdp.files import read_arrays, write
from gumdp.models.learned import Learned
from gumdp.models.source import Source, observation_is_state
from gumdp.models.tabular import Tabular

FORMAT, VERSION = "gumdp model", 1
NEEDED = ("offsets", "successors", "probabilities", "shape", "start_states", "start_probabilities")


def save_model(model: Tabular, path: str | os.PathLike[str]) -> None:
    """Write a tabular model to a file, whole or not at all; ``load_model`` reads it.

    >>> import gumdp, os, tempfile
    >>> model = gumdp.zoo.load("m1-entropy").model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gumdp.save_model(model, os.path.join(folder, "m1.npz"))
    ...     gumdp.load_model(os.path.join(folder, "m1.npz"))
    Tabular(3 states, 2 actions, 18 transitions)
    """
    check_type("save_model: model", model, Tabular)
    target = check_path("save_model: path", path)
    table = {name: np.asarray(getattr(model, name)) for name in NEEDED}
    table |= {"format": np.array(FORMAT), "version": np.array(VERSION)}
    if model.available is not None:
        table["available"] = model.available
    for name in ("state_names", "action_names", "grid", "axes"):
        if getattr(model, name) is not None:
            table[name] = np.array(getattr(model, name))
    if model.source is not None:
        table["source"] = np.array(model.source.text)
    if isinstance(model, Learned):
        table["samples"] = model.samples
    data = io.BytesIO()
    np.savez_compressed(data, allow_pickle=False, **table)
    try:
        write(target, data.getvalue())
    except OSError as error:
        raise GumdpError(f"{show(str(path))} can't be written: {error.strerror or error}.") from error


def load_model(path: str | os.PathLike[str]) -> Tabular:
    """The model that ``save_model`` or ``gumdp learn`` wrote. What a file holds is data, and checked.

    >>> import gumdp, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "m1.npz")
    ...     gumdp.save_model(gumdp.zoo.load("m1-entropy").model, path)
    ...     gumdp.load_model(path).shape
    (3, 2)
    """
    file = check_path("load_model: path", path)
    try:
        table = read_arrays(file)
        if str(table["format"]) != FORMAT:
            raise KeyError("format")
        version = int(table["version"])
    except OSError as error:
        raise GumdpError(f"{show(str(path))} can't be read: {error.strerror or error}.") from error
    except Exception:  # what is damaged, or was never one, fails in many ways
        raise GumdpError(f"{show(str(path))} is not a model that gumdp wrote.") from None
    if version != VERSION:
        raise GumdpError(f"{show(str(path))} has the version {version} of model files; this gumdp reads {VERSION}.")
    try:
        with np.errstate(invalid="ignore"):  # what is not a number is found out
            return _model(table)
    except GumdpError as error:
        raise GumdpError(f"{show(str(path))} is damaged: {error}") from None
    except Exception:
        raise GumdpError(f"{show(str(path))} is damaged.") from None


def _model(table: dict[str, Any]) -> Tabular:
    states, actions = (int(x) for x in table["shape"])
    rows = (table["probabilities"], table["successors"], table["offsets"])
    matrix = sparse.csr_array(rows, shape=(states * actions, states))
    matrix.check_format(full_check=True)
    start = np.zeros(states)
    start[table["start_states"]] = table["start_probabilities"]
    names = {name: [str(x) for x in table[name]] for name in ("state_names", "action_names") if name in table}
    grid = tuple(int(x) for x in table["grid"]) if "grid" in table else None
    kind = Learned if "samples" in table else Tabular
    model = kind(matrix, start, available=table.get("available"), grid=grid, **names)  # type: ignore[arg-type]
    if isinstance(model, Learned):
        model.samples = table["samples"].astype(np.int64).reshape(model.shape)
    if "axes" in table:
        model.axes = (str(table["axes"][0]), str(table["axes"][1]))
    if "source" in table:
        model.source = Source(str(table["source"]), observation_is_state, tuple(range(actions)))
    return model
